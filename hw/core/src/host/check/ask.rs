//! The questions that a range takes.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;
use crate::state::access::XlatRequest;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// A range of memory that a WQE names; or its end alone.
    pub struct Range {
        /// No range.
        pub is_empty: Bit,
        /// It is the WQE's last.
        pub ends: Bit,
        /// With `ends`: the entries do not add up to the length.
        pub mismatch: Bit,
        /// With `ends`: the payload is too long.
        pub excess: Bit,
        /// First byte.
        pub va: Bits<64>,
        /// Bytes behind the first.
        pub reach: Bits<32>,
        /// `L_Key`.
        pub key: Bits<32>,
        /// Protection domain of the queue pair.
        pub pd: Bits<16>,
        /// It is written.
        pub writes: Bit,
    }
}

record! {
    /// What is due next: the answer to a question, a range that is refused without one, or the end of a WQE alone.
    pub struct Expected {
        /// A question was asked.
        pub asks: Bit,
        /// No question was asked: the range goes on behind the last address.
        pub wraps: Bit,
        /// It is the WQE's last.
        pub ends: Bit,
        /// With `ends`, as in [`Range`].
        pub mismatch: Bit,
        /// With `ends`, as in [`Range`].
        pub excess: Bit,
    }
}

block! {
    /// Asks for the first byte of each range, and for the last if it is another.
    ///
    /// - **Ports** `range`: ranges and ends; `question`: questions; `expected`: one for each question, range that is refused
    ///   without one, and end without a range, in the same order. Both go into FIFOs.
    /// - **Latency** 0 cycles. **Rate** 1 question, refusal or end without a range per cycle.
    /// - **Backpressure** both outputs move together, so `valid` of either follows `ready` of the other.
    /// - **Reset** the next question is the first of its range.
    pub struct Ask {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub range: StreamSink<Range>,
        pub question: StreamSource<XlatRequest>,
        pub expected: StreamSource<Expected>,
        /// The first byte of the range has been asked for.
        is_second: Reg<Bit>,
        end: Signal<Local, Bits<65>>,
        wraps: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        write: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
        one: Constant<Bits<13>> = number(1_u64),
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_second);
        self.end.next = bit_cast::<65, 64>(self.range.payload.val().va)
            + bit_cast::<65, 32>(self.range.payload.val().reach);
        self.wraps.next = !self.range.payload.val().is_empty & self.end.val().get_bit(64);
        self.asks.next = !self.range.payload.val().is_empty & !self.end.val().get_bit(64);
        self.is_last.next = !self.asks.val() | self.is_second.q.val() | !self.range.payload.val().reach.any();
        self.moves.next = self.range.valid.val()
            & self.expected.ready.val()
            & (self.question.ready.val() | !self.asks.val());
        self.range.ready.next = self.moves.val() & self.is_last.val();
        if self.moves.val() {
            self.is_second.d.next = !self.is_last.val();
        }

        self.question.valid.next = self.range.valid.val() & self.asks.val() & self.expected.ready.val();
        self.question.payload.next.client = 0.into();
        self.question.payload.next.tag = 0.into();
        self.question.payload.next.key = self.range.payload.val().key;
        self.question.payload.next.pd = self.range.payload.val().pd;
        // Windows are for peers: here no queue pair has one.
        self.question.payload.next.qpn = 0.into();
        self.question.payload.next.va = self.range.payload.val().va;
        if self.is_second.q.val() {
            self.question.payload.next.va = bit_cast::<64, 65>(self.end.val());
        }
        self.question.payload.next.len = self.one.val();
        self.question.payload.next.need = 0.into();
        if self.range.payload.val().writes {
            self.question.payload.next.need = self.write.val();
        }

        self.expected.valid.next = self.range.valid.val() & (self.question.ready.val() | !self.asks.val());
        self.expected.payload.next.asks = self.asks.val();
        self.expected.payload.next.wraps = self.wraps.val();
        self.expected.payload.next.ends = self.range.payload.val().ends & self.is_last.val();
        self.expected.payload.next.mismatch = self.range.payload.val().mismatch;
        self.expected.payload.next.excess = self.range.payload.val().excess;
        if self.reset.val() {
            self.is_second.d.next = false;
        }
    }
}
