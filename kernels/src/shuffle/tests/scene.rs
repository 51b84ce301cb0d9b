//! Buffers in memory, and payloads for them.

use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_kernel_client::shuffle::Table;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::Rig;
use stroma_verilate::SplitMix64;

/// How keys are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keys {
    Even,
    Few,
    Equal,
}

/// How much room buffers have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    Ample,
    /// About as much as comes.
    Tight,
}

pub(super) struct Scene {
    pub(super) task: Shuffle,
    pub(super) keys: Keys,
}

fn below(rng: &mut SplitMix64, bound: u32) -> u32 {
    u32::try_from(rng.below(bound.into())).expect("smaller than 32 bits")
}

impl Scene {
    /// Stores a table whose buffers begin and go on anywhere.
    pub(super) fn any<const D: usize>(rig: &mut Rig<D>, task: Shuffle, keys: Keys, room: Room) -> Self {
        Self::from(0, rig, task, keys, room)
    }

    /// All of it behind this address.
    pub(super) fn from<const D: usize>(
        base: u64,
        rig: &mut Rig<D>,
        task: Shuffle,
        keys: Keys,
        room: Room,
    ) -> Self {
        let rng = &mut rig.rng;
        let task = Shuffle { buffers: base + 0x4000 + rng.below(0x4000), ..task };
        let buffer = |partition: usize| {
            let used = match rng.below(3) {
                0 => 0,
                1 => 8 * below(rng, 100),
                _ => below(rng, 1000),
            };
            let capacity = match room {
                Room::Ample => 1 << 20,
                Room::Tight => below(rng, 1200),
            };
            Buffer { address: base + (1 + partition as u64) * 0x20_0000 + rng.below(0x1000), capacity, used }
        };
        let table = Table::of((0..task.partitions()).map(buffer).collect());
        rig.host.put(task.buffers, &table.to_bytes());
        Self { task, keys }
    }

    /// Stores a table of empty buffers of a size, one behind the other.
    pub(super) fn even<const D: usize>(rig: &mut Rig<D>, partitions_log: u8, capacity: u32) -> Self {
        let task = Shuffle { buffers: 0x8000, partitions_log, first_bit: 7, wide: false };
        rig.host.put(task.buffers, &Table::evenly(0x100_0000, capacity, partitions_log).to_bytes());
        Self { task, keys: Keys::Even }
    }

    pub(super) fn payload(&self, rng: &mut SplitMix64, tuples: usize) -> Vec<u8> {
        let few: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        let mut data = Vec::with_capacity(tuples * self.task.tuple_bytes());
        for _ in 0..tuples {
            let first = match self.keys {
                Keys::Even => rng.next_u64(),
                Keys::Few => few[usize::try_from(rng.below(3)).expect("small")],
                Keys::Equal => few[0],
            };
            data.extend(first.to_le_bytes());
            if self.task.wide {
                data.extend(rng.next_u64().to_le_bytes());
            }
        }
        data
    }

    pub(super) fn call<const D: usize>(&self, rig: &mut Rig<D>, tuples: usize) -> Invocation {
        let data = self.payload(&mut rig.rng, tuples);
        rig.streamed(&self.task.to_bytes(), data, 0)
    }

    /// The table as it is in memory now.
    pub(super) fn table<const D: usize>(&self, rig: &Rig<D>) -> Table {
        Table::parse(&rig.host.bytes(self.task.buffers, self.task.partitions() * Buffer::LEN))
    }
}
