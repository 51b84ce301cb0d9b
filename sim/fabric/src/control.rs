//! The socket where a fabric is asked about itself.
//!
//! 1. Requests and answers are lines of JSON ([`stroma_control::Request`]). What is no request is answered with an error.
//! 2. Each connection has a thread, and there are [`PLACES`](guests::PLACES), of one process [`PLACES_OF_ONE`](guests::PLACES_OF_ONE);
//!    one more is answered with an error and closed.
//! 3. Of these at most [`CAPTURES`] follow the frames of a port. Such a connection ends when one of the two closes it, however slow the other is;
//!    what he is too slow for is lost to him and counted.
//! 4. A request is there within [`PATIENCE`], in [`REQUEST_MAX`] bytes, and so long may its answer take to be fetched. Otherwise the
//!    connection ends. Nobody else notices, the cards least of all.

mod frames;
mod guests;

use std::io::{self, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use stroma_abi::regs::map::BAR0;
use stroma_control::{Answer, CardStatus, REQUEST_MAX, Request, Status, Waves, read_line};

use stroma_vfio_user::body::region;

use crate::clients::{Client, Clients};
use crate::control::guests::Guests;
use crate::function;
use crate::order::{Order, Orders};
use crate::{Plan, Report};

/// Connections at a time that follow frames.
const CAPTURES: usize = 8;
/// How long a request may take to arrive, and an answer to be fetched.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known where requests are answered.
pub(crate) struct Desk {
    plan: Plan,
    /// Where the cards are served, from the root on.
    folder: PathBuf,
    clients: Arc<Clients>,
    /// A way to each of the cards.
    orders: Vec<Orders>,
    /// Those who follow frames: as many shares as there are, and this one.
    followers: Arc<()>,
    /// Where the waves of each card go.
    waves: Vec<Option<PathBuf>>,
}

/// The socket, and who answers there.
pub(crate) struct Control {
    listener: UnixListener,
    desk: Arc<Desk>,
}

impl Control {
    /// Makes the socket, in place of one that a fabric has left; that none runs the lock tells.
    pub(crate) fn bind(path: &Path, desk: Desk) -> io::Result<Self> {
        stroma_local::remove_socket(path)?;
        Ok(Self { listener: stroma_local::listen(path)?, desk: Arc::new(desk) })
    }

    /// Answers whoever comes, for as long as the process lives.
    pub(crate) fn run(self, report: &Report) -> ! {
        let troubled =
            |error: &io::Error| report(&format!("control: nobody can be answered for a while: {error}"));
        let guests = Arc::new(Guests::default());
        loop {
            let stream = stroma_local::accept(&self.listener, troubled);
            let guest = match guests.let_in(&stream) {
                Ok(guest) => guest,
                Err(says) => {
                    // A line fits into any socket's buffer; who does not read it loses it.
                    let _ = say(&stream, &Answer::<()>::Error(says));
                    continue;
                }
            };
            let desk = Arc::clone(&self.desk);
            let answering = thread::Builder::new().name("control".to_owned());
            let answering = answering.spawn(move || {
                let _guest = guest;
                desk.serve(&stream);
            });
            if let Err(error) = answering {
                troubled(&error);
            }
        }
    }
}

impl Desk {
    /// Of a fabric in this folder, with these clients and a way to each of its cards.
    pub(crate) fn new(plan: &Plan, folder: &Path, clients: &Arc<Clients>, orders: Vec<Orders>) -> Self {
        let (plan, folder, clients) = (plan.clone(), folder.to_path_buf(), Arc::clone(clients));
        Self { plan, folder, clients, orders, followers: Arc::default(), waves: Vec::new() }
    }

    /// With these files of waves, one a card.
    pub(crate) fn with_waves(self, waves: Vec<Option<PathBuf>>) -> Self {
        Self { waves, ..self }
    }

    /// One request after the other, until something is wrong with the connection.
    fn serve(&self, stream: &UnixStream) {
        let mut rest = Vec::new();
        // The time for an answer is the system's to keep.
        let mut outcome = stream.set_write_timeout(Some(PATIENCE));
        while outcome.is_ok() {
            outcome = match read_line(stream, &mut rest, REQUEST_MAX, Instant::now() + PATIENCE) {
                Ok(Some(line)) => self.answer(stream, &line),
                Ok(None) => return,
                Err(error) => {
                    let _ = say(stream, &Answer::<()>::Error(error.to_string()));
                    return;
                }
            }
        }
    }

    fn answer(&self, stream: &UnixStream, line: &[u8]) -> io::Result<()> {
        match serde_json::from_slice(line) {
            Ok(Request::Status {}) => say(stream, &Answer::Ok(self.status()?)),
            Ok(Request::Hold {}) if self.clients.hold() => say(stream, &Answer::Ok(())),
            // As if it had ended already.
            Ok(Request::Hold {}) => Err(ErrorKind::ConnectionAborted.into()),
            Ok(Request::Read { card, offset, width }) => say(stream, &self.read(card, offset, width)),
            Ok(Request::Waves { card }) => say(stream, &self.waves(card)),
            Ok(Request::Capture { card }) => self.capture(stream, card),
            Ok(_) => say(stream, &Answer::<()>::Error("not in this fabric".to_owned())),
            Err(error) => say(stream, &Answer::<()>::Error(format!("no request: {error}"))),
        }
    }

    /// The way to a card.
    fn card(&self, card: usize) -> Result<&Orders, String> {
        let count = self.orders.len();
        self.orders.get(card).ok_or_else(|| format!("card {card}: there are {count}, counted from 0"))
    }

    /// Has the connection carry the frames of a port; it is good for nothing else afterwards.
    fn capture(&self, stream: &UnixStream, card: usize) -> io::Result<()> {
        let place = Arc::clone(&self.followers);
        let orders = match self.card(card) {
            Ok(_) if Arc::strong_count(&place) > CAPTURES + 1 => {
                return say(stream, &Answer::<()>::Error(format!("{CAPTURES} others follow frames")));
            }
            Ok(orders) => orders,
            Err(says) => return say(stream, &Answer::<()>::Error(says)),
        };
        let (ear, heard) = frames::channel();
        orders.give(Order::Listen(Box::new(ear)))?;
        say(stream, &Answer::Ok(()))?;
        heard.follow(stream, &format!("stroma{card}"))?;
        Err(ErrorKind::ConnectionAborted.into())
    }

    /// Where the waves of a card go.
    fn waves(&self, card: usize) -> Answer<Waves> {
        let orders = match self.card(card) {
            Ok(orders) => orders,
            Err(says) => return Answer::Error(says),
        };
        let Some(Some(file)) = self.waves.get(card) else {
            return Answer::Error(
                "its cards were built without waves: start a fabric with STROMA_WAVES=FOLDER in its environment, which builds them anew \
                 (some minutes, once) and runs them slower"
                    .to_owned(),
            );
        };
        match orders.give(Order::WaveTime) {
            Ok(time) => Answer::Ok(Waves { file: file.clone(), time }),
            Err(error) => Answer::Error(format!("asking for the time: {error}")),
        }
    }

    /// Reads from BAR0 of a card.
    fn read(&self, card: usize, offset: u64, width: usize) -> Answer<u64> {
        let orders = match self.card(card) {
            Ok(orders) => orders,
            Err(says) => return Answer::Error(says),
        };
        let at = match function::address(region::BAR0, offset, width) {
            Ok(at) if offset < BAR0.len as u64 => at,
            _ => {
                return Answer::Error(format!(
                    "{width} bytes at {offset:#x}: 4 or 8 are read, at a multiple of them, below {:#x}",
                    BAR0.len
                ));
            }
        };
        let mut bytes = [0; 8];
        match orders.give(Order::Peek(at)) {
            Ok(word) => {
                function::part(word, at, &mut bytes[..width]);
                Answer::Ok(u64::from_le_bytes(bytes))
            }
            Err(error) => Answer::Error(format!("a load of {width} bytes at {offset:#x}: {error}")),
        }
    }

    /// What the fabric is; nothing, as if it had ended already, when nobody simulates any more.
    fn status(&self) -> io::Result<Status> {
        let simulated_ns = self.orders[0].give(Order::Now)?;
        let card = |(number, client): (usize, Option<Client>)| CardStatus {
            number,
            socket: stroma_control::card(&self.folder, number),
            is_taken: client.is_some(),
            pid: client.and_then(|client| client.process),
        };
        Ok(Status {
            process: std::process::id(),
            profile: self.plan.profile.name().to_owned(),
            wire: self.plan.wire.to_string(),
            simulated_ns,
            cards: self.clients.list().into_iter().enumerate().map(card).collect(),
            plan: serde_json::to_value(&self.plan).unwrap_or_default(),
        })
    }
}

/// An answer, a line.
fn say<T: Serialize>(mut stream: &UnixStream, answer: &Answer<T>) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[cfg(test)]
mod tests;
