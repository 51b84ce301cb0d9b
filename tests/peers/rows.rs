//! What perftest is asked to do, and by whom.

use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::cards::Cards;
use crate::guest::{Guest, HOST};

/// Few requests, the address that is one of IPv4, and no frequency of the processor. The wait for an answer is 4.3 s, for the
/// card is simulated, thousands of times slower than it will be.
const HOW: &str = "-x 1 -F -n 5 -u 20";
/// What each verb is asked for, and a window for its rate that five requests fill. perftest takes as many outstanding reads as the other end
/// says it has, unless told: `rdma_rxe` says 128, and cards have 16.
const VERBS: [(&str, &str, &str); 4] = [
    ("write", "-s 4096", "-t 4 -Q 1"),
    ("read", "-s 4096 -o 16", "-t 4 -Q 1"),
    ("send", "-s 4096", "-r 4 -t 4 -Q 1"),
    ("atomic", "-o 16", "-t 4 -Q 1"),
];
/// How long a program may take; the slowest needs a tenth of it.
const LIMIT: Duration = Duration::from_mins(1);

/// Who asks; the other end serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Card,
    Linux,
}

/// A program of perftest, at both ends.
pub(crate) struct Row {
    command: String,
    client: Client,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let who = match self.client {
            Client::Card => "card to Linux",
            Client::Linux => "Linux to card",
        };
        write!(out, "{}, {who}", self.command)
    }
}

impl Row {
    /// Every verb, its rate and its latency, both ways.
    pub(crate) fn all() -> Vec<Self> {
        let mut rows = Vec::new();
        for (verb, how, window) in VERBS {
            for test in [format!("ib_{verb}_bw {HOW} {how} {window}"), format!("ib_{verb}_lat {HOW} {how}")] {
                let clients = [Client::Card, Client::Linux];
                rows.extend(clients.map(|client| Self { command: test.clone(), client }));
            }
        }
        rows
    }
}

/// Runs a row: both programs end well, and the one that asked has printed what it measured.
pub(crate) fn run(row: &Row, cards: &Cards, guest: &mut Guest) -> Result<()> {
    let command = &row.command;
    let output = match row.client {
        Client::Card => {
            guest.serve(command)?;
            let output = cards.call(&format!("{command} -p {} 127.0.0.1", guest.port()), LIMIT)?;
            guest.served()?;
            output
        }
        Client::Linux => {
            let server = cards.serve(command, LIMIT)?;
            let output = guest.call(&format!("{command} -p {} {HOST}", server.port()))?;
            server.ended(LIMIT)?;
            output
        }
    };
    ensure!(output.contains("#bytes"), "perftest printed no table:\n{output}");
    Ok(())
}
