//! The host stores: to a register of BAR0 at once, to a doorbell page through a queue.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{BAR0, BAR2_AT, DOORBELL_PAGE};

use super::place::RegisterStore;
use crate::constant::number;
use crate::host::axi_lite::{LiteAddress, LiteResponse, LiteWrite};
use crate::host::work::PageStore;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` stores to doorbell pages can wait.
const PAGES_LOG: usize = 6;

block! {
    /// Takes stores off the bus, one at a time.
    ///
    /// - **Ports** `aw`, `w`, `b`: AXI4-Lite, address and data in any order; `register`: the store to BAR0 of this cycle, if
    ///   any; `page`: stores to BAR2, in order; `busy`: a store is not answered, or one to a page is not taken.
    /// - **Latency** a store takes effect 1 cycle after the later of `aw` and `w` and is answered in the next one; `page`
    ///   offers it with the answer. One to a page whose `aw` and `w` come together, behind no other, does so a cycle earlier:
    ///   pushes are made of such. **Rate** one store every 2 cycles.
    /// - **Backpressure** a store to a page waits while 64 of them are not taken, and every later store with it. A store
    ///   waits until the one before is answered and the answer is taken.
    /// - **Reset** drops everything; the bus has to be reset with it.
    /// - **Limits** a store to neither BAR, or of no byte, changes nothing and is answered like any other.
    pub struct Stores {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub aw: StreamSink<LiteAddress>,
        pub w: StreamSink<LiteWrite>,
        pub b: StreamSource<LiteResponse>,
        pub register: Signal<Out, RegisterStore>,
        pub page: StreamSource<PageStore>,
        pub busy: Signal<Out, Bit>,
        address: Reg<Bits<25>>,
        has_address: Reg<Bit>,
        beat: Reg<LiteWrite>,
        has_beat: Reg<Bit>,
        answers: Reg<Bit>,
        pages: Fifo<PageStore, PAGES_LOG>,
        /// What the bus offers, or what is held of it.
        shown_address: Signal<Local, Bits<25>>,
        shown_beat: Signal<Local, LiteWrite>,
        is_page: Signal<Local, Bit>,
        /// The store that is held goes; the one on the bus does, at once.
        goes: Signal<Local, Bit>,
        flies: Signal<Local, Bit>,
        is_some: Signal<Local, Bit>,
        mask: Signal<Local, Bits<64>>,
        bar0_end: Constant<Bits<25>> = number(BAR0.len),
        bar2_at: Constant<Bits<25>> = number(BAR2_AT),
        page_at: Constant<Bits<5>> = number(DOORBELL_PAGE.ilog2()),
        /// The part of an address that names eight aligned bytes of a page.
        within_page: Constant<Bits<12>> = number(DOORBELL_PAGE - 8),
        bytes: [Constant<Bits<64>>; 8] = std::array::from_fn(|byte| number(0xff_u64 << (8 * byte))),
    }
}

impl Logic for Stores {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, pages);
        dff_setup!(self, clock, address, has_address, beat, has_beat, answers);
        self.pages.reset.next = self.reset.val();
        self.aw.ready.next = !self.has_address.q.val();
        self.w.ready.next = !self.has_beat.q.val();
        if !self.has_address.q.val() {
            self.address.d.next = self.aw.payload.val().addr;
            self.has_address.d.next = self.aw.valid.val();
        }
        if !self.has_beat.q.val() {
            self.beat.d.next = self.w.payload.val();
            self.has_beat.d.next = self.w.valid.val();
        }

        self.shown_address.next = self.aw.payload.val().addr;
        if self.has_address.q.val() {
            self.shown_address.next = self.address.q.val();
        }
        self.shown_beat.next = self.w.payload.val();
        if self.has_beat.q.val() {
            self.shown_beat.next = self.beat.q.val();
        }
        self.is_page.next = self.shown_address.val() >= self.bar2_at.val();
        self.is_some.next = self.shown_beat.val().strb.any();
        self.goes.next = self.has_address.q.val()
            & self.has_beat.q.val()
            & !self.answers.q.val()
            & (!self.is_page.val() | self.pages.sink.ready.val());
        self.flies.next = !self.has_address.q.val()
            & !self.has_beat.q.val()
            & !self.answers.q.val()
            & self.aw.valid.val()
            & self.w.valid.val()
            & self.is_page.val()
            & self.pages.sink.ready.val();
        if self.goes.val() | self.flies.val() {
            self.has_address.d.next = false;
            self.has_beat.d.next = false;
            self.answers.d.next = true;
        }
        self.b.valid.next = self.answers.q.val();
        self.b.payload.next.resp = 0.into();
        if self.answers.q.val() & self.b.ready.val() {
            self.answers.d.next = false;
        }

        self.mask.next = 0.into();
        for i in 0..8 {
            if self.beat.q.val().strb.get_bit(i) {
                self.mask.next = self.mask.val() | self.bytes[i].val();
            }
        }
        self.register.next.valid =
            self.goes.val() & self.is_some.val() & (self.address.q.val() < self.bar0_end.val());
        self.register.next.place = bit_cast::<13, 25>(self.address.q.val() >> 3);
        self.register.next.data = self.beat.q.val().data;
        self.register.next.mask = self.mask.val();

        self.pages.sink.valid.next =
            (self.goes.val() | self.flies.val()) & self.is_some.val() & self.is_page.val();
        self.pages.sink.payload.next.page =
            bit_cast::<12, 25>(self.shown_address.val() >> self.page_at.val());
        self.pages.sink.payload.next.offset =
            bit_cast::<12, 25>(self.shown_address.val()) & self.within_page.val();
        self.pages.sink.payload.next.data = self.shown_beat.val().data;
        self.pages.sink.payload.next.strb = self.shown_beat.val().strb;
        StreamSource::<PageStore>::link(&mut self.page, &mut self.pages.source);
        self.busy.next = self.has_address.q.val()
            | self.has_beat.q.val()
            | self.answers.q.val()
            | self.pages.level.val().any();

        if self.reset.val() {
            self.has_address.d.next = false;
            self.has_beat.d.next = false;
            self.answers.d.next = false;
        }
    }
}
