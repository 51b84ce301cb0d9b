//! Who takes the answers, in plain Rust.

mod course;

use rust_hdl::prelude::Bits;
use stroma_abi::Field;
use stroma_abi::desc::WorkOp;

use course::Course;

use super::MTU_LOG;
use crate::transport::records::{Alarm, Arrival, Errand, OUTSTANDING_LOG, Occasion, Rewind, Sent, SentRow};

/// All that comes of an arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Errands; what means nothing is zero.
    pub errands: Vec<Errand>,
    /// Send again.
    pub rewind: Option<Rewind>,
    /// Set the timer.
    pub alarm: Option<Alarm>,
    /// An answer of which nothing comes.
    pub is_stale: bool,
    /// An answer for a queue pair that has failed.
    pub is_unwanted: bool,
    /// The counter that counts it.
    pub counted: Option<Field>,
}

/// What is known of one queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Messages that are over, modulo 64.
    pub tail: u64,
    /// Packets of the next that are answered.
    pub progress: u64,
    /// READs and atomics that are over, modulo 32.
    pub reads: u64,
    /// Retries since the last progress.
    pub used: u64,
    /// It sends again since then.
    pub recovering: bool,
    /// RNR NAKs since then, modulo 8.
    pub rnr_used: u64,
    /// The peer was not ready, and the timer says when it may be.
    pub resting: bool,
    /// It has failed, or was flushed.
    pub failed: bool,
}

/// The difference of two PSNs, modulo 2^24.
#[must_use]
pub const fn ahead(psn: u64, base: u64) -> u64 {
    psn.wrapping_sub(base) & 0xff_ffff
}

/// Bytes of a packet by the code of the path MTU.
#[must_use]
pub fn mtu(code: Bits<3>) -> u64 {
    1 << (MTU_LOG as u64 + u64::from(code))
}

/// Is it an atomic?
#[must_use]
pub fn is_atomic(message: &Sent) -> bool {
    [WorkOp::CmpSwap, WorkOp::FetchAdd].into_iter().any(|op| message.opcode == op as u64)
}

/// Does it run a kernel?
#[must_use]
pub fn is_call(message: &Sent) -> bool {
    [WorkOp::Rpc, WorkOp::RpcWrite].into_iter().any(|op| message.opcode == op as u64)
}

/// Packets of an RPC's request before the PSNs of its answer; none of others.
#[must_use]
pub fn front(message: &Sent) -> u64 {
    if is_call(message) { u64::from(message.packets) - u64::from(message.answers) } else { 0 }
}

/// Does its answer bring data?
#[must_use]
pub fn fetches(message: &Sent) -> bool {
    is_atomic(message) || is_call(message) || message.opcode == WorkOp::Read as u64
}

impl Row {
    /// Messages that are not over.
    #[must_use]
    pub fn outstanding(&self, sent: &SentRow) -> u64 {
        u64::from(sent.head).wrapping_sub(self.tail) & 0x3f
    }

    /// The first message that is not over.
    ///
    /// # Panics
    /// If the ring has fewer places than a queue pair's messages may take.
    #[must_use]
    pub fn entry<'a>(&self, ring: &'a [Sent]) -> &'a Sent {
        &ring[usize::try_from(self.tail).expect("six bits") % (1 << OUTSTANDING_LOG)]
    }

    /// The first PSN that is not answered.
    #[must_use]
    pub fn unanswered(&self, ring: &[Sent]) -> u64 {
        (u64::from(self.entry(ring).psn) + self.progress) & 0xff_ffff
    }

    /// Takes an arrival, given what was sent: the row, and the ring of the queue pair's messages.
    pub fn arrive(&mut self, arrival: &Arrival, sent: &SentRow, ring: &[Sent]) -> Outcome {
        let mut course = Course::new(self, arrival, sent, ring);
        match u64::from(arrival.occasion) {
            occasion if occasion == Occasion::Timeout as u64 => course.expire(),
            occasion if occasion == Occasion::Flush as u64 => course.flush(),
            occasion if occasion == Occasion::Failure as u64 => course.break_off(),
            _ => return course.answer(),
        }
        course.finish()
    }
}
