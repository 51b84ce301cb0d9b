//! The ring of the event queue, and which of its entries the host can see.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Eqe, RING_ALIGN_LOG};

use crate::constant::number;
use crate::host::work::{EntryWrite, EventRecord};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Makes an entry of each event and counts those that have arrived.
    ///
    /// - **Ports** `sink`: events; `taken`: entries the driver has taken; `running`: the ring is in use; `visible`: entries in
    ///   host memory. The rest as in [`Events`](super::Events).
    /// - **Latency** 1 cycle from `sink` to `entry.valid` and to `overflows`, 1 from `done` to `visible`. **Rate** 1 event each
    ///   2 cycles; `visible` follows by 1 each cycle.
    /// - **Backpressure** stalls `sink` while an entry is not taken, 32 are on their way, or entries of a ring that was
    ///   switched off are; never while `enable` is low. `sink.ready` follows `enable` combinationally.
    /// - **Reset** forgets everything.
    pub struct Writer {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<EventRecord>,
        pub base: Signal<In, Bits<52>>,
        pub log: Signal<In, Bits<5>>,
        pub enable: Signal<In, Bit>,
        pub taken: Signal<In, Bits<32>>,
        pub entry: StreamSource<EntryWrite>,
        pub ticket: Signal<In, Bits<16>>,
        pub done: Signal<In, Bits<16>>,
        pub running: Signal<Out, Bit>,
        pub visible: Signal<Out, Bits<32>>,
        pub overflows: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        is_running: Reg<Bit>,
        produced: Reg<Bits<32>>,
        arrived: Reg<Bits<32>>,
        is_lost: Reg<Bit>,
        entry_valid: Reg<Bit>,
        entry_held: Reg<EntryWrite>,
        /// Of entries that are on their way.
        tickets: Fifo<Bits<16>, 5>,
        room: Signal<Local, Bit>,
        comes: Signal<Local, Bit>,
        entries: Signal<Local, Bits<32>>,
        is_full: Signal<Local, Bit>,
        slot: Signal<Local, Bits<32>>,
        lap: Signal<Local, Bits<32>>,
        bytes: Signal<Local, Bits<256>>,
        ahead: Signal<Local, Bits<16>>,
        arrives: Signal<Local, Bit>,
        one: Constant<Bits<32>> = number(1_u64),
        base_at: Constant<Bits<6>> = number(RING_ALIGN_LOG),
        entry_log: Constant<Bits<4>> = number(Eqe::LEN.ilog2()),
        data_at: Constant<Bits<10>> = number(Eqe::DATA.offset()),
        object_at: Constant<Bits<10>> = number(Eqe::OBJECT.offset()),
        kind_at: Constant<Bits<10>> = number(Eqe::KIND.offset()),
        subkind_at: Constant<Bits<10>> = number(Eqe::SUBKIND.offset()),
        phase_at: Constant<Bits<10>> = number(Eqe::PHASE.offset()),
    }
}

impl Logic for Writer {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, tickets);
        dff_setup!(self, clock, is_running, produced, arrived, is_lost, entry_valid, entry_held);
        self.tickets.reset.next = self.reset.val();
        self.running.next = self.is_running.q.val();
        self.visible.next = self.arrived.q.val();
        self.overflows.next = self.is_lost.q.val();
        self.busy.next = self.sink.valid.val() | self.entry_valid.q.val() | self.tickets.source.valid.val();

        // An entry is made only when its ticket will find room.
        self.room.next = self.is_running.q.val() & !self.entry_valid.q.val() & self.tickets.sink.ready.val();
        self.sink.ready.next = !self.enable.val() | self.room.val();
        self.comes.next = self.sink.valid.val() & self.enable.val() & self.room.val();
        self.entries.next = self.one.val() << self.log.val();
        self.is_full.next = (self.produced.q.val() - self.taken.val()) >= self.entries.val();
        self.is_lost.d.next = self.comes.val() & self.is_full.val();

        self.slot.next = self.produced.q.val() & (self.entries.val() - 1);
        self.lap.next = self.produced.q.val() >> self.log.val();
        self.bytes.next = (bit_cast::<256, 64>(self.sink.payload.val().data) << self.data_at.val())
            | (bit_cast::<256, 24>(self.sink.payload.val().object) << self.object_at.val())
            | (bit_cast::<256, 8>(self.sink.payload.val().kind) << self.kind_at.val())
            | (bit_cast::<256, 8>(self.sink.payload.val().subkind) << self.subkind_at.val());
        if self.entry.ready.val() {
            self.entry_valid.d.next = false;
        }
        if self.comes.val() & !self.is_full.val() {
            self.produced.d.next = self.produced.q.val() + 1;
            self.entry_valid.d.next = true;
            self.entry_held.d.next.iova = (bit_cast::<64, 52>(self.base.val()) << self.base_at.val())
                + (bit_cast::<64, 32>(self.slot.val()) << self.entry_log.val());
            self.entry_held.d.next.data =
                self.bytes.val().replace_bit(self.phase_at.val().index(), !self.lap.val().get_bit(0));
            self.entry_held.d.next.long = false;
        }
        self.entry.valid.next = self.entry_valid.q.val();
        self.entry.payload.next = self.entry_held.q.val();

        self.tickets.sink.valid.next = self.entry_valid.q.val() & self.entry.ready.val();
        self.tickets.sink.payload.next = self.ticket.val();
        self.ahead.next = self.done.val() - self.tickets.source.payload.val();
        self.arrives.next = self.tickets.source.valid.val() & !self.ahead.val().get_bit(15);
        self.tickets.source.ready.next = self.arrives.val();
        self.arrived.d.next = self.arrived.q.val() + self.arrives.val();

        // What is left of a ring that was switched off must not be counted for the next one.
        if !self.is_running.q.val() {
            self.produced.d.next = 0.into();
            self.arrived.d.next = 0.into();
            self.is_running.d.next =
                self.enable.val() & !self.entry_valid.q.val() & !self.tickets.source.valid.val();
        }
        if !self.enable.val() | self.reset.val() {
            self.is_running.d.next = false;
        }
        if self.reset.val() {
            self.is_lost.d.next = false;
            self.entry_valid.d.next = false;
        }
    }
}
