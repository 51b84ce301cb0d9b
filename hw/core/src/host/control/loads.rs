//! The host reads, and a 64-bit register read in two halves is of one moment.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::BAR0;

use super::place::PLACE_BITS;
use crate::constant::number;
use crate::host::axi_lite::{LiteAddress, LiteRead};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Takes reads off the bus, one at a time.
    ///
    /// A read of a low half keeps the high half as it was. The next read, if it is of that high half, gets what was kept.
    /// Any other read forgets it, and so does a store to BAR0; a store to a doorbell page does not, for those come from
    /// other processes at any time.
    ///
    /// - **Ports** `ar`, `r`: AXI4-Lite; `place`: the eight bytes that are read;
    ///   `word`: what BAR0 has there, one cycle later; `stores`: there is a store to BAR0 in this cycle; `busy`: a read is
    ///   not answered.
    /// - **Latency** 3 cycles from `ar` to `r`; what is read is of the cycle after `ar`. **Rate** one read every 4 cycles.
    /// - **Backpressure** a read waits until the one before is answered and the answer is taken.
    /// - **Reset** drops everything; the bus has to be reset with it.
    /// - **Limits** what is not in BAR0 reads as zero.
    pub struct Loads {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ar: StreamSink<LiteAddress>,
        pub r: StreamSource<LiteRead>,
        pub place: Signal<Out, Bits<PLACE_BITS>>,
        pub word: Signal<In, Bits<64>>,
        pub stores: Signal<In, Bit>,
        pub busy: Signal<Out, Bit>,
        address: Reg<Bits<25>>,
        looks: Reg<Bit>,
        finds: Reg<Bit>,
        answers: Reg<Bit>,
        answer: Reg<Bits<64>>,
        /// The high half that was kept, and the eight bytes it is of.
        kept: Reg<Bits<32>>,
        kept_at: Reg<Bits<22>>,
        keeps: Reg<Bit>,
        is_idle: Signal<Local, Bit>,
        at: Signal<Local, Bits<22>>,
        is_high: Signal<Local, Bit>,
        found: Signal<Local, Bits<64>>,
        bar0_end: Constant<Bits<25>> = number(BAR0.len),
    }
}

impl Logic for Loads {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, address, looks, finds, answers, answer, kept, kept_at, keeps);
        self.is_idle.next = !self.looks.q.val() & !self.finds.q.val() & !self.answers.q.val();
        self.ar.ready.next = self.is_idle.val();
        if self.is_idle.val() {
            self.address.d.next = self.ar.payload.val().addr;
        }
        self.looks.d.next = self.is_idle.val() & self.ar.valid.val();
        self.finds.d.next = self.looks.q.val();
        self.place.next = bit_cast::<13, 25>(self.address.q.val() >> 3);

        self.at.next = bit_cast::<22, 25>(self.address.q.val() >> 3);
        self.is_high.next = self.address.q.val().get_bit(2);
        self.found.next = 0.into();
        if self.address.q.val() < self.bar0_end.val() {
            self.found.next = self.word.val();
        }
        if self.finds.q.val() {
            self.answers.d.next = true;
            self.answer.d.next = self.found.val();
            self.keeps.d.next = !self.is_high.val();
            if !self.is_high.val() {
                self.kept.d.next = self.found.val().get_bits::<32>(32);
                self.kept_at.d.next = self.at.val();
            } else if self.keeps.q.val() & (self.kept_at.q.val() == self.at.val()) {
                self.answer.d.next = bit_cast::<64, 32>(self.found.val().get_bits::<32>(0))
                    | (bit_cast::<64, 32>(self.kept.q.val()) << 32);
            }
        }
        if self.stores.val() {
            self.keeps.d.next = false;
        }
        self.r.valid.next = self.answers.q.val();
        self.r.payload.next.data = self.answer.q.val();
        self.r.payload.next.resp = 0.into();
        if self.answers.q.val() & self.r.ready.val() {
            self.answers.d.next = false;
        }
        self.busy.next = !self.is_idle.val();

        if self.reset.val() {
            self.looks.d.next = false;
            self.finds.d.next = false;
            self.answers.d.next = false;
            self.keeps.d.next = false;
        }
    }
}
