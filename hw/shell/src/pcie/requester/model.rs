//! The same in plain Rust: which transactions a burst becomes, and how they look on the block's streams.

use std::ops::Range;

use stroma_hw::pack::Packed;

use super::fields;
use super::{BEAT_DWORDS, RcBeat, RqBeat};

/// Bytes of a beat.
pub const BEAT_BYTES: usize = 4 * BEAT_DWORDS;

/// A beat of a write burst: its bytes, and which of them are written.
pub type Strobed = ([u8; BEAT_BYTES], u64);

/// What the block is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Bytes to an address, enabled one by one.
    Write {
        /// Of the first enabled byte.
        address: u64,
        /// The bytes from there on.
        bytes: Vec<u8>,
    },
    /// Dwords from an address.
    Read {
        /// Of the first byte.
        address: u64,
        /// How many bytes.
        length: usize,
        /// Comes back with the data.
        tag: u8,
    },
}

/// The memory writes that a burst at `address` becomes.
#[must_use]
pub fn writes(address: u64, beats: &[Strobed], max_payload: u64) -> Vec<Request> {
    let strobed = beats.iter().flat_map(|(bytes, strobes)| {
        bytes.iter().enumerate().map(move |(at, byte)| (strobes >> at & 1 == 1).then_some(*byte))
    });
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    for (place, byte) in (address..).zip(strobed).filter_map(|(place, byte)| Some((place, byte?))) {
        match found.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == place && place % max_payload != 0 => {
                bytes.push(byte);
            }
            _ => found.push((place, vec![byte])),
        }
    }
    found.into_iter().map(|(address, bytes)| Request::Write { address, bytes }).collect()
}

/// The memory reads that a burst of `length` bytes becomes: addresses and lengths.
///
/// # Panics
/// Never: a piece is no longer than 512 bytes.
#[must_use]
pub fn reads(address: u64, length: u64, max_read: u64) -> Vec<(u64, usize)> {
    let end = address + length;
    let mut starts: Vec<u64> = (address..end).filter(|place| place % max_read.min(512) == 0).collect();
    if starts.first() != Some(&address) {
        starts.insert(0, address);
    }
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().zip(ends).map(|(start, end)| (*start, small(end - start))).collect()
}

/// A number of some bits in a run of dwords.
fn field(dwords: &[u32], place: Range<usize>) -> u64 {
    place.clone().map(|bit| u64::from(dwords[bit / 32] >> (bit % 32) & 1) << (bit - place.start)).sum()
}

fn put(dwords: &mut [u32], place: Range<usize>, value: u64) {
    for bit in place.clone() {
        dwords[bit / 32] |= u32::from(value >> (bit - place.start) & 1 == 1) << (bit % 32);
    }
}

/// A number that counts bytes of a burst, or less.
fn small(number: u64) -> usize {
    usize::try_from(number).expect("a burst is short")
}

