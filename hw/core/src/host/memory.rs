//! Host memory behind AXI's write channels, for tests: stores the bytes, and accepts legal bursts only.

use std::collections::{BTreeMap, VecDeque};

use super::axi::{BOUNDARY_BYTES, WriteAddress, WriteBeat};
use crate::pack::Packed;

/// A burst that has arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Of its first beat.
    pub(crate) addr: u64,
    pub(crate) beats: u64,
}

/// Memory that takes bursts; addresses and data may come in either order.
#[derive(Default)]
pub(crate) struct WriteMemory<const D: usize, const K: usize> {
    /// Every byte ever written.
    pub(crate) bytes: BTreeMap<u64, u8>,
    addresses: VecDeque<Arrived>,
    beats: VecDeque<WriteBeat<D, K>>,
    /// Beats stored of the burst under way.
    stored: u64,
}

impl<const D: usize, const K: usize> WriteMemory<D, K> {
    /// Takes a burst's address.
    ///
    /// # Panics
    /// When AXI, or the port's own contract, forbids it.
    pub(crate) fn address(&mut self, address: &WriteAddress) {
        let (addr, beats) = (word(&address.addr), word(&address.len) + 1);
        let (beat_bytes, boundary) = (K as u64, BOUNDARY_BYTES as u64);
        assert!(addr.is_multiple_of(beat_bytes), "burst at {addr:#x} does not begin with a whole beat");
        let last = addr + (beats - 1) * beat_bytes;
        assert!(addr / boundary == last / boundary, "burst of {beats} beats at {addr:#x} crosses 4 KiB");
        self.addresses.push_back(Arrived { addr, beats });
    }

    /// Takes a beat of data.
    pub(crate) fn beat(&mut self, beat: WriteBeat<D, K>) {
        self.beats.push_back(beat);
    }

    /// Stores what has both address and data; the bursts that are whole now, in order.
    ///
    /// # Panics
    /// When `last` or the strobes are wrong.
    pub(crate) fn settle(&mut self) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        while let Some(burst) = self.addresses.front().copied() {
            let Some(beat) = self.beats.pop_front() else { break };
            let (addr, is_last) = (burst.addr + self.stored * K as u64, self.stored + 1 == burst.beats);
            assert_eq!(beat.last, is_last, "`last` of the beat at {addr:#x} in {burst:x?}");
            self.store(addr, &beat, self.stored == 0, is_last);
            self.stored += 1;
            if is_last {
                self.stored = 0;
                arrived.extend(self.addresses.pop_front());
            }
        }
        arrived
    }

    fn store(&mut self, addr: u64, beat: &WriteBeat<D, K>, is_first: bool, is_last: bool) {
        let strobes = word(&beat.strb);
        let (below, above) = (strobes.trailing_zeros(), strobes.leading_zeros() - (64 - lanes::<K>()));
        assert!(strobes != 0, "beat at {addr:#x} writes nothing");
        assert!(below == 0 || is_first, "beat at {addr:#x} lacks low bytes inside a burst: {strobes:x}");
        assert!(above == 0 || is_last, "beat at {addr:#x} lacks high bytes inside a burst: {strobes:x}");
        assert_eq!(strobes.count_ones(), lanes::<K>() - below - above, "beat at {addr:#x} has a hole");
        let data: Vec<u8> = beat.data.to_words().into_iter().flat_map(u32::to_le_bytes).collect();
        let lanes = (0..K).filter(|lane| strobes >> lane & 1 == 1);
        self.bytes.extend(lanes.map(|lane| (addr + lane as u64, data[lane])));
    }
}

fn lanes<const K: usize>() -> u32 {
    u32::try_from(K).expect("a beat has few bytes")
}

/// A value of up to 64 bits.
fn word(value: &impl Packed) -> u64 {
    value.to_words().iter().rev().fold(0, |word, half| word << 32 | u64::from(*half))
}
