//! What is asked of the other card, and whether it was done.

use anyhow::ensure;
use serde::Serialize;
use stroma_verbs::Batch;

use super::pair::{Pair, SLOTS};
use crate::pattern::pattern;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verb {
    /// WRITE to the other's memory.
    Write,
    /// READ from it.
    Read,
    /// SEND to its receives.
    Send,
    /// FETCH ADD, eight bytes.
    Atomic,
}

/// What an atomic adds.
const STEP: u64 = 3;

impl Verb {
    /// Bytes of an atomic.
    pub(crate) const ATOMIC_BYTES: usize = 8;

    /// As perftest has it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Write => "RDMA_Write",
            Self::Read => "RDMA_Read",
            Self::Send => "Send",
            Self::Atomic => "Atomic_Fetch_Add",
        }
    }

    /// Does each request take a receive?
    pub(crate) fn receives(self) -> bool {
        self == Self::Send
    }

    /// The next request of a queue pair, the number of which is given.
    pub(crate) fn put<'a>(
        self,
        batch: Batch<'a>,
        pair: &Pair,
        queue_pair: usize,
        message: u64,
        size: usize,
    ) -> anyhow::Result<Batch<'a>> {
        let (near, far) = (&pair.near, &pair.far);
        let at = near.offset(queue_pair, message);
        let (piece, target, key) = (near.memory.piece(at, size)?, far.memory.address(at)?, far.memory.rkey());
        Ok(match self {
            Self::Write => batch.write(&[piece], target, key),
            Self::Read => batch.read(&[piece], target, key),
            Self::Send => batch.send(&[piece]),
            Self::Atomic => {
                let word = far.memory.address(far.offset(queue_pair, 0))?;
                batch.fetch_add(piece, word, key, STEP)
            }
        })
    }

    /// Makes memory ready: what is to be moved is there, and where it goes is something else.
    pub(crate) fn prepare(self, pair: &Pair, size: usize) -> anyhow::Result<()> {
        let [source, target] = self.ways(pair);
        for (queue_pair, slot) in places(pair) {
            let at = source.offset(queue_pair, slot);
            let bytes = if self == Self::Atomic { vec![0; size] } else { pattern(seed(at, size), size) };
            source.memory.write(at, &bytes)?;
            let other: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            target.memory.write(at, &other)?;
        }
        Ok(())
    }

    /// Compares every byte, after so many requests on each queue pair.
    pub(crate) fn check(self, pair: &Pair, size: usize, iterations: u64) -> anyhow::Result<()> {
        let [source, target] = self.ways(pair);
        for (queue_pair, slot) in places(pair).filter(|(_, slot)| *slot < iterations) {
            let at = source.offset(queue_pair, slot);
            let mut found = vec![0; size];
            target.memory.read(at, &mut found)?;
            let expected = if self == Self::Atomic {
                // What the last one that came to this place has found.
                let last = slot + (iterations - 1 - slot) / SLOTS as u64 * SLOTS as u64;
                (last * STEP).to_le_bytes().to_vec()
            } else {
                pattern(seed(at, size), size)
            };
            let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            ensure!(
                wrong.is_none(),
                "{} of {size} bytes on queue pair {queue_pair}: byte {} is not what was sent",
                self.title(),
                wrong.unwrap_or(0)
            );
        }
        if self == Self::Atomic {
            for queue_pair in 0..pair.far.queue_pairs.len() {
                let mut word = [0; Self::ATOMIC_BYTES];
                pair.far.memory.read(pair.far.offset(queue_pair, 0), &mut word)?;
                let found = u64::from_le_bytes(word);
                ensure!(
                    found == iterations * STEP,
                    "{iterations} times {STEP} were added on queue pair {queue_pair}, and it is {found}"
                );
            }
        }
        Ok(())
    }

    /// Where bytes come from, and where they go.
    fn ways(self, pair: &Pair) -> [&super::End; 2] {
        match self {
            Self::Write | Self::Send => [&pair.near, &pair.far],
            Self::Read | Self::Atomic => [&pair.far, &pair.near],
        }
    }
}

/// All places of all queue pairs.
fn places(pair: &Pair) -> impl Iterator<Item = (usize, u64)> {
    (0..pair.near.queue_pairs.len())
        .flat_map(|queue_pair| (0..SLOTS as u64).map(move |slot| (queue_pair, slot)))
}

fn seed(at: usize, size: usize) -> u64 {
    (at as u64) << 32 | size as u64
}
