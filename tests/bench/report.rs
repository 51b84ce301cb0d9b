//! Figures, as people and as programs read them.

use serde::Serialize;
use stroma_sim::host::timing::Timing;
use stroma_top::Profile;

/// One figure.
#[derive(Serialize)]
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    profile: &'static str,
    timing: &'static str,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

/// What is measured; each has one unit.
#[derive(Clone, Copy)]
pub(crate) enum Metric {
    /// Payload, Gb/s.
    Goodput,
    /// Messages, millions a second.
    Rate,
    /// Cycles of the card.
    Cycles,
    /// From a call to its effect, microseconds.
    Latency,
    /// Seconds of this machine.
    Wall,
    /// A plain number.
    Ratio,
    /// Simulated cycles a second of this machine.
    Speed,
}

impl Metric {
    const fn unit(self) -> &'static str {
        match self {
            Self::Goodput => "Gb/s",
            Self::Rate => "Mmsg/s",
            Self::Cycles => "cycles",
            Self::Latency => "us",
            Self::Wall => "s",
            Self::Ratio => "",
            Self::Speed => "cycles/s",
        }
    }
}

impl Report {
    /// Adds a figure, and prints it.
    pub(crate) fn add(&mut self, name: &str, metric: Metric, value: f64, profile: Profile) {
        if self.figures.is_empty() {
            println!("{:<36} {:>14} {:<9} {:<7} timing", "figure", "value", "unit", "profile");
        }
        let (unit, timing) = (metric.unit(), Timing::ALVEO_GEN3X16.name);
        println!("{name:<36} {value:>14.2} {unit:<9} {:<7} {timing}", profile.name());
        self.figures.push(Figure { name: name.to_owned(), value, unit, profile: profile.name(), timing });
    }

    /// All of them as a JSON list.
    pub(crate) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&self.figures)
    }
}
