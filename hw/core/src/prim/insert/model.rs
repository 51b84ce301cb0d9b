//! Header insertion in plain Rust.

use super::Prefix;
use crate::pack::Packed;

/// The frame of a prefix and its payload, and whether it is spoilt. What a spoilt frame holds is not said.
#[must_use]
pub fn insert(prefix: &Prefix, payload: &[u8]) -> (Vec<u8>, bool) {
    let bytes = prefix.bytes.to_words().into_iter().flat_map(u32::to_le_bytes);
    let mut frame: Vec<u8> = bytes.take(prefix.len.index()).chain(payload.iter().copied()).collect();
    frame.resize(prefix.total.index(), 0);
    (frame, prefix.err || payload.len() != prefix.payload_len.index())
}
