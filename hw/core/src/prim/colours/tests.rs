use std::collections::VecDeque;

use stroma_verilate::{Bench, SplitMix64};

use super::Colours;
use crate::testing::{read, verilated};
use crate::verilog::differential::{assert_agree, differential};

const W: usize = 2;
const MOST: usize = (1 << W) - 1;
const ARRIVALS: [Arrival; 5] =
    [Arrival::Nobody, Arrival::AtOnce, Arrival::Takes, Arrival::Late, Arrival::Never];

/// How one comes in: in the cycle in which it takes its colour, or later, or never.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrival {
    Nobody,
    AtOnce,
    Takes,
    Late,
    Never,
}

/// What happens in a cycle: who arrives; which of those inside leaves, counted from the oldest; `drain`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Events {
    arrival: Arrival,
    leaves: Option<usize>,
    drain: bool,
}

/// The twin keeps everybody by name, and knows nothing of counts: those to wait for are a list.
#[derive(Clone, Default)]
struct Twin {
    colour: bool,
    inside: VecDeque<(u32, bool)>,
    /// Has taken its colour, and has not entered.
    outside: Option<(u32, bool)>,
    born: u32,
    awaited: Option<Vec<u32>>,
}

impl Twin {
    /// `colour`, `drained`, `busy` as they show before the clock edge.
    fn shown(&self) -> [bool; 3] {
        [self.colour, self.awaited.as_ref().is_some_and(Vec::is_empty), !self.inside.is_empty()]
    }

    /// One of the colour before this one has not entered.
    fn is_pending(&self) -> bool {
        self.outside.is_some_and(|(_, colour)| colour != self.colour)
    }

    /// The colour of who enters.
    fn entering(&self, arrival: Arrival) -> Option<bool> {
        match arrival {
            Arrival::AtOnce => Some(self.colour),
            Arrival::Late => self.outside.map(|(_, colour)| colour),
            Arrival::Nobody | Arrival::Takes | Arrival::Never => None,
        }
    }

    /// May this happen? Nobody leaves who is not inside, one waits outside, and no more of a colour come than are counted.
    fn allows(&self, events: Events) -> bool {
        let entering = self.entering(events.arrival);
        let is_room_outside = match events.arrival {
            Arrival::Takes => self.outside.is_none(),
            Arrival::Late | Arrival::Never => self.outside.is_some(),
            Arrival::Nobody | Arrival::AtOnce => true,
        };
        let alike = |of| self.inside.iter().filter(|(_, colour)| *colour == of).count();
        let is_room = entering.is_none_or(|colour| alike(colour) < MOST);
        // Who enters is behind those inside, and may leave at once.
        let count = self.inside.len() + usize::from(entering.is_some());
        is_room_outside && is_room && events.leaves.is_none_or(|at| at < count)
    }

    /// One clock edge; the colour of who left.
    fn step(&mut self, events: Events) -> bool {
        let is_free = self.awaited.as_ref().is_none_or(Vec::is_empty);
        if is_free {
            self.awaited = None;
        }
        let newcomer = (self.born, self.colour);
        self.born += 1;
        let mut gone = None;
        match events.arrival {
            Arrival::Nobody => {}
            Arrival::AtOnce => self.inside.push_back(newcomer),
            Arrival::Takes => self.outside = Some(newcomer),
            Arrival::Late => self.inside.extend(self.outside.take()),
            Arrival::Never => gone = self.outside.take(),
        }
        if events.drain && is_free {
            self.awaited = Some(self.inside.iter().chain(&self.outside).map(|(name, _)| *name).collect());
            self.colour = !self.colour;
        }
        let left = events.leaves.and_then(|at| self.inside.remove(at));
        for (name, _) in left.into_iter().chain(gone) {
            if let Some(awaited) = &mut self.awaited {
                awaited.retain(|other| *other != name);
            }
        }
        left.is_some_and(|(_, colour)| colour)
    }
}

struct Rig {
    bench: Bench,
    twin: Twin,
}

impl Rig {
    fn new() -> Self {
        Self { bench: verilated("colours", Colours::<W>::default), twin: Twin::default() }
    }

    fn set(&mut self, port: &str, value: bool) {
        let port = self.bench.model().port(port).expect("a port of the block");
        self.bench.model_mut().set(port, value.into());
    }

    fn tick(&mut self) {
        let clock = self.bench.model().port("clock").expect("a port of the block");
        self.bench.model_mut().tick(clock);
    }

    fn reset(&mut self) {
        self.set("reset", true);
        self.tick();
        self.set("reset", false);
        self.twin = Twin::default();
    }

    /// One cycle of both, held against each other before and after the edge.
    fn step(&mut self, events: Events) {
        let mut next = self.twin.clone();
        let leaves_colour = next.step(events);
        let inputs = [
            ("enters", self.twin.entering(events.arrival).is_some()),
            ("enters_colour", self.twin.entering(events.arrival).unwrap_or_default()),
            ("pending", self.twin.is_pending()),
            ("leaves", events.leaves.is_some()),
            ("leaves_colour", leaves_colour),
            ("drain", events.drain),
        ];
        for (port, value) in inputs {
            self.set(port, value);
        }
        self.bench.model_mut().eval();
        self.compare(events);
        self.tick();
        self.twin = next;
        self.set("pending", self.twin.is_pending());
        self.bench.model_mut().eval();
        self.compare(events);
    }

