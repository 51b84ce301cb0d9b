//! Two cards with many connections, on which one load after the other is run.

use stroma_sim::host::attach::Event;
use stroma_sim::host::timing::Timing;
use stroma_sim::link::LinkConfig;
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{MemoryRegion, QueuePair, Status};

use super::load::{Load, Verb, rights};
use super::window::{Arrival, Window};

/// Entries of the completion queues: none overflows, whoever polls or not.
const ENTRIES: usize = 8192;

/// Cards, memory and connections.
pub(crate) struct Field {
    pub(crate) profile: Profile,
    /// Bytes of each queue pair in the memories.
    pub(crate) slot: usize,
    /// Of both ends.
    pub(crate) memories: [MemoryRegion; 2],
    connections: Vec<[QueuePair; 2]>,
    pair: Pair,
    /// Where the memories are as the cards' hosts see them.
    bases: [u64; 2],
}

/// What a load left behind.
pub(crate) struct Measured {
    pub(crate) window: Window,
    /// Reads in flight in each host, at least.
    pub(crate) host_reads: [f64; 2],
}

impl Field {
    /// Makes connections; the send queue of the one of an index has as many units as `units` says.
    pub(crate) fn new(profile: Profile, count: usize, slot: usize, units: impl Fn(usize) -> usize) -> Self {
        let pair = Pair::with(profile, LinkConfig::cable(profile), ENTRIES);
        let memories = pair.ends.each_ref().map(|end| {
            let memory = end.domain.allocate(count * slot, rights()).expect("memory");
            memory.write(0, &pattern(1, count * slot)).expect("inside the memory");
            memory
        });
        // Traffic is what is measured: set-up need not take the time of a real bus.
        let quick =
            Timing { name: "quick", store_ns: 10, store_cost_ns: 1, load_ns: 40, ..Timing::ALVEO_GEN3X16 };
        set_timing(&pair, quick);
        let connections = (0..count).map(|index| pair.connect_with(units(index), |_, _| {})).collect();
        set_timing(&pair, Timing::ALVEO_GEN3X16);
        let mut field = Self { profile, slot, memories, connections, pair, bases: [0; 2] };
        field.bases = [Verb::Read, Verb::Write].map(|verb| field.find_base(verb));
        field
    }

    /// Where a card's host has its memory: there the first message of a first request goes.
    fn find_base(&self, verb: Verb) -> u64 {
        self.start_traces();
        self.transfer(&Load { verb, size: 64, queue_pairs: 1, count: 1 });
        let trace = self.pair.shared.world().card(verb.target()).take_trace();
        let writes = trace.iter().find_map(|(_, event)| match event {
            Event::Write { address, .. } => Some(*address),
            _ => None,
        });
        writes.expect("the card writes the payload")
    }

    fn start_traces(&self) {
        for card in 0..2 {
            self.pair.shared.world().card(card).start_trace();
        }
    }

    /// Posts a load and waits for its end.
    fn transfer(&self, load: &Load) {
        for (number, [sender, _]) in self.connections[..load.queue_pairs].iter().enumerate() {
            let batch =
                (0..load.count).fold(sender.start(), |batch, index| load.put(batch, self, number, index));
            batch.post().expect("room in the queue");
        }
        let mut left = load.queue_pairs;
        while left > 0 {
            let found = self.pair.ends[0].complete();
            assert_eq!(found.status, Status::Success, "request {} of {load:?}", found.wr_id);
            left -= usize::from(found.wr_id + 1 == load.count as u64);
        }
    }

    /// Runs a load, and sees that every byte is where it belongs.
    pub(crate) fn run(&self, load: &Load) -> Measured {
        let target = &self.memories[load.verb.target()];
        let used = load.queue_pairs * self.slot;
        target.write(0, &vec![0; used]).expect("inside the memory");
        self.start_traces();
        self.transfer(load);
        let mut world = self.pair.shared.world();
        let traces = [0, 1].map(|card| world.card(card).take_trace());
        drop(world);
        self.check(load);
        target.write(0, &pattern(1, used)).expect("inside the memory");

        let window = Window::new(&self.arrivals(load, &traces[load.verb.target()]), load.queue_pairs);
        let cycles = Timing::cycles(Timing::ALVEO_GEN3X16.read_ns, self.profile.clock_khz());
        let host_reads = traces.each_ref().map(|trace| window.reads_in_flight(trace, cycles));
        Measured { window, host_reads }
    }

    fn check(&self, load: &Load) {
        let expected = pattern(1, load.queue_pairs * self.slot);
        let mut bytes = vec![0; load.size];
        for queue_pair in 0..load.queue_pairs {
            let at = load.place(self, queue_pair, load.count - 1);
            self.memories[load.verb.target()].read(at, &mut bytes).expect("inside the memory");
            assert!(bytes == expected[at..at + load.size], "{load:?}: queue pair {queue_pair}");
        }
    }

    /// Writes of payload, not of completions.
    fn arrivals(&self, load: &Load, trace: &[(u64, Event)]) -> Vec<Arrival> {
        let base = self.bases[load.verb.target()];
        let beat = self.profile.data_bits() as u64 / 8;
        let arrival = |(cycle, event): &(u64, Event)| {
            let Event::Write { address, beats } = event else { return None };
            let offset = usize::try_from(address.checked_sub(base)?).ok()?;
            let queue_pair = offset / self.slot;
            let bytes = (beats * beat).min(load.size as u64);
            (queue_pair < load.queue_pairs).then_some(Arrival { cycle: *cycle, bytes, queue_pair })
        };
        let arrivals: Vec<Arrival> = trace.iter().filter_map(arrival).collect();
        let total: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
        let wanted = (load.size * load.count * load.queue_pairs) as u64;
        assert_eq!(total, wanted, "{load:?}: every byte is written once");
        arrivals
    }
}

fn set_timing(pair: &Pair, timing: Timing) {
    for card in 0..2 {
        pair.shared.world().card(card).set_timing(timing);
    }
}
