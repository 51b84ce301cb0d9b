//! The block driven by beats written by hand.

mod accesses;
mod memory;
mod rules;
mod side;

use std::sync::Arc;

use stroma_device::DmaMemory;
use stroma_sim::host::timing::Timing;

use super::bits::{field, put};
use super::stream::{Gather, LANES, RC, RQ, beats};
use super::*;

/// Where the memory of tests is mapped.
const BASE: u64 = 0x10_0000;
const PAGES: usize = 4;

/// A block, memory behind it, and what came out of it.
struct Rig {
    block: PciBlock,
    memory: Arc<DmaMemory>,
    shell: FromShell,
    rc: Gather<6>,
    completions: Vec<Vec<u32>>,
    sequence: Vec<u8>,
}

impl Rig {
    fn new(config: Config, seed: u64) -> Self {
        let mut block = PciBlock::new(config, &Timing::ALVEO_GEN3X16, 250_000, seed);
        let memory = Arc::new(DmaMemory::allocate(PAGES * 4096, None).expect("memory"));
        block.iommu().map(BASE, &memory).expect("nothing is mapped");
        let shell = FromShell { cq_ready: true, rc_ready: true, ..FromShell::default() };
        Self { block, memory, shell, rc: Gather::new(RC), completions: Vec::new(), sequence: Vec::new() }
    }

    fn step(&mut self) {
        let shown = self.block.pins().clone();
        let packet = self.rc.cycle(shown.rc.as_ref(), self.shell.rc_ready);
        self.completions.extend(packet.map(|packet| packet.words));
        self.sequence.extend(shown.sequence.into_iter().flatten());
        self.block.edge(&self.shell);
    }

    fn run(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Offers beats one after the other until all are taken.
    fn send(&mut self, beats: Vec<RqBeat>) {
        for beat in beats {
            self.shell.rq = Some(beat);
            while !self.block.pins().rq_ready {
                self.step();
            }
            self.step();
        }
        self.shell.rq = None;
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).expect("inside");
        bytes
    }
}

/// A request as a shell would make it, to be spoilt at will.
#[derive(Clone, Debug)]
struct Asked {
    words: Vec<u32>,
    user: [u32; 5],
}

impl Asked {
    fn new(address: u64, kind: u32, dwords: usize, (first, last): (u32, u32), sequence: u32) -> Self {
        let mut words = vec![0; 4];
        put(&mut words, 0, 32, u32::try_from(address & 0xffff_ffff).unwrap());
        put(&mut words, 32, 32, u32::try_from(address >> 32).unwrap());
        put(&mut words, 64, 11, u32::try_from(dwords).unwrap());
        put(&mut words, 75, 4, kind);
        let mut user = [0; 5];
        put(&mut user, 0, 4, first);
        put(&mut user, 8, 4, last);
        put(&mut user, 61, 6, sequence);
        Self { words, user }
    }

    fn read(address: u64, dwords: usize, tag: u32) -> Self {
        let mut asked = Self::new(address, 0, dwords, (0xf, if dwords > 1 { 0xf } else { 0 }), 0);
        put(&mut asked.words, 96, 8, tag);
        asked
    }

    fn write(address: u64, payload: &[u32]) -> Self {
        let last = if payload.len() > 1 { 0xf } else { 0 };
        let mut asked = Self::new(address, 1, payload.len(), (0xf, last), 0);
        asked.words.extend(payload);
        asked
    }

    fn with(mut self, at: usize, width: usize, value: u32) -> Self {
        put(&mut self.words, at, width, value);
        self
    }

    fn with_user(mut self, at: usize, width: usize, value: u32) -> Self {
        put(&mut self.user, at, width, value);
        self
    }

    fn beats(&self) -> Vec<RqBeat> {
        // Nibbles of all words are 0: requests have none in `tuser`.
        beats(RQ, &self.words, self.user, (0, &vec![0; self.words.len()]))
    }
}

/// The message of the panic that this makes, if it does.
fn panics(run: impl FnOnce() + std::panic::UnwindSafe) -> Option<String> {
    let fault = std::panic::catch_unwind(run).err()?;
    let text = fault.downcast_ref::<String>().cloned();
    Some(text.or_else(|| fault.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
}
