//! The card as a struct: its pins driven, its host around it.

mod network;

use std::path::Path;

use stroma_top::Profile;
use stroma_verilate::{Bench, Error, Model, Options, PortId};

use crate::host::attach::{Event, Pins};
use crate::host::bars::{Access, Bars};
use crate::host::iommu::Iommu;
use crate::host::port::Port;
use crate::host::timing::Timing;
use crate::mac::Mac;
use crate::models::Kind;

/// How long `reset` is held, and how long the card takes nothing behind it.
const RESET_CYCLES: u64 = 4;
const AFTER_RESET_CYCLES: u64 = 1;
/// Most cycles that can be skipped at once: what fits the card's pin.
pub(crate) const SKIP_MAX: u64 = u32::MAX as u64;

/// An interrupt on its way to the processor.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
    due: u64,
    vector: u8,
}

/// A Verilated card of one profile, with its host.
pub struct Card {
    bench: Bench,
    profile: Profile,
    mac: Mac,
    quiet: PortId,
    wake: PortId,
    time: PortId,
    skip: PortId,
    pins: Pins,
    port: Port,
    bars: Bars,
    timing: Timing,
    interrupts: Vec<Interrupt>,
    trace: Option<Vec<(u64, Event)>>,
}

impl Card {
    /// A fresh card, out of reset, in a host with the timing of an Alveo.
    ///
    /// # Errors
    /// When the card cannot be built, or its model does not have the ports of a card.
    pub fn new(profile: Profile, options: &Options) -> Result<Self, Error> {
        Self::of_kind(&profile.into(), options)
    }

