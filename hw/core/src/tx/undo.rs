//! Zeros that a CRC has run over are taken back.

use rust_hdl::prelude::*;

use crate::crc::Matrix;
use crate::prim::linear::Linear;

/// Takes back what 0, 1, 2 or 3 times some number of zero bytes did to a state. All are computed side by side, and chosen from last.
///
/// - **Ports** `state`: in; `times`: how often; `undone`: the state before those zeros.
/// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
#[derive(LogicBlock)]
pub struct Undo {
    pub state: Signal<In, Bits<32>>,
    pub times: Signal<In, Bits<2>>,
    pub undone: Signal<Out, Bits<32>>,
    once: Linear<32>,
    twice: Linear<32>,
    thrice: Linear<32>,
}

impl Undo {
    /// In steps of `bytes` zeros.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let back = |times: usize| Linear::new(Matrix::advance(times * bytes).inverse().masks());
        Self {
            state: Signal::default(),
            times: Signal::default(),
            undone: Signal::default(),
            once: back(1),
            twice: back(2),
            thrice: back(3),
        }
    }
}

impl Logic for Undo {
    #[hdl_gen]
    fn update(&mut self) {
        self.once.vector.next = self.state.val();
        self.twice.vector.next = self.state.val();
        self.thrice.vector.next = self.state.val();
        match self.times.val().index() {
            0 => self.undone.next = self.state.val(),
            1 => self.undone.next = self.once.image.val(),
            2 => self.undone.next = self.twice.image.val(),
            _ => self.undone.next = self.thrice.image.val(),
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::SplitMix64;

    use super::*;
    use crate::crc::update;
    use crate::testing::settle;

    #[test]
    fn the_zeros_are_taken_back() {
        let mut undo = Undo::new(4);
        undo.connect_all();
        let mut rng = SplitMix64::new(1);
        for round in 0..100 {
            let (before, times) = (u32::try_from(rng.below(1 << 32)).expect("32 bits"), round % 4);
            undo.state.next = u64::from(update(before, &vec![0; 4 * times])).into();
            undo.times.next = (times as u64).into();
            settle(&mut undo);
            assert_eq!(undo.undone.val(), u64::from(before), "{times} times");
        }
    }
}
