//! The part of BAR0 that never changes: who the card is, how large it is, and the heads of the blocks.

use rust_hdl::prelude::*;

use super::facts::Facts;
use super::place::PLACE_BITS;
use crate::constant::{constants, number};
use crate::prim::reg::Reg;

/// Places with something fixed.
const WORDS: usize = 45;

block! {
    /// Shows what is fixed at a place.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: what is fixed there, 0 where nothing is.
    /// - **Latency** 1 cycle. **Rate** a place per cycle. **Reset** none.
    /// - **Limits** building panics when the map has more or fewer such places than there are rows here.
    pub struct Fixed {
        pub clock: Signal<In, Clock>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        found: Reg<Bits<64>>,
        places: [Constant<Bits<PLACE_BITS>>; WORDS] = constants(|_| Bits::default()),
        words: [Constant<Bits<64>>; WORDS] = constants(|_| Bits::default()),
    }
}

impl Fixed {
    /// For a card of which these facts hold.
    ///
    /// # Panics
    /// When the map no longer has the number of places that this block has rows for.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        let rows: Vec<(usize, u64)> = facts.words().into_iter().collect();
        assert_eq!(rows.len(), WORDS, "the map has another number of fixed places");
        Self {
            places: std::array::from_fn(|row| number(rows[row].0)),
            words: std::array::from_fn(|row| number(rows[row].1)),
            ..Self::default()
        }
    }
}

impl Logic for Fixed {
    #[hdl_gen]
    fn update(&mut self) {
        self.found.clock.next = self.clock.val();
        self.found.d.next = 0.into();
        for i in 0..WORDS {
            if self.place.val() == self.places[i].val() {
                self.found.d.next = self.words[i].val();
            }
        }
        self.word.next = self.found.q.val();
    }
}
