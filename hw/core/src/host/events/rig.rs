//! The event queue on a bench, with a host writer that has other things to write as well.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::model::{Alarm, Ring, Sight};
use super::{Events, Moderation};
use crate::host::work::{EntryWrite, EventRecord};
use crate::pack::Packed;
use crate::testing::{collect, noise, push, read, verilated};

pub(super) const SOURCES: usize = 2;
/// Of the card under test.
pub(super) const CLOCK_KHZ: u64 = 4000;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) sinks: [SourceId; SOURCES],
    pub(super) entry: SinkId,
    pub(super) irq: SinkId,
    pub(super) rng: SplitMix64,
    pub(super) ring: Ring,
    vector: u64,
    pub(super) alarm: Alarm,
    moderation: Moderation,
    /// Events not yet seen in an entry.
    queued: [VecDeque<EventRecord>; SOURCES],
    /// Events passed over: they were lost.
    missing: u64,
    /// The queue is in use; entries of it that were taken, and those that are known to be in host memory.
    running: bool,
    pub(super) written: u32,
    visible: u32,
    /// Tickets given and done, by number; only their low 16 bits are seen.
    issued: u64,
    done: u64,
    /// Of entries on their way.
    tickets: VecDeque<u64>,
    /// Chance in 100 that a cycle brings a command of somebody else, and that some tickets are done (all of them at 100).
    pub(super) others: u64,
    pub(super) answers: u64,
    consumer: u32,
    stores: bool,
    pub(super) now: u64,
    pub(super) lost: u64,
    /// Cycles in which the vector was first offered, and how often it was taken.
    pub(super) fired: Vec<u64>,
    pub(super) interrupts: usize,
    pub(super) enabled: bool,
}

impl Rig {
    /// A queue that is enabled and empty.
    pub(super) fn new(clock_khz: u64) -> Self {
        let mut bench = verilated(&format!("events_{clock_khz}"), move || Events::<SOURCES>::new(clock_khz));
        let sinks = std::array::from_fn(|place| {
            bench.source(&format!("sinks${place}")).unwrap_or_else(|error| panic!("{error}"))
        });
        let [entry, irq] = ["entry", "irq"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            sinks,
            entry,
            irq,
            rng: SplitMix64::new(clock_khz),
            ring: Ring { base: 0x12_3456_7000, log: 4 },
            vector: 19,
            alarm: Alarm::new(clock_khz),
            moderation: Moderation::default(),
            queued: Default::default(),
            missing: 0,
            running: false,
            written: 0,
            visible: 0,
            issued: 0xfff0,
            done: 0xfff0,
            tickets: VecDeque::new(),
            others: 0,
            answers: 100,
            consumer: 0,
            stores: false,
            now: 1000,
            lost: 0,
            fired: Vec::new(),
            interrupts: 0,
            enabled: true,
        };
        rig.reset();
        rig
    }

    /// Puts the block through reset. No event may be left in a source.
    pub(super) fn reset(&mut self) {
        assert!(self.bench.is_sent(), "an event of the run before is left");
        self.queued.iter_mut().for_each(VecDeque::clear);
        self.stores = false;
        self.drive();
        self.bench.reset(2);
        for sink in [self.entry, self.irq] {
            self.bench[sink].take();
        }
        self.alarm = Alarm::new(self.alarm.clock_khz);
        self.tickets.clear();
        (self.running, self.written, self.visible) = (false, 0, 0);
        (self.lost, self.missing) = (0, 0);
        self.fired.clear();
        self.interrupts = 0;
        self.run(4);
    }

    pub(super) fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn moderate(&mut self, period_us: u64, count: u64, mask: bool) {
        self.moderation = Moderation { period_us: period_us.into(), count: count.into(), mask };
        self.run(5);
    }

    /// Some event, on this stream.
    pub(super) fn send(&mut self, place: usize) {
        let event = noise(&mut self.rng);
        push(&mut self.bench, self.sinks[place], &[event]);
        self.queued[place].push_back(event);
    }

    /// Stores the consumer in the next cycle.
    pub(super) fn store(&mut self, consumer: u32) {
        (self.consumer, self.stores) = (consumer, true);
    }

