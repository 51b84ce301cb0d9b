//! Ask: may the range of an errand be touched, and where does its payload go?

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::record;
use crate::state::access::XlatRequest;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Errand;

/// The MMU's client for what packets touch.
pub const CLIENT: u8 = 4;
/// Questions that may be unanswered.
pub const QUESTIONS: u8 = 16;
/// Bytes of a value that comes without a payload, and of an atomic's word.
pub const VALUE_BYTES: u64 = 8;
/// log2 of the errands that wait for their answers, or their turn.
pub const WAITING_LOG: usize = 4;

record! {
    /// What goes along with an errand.
    pub struct Mark {
        /// It is a request of the peer.
        pub is_request: Bit,
        /// Answers come for it.
        pub asks: Bit,
        /// Its range goes on behind the last address: refused, and not asked for.
        pub wraps: Bit,
        /// Its queue pair once more: the marks are few bits, so it is there sooner than that of the errand.
        pub qpn: Bits<24>,
    }
}

block! {
    /// Asks the MMU for each errand, ahead of what becomes of it.
    ///
    /// The ends of a range are enough: a region has no holes. What is placed, and the word of an atomic, is asked for as a
    /// whole, because its addresses are needed.
    ///
    /// - **Ports** `errand`, `is_request`: in; `xlat`: questions, for payload to be placed its own bytes, for a value or an atomic
    ///   eight, else the first byte of the range, and then the range's last byte if it lies behind; `due`: for each errand with a question, whether it has
    ///   two, into a queue as long as the one here; `answered`: a question has its last answer; `waiting`: the errands, in
    ///   order, each with its `mark`.
    /// - **Latency** 1 cycle. **Rate** 1 question, or errand without one, per cycle.
    /// - **Backpressure** 16 errands wait, then `errand` does. With 16 questions unanswered the next one waits. No
    ///   combinational path from port to port, but for `due`, which follows `errand`.
    /// - **Reset** forgets all errands and questions; the MMU has to be reset with it.
    pub struct Ask {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub is_request: Signal<In, Bit>,
        pub xlat: StreamSource<XlatRequest>,
        pub due: StreamSource<Bit>,
        pub answered: Signal<In, Bit>,
        pub waiting: StreamSource<Errand>,
        pub mark: Signal<Out, Mark>,
        errands: Fifo<Errand, WAITING_LOG>,
        marks: Fifo<Mark, WAITING_LOG>,
        cut: Skid<XlatRequest>,
        unanswered: Reg<Bits<5>>,
        /// The first question of the errand on offer is asked.
        is_second: Reg<Bit>,
        end: Signal<Local, Bits<65>>,
        has_range: Signal<Local, Bit>,
        wraps: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        first_len: Signal<Local, Bits<13>>,
        has_second: Signal<Local, Bit>,
        room: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        went_out: Signal<Local, Bits<5>>,
        client: Constant<Bits<3>> = number(CLIENT),
        most: Constant<Bits<5>> = number(QUESTIONS),
        one: Constant<Bits<13>> = number(1_u64),
        value_len: Constant<Bits<13>> = number(VALUE_BYTES),
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, errands, marks, cut);
        dff_setup!(self, clock, unanswered, is_second);
        self.errands.reset.next = self.reset.val();
        self.marks.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.end.next = bit_cast::<65, 64>(self.errand.payload.val().va)
            + bit_cast::<65, 32>(self.errand.payload.val().span - 1);
        self.has_range.next = self.errand.payload.val().span.any();
        self.wraps.next = self.has_range.val() & self.end.val().get_bit(64);
        self.asks.next = self.has_range.val() & !self.wraps.val();
        self.first_len.next = self.one.val();
        if (self.errand.payload.val().places & self.errand.payload.val().has_value)
            | self.errand.payload.val().atomic.any()
        {
            self.first_len.next = self.value_len.val();
        } else if self.errand.payload.val().places & self.errand.payload.val().payload_len.any() {
            self.first_len.next = self.errand.payload.val().payload_len;
        }
        self.has_second.next =
            self.asks.val() & (self.errand.payload.val().span > bit_cast::<32, 13>(self.first_len.val()));

        self.room.next = self.unanswered.q.val() != self.most.val();
        self.offers.next = self.errand.valid.val()
            & self.asks.val()
            & self.room.val()
            & (self.is_second.q.val() | self.errands.sink.ready.val());
        self.moves.next = self.offers.val() & self.cut.sink.ready.val();
        // The errand goes ahead with its first question, so that its place is taken before an answer can come.
        self.begins.next = !self.is_second.q.val()
            & (self.moves.val()
                | (self.errand.valid.val() & !self.asks.val() & self.errands.sink.ready.val()));
        self.errand.ready.next =
            (self.begins.val() & !self.has_second.val()) | (self.is_second.q.val() & self.moves.val());
        if self.begins.val() {
            self.is_second.d.next = self.has_second.val();
        } else if self.moves.val() {
            self.is_second.d.next = false;
        }

        self.cut.sink.valid.next = self.offers.val();
        self.cut.sink.payload.next.client = self.client.val();
        self.cut.sink.payload.next.tag = 0.into();
        self.cut.sink.payload.next.key = self.errand.payload.val().key;
        self.cut.sink.payload.next.pd = self.errand.payload.val().pd;
        self.cut.sink.payload.next.qpn = self.errand.payload.val().qpn;
        self.cut.sink.payload.next.need = self.errand.payload.val().need;
        if self.is_second.q.val() {
            self.cut.sink.payload.next.va = bit_cast::<64, 65>(self.end.val());
            self.cut.sink.payload.next.len = self.one.val();
        } else {
            self.cut.sink.payload.next.va = self.errand.payload.val().va;
            self.cut.sink.payload.next.len = self.first_len.val();
        }
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.cut.source);
        self.due.valid.next = self.begins.val() & self.asks.val();
        self.due.payload.next = self.has_second.val();
        self.went_out.next = self.unanswered.q.val() + self.moves.val();
        self.unanswered.d.next = self.went_out.val();
        if self.answered.val() {
            self.unanswered.d.next = self.went_out.val() - 1;
        }

        self.errands.sink.valid.next = self.begins.val();
        self.errands.sink.payload.next = self.errand.payload.val();
        self.marks.sink.valid.next = self.begins.val();
        self.marks.sink.payload.next.is_request = self.is_request.val();
        self.marks.sink.payload.next.asks = self.asks.val();
        self.marks.sink.payload.next.wraps = self.wraps.val();
        self.marks.sink.payload.next.qpn = self.errand.payload.val().qpn;
        self.waiting.valid.next = self.errands.source.valid.val();
        self.waiting.payload.next = self.errands.source.payload.val();
        self.mark.next = self.marks.source.payload.val();
        self.errands.source.ready.next = self.waiting.ready.val();
        self.marks.source.ready.next = self.waiting.ready.val();
        if self.reset.val() {
            self.unanswered.d.next = 0.into();
            self.is_second.d.next = false;
        }
    }
}
