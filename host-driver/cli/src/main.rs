//! `stroma`: the command line of the card.

#![forbid(unsafe_code)]

#[cfg(feature = "sim")]
mod background;
mod bind;
mod card;
mod devices;
mod exec;
#[cfg(feature = "sim")]
mod fabric;
mod selftest;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use card::CardName;

/// What can be done with Stroma cards, on a board and simulated.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "sim")]
    Fabric(Box<fabric::Arguments>),
    Exec(Box<exec::Arguments>),
    /// Lists cards: those of a fabric, and PCI devices of this machine.
    Devices {
        /// Folder of the fabric; `$STROMA_FABRIC` if nobody says, else `$XDG_RUNTIME_DIR/stroma`, else `/tmp/stroma-UID`.
        #[arg(long, value_name = "FOLDER")]
        fabric: Option<PathBuf>,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Tests a card: registers, DMA, interrupts, transport, a kernel. Whatever it was doing before is over.
    ///
    /// Each step builds on those before it; the first that fails ends the test, and the exit code is 1.
    Selftest {
        /// A PCI address such as 0000:01:00.0, the path of a fabric's socket, or `sim`, `sim:100g` for a card of its own.
        card: CardName,
    },
    /// Gives a PCI device to vfio-pci, so that programs can open it.
    Bind {
        /// Its address, such as 0000:01:00.0.
        address: String,
        /// Lets this user open it, by number: "$(id -u)", or "$(id -u):$(id -g)".
        #[arg(long, value_name = "UID[:GID]")]
        owner: Option<bind::Owner>,
    },
    /// Gives it back to the driver that it would have had.
    Unbind {
        /// Its address.
        address: String,
    },
}

fn main() -> ExitCode {
    run(Arguments::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        #[cfg(feature = "sim")]
        Command::Fabric(arguments) => return fabric::run(*arguments),
        Command::Exec(arguments) => return exec::run(*arguments),
        Command::Devices { fabric, json } => list(fabric, json)?,
        Command::Selftest { card } => return Ok(selftest::run(&card)),
        Command::Bind { address, owner } => println!("{}", bind::System::here().bind(&address, owner)?),
        Command::Unbind { address } => println!("{}", bind::System::here().unbind(&address)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(fabric: Option<PathBuf>, json: bool) -> anyhow::Result<()> {
    let folder = fabric.unwrap_or_else(stroma_control::folder);
    let devices = devices::Devices::find(&folder)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&devices).context("writing JSON")?);
    } else if devices.are_none() {
        eprintln!("no cards: no fabric runs at {}, and no PCI device is 10ee:5354", folder.display());
    } else {
        print!("{devices}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_command_line_makes_sense() {
        Arguments::command().debug_assert();
    }
}
