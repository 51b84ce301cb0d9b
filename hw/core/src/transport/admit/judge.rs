//! What may become of a work.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::extent::Lengths;
use super::intake::Opening;
use super::keyed::KeyStanding;
use super::rows::CursorRow;
use crate::constant::number;
use crate::host::parse::Defect;
use crate::host::work::Work;
use crate::record;
use crate::transport::records::{OUTSTANDING_LOG, QUANTUM_BYTES, Sent};

/// PSNs that the unacknowledged messages of a queue pair may take: with more, old and new could not be told apart.
pub const PSN_WINDOW: u64 = 1 << 23;
const _: () = assert!(PSN_WINDOW == 1 << 23, "bit 23 of a distance tells that it is as long");

record! {
    /// What becomes of a work; without any of the first five it is passed over, or tries again without waiting.
    pub struct Verdict {
        /// It goes to the mover, with `status` and `vendor`.
        pub local: Bit,
        /// It is sent, or a part of it.
        pub message: Bit,
        /// It changes what a key stands for.
        pub key: Bit,
        /// It waits for an answer of the peer, or for the end of a drain.
        pub blocked: Bit,
        /// It is not what was sent under its index: the queue pair fails, with `status` and `vendor`.
        pub fails: Bit,
        /// It is a READ, an atomic or an RPC that waits for such.
        pub read_waits: Bit,
        /// A `Status`.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
        /// PSNs that are sent: the packets of a SEND or WRITE, the answers of a READ or atomic, both of an RPC.
        pub covers: Bits<24>,
        /// Packets that are sent, at least one.
        pub packets: Bits<24>,
        /// The request of an RPC has arrived: its answer is asked for again.
        pub asks_again: Bit,
        /// They are the last of the message.
        pub finishes: Bit,
    }
}

