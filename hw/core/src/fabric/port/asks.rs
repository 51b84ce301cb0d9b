//! Asks: a kernel's reads or writes become accesses of its callers.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use super::records::Caller;
use crate::constant::number;
use crate::fabric::records::Access;
use crate::prim::fifo::Fifo;
use crate::prim::skid::Skid;
use crate::slot::{SlotRead, TICKET_BITS, TRANSFER_MAX};
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Says for each read, or each write, who is behind it, and remembers whose are under way.
    ///
    /// The right `RPC` of a region lets a kernel act under its key, and no more: what the kernel does takes the right that its
    /// caller's own READ or WRITE would take.
    ///
    /// - **Ports** `sink`: what the kernel asks for; `ticket`: of the one on offer, `caller`, `is_refused`: whose it is, and that he may
    ///   not. `source`: the accesses, in order; refused as well if it has no bytes or more than 4096. `ends`: the first that is under way
    ///   has come back. `begun`, `begun_ticket`, `ended`, `ended_ticket`: one is taken, one has come back, and its ticket. `stops`: nothing is
    ///   taken; `clears`: none is under way any more. `is_empty`: none is on offer.
    /// - **Latency** 1 cycle. **Rate** 1 per cycle.
    /// - **Backpressure** stalls `sink`, which waits with 64 under way, too. No combinational path from port to port but from `sink`
    ///   to `ticket`, `begun` and `begun_ticket`.
    /// - **Reset** none is on offer or under way.
    pub struct Asks {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<SlotRead>,
        pub ticket: Signal<Out, Bits<TICKET_BITS>>,
        pub caller: Signal<In, Caller>,
        pub is_refused: Signal<In, Bit>,
        pub source: StreamSource<Access>,
        pub ends: Signal<In, Bit>,
        pub begun: Signal<Out, Bit>,
        pub begun_ticket: Signal<Out, Bits<TICKET_BITS>>,
        pub ended: Signal<Out, Bit>,
        pub ended_ticket: Signal<Out, Bits<TICKET_BITS>>,
        pub stops: Signal<In, Bit>,
        pub clears: Signal<In, Bit>,
        pub is_empty: Signal<Out, Bit>,
        cut: Skid<Access>,
        under_way: Fifo<Bits<TICKET_BITS>, 6>,
        is_open: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        most: Constant<Bits<13>> = number(TRANSFER_MAX),
        right: Constant<Bits<5>> = number(rights::RPC | rights::REMOTE_READ),
    }
}

impl Asks {
    /// One for writes; any other is for reads.
    #[must_use]
    pub fn writing() -> Self {
        Self { right: number(rights::RPC | rights::REMOTE_WRITE), ..Self::default() }
    }
}

impl Logic for Asks {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut, under_way);
        self.cut.reset.next = self.reset.val();
        self.under_way.reset.next = self.reset.val() | self.clears.val();
        self.is_open.next = self.cut.sink.ready.val() & self.under_way.sink.ready.val() & !self.stops.val();
        self.sink.ready.next = self.is_open.val();
        self.takes.next = self.sink.valid.val() & self.is_open.val();
        self.ticket.next = self.sink.payload.val().ticket;

        self.cut.sink.valid.next = self.takes.val();
        self.cut.sink.payload.next.qpn = self.caller.val().qpn;
        self.cut.sink.payload.next.pd = self.caller.val().pd;
        self.cut.sink.payload.next.va = self.sink.payload.val().va;
        self.cut.sink.payload.next.key = self.sink.payload.val().key;
        self.cut.sink.payload.next.len = self.sink.payload.val().len;
        self.cut.sink.payload.next.need = self.right.val();
        self.cut.sink.payload.next.refused = self.is_refused.val()
            | !self.sink.payload.val().len.any()
            | (self.sink.payload.val().len > self.most.val());
        StreamSource::<Access>::link(&mut self.source, &mut self.cut.source);
        self.is_empty.next = !self.cut.source.valid.val();

        self.under_way.sink.valid.next = self.takes.val();
        self.under_way.sink.payload.next = self.sink.payload.val().ticket;
        self.begun.next = self.takes.val();
        self.begun_ticket.next = self.sink.payload.val().ticket;
        self.under_way.source.ready.next = self.ends.val();
        self.ended.next = self.ends.val() & self.under_way.source.valid.val();
        self.ended_ticket.next = self.under_way.source.payload.val();
    }
}
