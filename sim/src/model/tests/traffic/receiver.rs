//! One receive queue of one end: what is posted to it, and the messages that must come.

use std::collections::{BTreeMap, VecDeque};

use stroma_abi::desc::{Status, WorkOp};
use stroma_verilate::SplitMix64;

use super::{SHARED, below, cut, room, sges, spread};
use crate::model::tests::rig::{Pair, list, number};
use crate::model::{Receive, ReceiveQueue, Received};

/// Bytes of the longest SEND: three packets of the longest MTU.
pub(super) const MESSAGE_MAX: usize = 10_000;
/// Bytes of a place for one receive.
const PLACE: usize = MESSAGE_MAX + 17 * 32;
/// Receives of a queue at most.
const PLACES: usize = 6;

/// Bytes of the buffers of a queue.
pub(super) const ROOM: usize = PLACE * PLACES;

/// A message that takes a receive.
pub(super) struct Message {
    pub(super) operation: WorkOp,
    pub(super) bytes: Vec<u8>,
    pub(super) immediate: Option<u32>,
    pub(super) solicited: bool,
}

pub(super) struct Receiver {
    end: usize,
    queue: u32,
    /// The queue itself, if it is not that of one queue pair.
    shared: Option<ReceiveQueue>,
    free: Vec<usize>,
    /// Where each receive lies: its place, and its pieces there.
    posted: BTreeMap<u64, (usize, Vec<std::ops::Range<usize>>)>,
    count: u64,
    /// Messages on their way, by queue pair.
    expected: BTreeMap<u32, VecDeque<Message>>,
}

impl Receiver {
    pub(super) fn new(end: usize, queue: u32, shared: Option<ReceiveQueue>) -> Self {
        Self {
            end,
            queue,
            shared,
            free: (0..PLACES).collect(),
            posted: BTreeMap::new(),
            count: 0,
            expected: BTreeMap::new(),
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.expected.values().any(|messages| !messages.is_empty())
    }

    /// Would one more message find a receive?
    pub(super) fn is_ready(&self) -> bool {
        self.expected.values().map(VecDeque::len).sum::<usize>() < self.posted.len()
    }

    pub(super) fn expect(&mut self, index: u32, message: Message) {
        self.expected.entry(index).or_default().push_back(message);
    }

    /// Posts one more receive, if there is room; whether it did. Its place is filled with a byte of its own.
    pub(super) fn post(&mut self, random: &mut SplitMix64, pair: &mut Pair) -> bool {
        let Some(place) = self.free.pop() else { return false };
        let (id, count) = (self.count, 1 + below(random, 16));
        self.count += 1;
        let here = &mut pair.ends[self.end];
        let region = here.memory.region_mut(room(self.queue)).unwrap();
        region.bytes[PLACE * place..PLACE * (place + 1)].fill(id.to_le_bytes()[0]);
        let pieces = cut(random, MESSAGE_MAX, count);
        assert!(spread(MESSAGE_MAX, count) <= PLACE);
        let receive = Receive { id, pieces: list(&sges(room(self.queue), PLACE * place, &pieces)) };
        match &self.shared {
            Some(queue) => queue.post(receive),
            None => here.post_receive(number(self.end.to_le_bytes()[0], self.queue), receive),
        }
        self.posted.insert(id, (place, pieces));
        true
    }

    /// Takes completions of one queue pair: the messages sent, in order, each in a receive that was posted.
    pub(super) fn poll(&mut self, index: u32, pair: &mut Pair) {
        let here = &mut pair.ends[self.end];
        while let Some(received) = here.poll_receive(number(self.end.to_le_bytes()[0], index)) {
            let name = format!("end {}, queue pair {index}", self.end);
            let message = self.expected.get_mut(&index).and_then(VecDeque::pop_front).expect("a message");
            let Received { id, status, operation, bytes, immediate, solicited, .. } = received;
            assert_eq!(status, Status::Success, "{name}");
            assert_eq!((operation, bytes as usize), (message.operation, message.bytes.len()), "{name}");
            assert_eq!((immediate, solicited), (message.immediate, message.solicited), "{name}");
            // Own receives are used up in order; of a shared queue others may have taken some, and not be done.
            assert!(self.queue == SHARED || self.posted.keys().next() == Some(&id), "{name}: {id}");
            let (place, pieces) = self.posted.remove(&id).expect("a receive that was posted");
            let mut expected = vec![id.to_le_bytes()[0]; PLACE];
            let mut rest = message.bytes.as_slice();
            for piece in pieces.into_iter().filter(|_| operation != WorkOp::WriteImm) {
                let (now, behind) = rest.split_at(piece.len().min(rest.len()));
                expected[piece.start..piece.start + now.len()].copy_from_slice(now);
                rest = behind;
            }
            let found = &here.memory.region(room(self.queue)).unwrap().bytes;
            assert!(found[PLACE * place..PLACE * (place + 1)] == expected, "{name}: receive {id}");
            self.free.push(place);
        }
    }
}
