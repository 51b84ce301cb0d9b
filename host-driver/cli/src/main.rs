//! `stroma`: the command line of the card.

#![forbid(unsafe_code)]

mod bind;
mod card;
mod selftest;

use std::process::ExitCode;

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
    /// Runs simulated cards, and serves each at a socket.
    #[cfg(feature = "sim")]
    Fabric(Box<stroma_fabric::cli::Arguments>),
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
    let outcome = match Arguments::parse().command {
        #[cfg(feature = "sim")]
        Command::Fabric(arguments) => return stroma_fabric::cli::run(*arguments),
        Command::Selftest { card } => return selftest::run(&card),
        Command::Bind { address, owner } => bind::System::here().bind(&address, owner),
        Command::Unbind { address } => bind::System::here().unbind(&address),
    };
    match outcome {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
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
