//! The last rows of `cargo xtask linux --rung 3`: perftest on a simulated card, with our libibverbs, against perftest on Linux, with rdma-core's.
//!
//! ```text
//!   here:   perftest ── libibverbs ── vfio-user ── card ══ wire ══ eth0 ── rdma_rxe ── perftest   :guest
//!              └──────────────── TCP, by which perftest's two ends find each other ──────────┘
//! ```
//!
//! perftest does not look at the bytes that arrive; rung 4, on the same wire, looks at every one.

mod cards;
mod guest;
mod rows;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use stroma_tests::emulator::Machine;

use cards::Cards;
use guest::Guest;
use rows::Row;

/// Runs perftest between a simulated card and a Linux guest.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    machine: Machine,
    /// The installed command line.
    #[arg(long)]
    stroma: PathBuf,
    /// Where the capture, what programs print, the guest's console and the list of rows that ran are kept.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match story(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its causes in one line; a trace of this program is of no use to who looks for a fault of the card.
            eprintln!("error: {error:#}\nkept: {}", arguments.out.display());
            ExitCode::FAILURE
        }
    }
}

fn story(Arguments { machine, stroma, out }: &Arguments) -> Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("make {}", out.display()))?;
    let sockets = tempfile::tempdir().context("make a folder for sockets")?;
    let mut guest =
        Guest::boot(machine, sockets.path(), &out.join("console.log")).context("booting Linux")?;
    let cards = Cards::start(stroma, sockets.path(), out)?;
    let mut done = File::create(out.join("rows")).context("create the list of rows that ran")?;
    for row in Row::all() {
        let started = Instant::now();
        rows::run(&row, &cards, &mut guest).with_context(|| row.to_string())?;
        println!("  10g   {:<60} {:>6.1} s", row.to_string(), started.elapsed().as_secs_f64());
        writeln!(done, "{row}").context("write to the list of rows that ran")?;
    }
    Ok(())
}
