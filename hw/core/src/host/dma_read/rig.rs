//! The read engine on a bench, with its clients, the host, and the twin to hold it against.

use std::array;

use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::model::answer;
use super::{DmaRead, ReadCommand, ReadData};
use crate::host::read_memory::{ReadMemory, broken, byte};
use crate::testing::{collect, push, read, verilated};

pub(super) const CLIENTS: usize = 4;
const LIMIT: u64 = 100_000;

pub(super) type Commands = [Vec<ReadCommand>; CLIENTS];

/// An engine with its clients and the host. `LOG` is the least the width allows: stalls are to be met often.
pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    pub(super) memory: ReadMemory<D>,
    pub(super) commands: [SourceId; CLIENTS],
    pub(super) data: [SinkId; CLIENTS],
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new(outstanding: usize) -> Self {
        let name = format!("dma_read_{D}_{outstanding}");
        let mut bench = verilated(&name, || DmaRead::<D, CLIENTS, LOG>::new(outstanding));
        let commands = array::from_fn(|client| bench.source(&format!("command${client}")).unwrap());
        let data = array::from_fn(|client| bench.sink(&format!("data${client}")).unwrap());
        let memory = ReadMemory::new(&mut bench, outstanding);
        bench.reset(2);
        Self { bench, memory, commands, data }
    }

    pub(super) fn send(&mut self, commands: &Commands) {
        for (source, commands) in self.commands.iter().zip(commands) {
            push(&mut self.bench, *source, commands);
        }
    }

    /// Steps until the given clients have so many beats; how many cycles that took.
    pub(super) fn wait(&mut self, beats: [usize; CLIENTS]) -> u64 {
        let start = self.bench.cycle();
        while (0..CLIENTS).any(|client| self.bench[self.data[client]].received().len() < beats[client]) {
            self.memory.step(&mut self.bench);
            let received = self.data.map(|data| self.bench[data].received().len());
            assert!(self.bench.cycle() - start < LIMIT, "stuck with {received:?} of {beats:?} beats");
        }
        self.bench.cycle() - start
    }

    pub(super) fn collect(&mut self) -> [Vec<ReadData<D>>; CLIENTS] {
        self.data.map(|data| collect(&mut self.bench, data))
    }

    /// Sends commands and checks what comes back; gives the cycles it took.
    pub(super) fn check(&mut self, commands: &Commands) -> u64 {
        self.send(commands);
        self.check_sent(commands)
    }

    /// Waits for what the twin says comes back for commands already queued, and compares.
    pub(super) fn check_sent(&mut self, commands: &Commands) -> u64 {
        let expected = commands.each_ref().map(|commands| answers::<D>(commands));
        let cycles = self.wait(expected.each_ref().map(Vec::len));
        let received = self.collect();
        for client in 0..CLIENTS {
            let differ = received[client].iter().zip(&expected[client]).position(|(is, should)| is != should);
            if let Some(at) = differ {
                panic!(
                    "client {client}, beat {at}: {:x?}, not {:x?}",
                    received[client][at], expected[client][at]
                );
            }
        }
        let lengths = |of: &[Vec<ReadData<D>>; CLIENTS]| of.each_ref().map(Vec::len);
        assert_eq!(lengths(&received), lengths(&expected), "more came than was asked for");
        for _ in 0..20 {
            self.memory.step(&mut self.bench);
        }
        assert_eq!(lengths(&self.collect()), [0; CLIENTS], "more came than was asked for");
        assert!(!read::<bool>(&self.bench, "busy"), "busy with nothing to do");
        cycles
    }
}

pub(super) fn answers<const D: usize>(commands: &[ReadCommand]) -> Vec<ReadData<D>> {
    commands.iter().flat_map(|command| answer::<D>(command, byte, broken)).collect()
}

pub(super) fn command(iova: u64, len: u64, tag: u64) -> ReadCommand {
    ReadCommand { iova: iova.into(), len: len.into(), tag: tag.into() }
}

/// Mostly short commands, some long ones, at any place in a few pages.
pub(super) fn random(rng: &mut SplitMix64, count: usize) -> Vec<ReadCommand> {
    let one = |_| {
        let longest = [8, 70, 300, 4096][usize::try_from(rng.below(4)).unwrap()];
        command(0x7fff_0000_0000 + rng.below(1 << 20), 1 + rng.below(longest), rng.below(64))
    };
    (0..count).map(one).collect()
}

pub(super) fn for_all(mut of: impl FnMut() -> Vec<ReadCommand>) -> Commands {
    array::from_fn(|_| of())
}

/// Commands of one client alone.
pub(super) fn alone(client: usize, commands: Vec<ReadCommand>) -> Commands {
    let mut all = Commands::default();
    all[client] = commands;
    all
}
