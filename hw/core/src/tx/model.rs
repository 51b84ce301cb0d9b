//! The transmit front end in plain Rust: the frame that should come of a head and a payload, by `stroma_abi`.

use stroma_abi::wire::EmitError;

use crate::head::Head;

/// The frame, ICRC included, without Ethernet padding and FCS. `pad` and `payload_len` of the head are not read: they
/// follow from the payload.
///
/// # Errors
/// When the op-code is not in the table, or the payload is longer than IP can say.
pub fn transmit(head: &Head, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
    head.frame(payload)?.to_vec()
}
