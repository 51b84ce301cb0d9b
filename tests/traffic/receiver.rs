//! One receive queue of a side: what is posted to it, and the messages that must come.

use std::collections::{BTreeMap, VecDeque};

use stroma_abi::desc::{Status, shared_queue::SRQ_LOG_MIN};
use stroma_sim::model::Received;
use stroma_verilate::SplitMix64;

use super::operation::{cut, spread};
use super::{Area, Kind, MESSAGE_MAX, PIECES, Piece, Queue, Side, below};

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
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
    pub(super) solicited: bool,
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
}

impl Receiver {
    pub(super) fn new(end: usize, queue: Queue, room: Vec<u8>) -> Self {
        let (posted, expected) = (BTreeMap::new(), BTreeMap::new());
        Self { end, queue, room, free: (0..PLACES).collect(), posted, count: 0, expected }
    }

    pub(super) fn is_open(&self) -> bool {
        self.expected.values().any(|messages| !messages.is_empty())
    }

    /// Would one more message find a receive?
    pub(super) fn is_ready(&self) -> bool {
        self.expected.values().map(VecDeque::len).sum::<usize>() < self.posted.len()
    }

    pub(super) fn expect(&mut self, pair: usize, message: Message) {
        self.expected.entry(pair).or_default().push_back(message);
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
            let is_kept = oldest.is_some_and(|oldest| oldest + RING <= id);
            assert!(
                is_kept,
                "side {}, {:?}: no room for receive {id}, and {oldest:?} is open",
                self.end, self.queue
            );
            return false;
        }
        self.free.pop();
        self.count += 1;
        self.posted.insert(id, (place, pieces));
        true
    }

    /// Takes completions by one queue pair: the messages sent on it, in order, each in the receive whose turn it was. Whether
    /// one of them ended the key of its window.
    pub(super) fn poll(&mut self, pair: usize, side: &mut dyn Side) -> bool {
        let mut has_ended = false;
        while let Some(found) = side.poll_receive(pair) {
            let name = format!("side {}, receives of queue pair {pair}", self.end);
            let Some(message) = self.expected.get_mut(&pair).and_then(VecDeque::pop_front) else {
                panic!("{name}: {found:?}, and no message was sent");
            };
            let expected = Received {
                id: found.id,
                status: Status::Success,
                operation: message.kind.work(),
                bytes: u32::try_from(message.bytes.len()).expect("a megabyte at most"),
                immediate: message.kind.immediate(),
                invalidated: message.kind.ended(),
                solicited: message.solicited,
            };
            assert_eq!(found, expected, "{name}");
            // Of a shared queue, others may have taken older ones for messages that have not ended.
            let is_oldest = self.posted.keys().next() == Some(&found.id);
            assert!(is_oldest || self.queue == Queue::Shared, "{name}: {} is not the oldest", found.id);
            let Some((place, pieces)) = self.posted.remove(&found.id) else {
                panic!("{name}: {found:?}, and no such receive is open");
            };
            let mut rest = message.bytes.as_slice();
            for piece in pieces.iter().filter(|_| message.kind.is_send()) {
                let (now, behind) = rest.split_at(piece.length.min(rest.len()));
                self.room[piece.place..piece.place + now.len()].copy_from_slice(now);
                rest = behind;
            }
            let range = PLACE * place..PLACE * (place + 1);
            let bytes = side.read(Area::Room(self.queue), range.clone());
            assert!(bytes == self.room[range], "{name}: content of receive {}", found.id);
            self.free.push(place);
            has_ended |= found.invalidated.is_some();
        }
        has_ended
    }
}
