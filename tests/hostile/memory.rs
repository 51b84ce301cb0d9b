//! Memory for requests that go wrong: some that they may write, and some that they must not.

use stroma_abi::desc::{Region, region::rights};
use stroma_tests::rig::{Buffer, Rig};
use stroma_verilate::SplitMix64;

use super::forge::noise;
use super::hairpin::PD;

/// Bytes of each piece of memory.
pub(crate) const LEN: usize = 16_384;

/// Regions that requests may use, and guards that nothing may change.
pub(crate) struct Memory {
    /// Owner and peers may write here.
    pub open: Buffer,
    /// Its key.
    pub open_key: u32,
    /// Key of the first guard, which its owner may read.
    pub readable_key: u32,
    /// All keys there are, and some that are not.
    pub keys: Vec<u32>,
    /// First to last: readable to its owner alone, of another domain, and without any key.
    guards: [Buffer; 3],
    before: Vec<u8>,
}

impl Memory {
    /// Address of every region's first byte: the key alone decides which of them is meant.
    pub(crate) const BASE: u64 = 0x10_0000;
    /// The address behind the last byte.
    pub(crate) const END: u64 = Self::BASE + LEN as u64;

    /// Registers all of it, filled by this seed.
    pub(crate) fn new(rig: &mut Rig, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let open = rig.buffer(LEN);
        let guards = [(); 3].map(|()| rig.buffer(LEN));
        open.write(0, &noise(&mut random, LEN));
        let before = noise(&mut random, 3 * LEN);
        guards.iter().zip(before.chunks(LEN)).for_each(|(guard, bytes)| guard.write(0, bytes));
        let all = rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ | rights::REMOTE_ATOMIC;
        let region = |number, buffer: &Buffer, base, pd, rights| {
            rig.region(number, &Region { rights, ..Rig::direct(buffer, base, pd) })
        };
        let open_key = region(1, &open, Self::BASE, PD, all);
        let readable_key = region(2, &guards[0], Self::BASE, PD, 0);
        let foreign = region(3, &guards[1], Self::BASE, PD + 1, all);
        let keys = vec![open_key, open_key, readable_key, foreign, open_key ^ 1, 9 << 8, 0, u32::MAX];
        Self { open, open_key, readable_key, keys, guards, before }
    }

    /// May a request of a queue pair touch these bytes?
    pub(crate) fn allows(&self, key: u32, address: u64, length: u32, writes: bool) -> bool {
        let end = address.checked_add(length.into());
        let is_inside = address >= Self::BASE && end.is_some_and(|end| end <= Self::END);
        is_inside && (key == self.open_key || (key == self.readable_key && !writes))
    }

    /// The first bytes of the first guard.
    pub(crate) fn readable(&self, length: usize) -> &[u8] {
        &self.before[..length]
    }

    /// Nothing that must not change has changed.
    pub(crate) fn check(&self, story: &str) {
        for (guard, bytes) in self.guards.iter().zip(self.before.chunks(LEN)) {
            assert!(guard.read(0, LEN) == bytes, "{story}: a guard at {:#x} has changed", guard.iova());
        }
    }
}
