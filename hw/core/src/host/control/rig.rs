//! The front on a bench, with a host that reads and stores, owners that answer, and the model beside it.

mod access;

use stroma_abi::regs::map::{capabilities, catalogue, counters, events, identity, kernels, rx_classes};
use stroma_abi::regs::{Block, Reg};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Control;
use super::facts::{Facts, Kernel};
use super::live::{CLASSES, COUNTS, HEAD};
use super::mailbox::OWNERS;
use super::model::{Bars, Effect};
use crate::host::work::PageStore;
use crate::pack::Packed;
use crate::state::command::ObjectCommand;
use crate::testing::{collect, read, verilated};

/// A card that is no other: every fact differs.
pub(super) fn facts() -> Facts {
    Facts {
        data_bits: 512,
        clock_khz: 250_001,
        queue_pairs: 1 << 10,
        completion_queues: 1 << 9,
        shared_receive_queues: 3,
        memory_regions: 1 << 12,
        outstanding: 16,
        doorbell_pages: 1 << 6,
        address_handles: 1 << 7,
        features: 0x25,
        rtl_hash: 0x0123_4567_89ab_cdef,
        kernels: (1..=3)
            .map(|slot| {
                Some(Kernel {
                    operation: 0x1100 * slot,
                    version: slot,
                    parameter_layout: 0x8765_4321 << slot,
                })
            })
            .collect(),
    }
}

/// Pulses by kernel, and what counts them.
pub(super) const PULSES: [(&str, Reg); 5] = [
    ("kernel_invoked", kernels::INVOKED),
    ("kernel_succeeded", kernels::SUCCEEDED),
    ("kernel_failed", kernels::FAILED),
    ("kernel_expired", kernels::STOPPED),
    ("kernel_aborted", kernels::STOPPED),
];

/// Cycles behind which pulses of kernels are counted.
pub(super) const COUNTING: u64 = 19;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) aw: SourceId,
    pub(super) w: SourceId,
    pub(super) b: SinkId,
    pub(super) ar: SourceId,
    pub(super) r: SinkId,
    pub(super) store: SinkId,
    pub(super) command: [SinkId; OWNERS],
    pub(super) reply: [SourceId; OWNERS],
    pub(super) bars: Bars,
    pub(super) rng: SplitMix64,
    /// What the card did since it was last asked.
    pub(super) effects: Vec<Effect>,
    /// The owner that has a command.
    pub(super) running: Option<usize>,
    is_ready: bool,
}

impl Default for Rig {
    /// A front after reset, of a card that is ready.
    fn default() -> Self {
        let mut bench = verilated("control", || Control::new(&facts()));
        let [aw, w, ar] = ["aw", "w", "ar"].map(|name| bench.source(name).expect("the stream exists"));
        let [b, r, store] = ["b", "r", "store"].map(|name| bench.sink(name).expect("the stream exists"));
        let command =
            std::array::from_fn(|owner| bench.sink(&format!("command${owner}")).expect("the stream exists"));
        let reply =
            std::array::from_fn(|owner| bench.source(&format!("reply${owner}")).expect("the stream exists"));
        let (bars, rng, effects) = (Bars::default(), SplitMix64::new(0), Vec::new());
        let mut rig = Self {
            bench,
            aw,
            w,
            b,
            ar,
            r,
            store,
            command,
            reply,
            bars,
            rng,
            effects,
            running: None,
            is_ready: true,
        };
        rig.reset(0);
        rig
    }
}

impl Rig {
    /// Puts the front through reset and chooses what is random from here on.
    pub(super) fn reset(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.bars = Bars::default();
        let facts = facts();
        for (reg, value) in [
            (&capabilities::DATA_BITS, facts.data_bits),
            (&capabilities::CLOCK_KHZ, facts.clock_khz),
            (&capabilities::QUEUE_PAIRS, facts.queue_pairs),
            (&capabilities::COMPLETION_QUEUES, facts.completion_queues),
            (&capabilities::SHARED_RECEIVE_QUEUES, facts.shared_receive_queues),
            (&capabilities::MEMORY_REGIONS, facts.memory_regions),
            (&capabilities::OUTSTANDING, facts.outstanding),
            (&capabilities::DOORBELL_PAGES, facts.doorbell_pages),
            (&capabilities::LIMITS, 0x100c_1008),
            (&capabilities::FEATURES, facts.features),
            (&capabilities::ADDRESS_HANDLES, facts.address_handles),
        ] {
            self.bars.set(&capabilities::BLOCK, reg, 0, value.into());
        }
        self.bars.set(&identity::BLOCK, &identity::RTL_HASH, 0, facts.rtl_hash);
        self.bars.set(&catalogue::BLOCK, &catalogue::SLOTS, 0, 3);
        let entries = [0x0eca_8642_0001_1100, 0x1d95_0c84_0002_2200, 0x3b2a_1908_0003_3300];
        for (slot, entry) in entries.into_iter().enumerate() {
            self.bars.set(&catalogue::BLOCK, &catalogue::KERNEL, slot, entry);
        }
        for (port, block, reg, index) in Self::shown() {
            self.show(&port, block, reg, index, 0);
        }
        self.status(true, false);
        self.drive("overflows", 0);
        self.drive("clear", 0);
        for (port, _) in PULSES {
            self.drive(port, 0);
        }
        self.bench.reset(1);
        self.running = None;
        self.effects.clear();
        for sink in [self.b, self.r, self.store].into_iter().chain(self.command) {
            self.bench[sink].take();
        }
    }

