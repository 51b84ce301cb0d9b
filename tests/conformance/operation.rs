//! What an operation is: how it is posted, what it moves, and where one sees it.

use stroma_tests::pair::{End, Pair, pattern};
use stroma_verbs::{Batch, QueuePair, WorkOp};

/// Bytes of either memory that an operation has for itself.
const PLACE: usize = 8192;
/// Bytes behind the target that must stay as they are.
const MARGIN: usize = 64;
/// What stands in the target and behind it before.
const BEFORE: u8 = 0xee;
/// What the target's owner puts there afterwards.
const AFTER: u8 = 0x11;
/// Bytes of the word that an atomic changes.
const WORD: usize = 8;
/// What [`Add`] adds.
const ADDEND: u64 = 0x0101_0000_0000_0101;
/// What [`Swap`] puts in the place of what it expects.
const SWAPPED: u64 = 0x0123_4567_89ab_cdef;
/// What goes with messages that have immediate data.
const IMMEDIATE: u32 = 0xcafe_0000;

/// An operation; the number is that of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// RDMA WRITE.
    Write(usize),
    /// RDMA WRITE of eight bytes, with a key that no region has.
    WriteWrongKey,
    /// RDMA WRITE with immediate data, which take a receive without room.
    WriteImm(usize),
    /// RDMA READ.
    Read(usize),
    /// SEND, to a receive of as many bytes.
    Send(usize),
    /// SEND with immediate data.
    SendImm(usize),
    /// An addition to a word.
    Add,
    /// A comparison that finds what it expects, and swaps.
    Swap,
    /// An addition to what is no word: its address is no multiple of eight.
    AddMisaligned,
    /// An addition, with a key that no region has.
    AddWrongKey,
}

use Operation::{Add, AddMisaligned, AddWrongKey, Read, Send, SendImm, Swap, Write, WriteImm, WriteWrongKey};

/// What a message's receive has to say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) op: WorkOp,
    pub(crate) length: usize,
    pub(crate) immediate: Option<u32>,
}

impl Operation {
    fn length(self) -> usize {
        match self {
            Write(length) | WriteImm(length) | Read(length) | Send(length) | SendImm(length) => length,
            Add | Swap | AddMisaligned | AddWrongKey | WriteWrongKey => WORD,
        }
    }

    /// What its receive says when all is well; `None` if it takes none.
    pub(crate) fn received(self, index: usize) -> Option<Received> {
        let immediate = Some(IMMEDIATE + u32::try_from(index).expect("few operations"));
        let (op, immediate) = match self {
            Send(_) => (WorkOp::Send, None),
            SendImm(_) => (WorkOp::SendImm, immediate),
            WriteImm(_) => (WorkOp::WriteImm, immediate),
            _ => return None,
        };
        Some(Received { op, length: self.length(), immediate })
    }

    /// Bytes that its receive has to have.
    pub(crate) fn room(self) -> usize {
        if let WriteImm(_) = self { 0 } else { self.length() }
    }

    /// Where its receive lies in the far end's memory.
    pub(crate) fn receive_place(index: usize) -> usize {
        index * PLACE
    }

    /// The end that has the bytes, and the end that gets them.
    fn ends(self, pair: &Pair) -> [&End; 2] {
        let [near, far] = &pair.ends;
        match self {
            Write(_) | WriteWrongKey | WriteImm(_) | Send(_) | SendImm(_) => [near, far],
            Read(_) | Add | Swap | AddMisaligned | AddWrongKey => [far, near],
        }
    }

    /// What an atomic makes of the word it found.
    fn word_after(self, word: &[u8]) -> Option<[u8; WORD]> {
        let before = u64::from_le_bytes(word.try_into().ok()?);
        match self {
            Add => Some(before.wrapping_add(ADDEND).to_le_bytes()),
            Swap => Some(SWAPPED.to_le_bytes()),
            _ => None,
        }
    }

    /// Puts its bytes where they are taken from, in place `index`, and others where they go.
    pub(crate) fn prepare(self, pair: &Pair, index: usize) {
        let [source, target] = self.ends(pair);
        source.put(index * PLACE, &pattern(index as u64, self.length()));
        target.put(index * PLACE, &vec![BEFORE; self.length() + MARGIN]);
    }

    fn add<'a>(self, batch: Batch<'a>, pair: &Pair, index: usize) -> Batch<'a> {
        let [near, far] = &pair.ends;
        let (piece, remote, key) =
            (near.piece(index * PLACE, self.length()), far.at(index * PLACE), far.memory.rkey());
        let list = [piece];
        let list = if self.length() == 0 { &[] } else { &list[..] };
        let immediate = self.received(index).and_then(|received| received.immediate).unwrap_or_default();
        let batch = batch.wr_id(index as u64).signaled();
        match self {
            Write(_) => batch.write(list, remote, key),
            WriteWrongKey => batch.write(list, remote, key ^ 1),
            WriteImm(_) => batch.write_imm(list, remote, key, immediate),
            Read(_) => batch.read(list, remote, key),
            Send(_) => batch.send(list),
            SendImm(_) => batch.send_imm(list, immediate),
            Add => batch.fetch_add(piece, remote, key, ADDEND),
            AddMisaligned => batch.fetch_add(piece, remote + 4, key, ADDEND),
            AddWrongKey => batch.fetch_add(piece, remote, key ^ 1, ADDEND),
            Swap => {
                let expected = pattern(index as u64, WORD).try_into().expect("a word");
                batch.compare_swap(piece, remote, key, u64::from_le_bytes(expected), SWAPPED)
            }
        }
    }

    /// Are its bytes there, and no others touched? A word was changed once, and no more.
    pub(crate) fn is_done(self, pair: &Pair, index: usize) -> bool {
        let mut expected = pattern(index as u64, self.length());
        let word = self.word_after(&expected);
        expected.resize(self.length() + MARGIN, BEFORE);
        let has_changed = |word: [u8; WORD]| pair.ends[1].bytes(index * PLACE, WORD) == word;
        self.target(pair, index) == expected && word.is_none_or(has_changed)
    }

    /// Is the place it takes its bytes from as it was? That is where an atomic that was refused would show.
    pub(crate) fn is_undone(self, pair: &Pair, index: usize) -> bool {
        let kept = pattern(index as u64, self.length());
        self.ends(pair)[0].bytes(index * PLACE, self.length()) == kept
    }

    /// The owners of target and word go on with other things.
    pub(crate) fn overwrite(self, pair: &Pair, index: usize) {
        let [source, target] = self.ends(pair);
        target.put(index * PLACE, &vec![AFTER; self.length() + MARGIN]);
        source.put(index * PLACE, &vec![AFTER; self.length()]);
    }

    /// Has nobody touched target and word since?
    pub(crate) fn is_left_alone(self, pair: &Pair, index: usize) -> bool {
        let word = self.ends(pair)[0].bytes(index * PLACE, self.length());
        self.target(pair, index).into_iter().chain(word).all(|byte| byte == AFTER)
    }

    fn target(self, pair: &Pair, index: usize) -> Vec<u8> {
        self.ends(pair)[1].bytes(index * PLACE, self.length() + MARGIN)
    }
}

/// Posts operations together; each has its index as `wr_id`.
pub(crate) fn post(pair: &Pair, sender: &QueuePair, operations: &[Operation]) {
    let mut batch = sender.start();
    for (index, operation) in operations.iter().enumerate() {
        batch = operation.add(batch, pair, index);
    }
    batch.post().expect("room for a few");
}
