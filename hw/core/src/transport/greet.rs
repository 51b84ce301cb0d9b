//! The first packet of a peer: its queue pair may hear of it before the host knows that the connection is there.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::Event;

use crate::constant::number;
use crate::host::work::{EventRecord, QpChange};
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Tells once of each of `2^QPS` queue pairs that a request has come while it could only receive.
    ///
    /// - **Ports** `first`: a queue pair has such a request; `change`: one that resets has none yet; `event`: what is told. `ready`: the rows are
    ///   scrubbed. `busy`: they are not, or an event is not taken.
    /// - **Latency** 1 cycle from `first` to `event`. **Rate** one a cycle, changes first.
    /// - **Backpressure** `first` and `change` always move on. With 4 events that are not taken nothing is told: the next request gives another `first`.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; `first` and `change` wait.
    /// - **Limits** queue pairs beyond the table share the rows of those below.
    pub struct Greet<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub first: StreamSink<Bits<24>>,
        pub change: StreamSink<QpChange>,
        pub event: StreamSource<EventRecord>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        told: LutRam<Bit, QPS>,
        events: Fifo<Bits<24>, 2>,
        is_scrubbing: Reg<Bit>,
        row: Reg<Bits<QPS>>,
        takes: Signal<Local, Bit>,
        tells: Signal<Local, Bit>,
        forgets: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        established: Constant<Bits<8>> = number(Event::CommunicationUp as u8),
    }
}

impl<const QPS: usize> Logic for Greet<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, told, events);
        dff_setup!(self, clock, is_scrubbing, row);
        self.events.reset.next = self.reset.val();
        self.change.ready.next = !self.is_scrubbing.q.val();
        self.takes.next = !self.is_scrubbing.q.val() & !self.change.valid.val();
        self.first.ready.next = self.takes.val();
        self.told.read_address.next = bit_cast::<QPS, 24>(self.first.payload.val());
        self.tells.next = self.takes.val()
            & self.first.valid.val()
            & !self.told.read_data.val()
            & self.events.sink.ready.val();
        self.forgets.next =
            !self.is_scrubbing.q.val() & self.change.valid.val() & self.change.payload.val().resets;
        self.told.write_enable.next = self.tells.val() | self.forgets.val() | self.is_scrubbing.q.val();
        self.told.write_address.next = bit_cast::<QPS, 24>(self.first.payload.val());
        self.told.write_data.next = self.tells.val();
        if self.forgets.val() {
            self.told.write_address.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }
        if self.is_scrubbing.q.val() {
            self.told.write_address.next = self.row.q.val();
            self.row.d.next = self.row.q.val() + 1;
            self.is_scrubbing.d.next = self.row.q.val() != self.last.val();
        }

        self.events.sink.valid.next = self.tells.val();
        self.events.sink.payload.next = self.first.payload.val();
        self.event.valid.next = self.events.source.valid.val();
        self.events.source.ready.next = self.event.ready.val();
        self.event.payload.next.data = 0.into();
        self.event.payload.next.object = self.events.source.payload.val();
        self.event.payload.next.kind = self.established.val();
        self.event.payload.next.subkind = 0.into();
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val() | self.events.source.valid.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.row.d.next = 0.into();
        }
    }
}
