//! A matrix over GF(2) as gates: what every CRC, hash and parity code is made of.

use rust_hdl::prelude::*;

/// Multiplies an `N`-bit vector by a fixed matrix of 32 rows.
///
/// - **Ports** `vector`: in; `image`: bit `i` is the parity of `vector` under mask `i`.
/// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
#[derive(LogicBlock)]
pub struct Linear<const N: usize> {
    pub vector: Signal<In, Bits<N>>,
    pub image: Signal<Out, Bits<32>>,
    masks: [Constant<Bits<N>>; 32],
    // RustHDL knows no concatenation: each bit is put into the word of those below it.
    word: [Signal<Local, Bits<32>>; 33],
}

impl<const N: usize> Linear<N> {
    /// The matrix whose rows are `masks`.
    #[must_use]
    pub fn new(masks: [Bits<N>; 32]) -> Self {
        Self {
            vector: Signal::default(),
            image: Signal::default(),
            masks: masks.map(Constant::new),
            word: std::array::from_fn(|_| Signal::default()),
        }
    }
}

impl<const N: usize> Logic for Linear<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.word[0].next = 0.into();
        for i in 0..32 {
            self.word[i + 1].next =
                self.word[i].val().replace_bit(i, (self.vector.val() & self.masks[i].val()).xor());
        }
        self.image.next = self.word[32].val();
    }
}

#[cfg(test)]
mod tests {
    use crate::crc::update;
    use crate::pack::Packed;
    use crate::testing::{noises, zoo_model};

    use super::*;

    /// The zoo's matrix is that of the CRC, so a table-free CRC is the model.
    fn multiplies<const N: usize>() {
        let mut model = zoo_model::<N>("linear");
        let (vector, image) = (model.port("vector").expect("a port"), model.port("image").expect("a port"));
        for word in noises::<Bits<N>>(1, 100) {
            model.set_wide(vector, &word.to_words());
            model.eval();
            let bytes: Vec<u8> = word.to_words().into_iter().flat_map(u32::to_le_bytes).collect();
            assert_eq!(model.get_wide(image), [update(0, &bytes)]);
        }
    }

    #[test]
    fn the_gates_do_what_the_matrix_does() {
        multiplies::<64>();
        multiplies::<512>();
    }
}
