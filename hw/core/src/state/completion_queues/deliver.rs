//! The way out: the entry, the event behind it, the queue pair that lost one.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Event, Status};

use crate::constant::number;
use crate::host::work::{EntryWrite, EventRecord, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::StreamSource;

block! {
    /// Keeps what an operation gives out until it is taken, and events behind the entries they tell of.
    ///
    /// - **Ports** `room`: an operation may go, whatever comes of it. In its cycle `writes`: `made` is its entry; `loses`:
    ///   `qpn` lost a completion; `fires`, `overflows`: an event for `cq`, at most one of them. `entry`, `error`, `event`:
    ///   the same, each in its order; an event is not offered before the entries up to its operation were taken. `busy`:
    ///   something waits to be taken.
    /// - **Latency** 1 cycle to `entry` and `error`; to `event` 2, and 1 from the cycle behind the one that takes the entry.
    /// - **Backpressure** `room` is low while an entry is not taken, an event waits for it or behind 8 others, or 4 errors wait.
    /// - **Reset** forgets everything.
    pub struct Deliver {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub room: Signal<Out, Bit>,
        pub writes: Signal<In, Bit>,
        pub made: Signal<In, EntryWrite>,
        pub loses: Signal<In, Bit>,
        pub qpn: Signal<In, Bits<24>>,
        pub fires: Signal<In, Bit>,
        pub overflows: Signal<In, Bit>,
        pub cq: Signal<In, Bits<24>>,
        pub entry: StreamSource<EntryWrite>,
        pub event: StreamSource<EventRecord>,
        pub error: StreamSource<QpError>,
        pub busy: Signal<Out, Bit>,
        entry_valid: Reg<Bit>,
        entry_held: Reg<EntryWrite>,
        /// An event waits for the entries before it.
        event_waits: Reg<Bit>,
        event_held: Reg<EventRecord>,
        events: Fifo<EventRecord, 3>,
        errors: Fifo<QpError, 2>,
        completion: Constant<Bits<8>> = number(Event::Completion as u64),
        cq_overflow: Constant<Bits<8>> = number(Event::CqOverflow as u64),
        general: Constant<Bits<8>> = number(Status::General as u64),
    }
}

impl Logic for Deliver {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, events, errors);
        dff_setup!(self, clock, entry_valid, entry_held, event_waits, event_held);
        self.events.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();
        self.room.next = !self.entry_valid.q.val() & !self.event_waits.q.val() & self.errors.sink.ready.val();

        self.entry.valid.next = self.entry_valid.q.val();
        self.entry.payload.next = self.entry_held.q.val();
        if self.entry.ready.val() {
            self.entry_valid.d.next = false;
        }
        if self.writes.val() {
            self.entry_valid.d.next = true;
            self.entry_held.d.next = self.made.val();
        }

        self.events.sink.valid.next = self.event_waits.q.val() & !self.entry_valid.q.val();
        self.events.sink.payload.next = self.event_held.q.val();
        if !self.entry_valid.q.val() & self.events.sink.ready.val() {
            self.event_waits.d.next = false;
        }
        if self.fires.val() | self.overflows.val() {
            self.event_waits.d.next = true;
            self.event_held.d.next.data = 0.into();
            self.event_held.d.next.object = self.cq.val();
            self.event_held.d.next.subkind = 0.into();
            self.event_held.d.next.kind = self.completion.val();
            if self.overflows.val() {
                self.event_held.d.next.kind = self.cq_overflow.val();
            }
        }
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.events.source);

        self.errors.sink.valid.next = self.loses.val();
        self.errors.sink.payload.next.qpn = self.qpn.val();
        self.errors.sink.payload.next.status = self.general.val();
        self.errors.sink.payload.next.untold = true;
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);

        self.busy.next = self.entry_valid.q.val()
            | self.event_waits.q.val()
            | self.events.source.valid.val()
            | self.errors.source.valid.val();
        if self.reset.val() {
            self.entry_valid.d.next = false;
            self.event_waits.d.next = false;
        }
    }
}
