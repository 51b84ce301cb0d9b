//! The receive queues in plain Rust, an operation at a time.

use std::collections::VecDeque;

use stroma_abi::desc::queue_pair::QueuePairState;

use crate::host::work::QpChange;
use crate::transport::records::{ReceiveDoorbell, RingRow, SharedRow};

/// A receive queue, by table and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// An SRQ, else a queue pair's own.
    pub shared: bool,
    /// Which one.
    pub number: usize,
}

/// What became of a doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts.
    Good,
    /// It does not.
    Bad,
    /// It came through another page.
    WrongPage,
}

/// Indices of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indices {
    /// Behind the last posted.
    pub producer: u16,
    /// Of the first not taken.
    pub consumer: u16,
}

impl Indices {
    /// Posted and not taken.
    #[must_use]
    pub fn count(self) -> u16 {
        self.producer.wrapping_sub(self.consumer)
    }
}

/// All queues, and who waits for what.
#[derive(Clone, Debug)]
pub struct Model {
    tables: [Vec<Indices>; 2],
    /// The first nudge behind a stop is due.
    pub owed: Vec<bool>,
    told: Vec<Option<u64>>,
    /// Queue pairs to be recalled, in order.
    pub recalls: VecDeque<usize>,
    /// SRQs from which something was taken, in order.
    pub limits: VecDeque<usize>,
}

fn join(line: &mut VecDeque<usize>, number: usize) {
    if !line.contains(&number) {
        line.push_back(number);
    }
}

impl Model {
    /// Nothing is posted to `2^queue_pairs` and `2^srqs` queues.
    #[must_use]
    pub fn new(queue_pairs: usize, srqs: usize) -> Self {
        Self {
            tables: [queue_pairs, srqs].map(|log| vec![Indices::default(); 1 << log]),
            owed: vec![false; 1 << queue_pairs],
            told: vec![None; 1 << srqs],
            recalls: VecDeque::new(),
            limits: VecDeque::new(),
        }
    }

    /// What is known of a queue.
    #[must_use]
    pub fn queue(&self, queue: Queue) -> Indices {
        self.tables[usize::from(queue.shared)][queue.number]
    }

    fn queue_mut(&mut self, queue: Queue) -> &mut Indices {
        &mut self.tables[usize::from(queue.shared)][queue.number]
    }

    /// The receive `index`, which a look has shown, is taken.
    pub fn take(&mut self, queue: Queue, index: u16) {
        self.queue_mut(queue).consumer = index.wrapping_add(1);
        if queue.shared {
            join(&mut self.limits, queue.number);
        }
    }

    /// A doorbell, with the row that counts and the index taken up to when it was read.
    pub fn ring(
        &mut self,
        doorbell: &ReceiveDoorbell,
        ring: &RingRow,
        shared: &SharedRow,
        consumer: u16,
    ) -> Verdict {
        let (exists, page, log) = if doorbell.shared {
            (shared.exists, shared.page, shared.log.index())
        } else {
            (ring.exists, ring.page, ring.receive_log.index())
        };
        if !exists {
            return Verdict::Bad;
        }
        if page != doorbell.page {
            return Verdict::WrongPage;
        }
        let is_closed = ring.state.index() == QueuePairState::Reset as usize
            || ring.receive_log.index() == 0
            || ring.has_srq;
        if !doorbell.shared && is_closed {
            return Verdict::Bad;
        }
        let queue = Queue { shared: doorbell.shared, number: doorbell.number.index() };
        let producer = u16::try_from(doorbell.producer.index()).unwrap_or(u16::MAX);
        let ahead = producer.wrapping_sub(consumer);
        let count = self.queue(queue).producer.wrapping_sub(consumer);
        if usize::from(ahead) > 1 << log || ahead < count {
            return Verdict::Bad;
        }
        self.queue_mut(queue).producer = producer;
        if !doorbell.shared && is_failed(ring) {
            join(&mut self.recalls, queue.number);
        }
        Verdict::Good
    }

    /// A queue pair stops, or begins anew.
    pub fn change(&mut self, change: &QpChange) {
        let number = change.qpn.index();
        if change.resets {
            *self.queue_mut(Queue { shared: false, number }) = Indices::default();
            self.owed[number] = false;
        }
        if change.stops {
            self.owed[number] = true;
            join(&mut self.recalls, number);
        }
    }

    /// An SRQ begins anew.
    pub fn renew(&mut self, number: usize) {
        *self.queue_mut(Queue { shared: true, number }) = Indices::default();
        self.told[number] = None;
    }

    /// A visit of a queue pair that has left the line, with its index taken up to when it was read: is it nudged?
    pub fn recall(&mut self, number: usize, ring: &RingRow, consumer: u16) -> bool {
        let has_some = self.queue(Queue { shared: false, number }).producer != consumer;
        let is_recalled = is_failed(ring) && has_some;
        if is_recalled {
            join(&mut self.recalls, number);
        }
        std::mem::take(&mut self.owed[number]) || is_recalled
    }

    /// The same of an SRQ: does an event tell of its limit?
    pub fn limit(&mut self, number: usize, shared: &SharedRow, consumer: u16) -> bool {
        let count = self.queue(Queue { shared: true, number }).producer.wrapping_sub(consumer);
        let was_told = self.told[number] == Some(u64::from(shared.round));
        let tells = shared.exists && u64::from(count) < u64::from(shared.limit) && !was_told;
        self.told[number] = Some(u64::from(shared.round)).filter(|_| tells || was_told);
        tells
    }
}

fn is_failed(ring: &RingRow) -> bool {
    ring.exists && ring.state.index() == QueuePairState::Error as usize
}
