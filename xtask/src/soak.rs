//! `soak`: random traffic on a bad wire, for as long as wanted.

use anyhow::{Context, Result};

use crate::program::program;
use crate::tools::Routine;
use crate::{process, setup};

/// Handed on as they are: the program alone knows what it may be told, and `--help` is its help.
#[derive(clap::Args, Default)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Installs what is missing, then runs. Files are named from where the user is.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated cards; the first time takes minutes, later ones seconds");
    let mut command = program("soak")?;
    command.args(&options.arguments);
    process::aloud(command).context(
        "next step: the same command with `--ops 500 --seed S --profile P --capture DIR` repeats one run alone, and records it",
    )
}
