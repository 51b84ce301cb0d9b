//! What the buffers do, in plain Rust and cycle by cycle: the twins that tests hold the hardware against.

use std::collections::VecDeque;

/// A buffer between one sink and one source, seen at clock edges.
pub trait Buffer<T> {
    /// Would a beat be taken now?
    fn ready(&self) -> bool;
    /// The beat on offer.
    fn offer(&self) -> Option<&T>;
    /// Beats held.
    fn level(&self) -> usize;
    /// One clock edge: the beat that moved in, and whether the offer moved out.
    fn step(&mut self, taken: Option<T>, given: bool);
}

/// Twin of [`Skid`](super::skid::Skid), with room for two, and of [`Fifo`](super::fifo::Fifo).
pub struct Queue<T> {
    capacity: usize,
    beats: VecDeque<T>,
}

impl<T> Queue<T> {
    /// An empty queue of `capacity` places.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, beats: VecDeque::new() }
    }
}

impl<T> Buffer<T> for Queue<T> {
    fn ready(&self) -> bool {
        self.beats.len() < self.capacity
    }
    fn offer(&self) -> Option<&T> {
        self.beats.front()
    }
    fn level(&self) -> usize {
        self.beats.len()
    }
    fn step(&mut self, taken: Option<T>, given: bool) {
        if given {
            self.beats.pop_front();
        }
        self.beats.extend(taken);
    }
}

/// Twin of [`StreamRam`](super::stream_ram::StreamRam)'s reading side: the two beats fetched ahead.
pub struct Ahead<T> {
    fetched: Option<T>,
    head: Option<T>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { fetched: None, head: None }
    }
}

impl<T> Ahead<T> {
    /// The beat on offer.
    #[must_use]
    pub fn offer(&self) -> Option<&T> {
        self.head.as_ref()
    }

    /// Beats fetched ahead.
    #[must_use]
    pub fn level(&self) -> usize {
        usize::from(self.fetched.is_some()) + usize::from(self.head.is_some())
    }

    /// One clock edge: moves up what can move, and fetches from `memory` when there is room behind.
    pub fn step(&mut self, given: bool, memory: &mut VecDeque<T>) {
        if given || self.head.is_none() {
            self.head = self.fetched.take();
        }
        if self.fetched.is_none() {
            self.fetched = memory.pop_front();
        }
    }
}

/// Twin of [`BlockFifo`](super::block_fifo::BlockFifo).
pub struct DeepQueue<T> {
    capacity: usize,
    memory: VecDeque<T>,
    ahead: Ahead<T>,
}

impl<T> DeepQueue<T> {
    /// An empty queue with `capacity` places in its memory.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, memory: VecDeque::new(), ahead: Ahead::default() }
    }
}

impl<T> Buffer<T> for DeepQueue<T> {
    fn ready(&self) -> bool {
        self.memory.len() < self.capacity
    }
    fn offer(&self) -> Option<&T> {
        self.ahead.offer()
    }
    fn level(&self) -> usize {
        self.memory.len() + self.ahead.level()
    }
    fn step(&mut self, taken: Option<T>, given: bool) {
        self.ahead.step(given, &mut self.memory);
        self.memory.extend(taken);
    }
}
