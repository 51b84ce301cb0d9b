//! Operands: two lines of the payload, for a compare-and-swap.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{LINE, Operands as Layout};
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::StreamSink;

use super::store::beats_of;

/// Bits of all operands.
pub const OPERAND_BITS: usize = 1024;

const _: () = assert!(OPERAND_BITS == 8 * Layout::LEN);

block! {
    /// Puts the beats of two lines together.
    ///
    /// - **Ports** `begins`: one cycle, the next beats of `sink` are operands; `loads`: they have not all come; `operands`: when they have, until others begin.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle. **Backpressure** none while it loads; it takes nothing else.
    /// - **Reset** forgets what has begun.
    /// - **Limits** `D` is 64 or 512.
    pub struct Operands<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub sink: StreamSink<Bits<D>>,
        pub loads: Signal<Out, Bit>,
        pub operands: Signal<Out, Bits<OPERAND_BITS>>,
        held: Reg<Bits<OPERAND_BITS>>,
        missing: Reg<Bits<5>>,
        beats: Constant<Bits<5>> = number(beats_of(Layout::LEN / LINE, D)),
        up: Constant<Bits<10>> = number(OPERAND_BITS - D),
        down: Constant<Bits<10>> = number(D),
    }
}

impl<const D: usize> Logic for Operands<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, missing);
        self.loads.next = self.missing.q.val().any();
        self.operands.next = self.held.q.val();
        self.sink.ready.next = self.missing.q.val().any();
        if self.sink.valid.val() & self.missing.q.val().any() {
            self.held.d.next = (bit_cast::<OPERAND_BITS, D>(self.sink.payload.val()) << self.up.val())
                | (self.held.q.val() >> self.down.val());
            self.missing.d.next = self.missing.q.val() - 1;
        }
        if self.begins.val() {
            self.missing.d.next = self.beats.val();
        }
        if self.reset.val() {
            self.missing.d.next = 0.into();
        }
    }
}
