//! `bench`: figures of the simulated card.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::tools::Routine;
use crate::{page, process, setup, workspace};

/// What to measure, and what to leave behind.
#[derive(Args)]
pub(crate) struct Options {
    /// What to measure: host, first-light, rc, rate, all
    suite: String,
    /// Also write figures, curves and bars to a file for programs
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to write the page with tables and plots [default: target/bench/report.html]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show what changed since the run that wrote this file, in per cent
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
}

/// Installs what is missing, then measures a suite.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated card; the first time takes minutes, later ones seconds");
    let html = options.html.clone().unwrap_or_else(page::usual);
    if let Some(folder) = html.parent() {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let mut command = Command::new("cargo");
    command.args(["run", "--package", "stroma-tests", "--bin", "bench", "--", &options.suite]);
    let files = [
        ("--json", options.json.as_deref()),
        ("--html", Some(&*html)),
        ("--compare", options.compare.as_deref()),
    ];
    for (name, path) in files {
        if let Some(path) = path {
            command.arg(name).arg(absolute(path)?);
        }
    }
    command.current_dir(workspace::root());
    process::aloud(command).context(
        "next step: `cargo xtask bench --help` lists the suites; `cargo xtask test` shows what broke",
    )
}

/// Relative to where the command was given, not to where cargo runs.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("find {}", path.display()))
}
