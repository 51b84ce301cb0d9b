//! SEND and SEND back, between two cards.
//!
//! The card that asks counts from when it begins with the message to when the answer is received; what the
//! program at the other end takes to answer, by the other card's clock, does not count: on a simulated card it is the time of another machine.

use anyhow::ensure;
use stroma_verbs::WorkCompletion;

use super::Talk;
use crate::pattern::pattern;
use crate::perf::{Between, End, Mtu, Pair, Patience, Shape};
use crate::ready;

/// In front of each message at the same doorbell: it does nothing, and is done when the card begins with the message.
const BEGIN: u64 = 0;
const MESSAGE: u64 = 1;
/// Places in memory: what is sent, and where it comes.
const SENT: u64 = 0;
const RECEIVED: u64 = 1;

/// Two cards that send to each other.
pub(super) struct Messages {
    pair: Pair,
    bytes: usize,
}

/// When things happened at an end, by its card's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    begun: Option<u64>,
    sent: bool,
    received: Option<u64>,
}

impl Times {
    fn note(&mut self, completion: &WorkCompletion) {
        match (completion.is_receive, completion.wr_id) {
            (true, _) => self.received = Some(completion.timestamp),
            (false, BEGIN) => self.begun = Some(completion.timestamp),
            (false, _) => self.sent = true,
        }
    }

    /// All of it has happened.
    fn are_all(self) -> Option<(u64, u64)> {
        self.begun.zip(self.received).filter(|_| self.sent)
    }
}

impl Messages {
    /// Opens both.
    pub(super) fn open(between: &Between, wanted: &ready::Wanted, bytes: usize) -> anyhow::Result<Self> {
        let shape = Shape { queue_pairs: 1, stride: bytes.next_multiple_of(64), mtu: Mtu::M4096, batch: 2 };
        Ok(Self { pair: Pair::open(between, wanted, &shape)?, bytes })
    }

    pub(super) fn talk(&self) -> Talk {
        let [from, to] = self.pair.names();
        Talk { from, to, clock_khz: self.pair.clock_khz(), time: self.pair.time }
    }

    fn receive(&self, end: &End) -> anyhow::Result<()> {
        let piece = end.memory.piece(end.offset(0, RECEIVED), self.bytes)?;
        Ok(end.queue_pairs[0].receives()?.receive(MESSAGE, &[piece]).post()?)
    }

    fn send(&self, end: &End, place: u64) -> anyhow::Result<()> {
        let piece = end.memory.piece(end.offset(0, place), self.bytes)?;
        let batch = end.queue_pairs[0].start().wr_id(BEGIN).signaled().nop();
        Ok(batch.wr_id(MESSAGE).signaled().send(&[piece]).post()?)
    }

    /// One round, in nanoseconds.
    pub(super) fn round(&self, sequence: u32) -> anyhow::Result<f64> {
        let Pair { near, far, .. } = &self.pair;
        let message = pattern(u64::from(sequence) + 1, self.bytes);
        near.memory.write(near.offset(0, SENT), &message)?;
        self.receive(near)?;
        self.receive(far)?;
        far.settle()?;
        self.send(near, SENT)?;
        let (mut asks, mut answers) = (Times::default(), Times::default());
        let (mut has_answered, mut patience) = (false, Patience::new());
        loop {
            let mut happened = near.poll(|_, completion| asks.note(completion))?;
            happened |= far.poll(|_, completion| answers.note(completion))?;
            if answers.received.is_some() && !has_answered {
                has_answered = true;
                // What came goes back.
                self.send(far, RECEIVED)?;
            }
            if let (Some((begun, received)), Some((answer, question))) = (asks.are_all(), answers.are_all()) {
                let mut found = vec![0; self.bytes];
                near.memory.read(near.offset(0, RECEIVED), &mut found)?;
                ensure!(
                    found == message,
                    "the answer to message {sequence} has other bytes than the message"
                );
                let programs = answer.saturating_sub(question);
                return Ok(self.pair.nanoseconds(received.saturating_sub(begun).saturating_sub(programs)));
            }
            patience.wait(happened)?;
        }
    }
}
