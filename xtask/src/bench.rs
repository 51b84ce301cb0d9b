//! `bench`: figures of the simulated card.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::Routine;
use crate::{process, setup, workspace};

/// Installs what is missing, then measures a suite.
pub(crate) fn run(suite: &str, json: Option<&Path>) -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated card; the first time takes minutes, later ones seconds");
    // Relative to where the command was given, not to where cargo runs.
    let json = json.map(std::path::absolute).transpose().context("finding the place for the figures")?;
    let mut command = Command::new("cargo");
    command.args(["run", "--package", "stroma-tests", "--bin", "bench", "--", suite]);
    if let Some(json) = json {
        command.arg("--json").arg(json);
    }
    command.current_dir(workspace::root());
    process::aloud(command).context(
        "next step: `cargo xtask bench --help` lists the suites; `cargo xtask test` shows what broke",
    )
}