    /// As [`new`](Self::new), with these kernels.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_kind(kind: &Kind, options: &Options) -> Result<Self, Error> {
        let (model, profile) = (kind.model(options)?, kind.profile);
        let port = |name: &str| model.port(name);
        let (quiet, wake, time, skip) = (port("quiet")?, port("wake")?, port("cycles")?, port("skip")?);
        let link_up = port("link_up")?;
        let mut bench = Bench::new(model)?;
        bench.model_mut().set(link_up, 1);
        bench.model_mut().set(skip, 0);
        let mac = Mac::attach(&mut bench, profile)?;
        let pins = Pins::attach(&mut bench, profile.data_bits())?;
        let timing = Timing::ALVEO_GEN3X16;
        let mut card = Self {
            mac,
            bench,
            profile,
            quiet,
            wake,
            time,
            skip,
            pins,
            port: Port::new(timing, profile.data_bits(), profile.clock_khz(), options.seed),
            bars: Bars::new(&timing, profile.clock_khz()),
            timing,
            interrupts: Vec::new(),
            trace: None,
        };
        card.check_streams(false);
        card.reset();
        Ok(card)
    }

    /// Resets the card and what is under way between it and its host, as at power-up; mappings stay.
    pub fn reset(&mut self) {
        self.port.reset();
        self.bars.reset();
        self.interrupts.clear();
        self.mac.reset(&self.bench);
        self.bench.clear();
        self.bench.reset(RESET_CYCLES);
        self.bench.rest(AFTER_RESET_CYCLES);
        self.pins.reset(&mut self.bench);
    }

    /// Are streams checked as closely as those of single blocks: rule 3 of the stream law at the card's outputs, and fresh
    /// noise in every cycle at its inputs? It costs most of the speed.
    pub fn check_streams(&mut self, check: bool) {
        self.bench.steady(!check);
        for sink in [self.mac.sink()].into_iter().chain(self.pins.sinks()) {
            self.bench[sink].check_independence(check);
        }
    }

    /// Is the clock of the kernels held while they rest? It is, unless this says otherwise; nobody can tell but by the wall clock.
    pub fn hold_kernels(&mut self, hold: bool) {
        self.bench.gates(hold);
    }

    /// Do clock domains have an edge only when one of their registers would change? They do, unless this says otherwise; nobody can tell but
    /// by the wall clock.
    pub fn gate(&mut self, gates: bool) {
        self.bench.model_mut().gate(gates);
    }

    /// The model, for a look at all of its pins and variables.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.bench.model()
    }

    /// The wave file that is being written, if any; complete once the card is dropped.
    #[must_use]
    pub fn waves(&self) -> Option<&Path> {
        self.bench.model().waves()
    }

    /// What time it is in its waves: two for each cycle in which the card was simulated.
    #[must_use]
    pub fn wave_time(&self) -> u64 {
        self.bench.model().time()
    }

    /// Edges of that clock that were held back so far.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.bench.held()
    }

    /// One cycle of card and host.
    pub fn step(&mut self) {
        let Self { bench, pins, port, bars, interrupts, trace, .. } = self;
        let (now, write_cycles) =
            (bench.cycle(), Timing::cycles(self.timing.write_ns, self.profile.clock_khz()));
        let mut note = |event: Event| {
            if let Event::Interrupt { vector } = event {
                interrupts.push(Interrupt { due: now + write_cycles, vector });
            }
            if let Some(trace) = trace {
                trace.push((now, event));
            }
        };
        pins.before(bench, port, bars, &mut note);
        bench.step();
        pins.after(bench, port, bars, &mut note);
        self.mac.watch(bench, now, &mut note);
    }

    /// The first cycle from now on in which this card or its host does something by itself; `None` when neither ever will.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let now = self.cycle();
        // What the MAC refuses it may take in any cycle, though the card is quiet meanwhile.
        let is_refused = self.mac.is_refused(&self.bench);
        if self.bench.model().get(self.quiet) == 0 || !self.bench.is_sent() || is_refused {
            return Some(now);
        }
        let wake = self.bench.model().get(self.wake);
        let timer = (wake != u64::MAX).then(|| now + wake.saturating_sub(self.bench.model().get(self.time)));
        // One that has arrived waits for somebody to take it, and nothing else.
        let interrupt = self.interrupts.iter().map(|interrupt| interrupt.due).filter(|due| *due > now).min();
        [self.port.next_due(now), self.bars.next_due(now), timer, interrupt].into_iter().flatten().min()
    }

    /// Lets a quiet card's clock run up to `cycle` in one step.
    ///
    /// # Panics
    /// When the card is not quiet until then: see [`next_due`](Self::next_due).
    pub fn skip_to(&mut self, cycle: u64) {
        let now = self.cycle();
        assert!(
            self.next_due().is_none_or(|due| due >= cycle) && cycle > now,
            "cycle {cycle} lies not in quiet time"
        );
        let skipped = (cycle - now - 1).min(SKIP_MAX);
        self.bench.model_mut().set(self.skip, skipped);
        self.step();
        self.bench.model_mut().set(self.skip, 0);
        self.bench.skip(skipped);
    }

    /// Takes an interrupt that has reached the processor, if one has.
    pub fn interrupt(&mut self) -> Option<u8> {
        let now = self.cycle();
        let at = self.interrupts.iter().position(|interrupt| interrupt.due <= now)?;
        Some(self.interrupts.remove(at).vector)
    }

    /// The processor makes an access to a BAR.
    pub fn access(&mut self, access: Access) {
        self.bars.push(self.bench.cycle(), access);
    }

    /// Accesses to a BAR that have not arrived at the card.
    #[must_use]
    pub fn accesses_under_way(&self) -> usize {
        self.bars.under_way()
    }

    /// The value of the load made last, once the processor has it.
    pub fn loaded(&mut self) -> Option<u64> {
        self.bars.value(self.bench.cycle())
    }

    /// Writes of the card that have become visible to the processor.
    #[must_use]
    pub fn visible(&self) -> u64 {
        self.port.visible()
    }

    /// What of the host's memory the card may reach.
    pub fn iommu(&mut self) -> &mut Iommu {
        &mut self.port.iommu
    }

    /// Records what happens at the pins towards the host from now on, by cycle.
    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// What was recorded since the last call.
    pub fn take_trace(&mut self) -> Vec<(u64, Event)> {
        self.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Puts the card into a host that takes other times; mappings stay.
    ///
    /// # Panics
    /// When something is under way between card and host.
    pub fn set_timing(&mut self, timing: Timing) {
        assert_eq!(self.bars.next_due(self.cycle()), None, "what is under way has its times already");
        self.port.set_timing(timing, self.profile.clock_khz());
        self.bars = Bars::new(&timing, self.profile.clock_khz());
        self.timing = timing;
    }

    /// How long the host takes.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The profile this card was built in.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Cycles since the card was made.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.bench.cycle()
    }
}
