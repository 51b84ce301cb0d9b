//! How an arrival stands to the first message that is not over.

use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;

use super::MTU_LOG;
use super::kind::Kind;
use super::measure::Measures;
use super::rows::Answered;
use crate::constant::number;
use crate::record;
use crate::transport::records::{Arrival, Sent};

record! {
    /// At most one of those from `is_over` to `is_broken`; none: nothing comes of the arrival.
    pub struct Standing {
        /// The message is a READ, an atomic or an RPC: its answer brings data.
        pub fetches: Bit,
        /// It is none, and the answer ends it.
        pub is_over: Bit,
        /// Something behind it was answered, so that its own answer is lost.
        pub is_missing: Bit,
        /// It is an RPC that still runs.
        pub is_busy: Bit,
        /// The answer is for it: an acknowledgement,
        pub is_acknowledged: Bit,
        /// the wish for the rest of it,
        pub is_wanted: Bit,
        /// the wish to have it later,
        pub is_deferred: Bit,
        /// a refusal,
        pub is_refused: Bit,
        /// its next data,
        pub is_brought: Bit,
        /// or data that it has not asked for.
        pub is_wrong: Bit,
        /// The timer ran out: its answer is overdue,
        pub is_late: Bit,
        /// all that was sent is answered,
        pub is_waiting: Bit,
        /// or the queue pair has rested for long enough.
        pub is_rested: Bit,
        /// It is given up, but not for its own sake.
        pub is_flushed: Bit,
        /// It cannot be sent.
        pub is_broken: Bit,
        /// Something of it is answered that was not.
        pub moves: Bit,
        /// The answer is for it and brings nothing: all before its PSN is answered.
        pub advances: Bit,
        /// Its data came or are missing, or it is busy: of an RPC, all is answered before the PSNs of its answer.
        pub is_here: Bit,
        /// It is missing, and the end of its own answer came.
        pub is_complete: Bit,
        /// No message is behind it.
        pub is_only: Bit,
        /// It is over, and another is judged by the same arrival.
        pub continues: Bit,
    }
}

block! {
    /// Compares. Logic only.
    ///
    /// Data begin an answer where one was asked for: with the message, or where it goes on since something was sent again.
    /// They continue one anywhere else, and there, too, for answers to a request and to its repetition may mix, and some
    /// peers continue what they are asked for again.
    ///
    /// Packets of an RPC's request before those whose PSNs its answer has are acknowledged like a WRITE's. What is behind them
    /// only its answer can say: a refusal there is of something behind it.
    ///
    /// - **Ports** `kind`, `arrival`: what came; `row`, `outstanding`: of its queue pair, how far it is answered and how many
    ///   messages are not over; `entry`, `measures`: of the first of those; `standing`.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** a message has as many packets as its length takes. So only the last may not be full, and the bytes of the last
    ///   are told by the low bits of the length alone.
    pub struct Stand {
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub outstanding: Signal<In, Bits<6>>,
        pub entry: Signal<In, Sent>,
        pub measures: Signal<In, Measures>,
        pub standing: Signal<Out, Standing>,
        is_alive: Signal<Local, Bit>,
        answers: Signal<Local, Bit>,
        expires: Signal<Local, Bit>,
        breaks: Signal<Local, Bit>,
        is_named: Signal<Local, Bit>,
        is_atomic: Signal<Local, Bit>,
        fetches: Signal<Local, Bit>,
        is_call: Signal<Local, Bit>,
        is_behind: Signal<Local, Bit>,
        is_busy: Signal<Local, Bit>,
        is_result: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        is_missing: Signal<Local, Bit>,
        is_reached: Signal<Local, Bit>,
        is_begun: Signal<Local, Bit>,
        is_placed: Signal<Local, Bit>,
        is_right: Signal<Local, Bit>,
        is_brought: Signal<Local, Bit>,
        is_flushed: Signal<Local, Bit>,
        is_only: Signal<Local, Bit>,
        has_length: Signal<Local, Bit>,
        bytes_in_packet: Signal<Local, Bits<13>>,
        differs: Signal<Local, Bits<13>>,
        read: Constant<Bits<8>> = number(WorkOp::Read as u8),
        swap: Constant<Bits<8>> = number(WorkOp::CmpSwap as u8),
        add: Constant<Bits<8>> = number(WorkOp::FetchAdd as u8),
        smallest: Constant<Bits<13>> = number(1_u64 << MTU_LOG),
    }
}

impl Logic for Stand {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_alive.next = !self.row.val().failed & self.outstanding.val().any();
        self.answers.next = self.kind.val().answers & self.is_alive.val() & !self.measures.val().is_stale;
        self.expires.next = self.kind.val().expires & self.is_alive.val();
        self.breaks.next = self.kind.val().breaks
            & !self.row.val().failed
            & ((self.arrival.val().slot - self.row.val().tail) < self.outstanding.val());
        self.is_named.next = self.arrival.val().slot == self.row.val().tail;

