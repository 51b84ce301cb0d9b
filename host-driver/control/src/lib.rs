//! Where a fabric of simulated cards is, whether it runs, and how it is asked: what those who serve cards and those who use them
//! have to agree on.
//!
//! ```text
//!   FOLDER/card0, card1 ...   a card each, over vfio-user
//!   FOLDER/control            requests and answers, a line of JSON each
//!   FOLDER/lock               held by the fabric for as long as it runs, and holds its process number
//!   FOLDER/starting           held by who is about to start one
//!   FOLDER/fabric.log         what a fabric in the background tells
//! ```
//!
//! [`folder`] says which folder is meant when nobody says. [`Lock`] is how a fabric takes it, [`Client`] asks the fabric there, in the
//! words of [`Request`].

#![forbid(unsafe_code)]

mod client;
mod error;
mod lock;
mod message;
mod place;

pub use client::{Client, ask, find, wait};
pub use error::Error;
pub use lock::{Lock, Starting, holder};
pub use message::{Answer, CardStatus, REQUEST_MAX, Request, Status, Waves};
pub use place::{card, control, folder, log, make};
