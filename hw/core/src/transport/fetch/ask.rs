//! Ask: each piece's question goes to the MMU, and each packet's ticket waits for its turn.

use rust_hdl::prelude::*;

use super::CLIENT;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::skid::Skid;
use crate::record;
use crate::state::access::XlatRequest;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::TxStep;

record! {
    /// A step that waits for the place of its bytes.
    pub struct Waiting {
        /// Answers of the MMU tell it.
        pub is_asked: Bit,
        /// They come inline.
        pub is_inline: Bit,
        /// Then: with the answers of kernels, else with requests.
        pub is_result: Bit,
        /// Last of its packet.
        pub last: Bit,
    }
}

record! {
    /// A packet that waits for its payload.
    pub struct Ticket {
        /// It has one: an outcome will be told.
        pub has_payload: Bit,
        /// An answer, else a request.
        pub is_response: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// BTH solicited event.
        pub solicited: Bit,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data, or AtomicAckETH original data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// RETH or AtomicETH virtual address.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// It was sent before.
        pub again: Bit,
        /// Its message's place.
        pub slot: Bits<6>,
        /// Colour it was admitted in; counts with `frees`.
        pub colour: Bit,
        /// Last packet of what was admitted.
        pub frees: Bit,
    }
}

block! {
    /// Asks the MMU for every piece of payload.
    ///
    /// - **Ports** `steps`: in; `has_bytes`, `has_payload`: of the step on offer; `xlat`: one question for each that has bytes of its own;
    ///   `waiting`: the steps with bytes, own or inline, and those that end a payload without any; `tickets`: one for each
    ///   packet; `busy`: a step or ticket waits.
    /// - **Latency** 1 cycle. **Rate** 1 step per cycle.
    /// - **Backpressure** a step stays in `waiting` until it has its answers, and 16 fit: so no more than 16 questions are
    ///   open. The 33rd packet stalls `steps`, too. No combinational path from port to port.
    /// - **Reset** empties it.
    pub struct Ask {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub steps: StreamSink<TxStep>,
        pub has_bytes: Signal<In, Bit>,
        pub has_payload: Signal<In, Bit>,
        pub xlat: StreamSource<XlatRequest>,
        pub waiting: StreamSource<Waiting>,
        pub tickets: StreamSource<Ticket>,
        pub busy: Signal<Out, Bit>,
        waits: Fifo<Waiting, 4>,
        packets: Fifo<Ticket, 5>,
        cut: Skid<XlatRequest>,
        step: Signal<Local, TxStep>,
        is_inline: Signal<Local, Bit>,
        is_asked: Signal<Local, Bit>,
        is_part: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        client: Constant<Bits<3>> = number(CLIENT),
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waits, packets, cut);
        self.waits.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.step.next = self.steps.payload.val();
        self.is_inline.next = self.step.val().inline & self.has_payload.val();
        self.is_asked.next = !self.step.val().inline & self.has_bytes.val();
        self.is_part.next =
            self.is_inline.val() | self.is_asked.val() | (self.step.val().last & self.has_payload.val());

        self.goes.next = self.steps.valid.val()
            & self.waits.sink.ready.val()
            & self.packets.sink.ready.val()
            & self.cut.sink.ready.val();
        self.steps.ready.next =
            self.waits.sink.ready.val() & self.packets.sink.ready.val() & self.cut.sink.ready.val();

        self.cut.sink.valid.next = self.goes.val() & self.is_asked.val();
        self.cut.sink.payload.next.client = self.client.val();
        self.cut.sink.payload.next.tag = 0.into();
        self.cut.sink.payload.next.key = self.step.val().key;
        self.cut.sink.payload.next.pd = self.step.val().pd;
        self.cut.sink.payload.next.qpn = self.step.val().qpn;
        self.cut.sink.payload.next.va = self.step.val().address;
        self.cut.sink.payload.next.len = self.step.val().bytes;
        self.cut.sink.payload.next.need = self.step.val().need;
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.cut.source);

        self.waits.sink.valid.next = self.goes.val() & self.is_part.val();
        self.waits.sink.payload.next.is_asked = self.is_asked.val();
        self.waits.sink.payload.next.is_inline = self.is_inline.val();
        self.waits.sink.payload.next.is_result = self.step.val().is_response;
        self.waits.sink.payload.next.last = self.step.val().last;
        StreamSource::<Waiting>::link(&mut self.waiting, &mut self.waits.source);

        self.packets.sink.valid.next = self.goes.val() & self.step.val().last;
        self.packets.sink.payload.next.has_payload = self.is_part.val();
        self.packets.sink.payload.next.is_response = self.step.val().is_response;
        self.packets.sink.payload.next.qpn = self.step.val().qpn;
        self.packets.sink.payload.next.op = self.step.val().op;
        self.packets.sink.payload.next.psn = self.step.val().psn;
        self.packets.sink.payload.next.ackreq = self.step.val().ackreq;
        self.packets.sink.payload.next.solicited = self.step.val().solicited;
        self.packets.sink.payload.next.imm = self.step.val().imm;
        self.packets.sink.payload.next.a1 = self.step.val().a1;
        self.packets.sink.payload.next.a2 = self.step.val().a2;
        self.packets.sink.payload.next.va = self.step.val().va;
        self.packets.sink.payload.next.rkey = self.step.val().rkey;
        self.packets.sink.payload.next.len = self.step.val().len;
        self.packets.sink.payload.next.aeth = self.step.val().aeth;
        self.packets.sink.payload.next.payload_len = self.step.val().payload_len;
        self.packets.sink.payload.next.again = self.step.val().again;
        self.packets.sink.payload.next.slot = self.step.val().slot;
        self.packets.sink.payload.next.colour = self.step.val().colour;
        self.packets.sink.payload.next.frees = self.step.val().frees;
        StreamSource::<Ticket>::link(&mut self.tickets, &mut self.packets.source);
        self.busy.next = self.waits.source.valid.val() | self.packets.source.valid.val();
    }
}