        self.is_atomic.next =
            (self.entry.val().opcode == self.swap.val()) | (self.entry.val().opcode == self.add.val());
        self.is_call.next = self.entry.val().answers.any();
        self.fetches.next =
            self.is_atomic.val() | self.is_call.val() | (self.entry.val().opcode == self.read.val());
        self.is_over.next = self.answers.val() & !self.fetches.val() & self.measures.val().is_enough;
        self.is_busy.next = self.answers.val()
            & self.kind.val().is_busy
            & self.is_call.val()
            & (self.measures.val().is_met | self.measures.val().is_beyond)
            & !self.measures.val().is_enough;
        self.is_behind.next = self.measures.val().is_beyond
            | (self.is_call.val()
                & self.measures.val().is_begun
                & (self.kind.val().repeats | self.kind.val().refuses | self.kind.val().defers));
        self.is_missing.next =
            self.answers.val() & self.fetches.val() & self.is_behind.val() & !self.is_busy.val();
        self.is_reached.next =
            self.answers.val() & !self.is_over.val() & !self.is_missing.val() & !self.is_busy.val();

        // The last packet has what the others leave of the length: none of none, else up to a full one.
        self.bytes_in_packet.next = self.smallest.val() << self.arrival.val().path_mtu;
        self.differs.next = (self.arrival.val().payload_len ^ bit_cast::<13, 32>(self.entry.val().length))
            & (self.bytes_in_packet.val() - 1);
        self.has_length.next = self.kind.val().is_full;
        if self.measures.val().is_last {
            self.has_length.next = !self.differs.val().any()
                & !self.kind.val().is_long
                & (self.kind.val().is_empty != self.entry.val().length.any());
        }
        if self.is_atomic.val() {
            self.has_length.next = self.kind.val().is_empty;
        }
        self.is_begun.next = self.row.val().progress.any();
        self.is_placed.next = self.is_begun.val();
        if self.kind.val().begins {
            self.is_placed.next = !self.is_begun.val() | self.row.val().recovering;
        }
        self.is_right.next = self.fetches.val()
            & (self.kind.val().is_value == self.is_atomic.val())
            & self.is_placed.val()
            & self.has_length.val()
            & (self.kind.val().ends == self.measures.val().is_last)
            & !self.kind.val().is_result;
        // An RPC's answer may end before the last PSN, but not beyond what it may have.
        self.is_result.next = self.kind.val().is_full & !self.measures.val().is_last;
        if self.kind.val().ends {
            self.is_result.next = self.kind.val().is_sound
                & (self.kind.val().place == self.measures.val().index)
                & (bit_cast::<32, 64>(self.arrival.val().a1) <= self.entry.val().length);
        }
        if self.is_call.val() {
            self.is_right.next =
                self.kind.val().is_result & self.measures.val().is_met & self.is_result.val();
        }
        self.is_brought.next = self.is_reached.val() & self.kind.val().brings & self.is_right.val();
        self.is_flushed.next = (self.kind.val().flushes & self.outstanding.val().any())
            | (self.breaks.val() & !self.is_named.val());
        self.is_only.next = self.outstanding.val() == 1;

        self.standing.next.fetches = self.fetches.val();
        self.standing.next.is_over = self.is_over.val();
        self.standing.next.is_missing = self.is_missing.val();
        self.standing.next.is_busy = self.is_busy.val();
        self.standing.next.is_acknowledged = self.is_reached.val() & self.kind.val().acknowledges;
        self.standing.next.is_wanted = self.is_reached.val() & self.kind.val().repeats;
        self.standing.next.is_deferred = self.is_reached.val() & self.kind.val().defers;
        self.standing.next.is_refused = self.is_reached.val() & self.kind.val().refuses;
        self.standing.next.is_brought = self.is_brought.val();
        self.standing.next.is_wrong = self.is_reached.val()
            & (self.kind.val().is_busy | (self.kind.val().brings & !self.is_right.val()));
        self.standing.next.is_late =
            self.expires.val() & !self.row.val().resting & !self.measures.val().is_silent;
        self.standing.next.is_waiting =
            self.expires.val() & !self.row.val().resting & self.measures.val().is_silent;
        self.standing.next.is_rested = self.expires.val() & self.row.val().resting;
        self.standing.next.is_flushed = self.is_flushed.val();
        self.standing.next.is_broken = self.breaks.val() & self.is_named.val();

        self.standing.next.moves = self.is_brought.val()
            | (self.answers.val()
                & (!self.fetches.val() | self.measures.val().is_front)
                & self.measures.val().is_ahead);
        self.standing.next.advances = self.is_reached.val() & !self.is_brought.val();
        self.standing.next.is_here = self.is_brought.val() | self.is_missing.val() | self.is_busy.val();
        self.standing.next.is_complete = self.is_missing.val()
            & self.is_call.val()
            & self.kind.val().is_result
            & self.kind.val().ends
            & !self.measures.val().is_enough;
        self.standing.next.is_only = self.is_only.val();
        self.standing.next.continues = (self.is_over.val() & self.measures.val().is_past)
            | (self.is_flushed.val() & !self.is_only.val());
    }
}
