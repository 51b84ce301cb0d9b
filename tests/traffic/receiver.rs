//! One receive queue of a side: what is posted to it, and the messages that must come.

use std::collections::{BTreeMap, VecDeque};

use stroma_abi::Qpn;
use stroma_abi::desc::{Status, shared_queue::SRQ_LOG_MIN};
use stroma_sim::model::Received;
use stroma_verilate::SplitMix64;

use super::lossy::{Fate, Messages};
use super::operation::{cut, spread};
use super::{Area, Kind, MESSAGE_MAX, PAIRS, PIECES, Piece, Plan, Queue, Side, below};

/// Bytes of a place for one receive.
pub(super) const PLACE: usize = spread(MESSAGE_MAX, PIECES);
/// Receives of a queue at most: fewer than a queue pair has messages open.
pub(super) const PLACES: usize = 8;
/// Entries of a ring at least.
const RING: u64 = 1 << SRQ_LOG_MIN;

/// A receive to be posted: pieces of the room of its queue, long enough for every message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Numbers the receives of a queue, from 0.
    pub id: u64,
    /// Where the message goes.
    pub pieces: Vec<Piece>,
}

/// A message that takes a receive.
pub(super) struct Message {
    /// Number of its operation.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
    pub(super) solicited: bool,
    /// The queue pair that has sent it, of a datagram. Then the bytes begin with an IP header.
    pub(super) source: Option<Qpn>,
}

impl Message {
    /// What the receive of this number completes with.
    pub(super) fn completion(&self, id: u64) -> Received {
        Received {
            id,
            status: Status::Success,
            operation: self.kind.work(),
            bytes: u32::try_from(self.bytes.len()).expect("a megabyte at most"),
            immediate: self.kind.immediate(),
            invalidated: self.kind.ended(),
            solicited: self.solicited,
            source: self.source,
        }
    }
}

/// What came to a receive queue by one queue pair.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Numbers of the operations.
    pub(super) ids: Vec<u64>,
    /// Did one of them end the key of its window?
    pub(super) has_ended: bool,
}

/// One receive queue of a side.
pub(super) struct Receiver {
    end: usize,
    queue: Queue,
    /// What its room is when all that has completed is in.
    pub(super) room: Vec<u8>,
    free: Vec<usize>,
    /// Receives that have not completed, with their places.
    posted: BTreeMap<u64, (usize, Vec<Piece>)>,
    count: u64,
    /// Messages that were sent and have not completed a receive, by queue pair.
    expected: BTreeMap<usize, VecDeque<Message>>,
    /// Messages of queue pairs that may lose them.
    lossy: BTreeMap<usize, Messages>,
}

impl Receiver {
    pub(super) fn new(end: usize, queue: Queue, room: Vec<u8>, plan: &Plan) -> Self {
        let (posted, expected) = (BTreeMap::new(), BTreeMap::new());
        let lossy = (0..PAIRS).filter(|pair| Queue::of(*pair) == queue && plan.loses(*pair));
        let lossy = lossy.map(|pair| (pair, Messages::default())).collect();
        Self { end, queue, room, free: (0..PLACES).collect(), posted, count: 0, expected, lossy }
    }

    pub(super) fn is_open(&self) -> bool {
        self.expected.values().any(|messages| !messages.is_empty())
    }

    /// Does a receive that has not completed keep the ring full?
    pub(super) fn is_kept(&self) -> bool {
        self.posted.keys().next().is_some_and(|oldest| oldest + RING <= self.count)
    }

    /// Would one more message find a receive?
    pub(super) fn is_ready(&self) -> bool {
        self.expected.values().map(VecDeque::len).sum::<usize>() < self.posted.len()
    }

    pub(super) fn expect(&mut self, pair: usize, message: Message) {
        match self.lossy.get_mut(&pair) {
            Some(messages) => messages.push(message),
            None => self.expected.entry(pair).or_default().push_back(message),
        }
    }

