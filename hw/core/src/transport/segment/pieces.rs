//! Pieces: packets and the memory they come from become steps.

use rust_hdl::prelude::*;

use super::packets::Packet;
use super::window::Span;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::TxStep;

block! {
    /// Cuts memory at the ends of packets, and packets at the ends of entries.
    ///
    /// - **Ports** `packet`: packets; `spans`: where their payload is, as far as it is not inline: for the packets up to one
    ///   with `ends` as many bytes as they carry, or more in the last span; `step`: one for each piece, or for a packet that
    ///   has none; `busy`: memory is under way, or a step waits.
    /// - **Latency** 2 cycles from `spans`, 1 from `packet`. **Rate** a step per cycle.
    /// - **Backpressure** holds two spans, then stalls `spans`, whose `ready` is a register; stalls `packet`, whose `ready`
    ///   follows its payload. No combinational path from `step` to another port.
    /// - **Reset** empties it.
    pub struct Pieces {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub packet: StreamSink<Packet>,
        pub spans: StreamSink<Span>,
        pub step: StreamSource<TxStep>,
        pub busy: Signal<Out, Bit>,
        found: Fifo<TxStep, 2>,
        /// The memory under way, and the next: who brings it need not know in which cycle this one ends.
        is_loaded: Reg<Bit>,
        local: Reg<Span>,
        has_spare: Reg<Bit>,
        spare: Reg<Span>,
        /// A packet has begun, and has as many bytes to come.
        is_begun: Reg<Bit>,
        left: Reg<Bits<13>>,
        left_now: Signal<Local, Bits<13>>,
        fits: Signal<Local, Bit>,
        is_used_up: Signal<Local, Bit>,
        bytes: Signal<Local, Bits<13>>,
        is_last: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        unloads: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
    }
}

impl Logic for Pieces {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, found);
        dff_setup!(self, clock, is_loaded, local, has_spare, spare, is_begun, left);
        self.found.reset.next = self.reset.val();

        self.left_now.next = self.packet.payload.val().payload_len;
        if self.is_begun.q.val() {
            self.left_now.next = self.left.q.val();
        }
        self.fits.next = bit_cast::<32, 13>(self.left_now.val()) <= self.local.q.val().length;
        self.is_used_up.next = self.local.q.val().length <= bit_cast::<32, 13>(self.left_now.val());
        self.bytes.next = bit_cast::<13, 32>(self.local.q.val().length);
        if self.fits.val() {
            self.bytes.next = self.left_now.val();
        }
        self.is_last.next = !self.packet.payload.val().fetched | self.fits.val();
        self.offers.next =
            self.packet.valid.val() & (!self.packet.payload.val().fetched | self.is_loaded.q.val());
        self.goes.next = self.offers.val() & self.found.sink.ready.val();
        self.packet.ready.next = self.goes.val() & self.is_last.val();

        self.found.sink.valid.next = self.offers.val();
        self.found.sink.payload.next.last = self.is_last.val();
        self.found.sink.payload.next.is_response = false;
        self.found.sink.payload.next.qpn = self.packet.payload.val().qpn;
        self.found.sink.payload.next.op = self.packet.payload.val().op;
        self.found.sink.payload.next.psn = self.packet.payload.val().psn;
        // Without an answer to the last packet nobody would know that the others have arrived.
        self.found.sink.payload.next.ackreq = self.packet.payload.val().ends;
        self.found.sink.payload.next.solicited = self.packet.payload.val().solicited;
        self.found.sink.payload.next.imm = self.packet.payload.val().imm;
        self.found.sink.payload.next.a1 = self.packet.payload.val().a1;
        self.found.sink.payload.next.a2 = self.packet.payload.val().a2;
        self.found.sink.payload.next.va = self.packet.payload.val().va;
        self.found.sink.payload.next.rkey = self.packet.payload.val().rkey;
        self.found.sink.payload.next.len = self.packet.payload.val().len;
        self.found.sink.payload.next.aeth = 0.into();
        self.found.sink.payload.next.payload_len = self.packet.payload.val().payload_len;
        self.found.sink.payload.next.inline = self.packet.payload.val().inline;
        self.found.sink.payload.next.slot = self.packet.payload.val().slot;
        self.found.sink.payload.next.again = self.packet.payload.val().again;
        self.found.sink.payload.next.colour = self.packet.payload.val().colour;
        self.found.sink.payload.next.frees = self.packet.payload.val().ends;
        self.found.sink.payload.next.epoch = self.packet.payload.val().epoch;
        self.found.sink.payload.next.pd = self.packet.payload.val().pd;
        self.found.sink.payload.next.address = 0.into();
        self.found.sink.payload.next.key = 0.into();
        // To be read from here takes no right.
        self.found.sink.payload.next.need = 0.into();
        self.found.sink.payload.next.bytes = 0.into();
        if self.packet.payload.val().fetched {
            self.found.sink.payload.next.address = self.local.q.val().address;
            self.found.sink.payload.next.key = self.local.q.val().key;
            self.found.sink.payload.next.bytes = self.bytes.val();
        }

        // What the last packet leaves of an entry is for another visit.
        self.unloads.next = self.goes.val()
            & self.packet.payload.val().fetched
            & (self.is_used_up.val() | (self.fits.val() & self.packet.payload.val().ends));
        if self.goes.val() & self.packet.payload.val().fetched {
            self.is_begun.d.next = !self.is_last.val();
            self.left.d.next = self.left_now.val() - self.bytes.val();
            self.local.d.next.address = self.local.q.val().address + bit_cast::<64, 13>(self.bytes.val());
            self.local.d.next.length = self.local.q.val().length - bit_cast::<32, 13>(self.bytes.val());
        }
        self.takes.next = !self.is_loaded.q.val() | self.unloads.val();
        self.spans.ready.next = !self.has_spare.q.val();
        if !self.has_spare.q.val() {
            self.spare.d.next = self.spans.payload.val();
        }
        if self.takes.val() {
            self.is_loaded.d.next = self.spans.valid.val() | self.has_spare.q.val();
            self.local.d.next = self.spans.payload.val();
            if self.has_spare.q.val() {
                self.local.d.next = self.spare.q.val();
            }
            self.has_spare.d.next = false;
        } else {
            self.has_spare.d.next = self.spans.valid.val() | self.has_spare.q.val();
        }
        StreamSource::<TxStep>::link(&mut self.step, &mut self.found.source);
        self.busy.next = self.is_loaded.q.val() | self.found.source.valid.val();
        if self.reset.val() {
            self.is_loaded.d.next = false;
            self.has_spare.d.next = false;
            self.is_begun.d.next = false;
        }
    }
}
