//! Completions of the card's reads, and the packets on `m_axis_rc` they become.

use super::DWORD;
use super::bits::{put, words};
use super::byte_enables::ByteEnables;
use super::stream::{RC, RcBeat, beats};

/// Words of the descriptor.
const DESCRIPTOR: usize = 3;
/// Statuses and error codes of the descriptor.
const UNSUPPORTED: u32 = 1;
const BAD_STATUS: u32 = 2;
const FUNCTION_RESET: u32 = 8;

/// How a completion ends, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Whole words of data.
    Data(Vec<u8>),
    /// Unsupported Request.
    Refused,
    /// A function-level reset took the request away.
    Reset,
}

/// One completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) tag: u8,
    /// Of its first byte.
    pub(crate) address: u64,
    /// Bytes that are left, with its own.
    pub(crate) byte_count: usize,
    /// It is the last of its request.
    pub(crate) is_last: bool,
    pub(crate) outcome: Outcome,
}

impl Completion {
    /// Bytes of data.
    pub(crate) fn len(&self) -> usize {
        if let Outcome::Data(data) = &self.outcome { data.len() } else { 0 }
    }

    /// The packet, in beats.
    pub(crate) fn beats(&self) -> Vec<RcBeat> {
        let (data, status, error) = match &self.outcome {
            Outcome::Data(data) => (words(data), 0, 0),
            Outcome::Refused => (Vec::new(), UNSUPPORTED, BAD_STATUS),
            Outcome::Reset => (Vec::new(), 0, FUNCTION_RESET),
        };
        let mut packet = vec![0; DESCRIPTOR];
        let small = |value: usize| u32::try_from(value).expect("a field of the descriptor");
        put(&mut packet, 0, 12, u32::try_from(self.address % 4096).expect("below 4096"));
        put(&mut packet, 12, 4, error);
        put(&mut packet, 16, 13, small(self.byte_count));
        put(&mut packet, 30, 1, u32::from(self.is_last));
        put(&mut packet, 32, 11, small(data.len()));
        put(&mut packet, 43, 3, status);
        put(&mut packet, 64, 8, u32::from(self.tag));
        let mut nibbles = vec![0; DESCRIPTOR];
        if !data.is_empty() {
            let start = usize::try_from(self.address % DWORD as u64).expect("below four");
            let in_packet = self.byte_count.min(data.len() * DWORD - start);
            nibbles.extend(ByteEnables::of(self.address, in_packet).nibbles(data.len()));
        }
        packet.extend(data);
        beats(RC, &packet, [0; 6], (0, &nibbles))
    }
}
