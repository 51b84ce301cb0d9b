//! A module on the bench: clock, reset, sources and sinks, one cycle at a time.

use crate::rng::SplitMix64;
use crate::stream::{Sink, Source, StreamPorts};
use crate::{Error, Model, PortId, effort};
use std::ops::{Index, IndexMut};

/// A source of one bench: `bench[id]` is the [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceId(usize);

/// A sink of one bench: `bench[id]` is the [`Sink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkId(usize);

/// A clock beside that of the bench, and the port by which the module says that its next edge would change nothing.
#[derive(Debug, Clone, Copy)]
struct Gated {
    clock: PortId,
    rests: PortId,
}

/// A model with one clock and drivers on its streams.
///
/// A second clock `NAME` that has an output `NAME_rests` rises with the first, unless the module says so that it need not: what
/// hangs on it is not evaluated then.
///
/// A cycle is: drive, settle with the clock low, check the stream law, note which beats move, rise.
/// After [`Bench::step`] the clock is high and outputs show the new state under the old inputs.
pub struct Bench {
    model: Model,
    clock: PortId,
    gated: Vec<Gated>,
    gates: bool,
    held: u64,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    cycle: u64,
    probes_all: bool,
}

impl Bench {
    /// Puts a model on the bench, driven by the first clock of its manifest.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when it has no clock.
    pub fn new(model: Model) -> Result<Self, Error> {
        let clock = model.clocks().next().map_or_else(|| model.port("clock"), Ok)?;
        let gated = model.clocks().filter_map(|clock| {
            let rests = model.port(&format!("{}_rests", model.name(clock))).ok()?;
            Some(Gated { clock, rests })
        });
        let gated = gated.collect();
        Ok(Self {
            model,
            clock,
            gated,
            gates: true,
            held: 0,
            sources: Vec::new(),
            sinks: Vec::new(),
            cycle: 0,
            probes_all: effort::is_full(),
        })
    }

    /// Feeds the stream `name`, which the module takes.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when the stream has no such ports.
    pub fn source(&mut self, name: &str) -> Result<SourceId, Error> {
        Ok(self.source_on(StreamPorts::named(&self.model, name)?))
    }

    /// As [`Bench::source`], for ports with names of their own.
    pub fn source_on(&mut self, ports: StreamPorts) -> SourceId {
        self.sources.push(Source::new(&self.model, ports));
        SourceId(self.sources.len() - 1)
    }

    /// Drains the stream `name`, which the module gives.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when the stream has no such ports.
    pub fn sink(&mut self, name: &str) -> Result<SinkId, Error> {
        Ok(self.sink_on(StreamPorts::named(&self.model, name)?))
    }

    /// As [`Bench::sink`], for ports with names of their own.
    pub fn sink_on(&mut self, ports: StreamPorts) -> SinkId {
        self.sinks.push(Sink::new(&self.model, ports));
        SinkId(self.sinks.len() - 1)
    }

    /// Holds `reset` high for some cycles. Streams rest meanwhile, and the law starts afresh; queued
    /// beats stay queued.
    ///
    /// # Panics
    /// When the module has no port `reset`.
    pub fn reset(&mut self, cycles: u64) {
        let reset = self.model.port("reset").unwrap_or_else(|error| panic!("{error}"));
        self.model.set(reset, 1);
        self.rest(cycles);
        self.model.set(reset, 0);
    }

    /// Some cycles in which streams rest, and nobody watches them.
    pub fn rest(&mut self, cycles: u64) {
        for _ in 0..cycles {
            for source in &mut self.sources {
                source.rest(&mut self.model);
            }
            for sink in &mut self.sinks {
                sink.rest(&mut self.model);
            }
            self.settle();
            self.rise();
        }
    }

