//! What a run leaves behind: figures, curves and bars, with the conditions they were measured under.
//!
//! The JSON file and the page both come from this, so that neither knows more than the other.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The name of this form of the file. A file of another form is refused, not guessed at.
pub(crate) const FORM: &str = "stroma-bench-1";

/// All of it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The name of the form of the file: `stroma-bench-1`.
    pub form: String,
    /// Of each profile.
    pub conditions: Vec<Conditions>,
    /// What ran the simulation, for the figures of wall-clock time. Empty in files of before this was kept.
    #[serde(default)]
    pub machine: String,
    /// Values with a name.
    pub figures: Vec<Figure>,
    /// Values over something.
    pub curves: Vec<Curve>,
    /// Where the time of single requests goes.
    pub breakdowns: Vec<Breakdown>,
}

/// What shapes the figures of a profile besides its RTL.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Its name.
    pub profile: String,
    /// Width and frequency of the datapath, and what simulates it.
    pub clock: String,
    /// The host's bus and memory.
    pub pcie: String,
    /// The cable between two cards.
    pub wire: String,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Cycles of the simulated card: the same on every machine.
    Simulated,
    /// Wall-clock time of the machine that ran the simulation.
    Machine,
}

/// One figure.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// No other figure has it.
    pub name: String,
    /// In its unit.
    pub value: f64,
    /// Empty for a plain number.
    pub unit: String,
    /// Whether every machine measures the same.
    pub origin: Origin,
    /// Of the cards.
    pub profile: String,
    /// Of their hosts.
    pub timing: String,
    /// What was measured, and over which time.
    pub how: String,
}

/// Where a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plot {
    /// Gb/s over bytes of a message.
    PayloadGoodput,
    /// Millions of messages a second over bytes of a message.
    PayloadRate,
    /// Millions of messages a second over queue pairs.
    QueuePairs,
}

/// Names of the curves over payload: the bench draws them, and what others have published is placed beside them.
pub mod over_payload {
    /// One connection, payload from memory.
    pub const WRITE_ONE: &str = "WRITE, one queue pair";
    /// 32 connections, payload from memory.
    pub const WRITE_MANY: &str = "WRITE, 32 queue pairs";
    /// 32 connections.
    pub const READ_MANY: &str = "READ, 32 queue pairs";
    /// All of them.
    pub const ALL: [&str; 3] = [WRITE_ONE, WRITE_MANY, READ_MANY];
}

/// A line of a plot.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The plot that it belongs to.
    pub plot: Plot,
    /// As its legend has it.
    pub name: String,
    /// Across and up.
    pub points: Vec<[f64; 2]>,
}

/// Where the time of one request goes, in microseconds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// Of the request.
    pub name: String,
    /// In hosts: stores, reads, writes.
    pub host: f64,
    /// In the two cards.
    pub card: f64,
    /// Between them.
    pub wire: f64,
}

impl Document {
    /// No figures yet, under these conditions.
    #[must_use]
    pub fn new(conditions: Vec<Conditions>, machine: String) -> Self {
        Self {
            form: FORM.to_owned(),
            conditions,
            machine,
            figures: Vec::new(),
            curves: Vec::new(),
            breakdowns: Vec::new(),
        }
    }

    /// The figure of a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn figure(&self, name: &str) -> Result<&Figure> {
        let found = self.figures.iter().find(|figure| figure.name == name);
        found.with_context(|| format!("there is no figure `{name}`"))
    }
}

impl Conditions {
    /// For the terminal.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}\n  PCIe {}\n  wire {}", self.profile, self.clock, self.pcie, self.wire)
    }
}
