//! What is known of the answers that queue pairs owe.

use rust_hdl::prelude::*;

use crate::prim::ram::{BlockRam, UltraRam};
use crate::prim::reg::Reg;
use crate::record;

/// log2 of the READs, atomics and RPCs of a queue pair that wait to be answered.
pub const READS_LOG: usize = 4;

/// What a [`ReadEntry`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A READ.
    Data = 0,
    /// An atomic: its answer is one packet, and waits for nothing.
    Value = 1,
    /// An RPC that may still run.
    Result = 2,
    /// The answer of an RPC, once more.
    Replay = 3,
}

record! {
    /// What a queue pair owes its peer.
    pub struct AnswerRow {
        /// An acknowledgement waits.
        pub acks: Bit,
        /// Its PSN.
        pub ack_psn: Bits<24>,
        /// Its MSN.
        pub ack_msn: Bits<24>,
        /// Its syndrome.
        pub syndrome: Bits<8>,
        /// READs, atomics and RPCs before this one are answered first.
        pub ack_after: Bits<5>,
        /// READs, atomics and RPCs answered, modulo 32; the low four bits are the place of the next.
        pub head: Bits<5>,
        /// Those taken, modulo 32.
        pub tail: Bits<5>,
        /// Bytes of the answer at the head that have gone.
        pub sent: Bits<32>,
        /// With `sent` not 0: the PSN that comes next. With `is_busy`: the one that came again.
        pub next_psn: Bits<24>,
        /// Those before this one need not wait for tickets.
        pub due_to: Bits<5>,
        /// The ticket of the READ taken last, which the others do not exceed.
        pub last_ticket: Bits<16>,
        /// A congestion notification is due.
        pub cnp_due: Bit,
        /// One was sent, and when.
        pub cnp_sent: Bit,
        pub cnp_at: Bits<32>,
        /// It stands in line.
        pub queued: Bit,
        /// Only a refusal is still told.
        pub stopped: Bit,
        /// READs, atomics and RPCs that came for the first time, modulo 32.
        pub came: Bits<5>,
        /// Those of them that are answered or will never be.
        pub over: Bits<5>,
        /// By place: an RPC waits to be answered.
        pub waits: Bits<16>,
        /// Those of them that are finished, with all bytes in the result area.
        pub finished: Bits<16>,
        /// The RPC at the head is finished, with its bytes at `stage` of the staging.
        pub staged: Bit,
        /// That place.
        pub stage: Bits<5>,
        /// The peer is to hear that the RPC at the head still runs.
        pub is_busy: Bit,
        /// Place of the newest RPC.
        pub newest: Bits<4>,
        /// It turns whenever the places begin anew.
        pub lap: Bit,
    }
}

record! {
    /// A READ that waits for its data, or an atomic or an RPC that is to be answered.
    pub struct ReadEntry {
        /// An [`EntryKind`].
        pub kind: Bits<2>,
        /// It came for the first time.
        pub fresh: Bit,
        /// First PSN of the answer.
        pub psn: Bits<24>,
        /// Messages completed, this one included.
        pub msn: Bits<24>,
        /// First byte; of an atomic what it found, of an RPC the bytes of its answer before these.
        pub va: Bits<64>,
        /// `R_Key`; of a `Replay` the status.
        pub key: Bits<32>,
        /// Bytes; of a `Replay` those of the whole answer, of an atomic and a `Result` none.
        pub length: Bits<32>,
        /// Code of the path MTU.
        pub path_mtu: Bits<3>,
        /// Protection domain.
        pub pd: Bits<16>,
        /// Writes to host memory that have to be visible first. An RPC waits for none: here are, lowest first, its place and the
        /// lap of that. With fields of their own an entry would take a fourth ultra RAM.
        pub ticket: Bits<16>,
    }
}

record! {
    /// What is known of an RPC that is finished.
    pub struct Outcome {
        /// Bytes of its answer.
        pub length: Bits<17>,
        /// Its status.
        pub status: Bits<32>,
    }
}

