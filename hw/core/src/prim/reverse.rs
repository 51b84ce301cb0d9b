//! Byte order: the stream has the first byte lowest, headers read best with the first byte on top.

use rust_hdl::prelude::*;

/// Turns the bytes of a word around. Wires only.
///
/// A kernel cannot join bits, and shifting them together one byte at a time costs the simulator a microsecond a
/// beat, so this is hand-written Verilog; the test holds it against `update`.
///
/// - **Ports** `forward`: bytes in; `reversed`: the same bytes, last one first.
/// - **Latency** 0 cycles. **Reset** none.
/// - **Limits** `W` is a multiple of 8; anything else panics when the block is emitted.
#[derive(LogicBlock, Default)]
pub struct Reverse<const W: usize> {
    pub forward: Signal<In, Bits<W>>,
    pub reversed: Signal<Out, Bits<W>>,
}

impl<const W: usize> Logic for Reverse<W> {
    fn update(&mut self) {
        let mut reversed = Bits::<W>::default();
        for byte in 0..W / 8 {
            reversed.set_bits(W - 8 - 8 * byte, self.forward.val().get_bits::<8>(8 * byte));
        }
        self.reversed.next = reversed;
    }

    fn connect(&mut self) {
        self.reversed.connect();
    }

    fn hdl(&self) -> Verilog {
        assert!(W.is_multiple_of(8), "{W} bits are no whole bytes");
        let bytes: Vec<String> = (0..W / 8).map(|byte| format!("forward[{} +: 8]", 8 * byte)).collect();
        Verilog::Custom(format!("// module reverse_{W}\nassign reversed = {{{}}};\n", bytes.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Packed;
    use crate::testing::{noises, settle, zoo_model};

    fn turns_bytes_around<const W: usize>() {
        let mut model = zoo_model::<W>("reverse");
        let (forward, reversed) = (model.port("forward").unwrap(), model.port("reversed").unwrap());
        let mut block = Reverse::<W>::default();
        block.connect_all();
        for word in noises::<Bits<W>>(1, 20) {
            model.set_wide(forward, &word.to_words());
            model.eval();
            let found = Bits::<W>::from_words(&model.get_wide(reversed));
            let mut bytes: Vec<u8> = (0..W / 8).map(|at| word.get_bits::<8>(8 * at).to_u8()).collect();
            bytes.reverse();
            let expected: Bits<W> = num_bigint::BigUint::from_bytes_le(&bytes).into();
            assert_eq!(found, expected);
            block.forward.next = word;
            settle(&mut block);
            assert_eq!(block.reversed.val(), found);
        }
    }

    #[test]
    fn reversed_bytes_are_the_same_in_rust_and_in_verilog() {
        turns_bytes_around::<64>();
        turns_bytes_around::<512>();
    }
}
