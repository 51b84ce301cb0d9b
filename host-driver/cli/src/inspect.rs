//! What is on cards that programs have open. A card answers to the program that has it and to nobody else, so the program's driver is asked.

mod choice;
mod source;

use std::fmt;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde::Serialize;
use stroma_control::inspect::{Question, Told};

use crate::card::{CardName, Place};
use crate::out;
use choice::Choice;
use source::Source;

/// To the upper left, and away with what stands there.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the queue pairs, completion queues, shared queues, memory regions and the TLB of a card, while the program that has it goes on.
///
/// The driver in the program answers, and asks the card for what it tells. By the card: states, PSNs, counters, keys, rights, page sizes, where page lists
/// are, what the TLB has found and missed. By the driver: which objects there are, and where the first pages behind a page list are. Which translations
/// the TLB holds at the moment the card shows to nobody.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// `stroma0` or a number for a card of the fabric, a PCI address such as 0000:01:00.0, or the path of a socket. All cards that programs have open, if
    /// none is named.
    #[arg(value_name = "CARD")]
    name: Option<CardName>,
    #[command(flatten)]
    place: Place,
    /// Shows it again and again, with so many seconds between, until it is interrupted.
    #[arg(long, value_name = "SECONDS", value_parser = crate::seconds)]
    watch: Option<Duration>,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "Nothing but")]
    choice: Choice,
}

/// A card, and what its program's driver tells.
#[derive(Debug, Serialize)]
struct Shown {
    card: String,
    #[serde(flatten)]
    told: Told,
}

/// Shows.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    loop {
        let shown = match &arguments.name {
            Some(name) => {
                vec![Source::of(name, &arguments.place).and_then(|source| show(source, &arguments.choice))?]
            }
            None => everywhere(&arguments.place.folder(), &arguments.choice)?,
        };
        tell(arguments, &shown)?;
        let Some(pause) = arguments.watch else { return Ok(()) };
        std::thread::sleep(pause);
    }
}

fn show(source: Source, choice: &Choice) -> anyhow::Result<Shown> {
    let mut told = source.ask(&Question::Show { only: choice.selection() })?;
    choice.narrow(&mut told.report);
    Ok(Shown { card: source.card, told })
}

/// All cards that programs have. One that does not answer is named, and the others are shown.
fn everywhere(folder: &Path, choice: &Choice) -> anyhow::Result<Vec<Shown>> {
    let shown = Source::all(folder)?.into_iter().map(|source| show(source, choice));
    Ok(shown
        .filter_map(|shown| shown.inspect_err(|error| stroma_local::tell(&crate::words(error))).ok())
        .collect())
}

fn tell(arguments: &Arguments, shown: &[Shown]) -> anyhow::Result<()> {
    if shown.is_empty() {
        stroma_local::tell("no program that tells of its card has one open");
    } else {
        let reports: Vec<_> = shown.iter().map(|shown| &shown.told.report).collect();
        let missing = arguments.choice.missing(&reports);
        let cards: Vec<&str> = shown.iter().map(|shown| shown.card.as_str()).collect();
        ensure!(missing.is_none(), "{} is not on {}", missing.unwrap_or_default(), cards.join(", "));
    }
    if arguments.watch.is_some() && std::io::stdout().is_terminal() {
        out::text(&CLEAR)?;
    }
    match (&arguments.name, arguments.json) {
        (Some(_), true) => out::json(&shown[0]),
        (None, true) => out::json(&shown),
        (_, false) => {
            let texts: Vec<String> = shown.iter().map(ToString::to_string).collect();
            out::text(&texts.join("\n"))
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { pid, comm, report, .. } = &self.told;
        write!(out, "{}: pid {pid} ({comm})\n\n{report}", self.card)
    }
}