/// A transaction from the beats that carry it, and its sequence number.
///
/// # Panics
/// When the block would not take it.
#[must_use]
pub fn decode(beats: &[RqBeat]) -> (Request, u64) {
    let last = beats.len() - 1;
    for (at, beat) in beats.iter().enumerate() {
        assert_eq!(beat.last, at == last, "`last` marks the last beat");
        let keep = u64::from(beat.keep);
        assert!(keep != 0 && (keep + 1).is_power_of_two(), "dwords are kept from the first on: {keep:#x}");
        assert!(at == last || keep == 0xffff, "beats before the last are whole");
        assert_eq!(
            (beat.first_be, beat.last_be, beat.sequence),
            (beats[0].first_be, beats[0].last_be, beats[0].sequence)
        );
    }
    let dwords: Vec<u32> = beats.iter().flat_map(|beat| beat.data.to_words()).collect();
    let kept = BEAT_DWORDS * last + u64::from(beats[last].keep).count_ones() as usize;
    let (head, payload) = dwords[..kept].split_at(fields::RQ_DESCRIPTOR_DWORDS);
    let address = field(head, fields::RQ_ADDRESS_AT..64) << fields::RQ_ADDRESS_AT;
    let count = small(field(head, fields::RQ_DWORD_COUNT_AT..fields::RQ_DWORD_COUNT_AT + 11));
    let kind = field(head, fields::RQ_REQUEST_TYPE_AT..fields::RQ_REQUEST_TYPE_AT + 4);
    let tag = field(head, fields::RQ_TAG_AT..fields::RQ_TAG_AT + 8);
    let mut expected = [0; fields::RQ_DESCRIPTOR_DWORDS];
    put(&mut expected, fields::RQ_ADDRESS_AT..64, address >> fields::RQ_ADDRESS_AT);
    put(&mut expected, fields::RQ_DWORD_COUNT_AT..fields::RQ_DWORD_COUNT_AT + 11, count as u64);
    put(&mut expected, fields::RQ_REQUEST_TYPE_AT..fields::RQ_REQUEST_TYPE_AT + 4, kind);
    put(&mut expected, fields::RQ_TAG_AT..fields::RQ_TAG_AT + 8, tag);
    assert_eq!(head, expected, "the rest of a descriptor is zero");
    assert!((1..=1024).contains(&count));
    assert_eq!(address / 4096, (address + 4 * count as u64 - 1) / 4096, "4 KiB is crossed");
    let (first, last) = (u64::from(beats[0].first_be), u64::from(beats[0].last_be));
    assert_eq!(count == 1, last == 0, "a lone dword has no last one, others have");
    let sequence = u64::from(beats[0].sequence);
    if kind == fields::MEMORY_READ {
        assert!(payload.is_empty() && first == 15 && (last == 15 || count == 1), "reads are of whole dwords");
        let tag = u8::try_from(tag).expect("eight bits");
        return (Request::Read { address, length: 4 * count, tag }, sequence);
    }
    assert_eq!((kind, tag, payload.len()), (fields::MEMORY_WRITE, 0, count));
    let enabled = |at: usize| match (at / 4, at % 4) {
        (0, byte) => first >> byte & 1 == 1,
        (dword, byte) if dword + 1 == count => last >> byte & 1 == 1,
        _ => true,
    };
    let bytes: Vec<u8> = payload.iter().flat_map(|dword| dword.to_le_bytes()).collect();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| enabled(*at)).collect();
    assert_eq!(places[places.len() - 1] - places[0] + 1, places.len(), "enabled bytes are one run");
    let address = address + places[0] as u64;
    (Request::Write { address, bytes: places.iter().map(|at| bytes[*at]).collect() }, sequence)
}

/// What a completion says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's.
    pub tag: u8,
    /// Bytes of the request that are still to come, with those of this one.
    pub byte_count: u64,
    /// Dwords of this one.
    pub dword_count: u64,
    /// One of the block's error codes.
    pub error: u64,
    /// The completer's status.
    pub status: u64,
    /// The data are bad.
    pub poisoned: bool,
    /// Nothing follows.
    pub completed: bool,
}

/// The beats of a completion with some bytes of payload.
///
/// # Panics
/// When they are not whole dwords.
#[must_use]
pub fn encode(head: Completion, payload: &[u8]) -> Vec<RcBeat> {
    let mut dwords = vec![0; fields::RC_DESCRIPTOR_DWORDS];
    put(&mut dwords, fields::RC_ERROR_AT..fields::RC_ERROR_AT + 4, head.error);
    put(&mut dwords, fields::RC_BYTE_COUNT_AT..fields::RC_BYTE_COUNT_AT + 13, head.byte_count);
    put(&mut dwords, fields::RC_COMPLETED_AT..fields::RC_COMPLETED_AT + 1, head.completed.into());
    put(&mut dwords, fields::RC_DWORD_COUNT_AT..fields::RC_DWORD_COUNT_AT + 11, head.dword_count);
    put(&mut dwords, fields::RC_STATUS_AT..fields::RC_STATUS_AT + 3, head.status);
    put(&mut dwords, fields::RC_POISONED_AT..fields::RC_POISONED_AT + 1, head.poisoned.into());
    put(&mut dwords, fields::RC_TAG_AT..fields::RC_TAG_AT + 8, head.tag.into());
    dwords.extend(payload.chunks(4).map(|dword| u32::from_le_bytes(dword.try_into().expect("whole dwords"))));
    let count = dwords.len().div_ceil(BEAT_DWORDS);
    let beat = |(at, held): (usize, &[u32])| RcBeat {
        data: Packed::from_words(held),
        keep: (0xffff_u64 >> (BEAT_DWORDS - held.len())).into(),
        discontinue: false,
        last: at + 1 == count,
    };
    dwords.chunks(BEAT_DWORDS).enumerate().map(beat).collect()
}
