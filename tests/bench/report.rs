//! What a run has measured so far, and under which conditions.

use std::num::NonZero;
use std::thread;

use stroma_report::document::{Breakdown, Conditions, Curve, Document, Figure, Origin, Plot};
use stroma_sim::host::timing::Timing;
use stroma_sim::link::LinkConfig;
use stroma_top::Profile;
use stroma_verilate::VERILATOR_VERSION;

use crate::progress::Progress;

/// What is measured; each has one unit.
#[derive(Clone, Copy)]
pub(crate) enum Metric {
    /// Payload, Gb/s.
    Goodput,
    /// Messages, millions a second.
    Rate,
    /// Operations of an application, thousands a second.
    Operations,
    /// Cycles of the card.
    Cycles,
    /// From a call to its effect, microseconds.
    Latency,
    /// Seconds of this machine.
    Wall,
    /// A plain number.
    Ratio,
    /// Of two speeds of this machine.
    SpeedRatio,
    /// Simulated cycles a second of this machine.
    Speed,
}

impl Metric {
    const fn unit(self) -> &'static str {
        match self {
            Self::Goodput => "Gb/s",
            Self::Rate => "M msg/s",
            Self::Operations => "k op/s",
            Self::Cycles => "cycles",
            Self::Latency => "us",
            Self::Wall => "s",
            Self::Ratio | Self::SpeedRatio => "",
            Self::Speed => "cycles/s",
        }
    }

    const fn origin(self) -> Origin {
        match self {
            Self::Goodput | Self::Rate | Self::Operations | Self::Cycles | Self::Latency | Self::Ratio => {
                Origin::Simulated
            }
            Self::Wall | Self::SpeedRatio | Self::Speed => Origin::Machine,
        }
    }
}

/// All that a run has measured, and the bar that tells how far it is.
pub(crate) struct Report {
    pub(crate) document: Document,
    pub(crate) progress: Progress,
}

impl Report {
    /// Nothing measured yet.
    pub(crate) fn new(progress: Progress) -> Self {
        let document = Document::new(Profile::ALL.map(conditions).into(), machine());
        for conditions in &document.conditions {
            progress.line(&conditions.line());
        }
        Self { document, progress }
    }

    /// Adds a figure, and prints it. `how` tells what was measured and over which time.
    ///
    /// # Panics
    /// When the name is taken, or the value is no number: two figures of one name cannot be compared with anything.
    pub(crate) fn add(&mut self, name: &str, metric: Metric, value: f64, profile: Profile, how: &str) {
        assert!(value.is_finite(), "{name} is {value}");
        assert!(self.document.figures.iter().all(|figure| figure.name != name), "{name} is there already");
        if self.document.figures.is_empty() {
            let line = format!("{:<36} {:>14} {:<9} {:<7} timing", "figure", "value", "unit", "profile");
            self.progress.line(&line);
        }
        let (unit, timing) = (metric.unit(), Timing::ALVEO_GEN3X16.name);
        self.progress.line(&format!("{name:<36} {value:>14.2} {unit:<9} {:<7} {timing}", profile.name()));
        self.document.figures.push(Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            origin: metric.origin(),
            profile: profile.name().to_owned(),
            timing: timing.to_owned(),
            how: how.to_owned(),
        });
    }

    /// Adds a line to a plot.
    pub(crate) fn curve(&mut self, plot: Plot, name: &str, points: Vec<[f64; 2]>) {
        self.document.curves.push(Curve { plot, name: name.to_owned(), points });
    }

    /// Adds a bar of host, card and wire, in microseconds, and prints it.
    pub(crate) fn breakdown(&mut self, name: &str, host: f64, card: f64, wire: f64) {
        self.progress.line(&format!("{name}: host {host:.2} us, card {card:.2} us, wire {wire:.2} us"));
        self.document.breakdowns.push(Breakdown { name: name.to_owned(), host, card, wire });
    }
}

/// What shapes the figures of a profile besides its RTL.
fn conditions(profile: Profile) -> Conditions {
    let timing = Timing::ALVEO_GEN3X16;
    let Timing { name, read_ns, write_ns, reads, writes, store_ns, store_cost_ns, load_ns, .. } = timing;
    let wire = LinkConfig::cable(profile);
    let gigabits = |megabits: u32| f64::from(megabits) / 1000.0;
    Conditions {
        profile: profile.name().to_owned(),
        clock: format!(
            "{} bits at {:.2} MHz, Verilator {VERILATOR_VERSION}",
            profile.data_bits(),
            f64::from(profile.clock_khz()) / 1000.0,
        ),
        pcie: format!(
            "{name}: {:.1} Gb/s of payload each way; read {read_ns} ns, {reads} in flight; write {write_ns} ns, {writes} in \
             flight; store {store_ns} ns, {store_cost_ns} ns for each 8 bytes; load {load_ns} ns",
            gigabits(timing.megabits),
        ),
        wire: format!(
            "{:.0} Gb/s with preamble, FCS and gap; {} ns for MACs, PHYs and cable; path MTU 4096; no loss",
            gigabits(wire.megabits),
            wire.delay_ns,
        ),
    }
}

/// What runs the simulation.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, NonZero::get);
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    format!("cores: {cores}; {model}")
}
