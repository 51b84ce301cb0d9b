//! Settle: an invocation is answered when all its writes are done.

use rust_hdl::prelude::*;
use stroma_abi::kernel::hyperloglog::{HyperLogLogStatus, REGISTERS};
use stroma_abi::wire::RpcStatus;
use stroma_hw::constant::number;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, SlotDone, SlotResponse, TICKET_BITS};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

/// Most writes under way, as a power of two: 64, twice as many as the bridge has.
const OPEN_LOG: usize = 6;

record! {
    /// Something that an answer waits for.
    pub struct Entry {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// A write, to be done.
        pub awaits: Bit,
        /// The invocation has nothing behind it.
        pub is_last: Bit,
        /// It was refused.
        pub is_bad: Bit,
        /// It was for another sketch.
        pub is_other: Bit,
        /// With `is_other`: another domain's was to be cleared.
        pub is_taken: Bit,
        /// It has answered with the registers.
        pub has_registers: Bit,
    }
}

block! {
    /// Keeps what is open, and answers in the order in which it came.
    ///
    /// - **Ports** `sink`: what is to be waited for; `write_done`: the ends of writes; `response`: the answers; `is_idle`: nothing is open.
    /// - **Latency** 2 cycles from an entry without a write to `response`, 1 from the last end of a write. **Rate** an entry per cycle, an answer every 2 cycles.
    /// - **Backpressure** `response` stalls `write_done`; 64 entries wait, then `sink` does. No combinational path from port to port.
    /// - **Reset** forgets all; ends of writes from before must not come any more.
    pub struct Settle {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Entry>,
        pub write_done: StreamSink<SlotDone>,
        pub response: StreamSource<SlotResponse>,
        pub is_idle: Signal<Out, Bit>,
        open: Fifo<Entry, OPEN_LOG>,
        /// Of the first write of the invocation that failed.
        how: Reg<Bits<2>>,
        answer: Reg<SlotResponse>,
        is_told: Reg<Bit>,
        head: Signal<Local, Entry>,
        /// There is something to wait for, and room for its answer.
        looks: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        ending: Signal<Local, Bits<2>>,
        registers: Constant<Bits<32>> = number(REGISTERS),
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        bad_parameters: Constant<Bits<32>> = number(HyperLogLogStatus::BadParameters as u32),
        taken: Constant<Bits<32>> = number(HyperLogLogStatus::Taken as u32),
        other_sketch: Constant<Bits<32>> = number(HyperLogLogStatus::OtherSketch as u32),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, open);
        dff_setup!(self, clock, how, answer, is_told);
        self.open.reset.next = self.reset.val();
        StreamSink::<Entry>::link(&mut self.sink, &mut self.open.sink);
        self.head.next = self.open.source.payload.val();
        self.is_idle.next = !self.open.source.valid.val() & !self.is_told.q.val();
        self.looks.next = self.open.source.valid.val() & !self.is_told.q.val();
        self.write_done.ready.next = self.looks.val() & self.head.val().awaits;
        self.moves.next = self.looks.val() & (!self.head.val().awaits | self.write_done.valid.val());
        self.open.source.ready.next = self.moves.val();

        self.ending.next = self.how.q.val();
        if self.head.val().awaits & !self.how.q.val().any() {
            self.ending.next = self.write_done.payload.val().err;
        }
        self.response.valid.next = self.is_told.q.val();
        self.response.payload.next = self.answer.q.val();
        if self.response.ready.val() {
            self.is_told.d.next = false;
        }
        if self.moves.val() {
            self.how.d.next = self.ending.val();
            self.answer.d.next.ticket = self.head.val().ticket;
            self.answer.d.next.len = 0.into();
            if self.head.val().has_registers {
                self.answer.d.next.len = self.registers.val();
            }
            if self.head.val().is_bad {
                self.answer.d.next.status = self.bad_parameters.val();
            } else if self.head.val().is_other {
                self.answer.d.next.status = self.other_sketch.val();
                if self.head.val().is_taken {
                    self.answer.d.next.status = self.taken.val();
                }
            } else if !self.ending.val().any() {
                self.answer.d.next.status = self.good.val();
            } else if self.ending.val() == self.refused.val() {
                self.answer.d.next.status = self.access.val();
            } else {
                self.answer.d.next.status = self.host.val();
            }
            if self.head.val().is_last {
                self.is_told.d.next = true;
                self.how.d.next = 0.into();
            }
        }
        if self.reset.val() {
            self.how.d.next = 0.into();
            self.is_told.d.next = false;
        }
    }
}
