//! Reply: a status and up to 64 bytes become an answer.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, SlotResponse, TICKET_BITS};
use stroma_hw::stream::{Beat, StreamSource};

/// Bits of all bytes that a reply can have.
pub const REPLY_BITS: usize = 512;

block! {
    /// Gives one answer after the other.
    ///
    /// - **Ports** `begins`: one cycle, while `is_idle`: the invocation `ticket` ends with `status` and with the `len` first bytes of `data`, at most 64, zero behind them; but
    ///   if `ending`, an [`Ending`] of its DMA, is not good, with the status of that. With any status but 0 no bytes are sent. `data_out`, `response`: as [`slot`](stroma_hw::slot) says.
    /// - **Latency** 1 cycle from `begins` to the first beat, or to `response` if there is none; 1 from the last beat to `response`, 1 from there to `is_idle`.
    /// - **Backpressure** beats and responses wait for as long as they have to. No combinational path from port to port.
    /// - **Reset** forgets the answer.
    /// - **Limits** `D` is 64 or 512.
    pub struct Reply<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub ending: Signal<In, Bits<2>>,
        pub status: Signal<In, Bits<32>>,
        pub len: Signal<In, Bits<7>>,
        pub data: Signal<In, Bits<REPLY_BITS>>,
        pub is_idle: Signal<Out, Bit>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        /// There is an answer.
        is_open: Reg<Bit>,
        told: Reg<SlotResponse>,
        /// Bytes that have not moved, and how many there are.
        rest: Reg<Bits<REPLY_BITS>>,
        left: Reg<Bits<7>>,
        is_first: Reg<Bit>,
        is_last: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<7>>,
        how: Signal<Local, Bits<32>>,
        full: Constant<Bits<7>> = number(D / 8),
        // At 512 bits the first beat is the last, and nothing has to move up.
        step: Constant<Bits<10>> = number(D % REPLY_BITS),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
    }
}

impl<const D: usize> Logic for Reply<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_open, told, rest, left, is_first);
        self.is_idle.next = !self.is_open.q.val();
        self.is_last.next = self.left.q.val() <= self.full.val();
        self.nbytes.next = self.full.val();
        if self.is_last.val() {
            self.nbytes.next = self.left.q.val();
        }
        self.data_out.valid.next = self.left.q.val().any();
        self.data_out.payload.next.data = bit_cast::<D, REPLY_BITS>(self.rest.q.val());
        self.data_out.payload.next.nbytes = self.nbytes.val();
        self.data_out.payload.next.sop = self.is_first.q.val();
        self.data_out.payload.next.eop = self.is_last.val();
        self.data_out.payload.next.err = false;
        self.response.valid.next = self.is_open.q.val() & !self.left.q.val().any();
        self.response.payload.next = self.told.q.val();

        if self.left.q.val().any() & self.data_out.ready.val() {
            self.rest.d.next = self.rest.q.val() >> self.step.val();
            self.left.d.next = self.left.q.val() - self.nbytes.val();
            self.is_first.d.next = false;
        }
        if self.response.ready.val() & !self.left.q.val().any() {
            self.is_open.d.next = false;
        }
        self.how.next = self.status.val();
        if self.ending.val() == self.refused.val() {
            self.how.next = self.access.val();
        } else if self.ending.val().any() {
            self.how.next = self.host.val();
        }
        if self.begins.val() {
            self.is_open.d.next = true;
            self.is_first.d.next = true;
            self.rest.d.next = self.data.val();
            self.left.d.next = self.len.val();
            self.told.d.next.ticket = self.ticket.val();
            self.told.d.next.status = self.how.val();
            self.told.d.next.len = bit_cast::<32, 7>(self.len.val());
            if self.how.val().any() {
                self.left.d.next = 0.into();
                self.told.d.next.len = 0.into();
            }
        }
        if self.reset.val() {
            self.is_open.d.next = false;
            self.left.d.next = 0.into();
        }
    }
}
