//! Put: what an operation writes, and where.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::Kind;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{LENGTH_BITS, SlotDone, SlotWrite, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::judge::Order;
use super::store::{ASIDE_LINE, LINE_BITS};

record! {
    /// What is written: the first of these, or if there is none the data, to target or buffer.
    pub struct Gift {
        /// The result, to another place.
        pub aside: Bit,
        /// What is swapped in.
        pub fresh: Bit,
        /// The list's new head.
        pub head: Bit,
    }
}

block! {
    /// Begins writes, together with their data, and waits for them.
    ///
    /// - **Ports** `begins`: one cycle, the operation `order` for `ticket`; both stay, and so do its length `len`, `target`, the list's new `head` and what is swapped in, `fresh`, while they are written. `wants`: `gift` is to be written; `moves`: it
    ///   has begun, in this cycle. `write`: it; `emits`: one cycle, its data are `put_len` bytes: `word_len` bytes of `words`, or if that is 0 those of the memory from `line` on, which `fetches` tells. `is_free`: they may begin. `is_settled`: all have ended, `how`: the first bad one; since `begins`.
    /// - **Latency** none from `wants` to `write`, 1 cycle from `write_done` to `is_settled`. **Rate** 1 write per cycle, if `is_free` allows it; three are open at most.
    /// - **Backpressure** waits for `write` and `is_free`; none to `write_done`.
    /// - **Reset** forgets the writes; none of them must end any more.
    pub struct Put {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub order: Signal<In, Order>,
        pub len: Signal<In, Bits<LENGTH_BITS>>,
        pub target: Signal<In, Bits<64>>,
        pub head: Signal<In, Bits<64>>,
        pub fresh: Signal<In, Bits<256>>,
        pub wants: Signal<In, Bit>,
        pub gift: Signal<In, Gift>,
        pub moves: Signal<Out, Bit>,
        pub write: StreamSource<SlotWrite>,
        pub is_free: Signal<In, Bit>,
        pub emits: Signal<Out, Bit>,
        pub words: Signal<Out, Bits<256>>,
        pub word_len: Signal<Out, Bits<7>>,
        pub put_len: Signal<Out, Bits<LENGTH_BITS>>,
        pub line: Signal<Out, Bits<LINE_BITS>>,
        pub fetches: Signal<Out, Bit>,
        pub write_done: StreamSink<SlotDone>,
        pub is_settled: Signal<Out, Bit>,
        pub how: Signal<Out, Bits<2>>,
        open: Reg<Bits<2>>,
        worst: Reg<Bits<2>>,
        is_allocate: Signal<Local, Bit>,
        has_begun: Signal<Local, Bit>,
        bytes: Signal<Local, Bits<LENGTH_BITS>>,
        from_words: Signal<Local, Bits<7>>,
        allocate: Constant<Bits<2>> = number(Kind::Allocate as u8),
        word: Constant<Bits<LENGTH_BITS>> = number(8),
        aside_line: Constant<Bits<LINE_BITS>> = number(ASIDE_LINE),
    }
}

impl Logic for Put {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, open, worst);
        self.is_allocate.next = self.order.val().kind == self.allocate.val();
        self.write.payload.next.ticket = self.ticket.val();
        self.write.payload.next.va = self.target.val();
        self.write.payload.next.key = self.order.val().key;
        self.bytes.next = self.len.val();
        self.words.next = self.fresh.val();
        self.from_words.next = 0.into();
        self.line.next = self.aside_line.val();
        if self.gift.val().aside {
            self.write.payload.next.va = self.order.val().redirect_address;
            self.write.payload.next.key = self.order.val().aside_key;
            if self.is_allocate.val() {
                self.bytes.next = self.word.val();
                self.words.next = bit_cast::<256, 64>(self.target.val());
                self.from_words.next = self.word.val().get_bits::<7>(0);
            }
        } else if self.gift.val().fresh {
            self.from_words.next = self.len.val().get_bits::<7>(0);
        } else if self.gift.val().head {
            self.write.payload.next.va = self.order.val().address;
            self.bytes.next = self.word.val();
            self.words.next = bit_cast::<256, 64>(self.head.val());
            self.from_words.next = self.word.val().get_bits::<7>(0);
        } else {
            if self.is_allocate.val() {
                self.write.payload.next.key = self.order.val().aside_key;
            }
            if !self.order.val().data_indirect {
                self.line.next = bit_cast::<LINE_BITS, 7>(self.order.val().data_line);
            }
        }
        self.write.payload.next.len = self.bytes.val();
        self.put_len.next = self.bytes.val();
        self.word_len.next = self.from_words.val();
        self.write.valid.next = self.wants.val() & self.is_free.val();
        self.has_begun.next = self.wants.val() & self.is_free.val() & self.write.ready.val();
        self.moves.next = self.has_begun.val();
        self.emits.next = self.has_begun.val();
        self.fetches.next = self.has_begun.val() & !self.from_words.val().any();

        self.write_done.ready.next = true;
        if self.has_begun.val() & !self.write_done.valid.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.write_done.valid.val() & !self.has_begun.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        if self.write_done.valid.val() & !self.worst.q.val().any() {
            self.worst.d.next = self.write_done.payload.val().err;
        }
        self.is_settled.next = !self.open.q.val().any();
        self.how.next = self.worst.q.val();
        if self.begins.val() {
            self.worst.d.next = 0.into();
        }
        if self.reset.val() {
            self.open.d.next = 0.into();
        }
    }
}
