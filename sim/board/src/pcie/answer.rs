//! The card's completions of the processor's loads, held against what was asked.

use super::DWORD;
use super::access::{Access, Action, REQUESTER};
use super::bits::{bytes, field};
use super::config::Config;
use super::stream::Packet;

/// Words of the descriptor.
const DESCRIPTOR: usize = 3;
/// Words of a completion that refuses: a descriptor, the request's byte enables, and its descriptor, for the block's log.
const REFUSAL: usize = 8;
/// The read completion boundary of everything but a root (Base Specification, 2.3.1.1).
const BOUNDARY: u64 = 128;

/// A load that waits for its value.
#[derive(Debug)]
pub(crate) struct Load {
    access: Access,
    /// Bytes that came.
    got: Vec<u8>,
}

/// The tag that a completion carries.
pub(crate) fn tag(packet: &Packet<3>) -> u8 {
    assert!(packet.words.len() >= DESCRIPTOR, "s_axis_cc: {} words are no descriptor", packet.words.len());
    super::bits::byte(field(&packet.words, 64, 8))
}

impl Load {
    pub(crate) fn new(access: Access) -> Self {
        Self { access, got: Vec::new() }
    }

    /// What the processor reads when no answer comes.
    pub(crate) fn ones(&self) -> Vec<u8> {
        vec![0xff; self.access.len()]
    }

    /// Takes a completion; the load's bytes when it was the last. A refused load reads as ones.
    ///
    /// # Panics
    /// When the completion is not right.
    pub(crate) fn answer(&mut self, packet: &Packet<3>, config: &Config) -> Option<Vec<u8>> {
        let Action::Load { length, tag } = self.access.action else { panic!("stores are not completed") };
        let words = &packet.words;
        let bits = |at: usize, width: usize| field(words, at, width);
        let what = format!("s_axis_cc: completion of tag {tag}, a load at {:#x}", self.access.address());
        for (name, at, width) in [
            ("address type", 8, 2),
            ("locked", 29, 1),
            ("poisoned", 46, 1),
            ("completer function", 72, 8),
            ("completer ID enable", 88, 1),
            ("traffic class", 89, 3),
            ("attributes", 92, 3),
            ("force ECRC", 95, 1),
        ] {
            assert_eq!(bits(at, width), 0, "{what}: {name} has to be 0");
        }
        assert_eq!(bits(48, 16), REQUESTER, "{what}: the requester is another");
        let (dwords, status) = (bits(32, 11) as usize, bits(43, 3));
        if status != 0 {
            assert!(status == 1 || status == 4, "{what}: status {status} is none for a memory request");
            assert_eq!(dwords, 0, "{what}: data with status {status}");
            assert_eq!(words.len(), REFUSAL, "{what}: a refusal has eight words");
            assert_eq!(
                words[4..],
                self.access.descriptor(),
                "{what}: a refusal repeats the request's descriptor"
            );
            return Some(self.ones());
        }
        self.check_place(&what, bits(0, 7), bits(16, 13) as usize, dwords);
        assert!(dwords * DWORD <= config.max_payload as usize, "{what}: over {} bytes", config.max_payload);
        assert_eq!(words.len() - DESCRIPTOR, dwords, "{what}: {dwords} DWords by its count");
        let from = self.access.address() + self.got.len() as u64;
        let data = bytes(&words[DESCRIPTOR..]);
        let start = usize::try_from(from % DWORD as u64).expect("below four");
        let end = data.len().min(start + length - self.got.len());
        assert!(end.next_multiple_of(DWORD) == data.len(), "{what}: {dwords} DWords are too many");
        self.got.extend_from_slice(&data[start..end]);
        let to = self.access.address() + self.got.len() as u64;
        let is_whole = self.got.len() == length;
        assert!(
            is_whole || to.is_multiple_of(BOUNDARY),
            "{what}: cut at {to:#x}, not at a multiple of {BOUNDARY}"
        );
        is_whole.then(|| std::mem::take(&mut self.got))
    }

    fn check_place(&self, what: &str, lower: u32, count: usize, dwords: usize) {
        let Action::Load { length, .. } = self.access.action else { panic!("stores are not completed") };
        let from = self.access.address() + self.got.len() as u64;
        assert_eq!(u64::from(lower), from % 128, "{what}: lower address");
        assert_eq!(count, length - self.got.len(), "{what}: byte count");
        assert!(dwords > 0, "{what}: success without data");
    }
}