block! {
    /// Judges one work. Logic only.
    ///
    /// - **Ports** `row`, `resumes`, `pending`, `reads`: as [`CatchUp`](super::catch_up::CatchUp) gives them; `found`: the
    ///   message it names; `work`, `opening`: the work, and how its units begin; `lengths`: how long it is; `local_ended`: the queue
    ///   pair's last local work has ended; `keys`: how its works on keys stand; `bytes`: admitted in this job so far. `cursor`: the row with its cursor
    ///   complete; `ahead`: PSNs from there to the frontier; `verdict`: what becomes of the work; with `ends` at most `blocked`: what comes next waits for a rewind.
    /// - **Stopped** queue pairs carry out nothing: each work, local or not, is `Flushed` when all before it is over.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Judge {
        pub row: Signal<In, CursorRow>,
        pub resumes: Signal<In, Bit>,
        pub pending: Signal<In, Bits<6>>,
        pub reads: Signal<In, Bits<5>>,
        pub found: Signal<In, Sent>,
        pub work: Signal<In, Work>,
        pub opening: Signal<In, Opening>,
        pub lengths: Signal<In, Lengths>,
        pub local_ended: Signal<In, Bit>,
        pub keys: Signal<In, KeyStanding>,
        pub bytes: Signal<In, Bits<32>>,
        pub cursor: Signal<Out, CursorRow>,
        pub ahead: Signal<Out, Bits<24>>,
        pub verdict: Signal<Out, Verdict>,
        now: Signal<Local, CursorRow>,
        is_mine: Signal<Local, Bit>,
        is_stopped: Signal<Local, Bit>,
        is_old: Signal<Local, Bit>,
        is_hopeless: Signal<Local, Bit>,
        agrees: Signal<Local, Bit>,
        span: Signal<Local, Bits<24>>,
        is_full: Signal<Local, Bit>,
        read_waits: Signal<Local, Bit>,
        waits: Signal<Local, Bit>,
        is_spent: Signal<Local, Bit>,
        left: Signal<Local, Bits<24>>,
        unsent: Signal<Local, Bits<24>>,
        is_single: Signal<Local, Bit>,
        asks_again: Signal<Local, Bit>,
        share: Signal<Local, Bits<24>>,
        outcome: Signal<Local, Verdict>,
        nothing: Constant<Verdict> = Constant::new(Verdict::default()),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u64),
        malformed: Constant<Bits<8>> = number(Status::LocalQueuePair as u64),
        overwritten: Constant<Bits<8>> = number(Defect::Index as u64),
        no_read: Constant<Bits<8>> = number(Defect::OpCode as u64),
        most: Constant<Bits<6>> = number(1_u64 << OUTSTANDING_LOG),
        quantum: Constant<Bits<32>> = number(QUANTUM_BYTES),
        /// In packets of 128 bytes, which code 0 would be of.
        quantum_packets: Constant<Bits<24>> = number(QUANTUM_BYTES / 128),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.now.next = self.row.val();
        if self.resumes.val() {
            self.now.next.index = self.found.val().index;
            self.now.next.psn = self.found.val().psn;
        }
        self.cursor.next = self.now.val();
        self.ahead.next = self.row.val().frontier - self.now.val().psn;
        self.is_mine.next = !self.work.val().ends & (self.now.val().index == self.work.val().index);
        // What stands behind a failed work on a key is flushed, whenever the news of the error comes.
        self.is_stopped.next = self.row.val().stopped | self.row.val().halted | self.keys.val().failed;
        self.is_old.next = self.row.val().slot != self.row.val().head;
        self.is_hopeless.next = self.opening.val().asks & !self.work.val().reads_out.any();
        self.agrees.next = self.opening.val().is_request
            & (self.found.val().index == self.work.val().index)
            & (self.found.val().opcode == self.work.val().opcode)
            & (self.found.val().packets == self.lengths.val().psns)
            & (self.found.val().length == self.lengths.val().bytes)
            & (!self.opening.val().asks
                | ((self.found.val().address == self.opening.val().address)
                    & (self.found.val().key == self.opening.val().key)));
        // At the head the oldest message is looked at: all PSNs from its first on are in flight, half of all at most. The
        // distance from there to the last PSN of this one must be less than half.
        self.span.next = (self.row.val().psn + self.lengths.val().psns) + !self.found.val().psn;
        self.is_full.next = (self.pending.val() == self.most.val())
            | (self.pending.val().any() & self.span.val().get_bit(23));
        self.read_waits.next = self.opening.val().asks & (self.reads.val() >= self.work.val().reads_out);
        self.waits.next = self.is_full.val()
            | self.read_waits.val()
            | (self.work.val().fence & self.reads.val().any())
            | self.row.val().held;
        self.is_spent.next = self.bytes.val() >= self.quantum.val();

        self.left.next = self.lengths.val().psns - self.row.val().sent;
        self.unsent.next = self.lengths.val().packets - self.row.val().sent;
        self.is_single.next = self.opening.val().asks & !self.opening.val().is_call;
        self.asks_again.next =
            self.opening.val().is_call & (self.row.val().sent >= self.lengths.val().packets);
        self.share.next = self.quantum_packets.val() >> self.work.val().path_mtu;
        self.outcome.next = self.nothing.val();
        self.outcome.next.status = self.work.val().status;
        self.outcome.next.vendor = self.work.val().vendor;
        self.outcome.next.covers = self.left.val();
        self.outcome.next.packets = self.unsent.val();
        self.outcome.next.asks_again = self.asks_again.val();
        self.outcome.next.finishes = true;
        if self.is_single.val() | self.asks_again.val() {
            self.outcome.next.packets = 1.into();
        } else if self.unsent.val() > self.share.val() {
            self.outcome.next.covers = self.share.val();
            self.outcome.next.packets = self.share.val();
            self.outcome.next.finishes = false;
        }

        if self.work.val().ends {
            self.outcome.next.blocked = self.is_old.val() & self.row.val().held & !self.is_stopped.val();
        }
        if self.is_mine.val() {
            if self.is_old.val() & !self.is_stopped.val() {
                if self.row.val().held {
                    self.outcome.next.blocked = true;
                } else if self.agrees.val() {
                    self.outcome.next.message = !self.is_spent.val();
                } else if self.work.val().status == self.flushed.val() {
                    // The queue pair is in error, and the news has not come here yet.
                    self.outcome.next.blocked = true;
                } else {
                    self.outcome.next.fails = true;
                    if !self.work.val().status.any() {
                        self.outcome.next.status = self.malformed.val();
                        self.outcome.next.vendor = self.overwritten.val();
                    }
                }
            } else if self.work.val().drains {
                // Stopped meanwhile, it comes again in a job that flushes it.
                self.outcome.next.blocked = true;
            } else if self.opening.val().is_request & !self.is_stopped.val() & !self.is_hopeless.val() {
                self.outcome.next.blocked = self.waits.val();
                self.outcome.next.read_waits = self.read_waits.val();
                self.outcome.next.message =
                    !self.waits.val() & self.local_ended.val() & self.keys.val().ended & !self.is_spent.val();
            } else if self.opening.val().is_key & !self.is_stopped.val() {
                self.outcome.next.blocked = self.pending.val().any();
                self.outcome.next.key = !self.pending.val().any()
                    & self.local_ended.val()
                    & self.keys.val().ended
                    & self.keys.val().has_room;
            } else {
                self.outcome.next.local = !self.pending.val().any() & self.keys.val().ended;
                self.outcome.next.blocked = self.pending.val().any();
                if self.is_stopped.val() {
                    // Whatever it is, and whatever others found wrong with it: the first failure alone has a status of its own.
                    self.outcome.next.status = self.flushed.val();
                    self.outcome.next.vendor = 0.into();
                } else if self.opening.val().is_request {
                    self.outcome.next.status = self.malformed.val();
                    self.outcome.next.vendor = self.no_read.val();
                }
            }
        }
        self.verdict.next = self.outcome.val();
    }
}
