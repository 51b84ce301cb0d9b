//! Knows when the card only waits: for the host, for the network, or for a timer.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;

/// Cycles in a row in which nothing moved after which nothing will: longer than any pipeline between two streams.
const CALM_CYCLES: usize = 63;

block! {
    /// Counts the cycles in which nothing moved.
    ///
    /// A block whose streams stand still for longer than its pipeline holds the same state in every cycle to come, until
    /// somebody outside gives or takes something. Simulations skip such time; hardware can gate its clock.
    ///
    /// - **Ports** `moves`: something moves in this cycle, or a block works in silence; `quiet`: nothing does, nor has for 63 cycles.
    /// - **Latency** `quiet` falls with `moves`, combinationally. **Reset** begins the count anew.
    pub struct Calm {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub moves: Signal<In, Bit>,
        pub quiet: Signal<Out, Bit>,
        cycles: Reg<Bits<6>>,
        all: Constant<Bits<6>> = number(CALM_CYCLES),
        own_clock: OwnClock,
    }
}

impl Logic for Calm {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, cycles);
        self.quiet.next = (self.cycles.q.val() == self.all.val()) & !self.moves.val();
        if self.cycles.q.val() != self.all.val() {
            self.cycles.d.next = self.cycles.q.val() + 1;
        }
        if self.moves.val() | self.reset.val() {
            self.cycles.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, verilated};

    #[test]
    fn quiet_comes_after_sixty_three_still_cycles_and_goes_with_the_first_move() {
        let mut bench = verilated("calm", Calm::default);
        bench.reset(1);
        let moves = bench.model().port("moves").expect("a port");
        let mut step = |moving: bool| {
            bench.model_mut().set(moves, moving.into());
            bench.step();
            read::<bool>(&bench, "quiet")
        };
        for _ in 0..2 {
            assert!(!step(true));
            assert_eq!((0..CALM_CYCLES).filter(|_| step(false)).count(), 1);
            assert!(step(false));
        }
        assert!(!step(true));
    }
}
