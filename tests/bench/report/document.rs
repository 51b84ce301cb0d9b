//! What a run leaves behind: figures, curves and bars, with the conditions they were measured under.
//!
//! The JSON file and the page both come from this, so that neither knows more than the other.

use serde::{Deserialize, Serialize};
use stroma_sim::host::timing::Timing;
use stroma_sim::link::LinkConfig;
use stroma_top::Profile;
use stroma_verilate::VERILATOR_VERSION;

/// The name of this form of the file. A file of another form is refused, not guessed at.
pub(crate) const FORM: &str = "stroma-bench-1";

/// All of it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// [`FORM`].
    pub(crate) form: String,
    /// Of each profile.
    pub(crate) conditions: Vec<Conditions>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) curves: Vec<Curve>,
    pub(crate) breakdowns: Vec<Breakdown>,
}

/// What shapes the figures of a profile besides its RTL.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conditions {
    pub(crate) profile: String,
    /// Width and frequency of the datapath, and what simulates it.
    pub(crate) clock: String,
    /// The host's bus and memory.
    pub(crate) pcie: String,
    /// The cable between two cards.
    pub(crate) wire: String,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    /// Cycles of the simulated card: the same on every machine.
    Simulated,
    /// Wall-clock time of the machine that ran the simulation.
    Machine,
}

/// One figure.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) origin: Origin,
    pub(crate) profile: String,
    pub(crate) timing: String,
    /// What was measured, and over which time.
    pub(crate) how: String,
}

/// Where a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Plot {
    /// Gb/s over bytes of a message.
    PayloadGoodput,
    /// Millions of messages a second over bytes of a message.
    PayloadRate,
    /// Millions of messages a second over queue pairs.
    QueuePairs,
}

/// A line of a plot.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Curve {
    pub(crate) plot: Plot,
    pub(crate) name: String,
    pub(crate) points: Vec<[f64; 2]>,
}

/// Where the time of one request goes, in microseconds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breakdown {
    pub(crate) name: String,
    pub(crate) host: f64,
    pub(crate) card: f64,
    pub(crate) wire: f64,
}

impl Document {
    /// No figures, under the conditions of every run.
    pub(crate) fn new() -> Self {
        Self {
            form: FORM.to_owned(),
            conditions: Profile::ALL.map(Conditions::of).into(),
            figures: Vec::new(),
            curves: Vec::new(),
            breakdowns: Vec::new(),
        }
    }
}

impl Conditions {
    fn of(profile: Profile) -> Self {
        let timing = Timing::ALVEO_GEN3X16;
        let Timing { name, read_ns, write_ns, reads, writes, store_ns, store_cost_ns, load_ns, .. } = timing;
        let wire = LinkConfig::cable(profile);
        let gigabits = |megabits: u32| f64::from(megabits) / 1000.0;
        Self {
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

    /// For the terminal.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}\n  PCIe {}\n  wire {}", self.profile, self.clock, self.pcie, self.wire)
    }
}