block! {
    /// Keeps an [`AnswerRow`] and 16 [`ReadEntry`]s for each of `2^QPS` queue pairs. The entries, many and wide, are in ultra RAM.
    ///
    /// An operation sees what the two before it have written, though the memory does not show it yet: the row written last is kept,
    /// and the one being written is seen as it comes.
    ///
    /// - **Ports** `begins`, `chosen`: read; `looks`, `looked`: a cycle later or more, of the same operation; `follows`: it is of the queue pair
    ///   `index`, whose operation is under way. From the next cycle on `row` shows the row, and in the next cycle `entry` the READ at its
    ///   head. `moves`: the operation of `index` ends, or there is none. `writes`, `changed`: it does, with the new row of `index`; `enters`, `entered`: a
    ///   READ, at the place of the tail of `row`. `scrubs`: nothing is known of `index`.
    /// - **Latency** 2 cycles. **Rate** an operation a cycle.
    /// - **Reset** none: the owner scrubs, for 2 cycles at least. READs behind an empty row mean nothing.
    /// - **Limits** `RING` is `QPS + 4`; anything else panics when the block is built. With `follows`, `entry` is right only if the
    ///   operation of `index` leaves the head where it is and does not write there.
    pub struct Rows<const QPS: usize, const RING: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub chosen: Signal<In, Bits<QPS>>,
        pub looks: Signal<In, Bit>,
        pub looked: Signal<In, Bits<QPS>>,
        pub follows: Signal<In, Bit>,
        pub row: Signal<Out, AnswerRow>,
        pub entry: Signal<Out, ReadEntry>,
        pub index: Signal<In, Bits<QPS>>,
        pub moves: Signal<In, Bit>,
        pub writes: Signal<In, Bit>,
        pub changed: Signal<In, AnswerRow>,
        pub enters: Signal<In, Bit>,
        pub entered: Signal<In, ReadEntry>,
        pub scrubs: Signal<In, Bit>,
        table: BlockRam<AnswerRow, QPS>,
        entries: UltraRam<ReadEntry, RING> = entries::<QPS, RING>(),
        seen: Reg<AnswerRow>,
        /// What the operation before that of `index` has written, and where.
        has_written: Reg<Bit>,
        written_index: Reg<Bits<QPS>>,
        written: Reg<AnswerRow>,
        known: Signal<Local, AnswerRow>,
        head: Signal<Local, Bits<4>>,
        tail: Signal<Local, Bits<4>>,
        nothing: Constant<AnswerRow> = Constant::new(AnswerRow::default()),
    }
}

fn entries<const QPS: usize, const RING: usize>() -> UltraRam<ReadEntry, RING> {
    assert_eq!(RING, QPS + READS_LOG, "2^{QPS} queue pairs have 2^{RING} READs");
    UltraRam::default()
}

impl<const QPS: usize, const RING: usize> Logic for Rows<QPS, RING> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table, entries);
        dff_setup!(self, clock, seen, has_written, written_index, written);
        self.table.read_enable.next = self.begins.val();
        self.table.read_address.next = self.chosen.val();
        self.known.next = self.table.read_data.val();
        if self.has_written.q.val() & (self.written_index.q.val() == self.looked.val()) {
            self.known.next = self.written.q.val();
        }
        if self.looks.val() {
            self.seen.d.next = self.known.val();
            if self.follows.val() {
                self.seen.d.next = self.changed.val();
            }
        }
        self.row.next = self.seen.q.val();
        self.head.next = bit_cast::<4, 5>(self.known.val().head);
        self.tail.next = bit_cast::<4, 5>(self.seen.q.val().tail);
        self.entries.read_enable.next = self.looks.val();
        self.entries.read_address.next =
            (bit_cast::<RING, QPS>(self.looked.val()) << 4) | bit_cast::<RING, 4>(self.head.val());
        self.entry.next = self.entries.read_data.val();
        self.entries.write_enable.next = self.enters.val();
        self.entries.write_address.next =
            (bit_cast::<RING, QPS>(self.index.val()) << 4) | bit_cast::<RING, 4>(self.tail.val());
        self.entries.write_data.next = self.entered.val();

        // While an operation goes on, the one behind it may still need what was written before.
        if self.moves.val() {
            self.has_written.d.next = self.writes.val();
            self.written_index.d.next = self.index.val();
            self.written.d.next = self.changed.val();
        }
        self.table.write_enable.next = self.writes.val() | self.scrubs.val();
        self.table.write_address.next = self.index.val();
        self.table.write_data.next = self.changed.val();
        if self.scrubs.val() {
            self.table.write_data.next = self.nothing.val();
        }
    }
}