    /// Posts one more receive, if there is room; whether it did.
    pub(super) fn post(&mut self, random: &mut SplitMix64, side: &mut dyn Side) -> bool {
        let Some(&place) = self.free.last() else { return false };
        let id = self.count;
        let count = 1 + below(random, PIECES);
        let pieces = cut(random, PLACE * place, MESSAGE_MAX, count);
        if !side.post_receive(self.queue, &Receive { id, pieces: pieces.clone() }) {
            // A ring is filled in its order: a message that takes long keeps it full, and nothing else may.
            let oldest = self.posted.keys().next();
            assert!(
                self.is_kept(),
                "side {}, {:?}: no room for receive {id}, and {oldest:?} is open",
                self.end,
                self.queue
            );
            return false;
        }
        self.free.pop();
        self.count += 1;
        self.posted.insert(id, (place, pieces));
        true
    }

    /// Takes completions by one queue pair: the messages sent on it, in order, each in the receive whose turn it was; or some of
    /// them, where they may be lost.
    pub(super) fn poll(&mut self, pair: usize, side: &mut dyn Side) -> Arrivals {
        let mut arrivals = Arrivals::default();
        while let Some(found) = side.poll_receive(pair) {
            let name = format!("side {}, receives of queue pair {pair}", self.end);
            // Of a shared queue, others may have taken older ones for messages that have not ended.
            let is_oldest = self.posted.keys().next() == Some(&found.id);
            assert!(is_oldest || self.queue == Queue::Shared, "{name}: {} is not the oldest", found.id);
            let Some((place, pieces)) = self.posted.remove(&found.id) else {
                panic!("{name}: {found:?}, and no such receive is open");
            };
            let range = PLACE * place..PLACE * (place + 1);
            let bytes = side.read(Area::Room(self.queue), range.clone());
            let expected;
            let message = if let Some(messages) = self.lossy.get_mut(&pair) {
                let places: Vec<usize> = pieces.iter().flat_map(|piece| piece.range()).collect();
                let sent: Vec<u8> = places.iter().map(|place| bytes[place - range.start]).collect();
                for ((at, place), byte) in places.iter().enumerate().zip(&sent) {
                    if self.room[*place] != *byte && messages.leaves(at, *byte) {
                        self.room[*place] = *byte;
                    }
                }
                messages.take(&found, &sent)
            } else {
                expected = self.expected.get_mut(&pair).and_then(VecDeque::pop_front);
                expected.as_ref()
            };
            let Some(message) = message else {
                panic!("{name}: {found:?}, and no such message was sent");
            };
            assert_eq!(found, message.completion(found.id), "{name}");
            let mut rest = message.bytes.as_slice();
            for piece in pieces.iter().filter(|_| message.kind.is_send()) {
                let (now, behind) = rest.split_at(piece.length.min(rest.len()));
                self.room[piece.place..piece.place + now.len()].copy_from_slice(now);
                rest = behind;
            }
            assert!(bytes == self.room[range], "{name}: content of receive {}", found.id);
            self.free.push(place);
            arrivals.ids.push(message.id);
            arrivals.has_ended |= found.invalidated.is_some();
        }
        arrivals
    }

    /// Takes the bytes that a message which was broken off has left in a receive.
    pub(super) fn settle(&mut self, side: &dyn Side) {
        let found = side.read(Area::Room(self.queue), 0..self.room.len());
        let posted = self
            .posted
            .values()
            .flat_map(|(_, pieces)| pieces.iter().flat_map(|piece| piece.range()).enumerate());
        for (at, place) in posted {
            let byte = found[place];
            if self.room[place] != byte && self.lossy.values().any(|messages| messages.leaves(at, byte)) {
                self.room[place] = byte;
            }
        }
    }

    /// What became of messages that might be lost.
    pub(super) fn fate(&self) -> Fate {
        let mut fate = Fate::default();
        self.lossy.values().for_each(|messages| fate.add(&messages.fate()));
        fate
    }
}
