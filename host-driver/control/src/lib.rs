//! Where a fabric of simulated cards is, whether it runs, and how it is asked: what those who serve cards and those who use them
//! have to agree on.
//!
//! ```text
//!   FOLDER/card0, card1 ...   a card each, over vfio-user
//!   FOLDER/card0.inspect      what is on it, told by the driver of the program that has it
//!   FOLDER/control            requests and answers, a line of JSON each
//!   FOLDER/lock               held by the fabric for as long as it runs, and holds its process number
//!   FOLDER/starting           held by who is about to start one
//!   FOLDER/fabric.log         what a fabric in the background tells; fabric.log.1 before that, when it was full
//! ```
//!
//! [`folder`] says which folder is meant when nobody says. [`Lock`] is how a fabric takes it, [`Client`] asks the fabric there, in the
//! words of [`Request`]. [`inspect`] is how a driver is asked what is on its card.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod client;
mod error;
pub mod inspect;
mod line;
mod lock;
mod message;
mod place;

pub use client::{Client, ask, find, wait};
pub use error::Error;
pub use line::{LineError, read_line};
pub use lock::{Lock, Starting, holder};
pub use message::{Answer, CardStatus, REQUEST_MAX, Request, Status, Waves};
pub use place::{board_inspection, card, control, folder, inspection, log, make};
