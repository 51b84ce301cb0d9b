//! The processes of the stories about a fabric: the one with the cards, and clients that do what they are told.
//!
//! A client opens a card and tells where it is found, in a line; then it takes orders from standard input, a line each, and answers each
//! with a line: `ok`, or what went wrong. It ends with its input.

mod client;

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use stroma_fabric::cli;

use client::Client;

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
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse() {
        Arguments::Serve(arguments) => return cli::run(*arguments),
        Arguments::Client { number, socket } => obey(number, &socket),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(number: usize, socket: &std::path::Path) -> Result<()> {
    let mut client = Client::open(number, socket)?;
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
