//! Any bytes are printed; what is accepted is emitted unchanged. `cargo +nightly fuzz run frame`
#![no_main]

use libfuzzer_sys::fuzz_target;
use stroma_abi::wire::{Frame, print};

fuzz_target!(|bytes: &[u8]| {
    assert!(!print::line(bytes).to_string().is_empty());
    if let Ok(frame) = Frame::parse(bytes) {
        assert_eq!(frame.to_vec().expect("an accepted frame can be emitted"), bytes);
    }
});
