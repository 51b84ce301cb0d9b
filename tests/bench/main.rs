//! `cargo xtask bench SUITE [--json FILE]`: measures the Verilated card, and prints every figure with what it depends on.
//!
//! Figures of the card are cycle counts of its RTL in a host of the timing named beside them: the same on every machine.
//! Figures under `sim.` are of this machine and this run.

mod first_light;
mod host;
mod rc;
mod report;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use report::Report;

/// Measures the simulated card.
#[derive(Parser)]
struct Arguments {
    /// What to measure.
    suite: Suite,
    /// Also writes the figures to a file, as a list of {name, value, unit, profile, timing}.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Suite {
    /// Doorbells, rings, local copies, translation.
    Host,
    /// Two cards on a cable: WRITE and READ.
    FirstLight,
    /// Every operation of a reliable connection: latency and rate.
    Rc,
    /// Every suite.
    All,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut report = Report::default();
    if matches!(arguments.suite, Suite::Host | Suite::All) {
        host::measure(&mut report);
    }
    if matches!(arguments.suite, Suite::FirstLight | Suite::All) {
        first_light::measure(&mut report);
    }
    if matches!(arguments.suite, Suite::Rc | Suite::All) {
        rc::measure(&mut report);
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, report.json()?).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
