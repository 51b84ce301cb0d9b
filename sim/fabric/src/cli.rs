//! The command line of `stroma-fabric`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use stroma_top::Profile;

use crate::{Fabric, Plan, Report, Wire};

/// Runs simulated cards, and serves each at a socket for one process at a time.
///
/// Once they are served, a line for each card tells where: `card0 /tmp/stroma/card0`. What happens afterwards is told on standard
/// error. Programs open a card by its socket.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Which cards.
    #[arg(long, value_enum, default_value_t = Profile::TenGig)]
    profile: Profile,
    /// How many.
    #[arg(long, default_value_t = 2)]
    cards: usize,
    /// What is between them.
    #[arg(long, value_enum, default_value_t = Wire::Cable)]
    wire: Wire,
    /// Where chance begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of the sockets.
    #[arg(long)]
    sockets: PathBuf,
}

/// Runs the cards until the process is ended.
#[must_use]
pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { profile, cards, wire, seed, sockets: folder } = arguments;
    let plan = Plan { profile, cards, wire, seed, folder };
    let report: Report = Arc::new(|line| eprintln!("{line}"));
    let fabric = match Fabric::start(&plan, &report) {
        Ok(fabric) => fabric,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Nobody may be listening, and the cards are served all the same.
    let _ = tell(&plan);
    if fabric.wait() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A line for each card.
fn tell(plan: &Plan) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for card in 0..plan.cards {
        writeln!(out, "card{card} {}", plan.socket(card).display())?;
    }
    out.flush()
}
