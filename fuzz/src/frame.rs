//! Frames from the wire.

use stroma_abi::wire::{Frame, print};

/// Any bytes are printed; what is accepted is emitted unchanged.
pub fn frame(bytes: &[u8]) {
    assert!(!print::line(bytes).to_string().is_empty());
    if let Ok(frame) = Frame::parse(bytes) {
        assert_eq!(frame.to_vec().expect("an accepted frame can be emitted"), bytes);
    }
}
