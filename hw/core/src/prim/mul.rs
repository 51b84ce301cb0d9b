//! A multiplier. Hand-written Verilog: RustHDL multiplies 16 by 16 bits at most, and a DSP block is fast only when the
//! registers inside it are used.

use rust_hdl::prelude::*;

/// Unsigned product of `a` and `b`, registered at the inputs, behind the multiplier and at the output.
///
/// - **Ports** `a`, `b`: factors; `p`: their product; `enable`: the pipeline moves on.
/// - **Latency** 3 cycles with `enable` high. **Rate** 1 product per cycle.
/// - **Backpressure** lower `enable` to hold every stage; the caller carries `valid` along.
/// - **Reset** none.
/// - **Limits** `P = A + B`; anything else panics when the block is built.
#[derive(LogicBlock)]
pub struct Mul<const A: usize, const B: usize, const P: usize> {
    pub clock: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub a: Signal<In, Bits<A>>,
    pub b: Signal<In, Bits<B>>,
    pub p: Signal<Out, Bits<P>>,
    _factors: (Bits<A>, Bits<B>),
    _product: Bits<P>,
}

impl<const A: usize, const B: usize, const P: usize> Default for Mul<A, B, P> {
    fn default() -> Self {
        assert_eq!(P, A + B, "the product of {A} and {B} bits has {} bits, not {P}", A + B);
        Self {
            clock: Signal::default(),
            enable: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            p: Signal::default(),
            _factors: Default::default(),
            _product: Bits::default(),
        }
    }
}

#[expect(
    clippy::used_underscore_binding,
    reason = "RustHDL's derive skips such fields: they are no part of the hardware"
)]
impl<const A: usize, const B: usize, const P: usize> Logic for Mul<A, B, P> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.enable.val() {
            self.p.next = self._product;
            self._product = product(self._factors.0, self._factors.1);
            self._factors = (self.a.val(), self.b.val());
        }
    }

    fn connect(&mut self) {
        self.p.connect();
    }

    fn hdl(&self) -> Verilog {
        let factors = format!("{{{B}'d0, a_held}} * {{{A}'d0, b_held}}");
        Verilog::Custom(format!(
            "// module mul_{A}x{B}\n\
             // moves enable & ((a_held != a) | (b_held != b) | (product != {factors}) | (p != product))\n\
             logic [{a_top}:0] a_held;\nlogic [{b_top}:0] b_held;\nlogic [{p_top}:0] product;\n\
             initial begin a_held = {A}'d0; b_held = {B}'d0; product = {P}'d0; p = {P}'d0; end\n\
             always_ff @(posedge clock) if (enable) begin\n\
             \x20 a_held <= a;\n\
             \x20 b_held <= b;\n\
             \x20 product <= {factors};\n\
             \x20 p <= product;\n\
             end\n",
            a_top = A - 1,
            b_top = B - 1,
            p_top = P - 1,
        ))
    }
}

/// The model: the exact product.
pub(crate) fn product<const A: usize, const B: usize, const P: usize>(a: Bits<A>, b: Bits<B>) -> Bits<P> {
    (num_bigint::BigUint::from(a) * num_bigint::BigUint::from(b)).into()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use stroma_verilate::SplitMix64;

    use crate::testing::zoo_model;

    #[test]
    fn agrees_with_the_model_and_holds_still_without_enable() {
        let mut model = zoo_model::<64>("mul");
        let port = |name: &str| model.port(name).expect("a port of the multiplier");
        let (clock, enable) = (port("clock"), port("enable"));
        let (left, right, product) = (port("a"), port("b"), port("p"));
        let mut rng = SplitMix64::new(1);
        // Products under way; the oldest is on the output.
        let mut stages = VecDeque::from([0, 0, 0]);
        for cycle in 0..1000 {
            let moves = rng.below(3) > 0;
            let corner = rng.below(4) == 0;
            let (x, y) =
                if corner { (0xff_ffff, 0x1_ffff) } else { (rng.below(1 << 24), rng.below(1 << 17)) };
            model.set(enable, moves.into());
            model.set(left, x);
            model.set(right, y);
            model.tick(clock);
            if moves {
                stages.pop_front();
                stages.push_back(x * y);
            }
            assert_eq!(model.get(product), stages[0], "cycle {cycle}");
        }
    }
}