    /// One cycle.
    ///
    /// # Panics
    /// When a stream breaks the law, or the model stops by itself.
    pub fn step(&mut self) {
        for source in &mut self.sources {
            source.drive(&mut self.model, self.cycle);
        }
        for sink in &mut self.sinks {
            sink.drive(&mut self.model, self.cycle);
        }
        self.settle();
        self.probe();
        for source in &mut self.sources {
            source.observe(&self.model);
        }
        for sink in &mut self.sinks {
            sink.observe(&self.model, self.cycle);
        }
        self.rise();
    }

    /// Tells every source whether to be [`steady`](Source::steady).
    pub fn steady(&mut self, steady: bool) {
        for source in &mut self.sources {
            source.steady(steady);
        }
    }

    /// Do clocks rest that may? They do, unless this says otherwise.
    pub fn gates(&mut self, gates: bool) {
        self.gates = gates;
    }

    /// Edges that clocks have left out so far.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Some cycles.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Lets time pass in which the module does nothing: cycles are counted, and not evaluated.
    pub fn skip(&mut self, cycles: u64) {
        self.model.advance(2 * cycles);
        self.cycle += cycles;
    }

    /// Steps until `done`; how many cycles that took.
    ///
    /// # Errors
    /// [`Error::Stuck`] after `limit` cycles, with the state of every stream.
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool, limit: u64) -> Result<u64, Error> {
        for taken in 0..limit {
            if done(self) {
                return Ok(taken);
            }
            self.step();
        }
        if done(self) {
            return Ok(limit);
        }
        Err(self.stuck(limit))
    }

    /// What to say when nothing has come of `limit` cycles: the state of every stream.
    #[must_use]
    pub fn stuck(&self, limit: u64) -> Error {
        let sources = self.sources.iter().map(|source| source.state(&self.model));
        let streams = sources.chain(self.sinks.iter().map(|sink| sink.state(&self.model))).collect();
        Error::Stuck { cycle: self.cycle, limit, streams }
    }

    /// Takes back every beat queued and not yet taken by the module, for a reset of all around it.
    pub fn clear(&mut self) {
        for source in &mut self.sources {
            source.clear();
        }
    }

    /// Has every source been emptied?
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sources.iter().all(Source::is_empty)
    }

    /// Cycles since the bench was made, reset included.
    #[must_use]
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// The model, to read ports that are not streams.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, to write ports that are not streams.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    fn settle(&mut self) {
        self.model.set(self.clock, 0);
        for gated in &self.gated {
            self.model.set(gated.clock, 0);
        }
        self.model.eval();
    }

    /// A probe costs two evaluations. In a cycle one sink has its turn, by chance; with full effort each sink has.
    fn probe(&mut self) {
        let checked: Vec<_> = self.sinks.iter_mut().filter(|sink| sink.checks_independence()).collect();
        if checked.is_empty() {
            return;
        }
        let turn = SplitMix64::at(0, self.cycle) % checked.len() as u64;
        for (at, sink) in (0..).zip(checked) {
            if self.probes_all || at == turn {
                sink.probe(&mut self.model, self.cycle);
                self.model.eval();
            }
        }
    }

    fn rise(&mut self) {
        self.model.advance(1);
        self.model.set(self.clock, 1);
        for gated in &self.gated {
            let rests = self.gates && self.model.get(gated.rests) == 1;
            self.held += u64::from(rests);
            self.model.set(gated.clock, u64::from(!rests));
        }
        self.model.eval();
        self.model.advance(1);
        self.cycle += 1;
    }
}

impl Index<SourceId> for Bench {
    type Output = Source;
    #[inline]
    fn index(&self, id: SourceId) -> &Source {
        &self.sources[id.0]
    }
}

impl IndexMut<SourceId> for Bench {
    #[inline]
    fn index_mut(&mut self, id: SourceId) -> &mut Source {
        &mut self.sources[id.0]
    }
}

impl Index<SinkId> for Bench {
    type Output = Sink;
    #[inline]
    fn index(&self, id: SinkId) -> &Sink {
        &self.sinks[id.0]
    }
}

impl IndexMut<SinkId> for Bench {
    #[inline]
    fn index_mut(&mut self, id: SinkId) -> &mut Sink {
        &mut self.sinks[id.0]
    }
}
