//! What an operation is: how it is posted, what it moves, and where one sees it.

use stroma_tests::pair::{End, Pair, pattern};
use stroma_verbs::{Batch, QueuePair};

/// Bytes of either memory that an operation has for itself.
const PLACE: usize = 8192;
/// Bytes behind the target that must stay as they are.
const MARGIN: usize = 64;
/// What stands in the target and behind it before.
const BEFORE: u8 = 0xee;
/// What the target's owner puts there afterwards.
const AFTER: u8 = 0x11;

/// An operation of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// RDMA WRITE.
    Write(usize),
    /// RDMA READ.
    Read(usize),
}

use Operation::{Read, Write};

impl Operation {
    fn length(self) -> usize {
        match self {
            Write(length) | Read(length) => length,
        }
    }

    /// The end that has the bytes, and the end that gets them.
    fn ends(self, pair: &Pair) -> [&End; 2] {
        let [near, far] = &pair.ends;
        match self {
            Write(_) => [near, far],
            Read(_) => [far, near],
        }
    }

    /// Puts its bytes where they are taken from, in place `index`, and others where they go.
    fn prepare(self, pair: &Pair, index: usize) {
        let [source, target] = self.ends(pair);
        source.put(index * PLACE, &pattern(index as u64, self.length()));
        target.put(index * PLACE, &vec![BEFORE; self.length() + MARGIN]);
    }

    fn add<'a>(self, batch: Batch<'a>, pair: &Pair, index: usize) -> Batch<'a> {
        let [near, far] = &pair.ends;
        let (piece, remote, key) =
            (near.piece(index * PLACE, self.length()), far.at(index * PLACE), far.memory.rkey());
        let batch = batch.wr_id(index as u64).signaled();
        match self {
            Write(_) => batch.write(&[piece], remote, key),
            Read(_) => batch.read(&[piece], remote, key),
        }
    }

    /// Are its bytes there, and no others touched?
    pub(crate) fn is_done(self, pair: &Pair, index: usize) -> bool {
        let mut expected = pattern(index as u64, self.length());
        expected.resize(self.length() + MARGIN, BEFORE);
        self.target(pair, index) == expected
    }

    /// The owner of the target goes on with other things.
    pub(crate) fn overwrite(self, pair: &Pair, index: usize) {
        self.ends(pair)[1].put(index * PLACE, &vec![AFTER; self.length() + MARGIN]);
    }

    /// Has nobody touched the target since?
    pub(crate) fn is_left_alone(self, pair: &Pair, index: usize) -> bool {
        self.target(pair, index).iter().all(|byte| *byte == AFTER)
    }

    fn target(self, pair: &Pair, index: usize) -> Vec<u8> {
        self.ends(pair)[1].bytes(index * PLACE, self.length() + MARGIN)
    }
}

/// Posts operations together; each has its index as `wr_id`.
pub(crate) fn post(pair: &Pair, sender: &QueuePair, operations: &[Operation]) {
    let mut batch = sender.start();
    for (index, operation) in operations.iter().enumerate() {
        operation.prepare(pair, index);
        batch = operation.add(batch, pair, index);
    }
    batch.post().expect("room for a few");
}
