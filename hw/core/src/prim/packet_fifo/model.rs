//! The packet FIFO in plain Rust, cycle by cycle.

use std::collections::VecDeque;

use crate::prim::model::{Ahead, Buffer};
use crate::stream::Beat;

/// Twin of [`PacketFifo`](super::PacketFifo). Its level counts what can be read: committed beats.
pub struct PacketQueue<const D: usize> {
    capacity: usize,
    drop_when_full: bool,
    open: Vec<Beat<D>>,
    committed: VecDeque<Beat<D>>,
    ahead: Ahead<Beat<D>>,
    is_swallowing: bool,
    /// Packets whose last beat said `err`.
    pub dropped: u32,
    /// Packets that did not fit.
    pub overflowed: u32,
}

impl<const D: usize> PacketQueue<D> {
    /// An empty queue with `capacity` places in its memory.
    #[must_use]
    pub fn new(capacity: usize, drop_when_full: bool) -> Self {
        Self {
            capacity,
            drop_when_full,
            open: Vec::new(),
            committed: VecDeque::new(),
            ahead: Ahead::default(),
            is_swallowing: false,
            dropped: 0,
            overflowed: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.open.len() + self.committed.len() == self.capacity
    }

    fn take(&mut self, beat: Beat<D>, is_lost: bool) {
        if is_lost {
            self.open.clear();
            self.is_swallowing = !beat.eop;
            self.overflowed += u32::from(beat.eop);
        } else if beat.eop && beat.err {
            self.open.clear();
            self.dropped += 1;
        } else {
            self.open.push(beat);
            if beat.eop {
                self.committed.extend(self.open.drain(..));
            }
        }
    }
}

impl<const D: usize> Buffer<Beat<D>> for PacketQueue<D> {
    fn ready(&self) -> bool {
        self.drop_when_full || !self.is_full() || self.is_swallowing || self.committed.is_empty()
    }
    fn offer(&self) -> Option<&Beat<D>> {
        self.ahead.offer()
    }
    fn level(&self) -> usize {
        self.committed.len() + self.ahead.level()
    }
    fn step(&mut self, taken: Option<Beat<D>>, given: bool) {
        let is_lost = self.is_full() || self.is_swallowing;
        self.ahead.step(given, &mut self.committed);
        if let Some(beat) = taken {
            self.take(beat, is_lost);
        }
    }
}
