//! `cargo xtask bench SUITE`: measures the Verilated card, and prints every figure with what it depends on.
//!
//! Figures of the card are cycle counts of its RTL in a host of the timing named beside them: the same on every machine.
//! Figures of wall-clock time are of this machine and this run, and marked so.

mod host;
mod kernels;
mod progress;
mod rate;
mod rc;
mod report;
mod speed;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use progress::Progress;
use report::Report;
use stroma_report::{compare, html, json};

/// Measures the simulated card.
#[derive(Parser)]
struct Arguments {
    /// What to measure.
    suite: Suite,
    /// Only the parts of it whose names contain this.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Writes figures, curves and bars to a file for programs.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page with tables and plots that needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Shows what changed since an earlier run.
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Suite {
    /// Doorbells, rings, local copies, translation.
    Host,
    /// Two cards on a cable, one queue pair: WRITE and READ.
    FirstLight,
    /// The same, and over payloads and queue pairs.
    Rate,
    /// Every operation of a reliable connection: latency and rate.
    Rc,
    /// Kernels of the far card against plain verbs and messages.
    Kernels,
    /// How fast this machine simulates cards, with clock domains and without.
    Speed,
    /// Every suite.
    All,
}

/// A part of a suite that takes seconds, and what is shown meanwhile.
struct Task {
    label: &'static str,
    measure: fn(&mut Report),
}

impl Suite {
    fn tasks(self) -> Vec<&'static Task> {
        let suites: &[&'static [Task]] = match self {
            Self::Host => &[host::TASKS],
            Self::FirstLight => &[rate::FIRST_LIGHT],
            Self::Rc => &[rc::TASKS],
            Self::Rate => &[rate::FIRST_LIGHT, rate::SCALING],
            Self::Kernels => &[kernels::TASKS],
            Self::Speed => &[speed::TASKS],
            Self::All => &[host::TASKS, rate::FIRST_LIGHT, rate::SCALING, rc::TASKS, kernels::TASKS],
        };
        suites.iter().copied().flatten().collect()
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // Before anything is measured: a run takes minutes, and a wrong name should not.
    let old = arguments.compare.as_deref().map(json::read).transpose()?;
    let mut tasks = arguments.suite.tasks();
    if let Some(only) = &arguments.only {
        tasks.retain(|task| task.label.contains(only));
        ensure!(!tasks.is_empty(), "no part of this suite has `{only}` in its name");
    }
    let mut report = Report::new(Progress::new(tasks.len()));
    for task in tasks {
        report.progress.doing(task.label);
        (task.measure)(&mut report);
        report.progress.advance();
    }
    report.progress.finish();
    let document = report.document;
    let compared = old.map(|old| compare::compare(&old, &document));
    if let Some(compared) = &compared {
        print!("\n{}", compare::table(compared));
    }
    if let Some(path) = &arguments.json {
        json::write(path, &document)?;
    }
    if let Some(path) = &arguments.html {
        let page = html::page(&document, compared.as_deref());
        std::fs::write(path, page).with_context(|| format!("write {}", path.display()))?;
        println!("report: {}", path.display());
    }
    Ok(())
}
