//! Simulated cards, here or in the background.

use std::process::ExitCode;

use clap::Parser;
use stroma_fabric::cli;

use crate::{background, out};

/// Runs simulated cards, and serves each at a socket for one process at a time.
///
/// Once they are served, a line for each card tells where, `card0 /tmp/stroma/card0`, and an empty one that these are all. What happens afterwards is told on standard
/// error. Programs open a card by its socket. Whatever a flag says goes before what the plan says.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// Returns when the cards are served, and leaves them running in the background; what happens is told in FOLDER/fabric.log.
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    fabric: cli::Arguments,
}

/// Runs cards until they end, or starts them and leaves.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if !arguments.detach {
        return Ok(cli::run(arguments.fabric));
    }
    let status = background::start(&arguments.fabric.plan()?)?;
    for card in status.cards {
        out::line(&format!("card{} {}", card.number, card.socket.display()))?;
    }
    out::line("")?;
    Ok(ExitCode::SUCCESS)
}