    /// Ports whose value a register shows; `time` is a word of Verilog and has another name there.
    pub(super) fn shown() -> Vec<(String, &'static Block, &'static Reg, usize)> {
        let mut ports: Vec<(String, &Block, &Reg, usize)> = vec![
            ("time_".into(), &identity::BLOCK, &identity::TIME, 0),
            ("producer".into(), &events::BLOCK, &events::PRODUCER, 0),
        ];
        for class in 0..CLASSES {
            ports.push((format!("class_counts${class}"), &rx_classes::BLOCK, &rx_classes::FRAMES, class));
        }
        for count in 0..COUNTS {
            ports.push((format!("counts${count}"), &counters::BLOCK, &counters::BLOCK.regs[HEAD + count], 0));
        }
        ports
    }

    /// Changes what the card shows in a register.
    pub(super) fn show(&mut self, port: &str, block: &Block, reg: &Reg, index: usize, value: u64) {
        let id = self.bench.model().port(port).expect("the port exists");
        let value = value & u64::MAX >> (64 - self.bench.model().width(id));
        self.bench.model_mut().set(id, value);
        self.bars.set(block, reg, index, value);
    }

    /// Changes the card's status.
    pub(super) fn status(&mut self, is_ready: bool, has_link: bool) {
        self.is_ready = is_ready;
        self.drive("ready", is_ready.into());
        self.drive("link", has_link.into());
        let status = u64::from(is_ready) | u64::from(has_link) << 1;
        self.bars.set(&identity::BLOCK, &identity::STATUS, 0, status);
    }

    pub(super) fn drive(&mut self, port: &str, value: u64) {
        let id = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set(id, value);
    }

    pub(super) fn port<T: Packed>(&self, name: &str) -> T {
        read(&self.bench, name)
    }

    /// An event is lost in one cycle.
    pub(super) fn lose(&mut self) {
        self.drive("overflows", 1);
        self.step();
        self.drive("overflows", 0);
        self.bars.set(&events::BLOCK, &events::OVERFLOW, 0, 1);
    }

    /// Something happens in kernels, a bit for each, in the order of [`PULSES`]: in one cycle.
    pub(super) fn happens(&mut self, bits: [u64; PULSES.len()]) {
        for ((port, counter), bits) in PULSES.iter().zip(bits) {
            self.drive(port, bits);
            for slot in (0..16).filter(|slot| bits >> slot & 1 == 1) {
                self.bars.count(counter, slot);
            }
        }
        self.step();
        for (port, _) in PULSES {
            self.drive(port, 0);
        }
    }

    /// One cycle; notes what the card did.
    pub(super) fn step(&mut self) {
        self.bench.step();
        for page in collect::<PageStore>(&mut self.bench, self.store) {
            self.effects.push(Effect::Page(page));
        }
        for owner in 0..OWNERS {
            for command in collect::<ObjectCommand>(&mut self.bench, self.command[owner]) {
                self.effects.push(Effect::Command(owner, Box::new(command)));
            }
        }
        for (port, effect) in [("restart", Effect::Restart), ("consumer_stored", Effect::Consumer)] {
            if self.port(port) {
                self.effects.push(effect);
            }
        }
        // A card that restarts at once.
        self.drive("clear", self.port::<bool>("restart").into());
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Pauses of `aw`, `w`, `ar`, `b`, `r`, `store`, and of all commands and replies.
    pub(super) fn pause(&mut self, [aw, w, ar, b, r, store, command, reply]: [Pause; 8]) {
        self.bench[self.aw].pause(aw);
        self.bench[self.w].pause(w);
        self.bench[self.ar].pause(ar);
        self.bench[self.b].pause(b);
        self.bench[self.r].pause(r);
        self.bench[self.store].pause(store);
        for owner in 0..OWNERS {
            self.bench[self.command[owner]].pause(command.clone());
            self.bench[self.reply[owner]].pause(reply.clone());
        }
    }
}
