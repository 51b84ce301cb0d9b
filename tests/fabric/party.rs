//! The processes of the stories about a fabric: the one with the cards, and clients that do what they are told.
//!
//! A client opens a card and tells where it is found, in a line; then it takes orders from standard input, a line each, and answers each
//! with a line: `ok`, or what went wrong. It ends with its input.

use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::ptr::NonNull;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use memmap2::MmapOptions;
use stroma_device::{DmaMemory, VfioUser};
use stroma_fabric::cli;
use stroma_party::{Client, MEMORY};

/// A process of a story.
#[derive(Parser)]
enum Arguments {
    /// Runs cards.
    Serve(Box<cli::Arguments>),
    /// Opens one and takes orders.
    Client {
        /// Its number, from which its addresses follow.
        number: usize,
        /// Where it is served.
        socket: PathBuf,
        /// A file that is its memory, and stays when the process has gone.
        #[arg(long)]
        memory: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse() {
        Arguments::Serve(arguments) => return cli::run(*arguments),
        Arguments::Client { number, socket, memory } => obey(number, &socket, memory.as_deref()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A file as memory, for as long as the process lives.
#[expect(unsafe_code, reason = "a mapping of a file is lent to the card")]
fn shared(path: &Path) -> Result<DmaMemory> {
    let file = File::options().read(true).write(true).open(path);
    let file = file.with_context(|| format!("open {}", path.display()))?;
    let map = MmapOptions::new().len(MEMORY).map_raw(&file).context("map the memory")?;
    let start = NonNull::new(map.as_mut_ptr()).context("a mapping")?;
    std::mem::forget(map);
    // SAFETY: the mapping is never ended, is writable, and nobody has a reference to it; that others write to the file as well is
    // what the card does too.
    Ok(unsafe { DmaMemory::lend(start, MEMORY) }?)
}

fn obey(number: usize, socket: &Path, memory: Option<&Path>) -> Result<()> {
    let backend = Arc::new(VfioUser::open(socket)?);
    let mut client = match memory {
        Some(path) => Client::with_memory(number, backend, shared(path)?)?,
        None => Client::open(number, backend)?,
    };
    println!("{}", client.place()?);
    for line in std::io::stdin().lock().lines() {
        let line = line.context("an order")?;
        match client.obey(&line) {
            Ok(answer) => println!("{answer}"),
            Err(error) => println!("{line}: {error:#}"),
        }
    }
    Ok(())
}
