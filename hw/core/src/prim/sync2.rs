//! Two flip-flops in a row: the only way a level may enter another clock domain.

use rust_hdl::prelude::*;

/// Shows `d` two cycles of `clock` later.
///
/// `d` comes from a register of another clock and is one bit, or a Gray code of which one bit changes at a time.
/// Hand-written, because the attribute must sit on the registers: it keeps them together and out of optimisation.
///
/// - **Latency** 2 to 3 cycles. **Reset** none: the sender's reset reaches it.
#[derive(LogicBlock, Default)]
pub struct Sync2<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, T>,
    pub q: Signal<Out, T>,
    _first: T,
}

#[expect(
    clippy::used_underscore_binding,
    reason = "RustHDL's derive skips such fields: they are no part of the hardware"
)]
impl<T: Synth> Logic for Sync2<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self._first;
            self._first = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// module sync2_{width}\n\
             // moves (first != d) | (second != first)\n\
             (* ASYNC_REG = \"TRUE\" *) logic [{top}:0] first, second;\n\
             always_ff @(posedge clock) begin\n\
             \x20 first <= d;\n\
             \x20 second <= first;\n\
             end\n\
             assign q = second;\n",
            width = T::BITS,
            top = T::BITS - 1,
        ))
    }
}
