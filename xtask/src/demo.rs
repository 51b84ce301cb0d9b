//! `demo`: two cards, an application on each.

use anyhow::{Context, Result};

use crate::program::program;
use crate::tools::Routine;
use crate::{process, setup, workspace};

/// Installs what is missing, then runs the demonstration.
pub(crate) fn run() -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated cards; the first time takes minutes, later ones seconds");
    let mut command = program("demo")?;
    command.current_dir(workspace::root());
    process::aloud(command).context("next step: `cargo xtask test` shows which part disagrees")
}
