//! The payload of requests that are deferred: out of the stream, and into it again.

#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::ram::UltraRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::records::{DEFERRED_LOG, Errand, PLACE_BYTES_LOG};

/// log2 of the packets whose way is known before they have moved.
const TRANSFERS_LOG: usize = 5;
/// Beats on the way out that leave room for two more.
const NEARLY_FULL: usize = 2;

record! {
    /// What becomes of the next packet.
    pub struct Transfer {
        /// It goes to the store.
        pub stores: Bit,
        /// It comes from there.
        pub loads: Bit,
        /// Its place.
        pub slot: Bits<6>,
        /// `loads`: its beats.
        pub beats: Bits<10>,
    }
}

record! {
    /// A beat in the store.
    pub struct StoredBeat<const D: usize> {
        /// The bytes, first byte lowest.
        pub data: Bits<D>,
        /// How many of them count.
        pub nbytes: Bits<7>,
        /// Last beat of its packet.
        pub eop: Bit,
    }
}

block! {
    /// Passes the payload of errands on, but for that of requests that are deferred: it waits in places of 4 KiB, `2^LOG` beats in all.
    ///
    /// ```text
    ///   errand ──┬── source                  ┌─────────────┐
    ///            └── FIFO of transfers       │             │
    ///   payload ───────────┴──┬── memory ────┴─ FIFO ── passed
    /// ```
    ///
    /// | port | what |
    /// |---|---|
    /// | `errand`, `is_request` | errands in the order of their arrivals |
    /// | `source`, `source_is_request` | the same; one that `stores` has no payload any more |
    /// | `payload` | a packet for each errand with payload, unless it `has_value` or `loads` |
    /// | `passed` | a packet for each errand on `source` with payload, unless it `has_value` |
    ///
    /// - **Latency** 0 cycles for errands; 1 for beats that pass, 2 for those that come from the store.
    /// - **Rate** an errand and a beat per cycle, with a cycle between a packet that comes from the store and the next.
    /// - **Back-pressure** 32 transfers wait, then `errand` does. No beat moves before its errand has.
    /// - **Reset** forgets all that is under way; what the store holds means nothing then.
    /// - **Limits** a place takes part in one transfer at a time, in the order of errands. No packet has more than 4096 bytes.
    pub struct DeferPayload<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub is_request: Signal<In, Bit>,
        pub source: StreamSource<Errand>,
        pub source_is_request: Signal<Out, Bit>,
        pub payload: StreamSink<Beat<D>>,
        pub passed: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        transfers: Fifo<Transfer, TRANSFERS_LOG>,
        memory: UltraRam<StoredBeat<D>, LOG>,
        beats: Fifo<Beat<D>, 2>,
        /// Beats of the packet that have moved.
        at: Reg<Bits<10>>,
        /// The memory shows a beat that was asked for in the cycle before.
        is_fetched: Reg<Bit>,
        /// It is the first of its packet.
        is_first: Reg<Bit>,
        has_payload: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        has_transfer: Signal<Local, Bit>,
        transfer: Signal<Local, Transfer>,
        address: Signal<Local, Bits<LOG>>,
        passes: Signal<Local, Bit>,
        stores: Signal<Local, Bit>,
        fetches: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        beat_bytes_log: Constant<Bits<4>> = number((D / 8).ilog2()),
        round_up: Constant<Bits<13>> = number(D / 8 - 1),
        place_log: Constant<Bits<4>> = number(PLACE_BYTES_LOG - (D / 8).ilog2() as usize),
        nearly_full: Constant<Bits<16>> = number(NEARLY_FULL),
    }
}

