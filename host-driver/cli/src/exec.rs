//! A program on a fabric: `stroma exec -- ib_write_bw`.
//!
//! The fabric is started if none runs, and ends by itself some time after the last program. Then this process becomes the program,
//! whose libibverbs is ours.

mod library;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::Parser;
use stroma_control::Status;

use crate::ready;

/// What a shell says of a program that it does not find, and of one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Runs a program on simulated cards, which are started if none are running.
///
/// The program finds our libibverbs in place of the system's, and the cards as stroma0, stroma1 and so on. A fabric that was started for it ends some seconds
/// after the last program. The exit code is the program's; 127 if it is not found, 126 if it cannot be run.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// Shows the program this card alone: its number, or its name.
    #[arg(long, value_name = "N", value_parser = crate::card::number)]
    card: Option<usize>,
    /// Addresses of the card's port, in place of those it has by itself.
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    address: Vec<IpAddr>,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    #[command(flatten, next_help_heading = "Fabric, if one has to be started")]
    fabric: ready::Wanted,
}

/// Becomes the program; returns when it cannot.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { fabric, card, address, program } = arguments;
    // Before cards are started for nothing.
    let library = library::find(&library::places())?;
    let (folder, status) = ready::ready(&fabric)?;
    check(&status, card)?;
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).envs(environment(&folder, card, &address, &library)?);
    let error = command.exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    eprintln!("error: running {}: {error}", program[0].display());
    Ok(ExitCode::from(code))
}

fn check(status: &Status, card: Option<usize>) -> anyhow::Result<()> {
    let count = status.cards.len();
    match card {
        Some(card) if card >= count => {
            bail!("card {card}: the fabric has {count}, and they are counted from 0")
        }
        _ => Ok(()),
    }
}

/// What the program finds in its environment, besides what is there.
fn environment(
    folder: &Path,
    card: Option<usize>,
    addresses: &[IpAddr],
    library: &Path,
) -> anyhow::Result<Vec<(&'static str, OsString)>> {
    let place = library.parent().context("a library is in a folder")?;
    let mut found = vec![
        ("STROMA_FABRIC", folder.into()),
        ("LD_LIBRARY_PATH", in_front(place.as_os_str(), std::env::var_os("LD_LIBRARY_PATH"))),
        ("LD_PRELOAD", in_front(library.as_os_str(), std::env::var_os("LD_PRELOAD"))),
    ];
    found.extend(card.map(|card| ("STROMA_CARD", card.to_string().into())));
    if !addresses.is_empty() {
        let addresses: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
        found.push(("STROMA_ADDRESS", addresses.join(",").into()));
    }
    Ok(found)
}

/// One more of what the linker looks at, before the others.
fn in_front(first: &OsStr, others: Option<OsString>) -> OsString {
    let mut all = first.to_owned();
    // An empty entry would be the folder that the program is started in.
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

#[cfg(test)]
mod tests;
