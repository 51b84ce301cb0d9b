use std::collections::VecDeque;

use stroma_verilate::{Model, Pause, PortId};

use crate::pack::Packed;
use crate::stream::Beat;
use crate::testing::{noises, stalls, zoo_model};

/// One side of the FIFO: its clock, when it next rises, and its stream.
struct Side {
    clock: PortId,
    reset: PortId,
    valid: PortId,
    ready: PortId,
    payload: PortId,
    period: u64,
    rises: u64,
    cycle: u64,
    pause: Pause,
}

impl Side {
    fn new(model: &Model, name: &str, period: u64, phase: u64) -> Self {
        let port = |role: &str| model.port(&format!("{name}{role}")).expect("a port of the FIFO");
        let (clock, reset) = (port("_clock"), port("_reset"));
        let (valid, ready, payload) = (port("$valid"), port("$ready"), port("$payload"));
        Self {
            clock,
            reset,
            valid,
            ready,
            payload,
            period,
            rises: period + phase,
            cycle: 0,
            pause: Pause::None,
        }
    }

    fn moves(&self, model: &Model) -> bool {
        model.get(self.valid) & model.get(self.ready) == 1
    }
}

struct Crossing {
    model: Model,
    sink: Side,
    source: Side,
    waiting: VecDeque<Vec<u32>>,
    received: Vec<Vec<u32>>,
    /// An offer the source made and nobody took yet.
    held: Option<Vec<u32>>,
}

impl Crossing {
    fn new<const D: usize>(sink_period: u64, source_period: u64, phase: u64) -> Self {
        let model = zoo_model::<D>("async_fifo");
        let sink = Side::new(&model, "sink", sink_period, 0);
        let source = Side::new(&model, "source", source_period, phase);
        Self { model, sink, source, waiting: VecDeque::new(), received: Vec::new(), held: None }
    }

    /// Holds both resets for six cycles of the slower clock; nothing moves meanwhile.
    fn reset(&mut self) {
        let until = self.sink.rises.max(self.source.rises) + 6 * self.sink.period.max(self.source.period);
        for side in [&self.sink, &self.source] {
            self.model.set(side.reset, 1);
        }
        self.model.set(self.sink.valid, 0);
        self.model.set(self.source.ready, 0);
        while self.sink.rises.min(self.source.rises) < until {
            self.edge();
        }
        for side in [&self.sink, &self.source] {
            self.model.set(side.reset, 0);
        }
        self.held = None;
    }

    /// The next rising edge, of one clock or of both; which of them rose.
    fn edge(&mut self) -> (bool, bool) {
        let now = self.sink.rises.min(self.source.rises);
        let rose = (self.sink.rises == now, self.source.rises == now);
        for level in [1, 0] {
            for (side, rises) in [(&self.sink, rose.0), (&self.source, rose.1)] {
                if rises {
                    self.model.set(side.clock, level);
                }
            }
            self.model.eval();
            self.model.advance(1);
        }
        for (side, rises) in [(&mut self.sink, rose.0), (&mut self.source, rose.1)] {
            side.rises += if rises { side.period } else { 0 };
            side.cycle += u64::from(rises);
        }
        rose
    }

    /// One edge with traffic: notes what moves before it, checks the law, drives what comes after it.
    fn step(&mut self) {
        self.model.eval();
        let (enters, leaves) = (self.sink.moves(&self.model), self.source.moves(&self.model));
        let offer =
            (self.model.get(self.source.valid) == 1).then(|| self.model.get_wide(self.source.payload));
        assert!(self.held.is_none() || self.held == offer, "an offered beat was changed or withdrawn");
        let (sink_rose, source_rose) = self.edge();
        if source_rose {
            let taken = if leaves { offer.clone() } else { None };
            self.held = if leaves { None } else { offer };
            self.received.extend(taken);
            self.model.set(self.source.ready, u64::from(!self.source.pause.at(self.source.cycle)));
        } else {
            self.held = offer;
        }
        if sink_rose {
            if enters {
                self.waiting.pop_front();
            }
            let is_offering = self.model.get(self.sink.valid) == 1 && !enters;
            let offers = is_offering || !self.sink.pause.at(self.sink.cycle);
            let nothing = vec![0; self.model.word_count(self.sink.payload)];
            let beat = self.waiting.front().filter(|_| offers).unwrap_or(&nothing);
            self.model.set_wide(self.sink.payload, beat);
            self.model.set(self.sink.valid, u64::from(offers && !self.waiting.is_empty()));
        }
    }

    fn carries<const D: usize>(&mut self, beats: &[Beat<D>]) {
        self.received.clear();
        self.waiting = beats.iter().map(Packed::to_words).collect();
        let limit = self.sink.cycle + 10_000;
        while self.received.len() < beats.len() {
            self.step();
            assert!(self.sink.cycle < limit, "{} of {} beats arrived", self.received.len(), beats.len());
        }
        let received: Vec<Beat<D>> = self.received.iter().map(|words| Beat::from_words(words)).collect();
        assert_eq!(received, beats);
    }
}

/// Periods and phase in picoseconds or any other unit: 3:7 both ways, equal with two phases, and MAC against core.
const CLOCKS: [(u64, u64, u64); 6] =
    [(3, 7, 1), (7, 3, 1), (10, 10, 0), (10, 10, 3), (3103, 4000, 17), (4000, 3103, 17)];

fn survive<const D: usize>() {
    for (sink, source, phase) in CLOCKS {
        let mut crossing = Crossing::new::<D>(sink, source, phase);
        for (idle, pressure) in stalls() {
            crossing.reset();
            crossing.sink.pause = idle;
            crossing.source.pause = pressure;
            crossing.carries(&noises::<Beat<D>>(sink, 60));
        }
    }
}

#[test]
fn survives_stalls_at_every_clock_ratio() {
    survive::<64>();
    survive::<512>();
}

#[test]
fn the_slower_clock_moves_a_beat_in_every_cycle() {
    for (sink, source, phase) in CLOCKS {
        let mut crossing = Crossing::new::<64>(sink, source, phase);
        crossing.reset();
        let slower = |crossing: &Crossing| crossing.sink.cycle.min(crossing.source.cycle);
        let start = slower(&crossing);
        crossing.carries(&noises::<Beat<64>>(1, 500));
        let cycles = slower(&crossing) - start;
        assert!(cycles <= 500 + 10, "{sink}:{source}: 500 beats took {cycles} cycles of the slower clock");
    }
}

#[test]
fn recovers_from_reset() {
    for (sink, source, phase) in CLOCKS {
        let mut crossing = Crossing::new::<64>(sink, source, phase);
        crossing.reset();
        crossing.source.pause = Pause::Script(vec![true]);
        crossing.waiting = noises::<Beat<64>>(2, 40).iter().map(Packed::to_words).collect();
        (0..200).for_each(|_| crossing.step());
        assert_eq!(crossing.waiting.len(), 40 - 16, "15 beats in the memory and one in the output register");
        crossing.source.pause = Pause::None;
        crossing.reset();
        crossing.carries(&noises::<Beat<64>>(3, 40));
    }
}
