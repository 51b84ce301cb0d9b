//! What both sides of the wire have: memory, queue pairs, receive queues.

use std::net::IpAddr;
use std::ops::Range;

use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};
use stroma_sim::model::{Completion, Received};

use super::receiver::{PLACE, PLACES};
use super::{AREA, OPEN, Operation, PAIRS, PairTerms, Receive, SHARED};

/// A receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// Of this queue pair alone.
    Own(usize),
    /// Of all queue pairs from [`SHARED`] on.
    Shared,
}

impl Queue {
    /// That of a queue pair.
    pub fn of(pair: usize) -> Self {
        if pair < SHARED { Self::Own(pair) } else { Self::Shared }
    }

    /// All of a side.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=SHARED).map(Self::of)
    }
}

/// A piece of a side's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// What SENDs and WRITEs send; one for all queue pairs.
    Source,
    /// What the far side of this queue pair writes and reads.
    Target(usize),
    /// Where the READs of this queue pair put what they get.
    Landing(usize),
    /// Where its atomics do, eight bytes for each that may be open.
    Results(usize),
    /// What the far side's atomics work on: a word for several of its queue pairs, then one for each.
    Words,
    /// Where messages to a receive queue go.
    Room(Queue),
}

impl Area {
    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(self) -> usize {
        match self {
            Self::Source | Self::Target(_) | Self::Landing(_) => AREA,
            Self::Results(_) => 8 * OPEN,
            Self::Words => 8 * (1 + PAIRS),
            Self::Room(_) => PLACE * PLACES,
        }
    }

    /// Place in [`Area::Words`] of the word that is a queue pair's alone.
    pub fn own_word(pair: usize) -> usize {
        8 * (1 + pair)
    }

    /// All of a side.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_pair = |pair| [Self::Target(pair), Self::Landing(pair), Self::Results(pair)];
        let rooms = Queue::all().map(Self::Room);
        (0..PAIRS).flat_map(of_pair).chain(rooms).chain([Self::Source, Self::Words])
    }
}

/// What one side tells the other of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Its number.
    pub number: Qpn,
    /// PSN of its first request.
    pub psn: Psn,
    /// Ethernet address.
    pub mac: Mac,
    /// IP address; both sides offer the same kind.
    pub address: IpAddr,
    /// Key of the region of its target, and address.
    pub target: (u32, u64),
    /// Key and address of its side's words; the address is a multiple of eight.
    pub words: (u32, u64),
    /// What datagrams to it have to know.
    pub queue_key: u32,
}

impl Offer {
    /// Key and address that an operation works on at the far side.
    pub fn remote(&self, operation: &Operation) -> (u32, u64) {
        let (key, base) =
            if operation.kind.is_atomic() { self.words } else { (operation.key, self.target.1) };
        (key, base + operation.remote as u64)
    }
}

/// One end of [`PAIRS`] queue pairs.
pub trait Side {
    /// What the far side must know of a queue pair.
    fn offer(&self, pair: usize) -> Offer;

    /// Makes a queue pair ready to send, to the one offered.
    fn connect(&mut self, pair: usize, terms: &PairTerms, far: &Offer);

    /// A key for the next bind of the window over a queue pair's target; another than those before.
    fn next_key(&mut self, pair: usize) -> u32;

    /// Posts an operation.
    fn post(&mut self, pair: usize, operation: &Operation);

    /// Posts a receive; whether there was room in the ring.
    fn post_receive(&mut self, queue: Queue, receive: &Receive) -> bool;

    /// The oldest completion of a queue pair not yet taken, under the operation's `id`.
    fn poll(&mut self, pair: usize) -> Option<Completion>;

    /// The oldest completion of a receive by a queue pair not yet taken.
    fn poll_receive(&mut self, pair: usize) -> Option<Received>;

    /// Writes to an area, from a place on.
    fn write(&mut self, area: Area, place: usize, bytes: &[u8]);

    /// Bytes of an area.
    fn read(&self, area: Area, range: Range<usize>) -> Vec<u8>;
}

/// DSCP 0, and packets may be marked.
pub(super) const TRAFFIC_CLASS: u8 = 0b10;
/// Hops of a packet.
pub(super) const HOP_LIMIT: u8 = 64;

/// What datagrams to a queue pair have to know: no two have the same.
pub(super) fn queue_key(end: usize, pair: usize) -> u32 {
    u32::try_from((end + 1) << 16 | pair).expect("small")
}

/// PSN of the first request of a queue pair: a few packets before the wrap, in which a message may be cut or not.
pub fn first_psn(end: usize, pair: usize) -> Psn {
    let before = 1 + (pair + 3 * end) % 8;
    Psn::new(0x100_0000 - u32::try_from(before).expect("small"))
}
