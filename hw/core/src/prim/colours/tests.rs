use std::collections::VecDeque;

use stroma_verilate::{Bench, SplitMix64};

use super::Colours;
use crate::testing::{read, verilated};
use crate::verilog::Style;
use crate::verilog::differential::{differential, run};

const W: usize = 2;
const MOST: usize = (1 << W) - 1;

/// What happens in a cycle: one enters; which of those inside leaves, counted from the oldest; `drain`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Events {
    enters: bool,
    leaves: Option<usize>,
    drain: bool,
}

/// The twin keeps everybody by name, and knows nothing of counts: those to wait for are a list.
#[derive(Clone, Default)]
struct Twin {
    colour: bool,
    inside: VecDeque<(u32, bool)>,
    born: u32,
    awaited: Option<Vec<u32>>,
}

impl Twin {
    /// `colour`, `drained`, `busy` as they show before the clock edge.
    fn shown(&self) -> [bool; 3] {
        [self.colour, self.awaited.as_ref().is_some_and(Vec::is_empty), !self.inside.is_empty()]
    }

    /// May this happen? Nobody leaves who is not inside, and no more of a colour come than are counted.
    fn allows(&self, events: Events) -> bool {
        let alike = self.inside.iter().filter(|(_, colour)| *colour == self.colour).count();
        let room = !events.enters || alike < MOST;
        // Who enters is behind those inside, and may leave at once.
        room && events.leaves.is_none_or(|at| at < self.inside.len() + usize::from(events.enters))
    }

    /// One clock edge; the colour of who left.
    fn step(&mut self, events: Events) -> bool {
        let is_free = self.awaited.as_ref().is_none_or(Vec::is_empty);
        if is_free {
            self.awaited = None;
        }
        if events.enters {
            self.inside.push_back((self.born, self.colour));
            self.born += 1;
        }
        if events.drain && is_free {
            self.awaited = Some(self.inside.iter().map(|(name, _)| *name).collect());
            self.colour = !self.colour;
        }
        let left = events.leaves.and_then(|at| self.inside.remove(at));
        if let (Some((name, _)), Some(awaited)) = (left, &mut self.awaited) {
            awaited.retain(|other| *other != name);
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
            ("enters", events.enters),
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
        self.compare(events);
    }

    fn compare(&self, events: Events) {
        let shown = ["colour", "drained", "busy"].map(|port| read::<bool>(&self.bench, port));
        assert_eq!(shown, self.twin.shown(), "{events:?}");
    }
}

/// All that can happen in a cycle while at most two are inside.
fn every_event() -> Vec<Events> {
    let mut all = Vec::new();
    for enters in [false, true] {
        for leaves in [None, Some(0), Some(1)] {
            for drain in [false, true] {
                all.push(Events { enters, leaves, drain });
            }
        }
    }
    all
}

/// Runs every sequence of `depth` cycles that begins with `path`.
fn explore(rig: &mut Rig, path: &mut Vec<Events>, depth: usize) -> u64 {
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
    for events in every_event() {
        if twin.allows(events) {
            path.push(events);
            count += explore(rig, path, depth);
            path.pop();
        }
    }
    count
}

#[test]
fn every_sequence_of_five_cycles_agrees_with_the_twin() {
    let count = explore(&mut Rig::new(), &mut Vec::new(), 5);
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
        let events = Events {
            enters: rng.below(100) < flood,
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

const NOTHING: Events = Events { enters: false, leaves: None, drain: false };
const ENTERS: Events = Events { enters: true, ..NOTHING };
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
    rig.step(Events { enters: true, ..DRAIN });
    rig.step(ENTERS);
    rig.step(LEAVES);
    assert!(!rig.drained(), "who entered with the drain is awaited");
    rig.step(LEAVES);
    assert!(rig.drained(), "who entered behind it is not");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.reset();
    rig.step(ENTERS);
    rig.step(Events { enters: true, ..DRAIN });
    rig.step(ENTERS);
    rig.reset();
    rig.step(NOTHING);
    rig.step(DRAIN);
    assert!(rig.drained());
}

#[test]
fn rust_and_verilog_agree() {
    let case =
        differential!("colours", Colours::<3>::default, clock, [reset, enters, leaves, leaves_colour, drain]);
    run(case, Style::SOUND, 500).verdict().unwrap_or_else(|found| panic!("{found}"));
}
