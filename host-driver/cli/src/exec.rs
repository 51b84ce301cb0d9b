//! A program on a fabric, or on boards: `stroma exec -- ib_write_bw`.
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

use crate::bind::System;
use crate::ready;

/// What a shell says of a program that it does not find, and of one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Flags, and groups of them, that say what fabric it should be.
#[cfg(feature = "sim")]
const OF_A_FABRIC: [&str; 13] = [
    "plan",
    "profile",
    "cards",
    "wire",
    "seed",
    "sockets",
    "linger",
    "datagram",
    "tap",
    "capture",
    "LinkPlan",
    "FaultPlan",
    "TimingPlan",
];

/// Runs a program on simulated cards, which are started if none are running, or on boards.
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
    /// On the boards of this machine that vfio-pci has, in the order of their addresses, and on no fabric.
    #[arg(long)]
    #[cfg_attr(feature = "sim", arg(conflicts_with_all = OF_A_FABRIC))]
    #[cfg_attr(not(feature = "sim"), arg(conflicts_with = "fabric"))]
    boards: bool,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    #[command(flatten, next_help_heading = "Fabric, if one has to be started")]
    fabric: ready::Wanted,
}

/// Becomes the program; returns when it cannot.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { fabric, card, address, boards, program } = arguments;
    // Before cards are started for nothing.
    let library = library::find(&library::places())?;
    let folder = if boards {
        check(System::here().boards().iter().filter(|board| board.is_open()).count(), "this machine", card)?;
        None
    } else {
        let (folder, status) = ready::ready(&fabric)?;
        check(status.cards.len(), "the fabric", card)?;
        Some(folder)
    };
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).env_remove("STROMA_FABRIC");
    command.envs(environment(folder.as_deref(), card, &address, &library)?);
    let error = command.exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    stroma_local::tell(&format!("error: running {}: {error}", program[0].display()));
    Ok(ExitCode::from(code))
}

/// Are there cards, and is the one that is wanted among them?
fn check(count: usize, place: &str, card: Option<usize>) -> anyhow::Result<()> {
    match card {
        Some(card) if card >= count => {
            bail!("card {card}: {place} has {count}, and they are counted from 0")
        }
        None if count == 0 => {
            bail!("{place} has no card that programs can open: `stroma devices`, `stroma bind`")
        }
        _ => Ok(()),
    }
}

/// What the program finds in its environment, besides what is there.
fn environment(
    folder: Option<&Path>,
    card: Option<usize>,
    addresses: &[IpAddr],
    library: &Path,
) -> anyhow::Result<Vec<(&'static str, OsString)>> {
    let place = library.parent().context("a library is in a folder")?;
    let mut found = vec![
        ("LD_LIBRARY_PATH", in_front(place.as_os_str(), std::env::var_os("LD_LIBRARY_PATH"))),
        ("LD_PRELOAD", in_front(library.as_os_str(), std::env::var_os("LD_PRELOAD"))),
    ];
    found.extend(folder.map(|folder| ("STROMA_FABRIC", folder.into())));
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