    fn drive(&mut self) {
        let (enabled, stores, moderation) = (self.enabled, self.stores, self.moderation);
        self.set("base", &Bits::<52>::from(self.ring.base >> 12));
        self.set("log", &Bits::<5>::from(u64::from(self.ring.log)));
        self.set("vector", &Bits::<5>::from(self.vector));
        self.set("enable", &enabled);
        self.set("consumer", &Bits::<32>::from(u64::from(self.consumer)));
        self.set("consumer_stored", &stores);
        self.set("moderation", &moderation);
        self.set("ticket", &Bits::<16>::from((self.issued + 1) & 0xffff));
        self.set("done", &Bits::<16>::from(self.done & 0xffff));
        self.set("time_", &Bits::<64>::from(self.now));
    }

    /// One cycle, in which everything is held against the model.
    pub(super) fn step(&mut self) {
        if self.answers == 100 {
            self.done = self.issued;
        } else if self.rng.below(100) < self.answers {
            self.done += self.rng.below(self.issued - self.done + 1);
        }
        self.drive();
        let mut sight = Sight {
            running: self.running,
            visible: self.visible,
            consumer: self.consumer,
            stored: self.stores,
            moderation: self.moderation,
            now: self.now,
            irq_taken: false,
        };
        let is_entry_held = read::<bool>(&self.bench, "entry$valid");
        let cycle = self.bench.cycle();
        self.bench.step();
        let vectors = collect::<Bits<5>>(&mut self.bench, self.irq);
        assert!(vectors.iter().all(|vector| u64::from(*vector) == self.vector), "the vector");
        self.interrupts += vectors.len();
        sight.irq_taken = !vectors.is_empty();
        if self.alarm.step(&sight) {
            self.fired.push(cycle + 1);
        }
        assert_eq!(read::<bool>(&self.bench, "irq$valid"), self.alarm.irq, "irq behind cycle {cycle}");
        self.stores = false;
        self.now += 1;

        let is_quiet = !is_entry_held && self.tickets.is_empty();
        if self.tickets.front().is_some_and(|ticket| *ticket <= self.done) {
            self.tickets.pop_front();
            self.visible += 1;
        }
        if !self.running {
            self.visible = 0;
        }
        for entry in collect::<EntryWrite>(&mut self.bench, self.entry) {
            self.issued += 1;
            self.tickets.push_back(self.issued);
            self.receive(&entry);
        }
        if !self.running && self.enabled && is_quiet {
            self.written = 0;
        }
        self.running = self.enabled && (self.running || is_quiet);
        if self.rng.below(100) < self.others {
            self.issued += 1 + self.rng.below(3);
        }
        self.lost += u64::from(read::<bool>(&self.bench, "overflows"));
        assert_eq!(u64::from(read::<Bits<5>>(&self.bench, "vector_index")), self.vector);
        assert_eq!(self.producer(), self.visible, "producer behind cycle {cycle}");
        let wake = self.alarm.wake(self.running, self.visible);
        assert_eq!(u64::from(read::<Bits<64>>(&self.bench, "wake")), wake, "wake behind cycle {cycle}");
    }

    /// An entry is of the next event of a stream; those before it were lost.
    fn receive(&mut self, entry: &EntryWrite) {
        let (ring, written) = (self.ring, self.written);
        let of = |event: &EventRecord| ring.entry(written, event) == *entry;
        let mut places = self.queued.iter_mut().map(|queue| (queue.iter().position(of), queue));
        let found = places.find_map(|(place, queue)| Some((place?, queue)));
        let (place, queue) = found.unwrap_or_else(|| panic!("no event gives entry {written}: {entry:?}"));
        queue.drain(..=place);
        self.missing += place as u64;
        self.written += 1;
    }

    pub(super) fn producer(&self) -> u32 {
        u32::try_from(u64::from(read::<Bits<32>>(&self.bench, "producer"))).expect("32 bits")
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing is left inside or on its way, but for waits of moderation.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck");
            self.step();
        }
        let left: usize = self.queued.iter_mut().map(|queue| queue.drain(..).len()).sum();
        self.missing += left as u64;
        if self.running {
            assert_eq!(self.producer(), self.written, "every entry arrives");
        }
    }

    /// Events that found no entry.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }
}
