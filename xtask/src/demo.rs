//! `demo`: the recorded frames through the simulated card.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools::Routine;
use crate::{process, setup, workspace};

/// Installs what is missing, then replays every capture in `tests/vectors`.
pub(crate) fn run() -> Result<()> {
    setup::run(Routine::Demo)?;
    let captures = workspace::files(&workspace::root().join("tests/vectors"), "pcap")?;
    if captures.is_empty() {
        bail!("no captures in tests/vectors: there is nothing to replay");
    }
    println!("building the simulated card; the first time takes minutes, later ones seconds");
    let mut command = Command::new("cargo");
    command.args(["run", "--package", "stroma-sim", "--bin", "replay", "--"]).args(captures);
    command.current_dir(workspace::root());
    process::aloud(command).context("next step: `cargo xtask test` shows which part disagrees")
}