    fn compare(&self, events: Events) {
        let shown = ["colour", "drained", "busy"].map(|port| read::<bool>(&self.bench, port));
        assert_eq!(shown, self.twin.shown(), "{events:?}");
    }
}

/// All that can happen in a cycle while at most two are inside, and come in these ways.
fn every_event(arrivals: &[Arrival]) -> Vec<Events> {
    let mut all = Vec::new();
    for &arrival in arrivals {
        for leaves in [None, Some(0), Some(1)] {
            for drain in [false, true] {
                all.push(Events { arrival, leaves, drain });
            }
        }
    }
    all
}

/// Runs every sequence of `depth` of these events that begins with `path`.
fn explore(rig: &mut Rig, every: &[Events], path: &mut Vec<Events>, depth: usize) -> u64 {
    if path.len() == depth {
        rig.reset();
        for events in path.iter() {
            rig.step(*events);
        }
        return 1;
    }
    let mut twin = Twin::default();
    for events in path.iter() {
        twin.step(*events);
    }
    let mut count = 0;
    for &events in every {
        if twin.allows(events) {
            path.push(events);
            count += explore(rig, every, path, depth);
            path.pop();
        }
    }
    count
}

#[test]
fn every_sequence_of_five_cycles_agrees_with_the_twin() {
    let every = every_event(&[Arrival::Nobody, Arrival::AtOnce]);
    let count = explore(&mut Rig::new(), &every, &mut Vec::new(), 5);
    assert!(count > 10_000, "{count} sequences");
}

#[test]
fn every_sequence_of_four_cycles_agrees_with_the_twin_though_some_come_late_or_never() {
    let every = every_event(&ARRIVALS);
    let count = explore(&mut Rig::new(), &every, &mut Vec::new(), 4);
    assert!(count > 10_000, "{count} sequences");
}

#[test]
fn long_runs_agree_with_the_twin() {
    let (mut rig, mut rng) = (Rig::new(), SplitMix64::new(1));
    rig.reset();
    let mut answers = 0;
    for cycle in 0..20_000_u64 {
        // Full for a while, then empty for a while.
        let flood = 20 + 60 * (cycle / 50 % 2);
        let arrival = usize::try_from(1 + rng.below(4)).expect("small");
        let events = Events {
            arrival: if rng.below(100) < flood { ARRIVALS[arrival] } else { Arrival::Nobody },
            leaves: (rng.below(100) < 50).then(|| usize::try_from(rng.below(4)).expect("small")),
            drain: rng.below(8) == 0,
        };
        if rig.twin.allows(events) {
            rig.step(events);
            answers += u32::from(rig.twin.shown()[1]);
        }
    }
    assert!(answers > 500, "{answers} answers");
}

const NOTHING: Events = Events { arrival: Arrival::Nobody, leaves: None, drain: false };
const ENTERS: Events = Events { arrival: Arrival::AtOnce, ..NOTHING };
const LEAVES: Events = Events { leaves: Some(0), ..NOTHING };
const DRAIN: Events = Events { drain: true, ..NOTHING };

impl Rig {
    fn drained(&self) -> bool {
        read(&self.bench, "drained")
    }
}

#[test]
fn a_drain_of_nothing_is_answered_in_the_next_cycle_and_once() {
    let mut rig = Rig::new();
    rig.reset();
    rig.step(DRAIN);
    assert!(rig.drained());
    rig.step(NOTHING);
    assert!(!rig.drained());
}

#[test]
fn who_comes_later_does_not_hold_the_answer_up() {
    let mut rig = Rig::new();
    rig.reset();
    rig.step(ENTERS);
    rig.step(Events { arrival: Arrival::AtOnce, ..DRAIN });
    rig.step(ENTERS);
    rig.step(LEAVES);
    assert!(!rig.drained(), "who entered with the drain is awaited");
    rig.step(LEAVES);
    assert!(rig.drained(), "who entered behind it is not");
}

#[test]
fn who_took_its_colour_before_the_drain_is_awaited_before_it_enters() {
    let mut rig = Rig::new();
    rig.reset();
    rig.step(Events { arrival: Arrival::Takes, ..DRAIN });
    rig.step(NOTHING);
    assert!(!rig.drained(), "it is outside");
    rig.step(Events { arrival: Arrival::Late, ..NOTHING });
    assert!(!rig.drained(), "it is inside");
    rig.step(LEAVES);
    assert!(rig.drained());
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.reset();
    rig.step(ENTERS);
    rig.step(Events { arrival: Arrival::AtOnce, ..DRAIN });
    rig.step(ENTERS);
    rig.reset();
    rig.step(NOTHING);
    rig.step(DRAIN);
    assert!(rig.drained());
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "colours",
        Colours::<3>::default,
        clock,
        [reset, enters, enters_colour, pending, leaves, leaves_colour, drain]
    );
    assert_agree([case], 500);
}
