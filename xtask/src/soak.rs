//! `soak`: random traffic on a bad wire, for as long as wanted.

use std::process::Command;

use anyhow::{Context, Result};

use crate::tools::Routine;
use crate::{process, setup, workspace};

/// What to run; handed on as it is.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Operations for each profile
    #[arg(long, default_value_t = 10_000)]
    ops: u64,
    /// Seed of the first run of 500 operations; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of a hundred frames so many are lost, as many doubled, and as many overtaken
    #[arg(long, default_value_t = 1)]
    percent: u32,
    /// Only this card [default: both]
    #[arg(long)]
    profile: Option<crate::rtl::Profile>,
}

/// Installs what is missing, then runs.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated cards; the first time takes minutes, later ones seconds");
    let mut command = Command::new("cargo");
    command.args(["run", "--package", "stroma-tests", "--bin", "soak", "--"]);
    for (name, value) in
        [("--ops", options.ops), ("--seed", options.seed), ("--percent", options.percent.into())]
    {
        command.arg(name).arg(value.to_string());
    }
    if let Some(profile) = options.profile {
        command.arg("--profile").arg(profile.name());
    }
    command.current_dir(workspace::root());
    process::aloud(command)
        .context("next step: the same command with `--ops 500 --seed S --profile P` repeats one run alone")
}
