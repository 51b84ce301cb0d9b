//! Frames on the wire, and how long they are there.

/// Bytes on the wire around a frame without its FCS: preamble, FCS, gap.
pub(crate) const BEFORE: u64 = 8;
pub(crate) const AFTER: u64 = 4 + 12;
/// Ten-thousandths of a byte that 100 Gb/s carry in a cycle of 322.265625 MHz.
pub(crate) const PER_EDGE: u64 = 387_879;
/// Of those in a byte.
pub(crate) const BYTE: u64 = 10_000;

/// A frame, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// It was spoilt, so that its FCS is wrong.
    pub is_bad: bool,
}
