//! What is on a card that a program has: the program's driver is asked, because a card has one client and answers to nobody else.
//!
//! 1. While a card is open its driver listens at a socket ([`inspection`](crate::inspection)), which is its user's alone. Whoever has the card is
//!    whose socket it is: one that stands there is of a program that is gone, and is replaced.
//! 2. A line of JSON asks ([`Question`]), another answers ([`Told`] in an [`Answer`](crate::Answer)), and the connection ends.
//! 3. One after the other is answered. A question is there within [`QUESTION_PATIENCE`], in [`REQUEST_MAX`](crate::REQUEST_MAX) bytes, and an answer
//!    is fetched within [`ANSWER_PATIENCE`]; otherwise the connection ends. The program does not notice.
//! 4. Where there can be no socket the program goes on without.

mod client;
mod columns;
mod question;
mod report;
mod server;
mod text;

pub use client::ask;
pub use question::{Kind, Only, Question, Selection, Told, VERSION};
pub use report::{
    CompletionQueue, MemoryRegion, Port, QueuePair, QueuePairSetup, QueuePairState, Region, Report,
    SharedQueue, Tlb, Translation,
};
pub use server::{ANSWER_PATIENCE, Inspection, QUESTION_PATIENCE};

#[cfg(test)]
mod tests;
