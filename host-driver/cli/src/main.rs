//! `stroma`: the command line of the card.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "sim")]
mod background;
mod bind;
mod board;
#[cfg(feature = "sim")]
mod capture;
mod card;
mod devices;
mod exec;
#[cfg(feature = "sim")]
mod fabric;
mod help;
mod info;
mod inspect;
mod kernels;
mod look;
mod manual;
mod out;
mod pattern;
mod perf;
mod ping;
mod progress;
mod ready;
mod registers;
mod selftest;
mod table;
mod time;
#[cfg(feature = "sim")]
mod trace;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use serde::Serialize;

use card::{Place, Target};
use look::Look;

/// What can be done with Stroma cards, on a board and simulated.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = help::STROMA)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "sim")]
    #[command(after_help = help::FABRIC)]
    Fabric(Box<fabric::Arguments>),
    #[command(after_help = help::EXEC)]
    Exec(Box<exec::Arguments>),
    /// Lists cards: those of a fabric, and PCI devices of this machine.
    #[command(after_help = help::DEVICES)]
    Devices {
        #[command(flatten)]
        place: Place,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Tells who a card is, how large, and what it can do; whoever has it goes on.
    #[command(after_help = help::INFO)]
    Info {
        #[command(flatten)]
        card: Target,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Reads registers of a card by their names; whoever has it goes on.
    #[command(after_help = help::REGS)]
    Regs {
        #[command(flatten)]
        card: Target,
        /// A block, a register or both: counters, `tx_frames`, `port.mac`, `kernels.invoked[3]`. All that can be read, if none is named.
        #[arg(value_name = "NAME")]
        names: Vec<registers::Choice>,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Lists the kernels of a card, and how often they ran; whoever has it goes on.
    #[command(after_help = help::KERNELS)]
    Kernels {
        #[command(flatten)]
        card: Target,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Tells of the board that a card sits on: its temperature, its cage, what was lost at its ports.
    #[command(after_help = help::BOARD)]
    Board(board::Arguments),
    #[command(after_help = help::INSPECT)]
    Inspect(Box<inspect::Arguments>),
    #[cfg(feature = "sim")]
    #[command(after_help = help::CAPTURE)]
    Capture(capture::Arguments),
    #[cfg(feature = "sim")]
    #[command(after_help = help::TRACE)]
    Trace(trace::Arguments),
    #[command(after_help = help::PERF)]
    Perf(Box<perf::Arguments>),
    #[command(after_help = help::PING)]
    Ping(Box<ping::Arguments>),
    /// Tests a card: registers, DMA, interrupts, transport, a kernel. Whatever it was doing before is over.
    ///
    /// Each step builds on those before it; the first that fails ends the test, and the exit code is 1.
    #[command(after_help = help::SELFTEST)]
    Selftest {
        #[command(flatten)]
        card: Target,
        /// A loopback module is in its port: what leaves by the wire has to come back.
        #[arg(long)]
        loopback: bool,
    },
    /// Gives a PCI device to vfio-pci, so that programs can open it.
    #[command(after_help = help::BIND)]
    Bind {
        /// Its address, such as 0000:01:00.0.
        address: String,
        /// Lets this user open it, by number: "$(id -u)", or "$(id -u):$(id -g)".
        #[arg(long, value_name = "UID[:GID]")]
        owner: Option<bind::Owner>,
    },
    /// Gives it back to the driver that it would have had.
    #[command(after_help = help::BIND)]
    Unbind {
        /// Its address.
        address: String,
    },
    /// Prints completions for a shell.
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// Which.
        shell: clap_complete::Shell,
    },
    /// Prints the manual, or writes all of its pages.
    #[command(after_help = help::MAN)]
    Man(manual::ManArguments),
}

fn main() -> ExitCode {
    run(Arguments::parse().command).unwrap_or_else(|error| {
        if error.is::<out::Closed>() {
            return ExitCode::SUCCESS;
        }
        stroma_local::tell(&format!("error: {}", words(&error)));
        ExitCode::FAILURE
    })
}

/// A time on the command line.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// What went wrong and why, each reason once: many errors name theirs themselves.
fn words(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, reason| {
        if said.is_empty() {
            reason
        } else if said.ends_with(&reason) {
            said
        } else {
            format!("{said}: {reason}")
        }
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        #[cfg(feature = "sim")]
        Command::Fabric(arguments) => return fabric::run(*arguments),
        Command::Exec(arguments) => return exec::run(*arguments),
        Command::Devices { place, json } => list(&place, json)?,
        Command::Info { card, json } => show(&info::Info::of(&Look::at(&card)?)?, json)?,
        Command::Regs { card, names, json } => show(&registers::read(&Look::at(&card)?.card, &names)?, json)?,
        Command::Kernels { card, json } => show(&kernels::Catalogue::of(&Look::at(&card)?.card)?, json)?,
        Command::Board(arguments) => show(&board::run(&arguments)?, arguments.json)?,
        Command::Inspect(arguments) => inspect::run(&arguments)?,
        #[cfg(feature = "sim")]
        Command::Capture(arguments) => capture::run(&arguments)?,
        #[cfg(feature = "sim")]
        Command::Trace(arguments) => trace::run(&arguments)?,
        Command::Perf(arguments) => perf::run(&arguments)?,
        Command::Ping(arguments) => ping::run(&arguments)?,
        Command::Selftest { card, loopback } => selftest::run(&card, loopback)?,
        Command::Bind { address, owner } => {
            out::line(&bind::System::here().bind(&address, owner)?.to_string())?;
        }
        Command::Completions { shell } => manual::completions(shell)?,
        Command::Man(arguments) => manual::man(&arguments)?,
        Command::Unbind { address } => out::line(&bind::System::here().unbind(&address)?.to_string())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// For people, or for programs.
fn show(what: &(impl Display + Serialize), json: bool) -> anyhow::Result<()> {
    if json { out::json(what) } else { out::text(what) }
}

fn list(place: &Place, json: bool) -> anyhow::Result<()> {
    let folder = place.folder();
    let devices = devices::Devices::find(&folder)?;
    if devices.are_none() && !json {
        let folder = folder.display();
        stroma_local::tell(&format!("no cards: no fabric runs at {folder}, and no PCI device is 10ee:5354"));
        return Ok(());
    }
    show(&devices, json)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Arguments, words};

    #[test]
    fn each_reason_is_told_once() {
        let inner = std::io::Error::other("no");
        let error = anyhow::Error::new(inner).context("opening x: no").context("starting");
        assert_eq!(words(&error), "starting: opening x: no");
    }

    #[test]
    fn the_command_line_makes_sense() {
        Arguments::command().debug_assert();
    }
}