impl<const D: usize, const LOG: usize> Logic for DeferPayload<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, transfers, memory, beats);
        dff_setup!(self, clock, at, is_fetched, is_first);
        self.transfers.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();

        // Errands.
        self.has_payload.next =
            self.errand.payload.val().payload_len.any() & !self.errand.payload.val().has_value;
        self.moves.next = self.errand.valid.val() & self.source.ready.val() & self.transfers.sink.ready.val();
        self.source.valid.next = self.errand.valid.val() & self.transfers.sink.ready.val();
        self.source.payload.next = self.errand.payload.val();
        if self.errand.payload.val().stores {
            self.source.payload.next.payload_len = 0.into();
        }
        self.source_is_request.next = self.is_request.val();
        self.errand.ready.next = self.source.ready.val() & self.transfers.sink.ready.val();
        self.transfers.sink.valid.next = self.moves.val() & self.has_payload.val();
        self.transfers.sink.payload.next.stores = self.errand.payload.val().stores;
        self.transfers.sink.payload.next.loads = self.errand.payload.val().loads;
        self.transfers.sink.payload.next.slot = self.errand.payload.val().slot;
        self.transfers.sink.payload.next.beats = bit_cast::<10, 13>(
            (self.errand.payload.val().payload_len + self.round_up.val()) >> self.beat_bytes_log.val(),
        );

        // Beats.
        self.has_transfer.next = self.transfers.source.valid.val();
        self.transfer.next = self.transfers.source.payload.val();
        self.address.next = (bit_cast::<LOG, DEFERRED_LOG>(self.transfer.val().slot) << self.place_log.val())
            | bit_cast::<LOG, 10>(self.at.q.val());
        // What was asked for goes first.
        self.payload.ready.next = self.has_transfer.val()
            & !self.transfer.val().loads
            & (self.transfer.val().stores | (self.beats.sink.ready.val() & !self.is_fetched.q.val()));
        self.passes.next = self.has_transfer.val()
            & !self.transfer.val().loads
            & !self.transfer.val().stores
            & !self.is_fetched.q.val()
            & self.payload.valid.val();
        self.stores.next = self.has_transfer.val() & self.transfer.val().stores & self.payload.valid.val();
        self.memory.write_enable.next = self.stores.val();
        self.memory.write_address.next = self.address.val();
        self.memory.write_data.next.data = self.payload.payload.val().data;
        self.memory.write_data.next.nbytes = self.payload.payload.val().nbytes;
        self.memory.write_data.next.eop = self.payload.payload.val().eop;
        self.fetches.next = self.has_transfer.val()
            & self.transfer.val().loads
            & (self.beats.level.val() <= self.nearly_full.val());
        self.memory.read_enable.next = self.fetches.val();
        self.memory.read_address.next = self.address.val();
        self.is_fetched.d.next = self.fetches.val();
        self.is_first.d.next = !self.at.q.val().any();
        self.is_last.next = self.payload.payload.val().eop;
        if self.transfer.val().loads {
            self.is_last.next = self.at.q.val() + 1 == self.transfer.val().beats;
        }
        if self.stores.val() | self.fetches.val() {
            self.at.d.next = self.at.q.val() + 1;
            if self.is_last.val() {
                self.at.d.next = 0.into();
            }
        }
        self.transfers.source.ready.next = self.is_last.val()
            & (self.stores.val() | self.fetches.val() | (self.passes.val() & self.beats.sink.ready.val()));

        self.beats.sink.valid.next = self.passes.val() | self.is_fetched.q.val();
        self.beats.sink.payload.next = self.payload.payload.val();
        if self.is_fetched.q.val() {
            self.beats.sink.payload.next.data = self.memory.read_data.val().data;
            self.beats.sink.payload.next.nbytes = self.memory.read_data.val().nbytes;
            self.beats.sink.payload.next.sop = self.is_first.q.val();
            self.beats.sink.payload.next.eop = self.memory.read_data.val().eop;
            self.beats.sink.payload.next.err = false;
        }
        StreamSource::<Beat<D>>::link(&mut self.passed, &mut self.beats.source);
        self.busy.next = self.has_transfer.val() | self.is_fetched.q.val() | self.beats.source.valid.val();
        if self.reset.val() {
            self.at.d.next = 0.into();
            self.is_fetched.d.next = false;
        }
    }
}
