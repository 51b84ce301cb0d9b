//! Deliver: each packet in its turn is sent, or told to have failed.

use rust_hdl::prelude::*;

use super::ask::Ticket;
use super::collect::Outcome;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{TxFailure, TxPacket};

block! {
    /// Gives out packets in their order.
    ///
    /// - **Ports** `tickets`: packets; `outcomes`: one for each with payload; `packet`: those whose payload could be had, or that
    ///   have none; `failed`: the others; `leaves`, `leaves_colour`: a packet with `frees` was taken on either, a request
    ///   (0) or an answer (1); `busy`: a packet is inside, or a pulse.
    /// - **Latency** 1 cycle; `leaves` 1 cycle behind the packet. **Rate** 1 packet per cycle.
    /// - **Backpressure** a packet, or failure, that is not taken stalls all behind it. The sinks' `ready` follows that of both
    ///   sources, and `tickets.ready` also `outcomes`, combinationally.
    /// - **Reset** forgets the packet inside.
    pub struct Deliver {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tickets: StreamSink<Ticket>,
        pub outcomes: StreamSink<Outcome>,
        pub packet: StreamSource<TxPacket>,
        pub failed: StreamSource<TxFailure>,
        pub leaves: [Signal<Out, Bit>; 2],
        pub leaves_colour: [Signal<Out, Bit>; 2],
        pub busy: Signal<Out, Bit>,
        held: Reg<Ticket>,
        outcome: Reg<Outcome>,
        is_held: Reg<Bit>,
        is_leaving: Reg<Bit>,
        leaving_colour: Reg<Bit>,
        leaving_response: Reg<Bit>,
        is_bad: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
    }
}

impl Logic for Deliver {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, outcome, is_held, is_leaving, leaving_colour, leaving_response);
        self.is_bad.next = self.outcome.q.val().status.any();
        self.packet.valid.next = self.is_held.q.val() & !self.is_bad.val();
        self.packet.payload.next.qpn = self.held.q.val().qpn;
        self.packet.payload.next.op = self.held.q.val().op;
        self.packet.payload.next.psn = self.held.q.val().psn;
        self.packet.payload.next.ackreq = self.held.q.val().ackreq;
        self.packet.payload.next.solicited = self.held.q.val().solicited;
        self.packet.payload.next.imm = self.held.q.val().imm;
        self.packet.payload.next.a1 = self.held.q.val().a1;
        self.packet.payload.next.a2 = self.held.q.val().a2;
        self.packet.payload.next.va = self.held.q.val().va;
        self.packet.payload.next.rkey = self.held.q.val().rkey;
        self.packet.payload.next.len = self.held.q.val().len;
        self.packet.payload.next.aeth = self.held.q.val().aeth;
        self.packet.payload.next.payload_len = self.held.q.val().payload_len;
        self.packet.payload.next.slot = self.held.q.val().slot;
        self.packet.payload.next.again = self.held.q.val().again;
        self.failed.valid.next = self.is_held.q.val() & self.is_bad.val();
        self.failed.payload.next.is_response = self.held.q.val().is_response;
        self.failed.payload.next.qpn = self.held.q.val().qpn;
        self.failed.payload.next.psn = self.held.q.val().psn;
        self.failed.payload.next.slot = self.held.q.val().slot;
        self.failed.payload.next.status = self.outcome.q.val().status;
        self.failed.payload.next.vendor = self.outcome.q.val().vendor;

        self.moves.next = self.is_held.q.val()
            & ((self.packet.ready.val() & !self.is_bad.val())
                | (self.failed.ready.val() & self.is_bad.val()));
        self.is_open.next = self.moves.val() | !self.is_held.q.val();
        self.goes.next = self.tickets.valid.val()
            & (self.outcomes.valid.val() | !self.tickets.payload.val().has_payload)
            & self.is_open.val();
        self.tickets.ready.next = self.goes.val();
        self.outcomes.ready.next =
            self.tickets.valid.val() & self.tickets.payload.val().has_payload & self.is_open.val();
        // An outcome comes late: the registers do not wait for it, they follow the ticket while they are free.
        if self.is_open.val() {
            self.is_held.d.next = self.goes.val();
            self.held.d.next = self.tickets.payload.val();
            self.outcome.d.next.status = 0.into();
            self.outcome.d.next.vendor = 0.into();
            if self.tickets.payload.val().has_payload {
                self.outcome.d.next = self.outcomes.payload.val();
            }
        }
        // Told by a register: no pulse follows another block's `ready`.
        self.is_leaving.d.next = self.moves.val() & self.held.q.val().frees;
        self.leaving_colour.d.next = self.held.q.val().colour;
        self.leaving_response.d.next = self.held.q.val().is_response;
        self.leaves[0].next = self.is_leaving.q.val() & !self.leaving_response.q.val();
        self.leaves[1].next = self.is_leaving.q.val() & self.leaving_response.q.val();
        self.leaves_colour[0].next = self.leaving_colour.q.val();
        self.leaves_colour[1].next = self.leaving_colour.q.val();
        self.busy.next = self.is_held.q.val() | self.is_leaving.q.val();
        if self.reset.val() {
            self.is_held.d.next = false;
            self.is_leaving.d.next = false;
        }
    }
}
