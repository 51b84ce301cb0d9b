//! The receive front end in plain Rust: what should come of a frame, by `stroma_abi`'s reading of it.

use stroma_abi::wire::classify::{PAYLOAD_MAX, classify};
use stroma_abi::wire::{Class, Frame, grh};

use crate::head::Head;

/// What the card makes of a frame: head and payload, that of a datagram behind its IP header, or the class it is counted
/// under. `is_bad`: the MAC says so.
///
/// # Errors
/// The class, when it is not [`Class::Roce`].
pub fn receive(frame: &[u8], is_bad: bool) -> Result<(Head, Vec<u8>), Class> {
    if is_bad {
        return Err(Class::MacError);
    }
    let frame = Frame::parse(frame).map_err(|reject| reject.class)?;
    let head = Head::of(&frame);
    if frame.extended.deth.is_none() {
        return Ok((head, frame.payload.to_vec()));
    }
    let payload = [&grh::emit(&frame.ip), frame.payload].concat();
    Ok((Head { payload_len: (payload.len() as u64).into(), ..head }, payload))
}

/// Is a frame for the raw Ethernet queue? If so: is it short enough for it?
#[must_use]
pub fn raw(frame: &[u8], is_bad: bool) -> Option<bool> {
    let is_raw = !is_bad && classify(frame).is_err_and(|reject| reject.class.is_raw());
    is_raw.then_some(frame.len() <= PAYLOAD_MAX)
}
