//! The way to host memory: payload, completions and events, in one order.

pub mod accept;
#[cfg(test)]
mod differential;
pub mod failures;
pub mod feed;
pub mod model;
#[cfg(test)]
mod rig;
pub mod settle;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use accept::Accept;
use failures::Failures;
use feed::Feed;
use settle::Settle;

use super::axi::{WriteAddress, WriteBeat, WriteResponse};
use super::dma_write::{DmaWrite, Failed, WriteCommand};
use super::work::{EntryWrite, EventRecord, HostWrite, QpError};
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Clients with entries: CQEs and EQEs.
pub const ENTRY_CLIENTS: usize = 2;
/// Those who may ask whether writes are visible: the owners of CQs, regions and queue pairs.
pub const SETTLERS: usize = 3;

record! {
    /// Who is to be told when a command fails.
    pub struct Owner {
        /// Where the command writes.
        pub iova: Bits<64>,
        /// The queue pair its payload is for; 0 for an entry.
        pub qpn: Bits<24>,
        /// It writes payload.
        pub is_payload: Bit,
        /// It writes an event: no event can tell that it failed.
        pub is_event: Bit,
    }
}

block! {
    /// Writes for three clients, and makes what they write visible in the order in which it was accepted.
    ///
    /// ```text
    ///   write, entries ─ Accept ─┬─────────────── DmaWrite ─ aw, w, b
    ///                            ├─ Feed ─────────────┘  └─ done ─ Settle
    ///   data ────────────────────┼───┘                   └─ failed tickets ─┐
    ///                            └─ owners ─────────────────────────────── Failures ─ event, error, failed
    /// ```
    ///
    /// - **Ports** `write`: a command of the payload client, and `data`: a packet of `len` bytes for each of them, in the
    ///   same order, either of them first; `entries`: CQEs, then EQEs, with their bytes. `ticket`: the number of a
    ///   command accepted in this cycle, from 1 on, modulo `2^16`; `issued`: the last that was accepted; `done`: the
    ///   last that, with all before it, is visible or has failed. `settle[i]`: one cycle; `settled[i]`: one cycle, all that
    ///   was accepted up to and with the cycle of `settle[i]` is done. `aw`, `w`, `b`: the host. `event`, `error`: what
    ///   to tell of a failed command; `failed`: a cycle high for each. `busy`: something is not done or not told.
    /// - **Failures** of payload give a `QpError` with status `General` and an event `CardError`, of CQEs the event alone,
    ///   of EQEs neither: the event would take the same way.
    /// - **Latency** to `aw` 2 cycles from acceptance; to `w` 5 from acceptance, and 4 from the data, and 6 for an
    ///   entry; to `done` 1 from `b`. `settled` comes with `done`, and at least 1 cycle after `settle`.
    /// - **Rate** 1 command per cycle, 1 beat of `w` per cycle without a gap between commands of any client, as
    ///   `DmaWrite` has it.
    /// - **Fairness** a command on offer waits for at most one of each other client; who offers none holds up nobody.
    ///   A client with a command accepted and its data missing holds up all of them.
    /// - **Backpressure** stalls all clients as `DmaWrite` does; the 33rd entry whose bytes have not left waits. `ready` of
    ///   each client follows `valid` of all three combinationally, nothing else runs from port to port. `event` and
    ///   `error` stall nothing: an event entry may need this very block to move.
    /// - **Reset** as `DmaWrite`: the host port with it; tickets begin anew with 1.
    /// - **Limits** those of `DmaWrite`. With 64 untaken, further events, or errors, are lost; `failed` counts them all the
    ///   same. A second `settle[i]` before the answer moves the mark, and one answer comes for both. A write of 0 bytes
    ///   has a ticket and no packet.
    pub struct HostWriter<const D: usize, const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub write: StreamSink<HostWrite>,
        pub data: StreamSink<Beat<D>>,
        pub entries: [StreamSink<EntryWrite>; ENTRY_CLIENTS],
        pub ticket: Signal<Out, Bits<16>>,
        pub issued: Signal<Out, Bits<16>>,
        pub done: Signal<Out, Bits<16>>,
        pub settle: [Signal<In, Bit>; SETTLERS],
        pub settled: [Signal<Out, Bit>; SETTLERS],
        pub aw: StreamSource<WriteAddress>,
        pub w: StreamSource<WriteBeat<D, K>>,
        pub b: StreamSink<WriteResponse>,
        pub event: StreamSource<EventRecord>,
        pub error: StreamSource<QpError>,
        pub failed: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        accept: Accept,
        feed: Feed<D>,
        engine: DmaWrite<D, K>,
        failures: Failures,
        waits: [Settle; SETTLERS],
    }
}

impl<const D: usize, const K: usize> Logic for HostWriter<D, K> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, accept, feed, engine, failures);
        self.accept.reset.next = self.reset.val();
        self.feed.reset.next = self.reset.val();
        self.engine.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();

        StreamSink::<HostWrite>::link(&mut self.write, &mut self.accept.write);
        for i in 0..ENTRY_CLIENTS {
            StreamSink::<EntryWrite>::link(&mut self.entries[i], &mut self.accept.entries[i]);
        }
        self.accept.room.next = self.feed.room.val();
        self.accept.entry_room.next = self.feed.entry_room.val();
        StreamSource::<WriteCommand>::join(&mut self.accept.command, &mut self.engine.command);

        self.feed.enters.next = self.accept.has_data.val();
        self.feed.is_entry.next = !self.accept.owner.val().is_payload;
        self.feed.entry.next = self.accept.entry.val();
        StreamSink::<Beat<D>>::link(&mut self.data, &mut self.feed.data);
        StreamSource::<Beat<D>>::join(&mut self.feed.source, &mut self.engine.data);

        StreamSource::<WriteAddress>::link(&mut self.aw, &mut self.engine.aw);
        StreamSource::<WriteBeat<D, K>>::link(&mut self.w, &mut self.engine.w);
        StreamSink::<WriteResponse>::link(&mut self.b, &mut self.engine.b);

        self.failures.accepted.next = self.accept.accepted.val();
        self.failures.ticket.next = self.accept.ticket.val();
        self.failures.owner.next = self.accept.owner.val();
        self.failures.missed.next = self.engine.missed.val();
        StreamSource::<Failed>::join(&mut self.engine.failed, &mut self.failures.sink);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.failures.event);
        StreamSource::<QpError>::link(&mut self.error, &mut self.failures.error);
        self.failed.next = self.failures.failed.val();

        self.ticket.next = self.accept.ticket.val();
        self.issued.next = self.accept.issued.val();
        self.done.next = self.engine.done.val();
        for i in 0..SETTLERS {
            self.waits[i].clock.next = self.clock.val();
            self.waits[i].reset.next = self.reset.val();
            self.waits[i].issued.next = self.accept.issued.val() + self.accept.accepted.val();
            self.waits[i].done.next = self.engine.done.val();
            self.waits[i].begins.next = self.settle[i].val();
            self.settled[i].next = self.waits[i].ends.val();
        }
        self.busy.next = (self.accept.issued.val() != self.engine.done.val())
            | self.engine.busy.val()
            | self.failures.busy.val();
    }
}
