//! The whole card begins anew without losing its place on the bus: what the host was promised is finished first.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::reg::Reg;
use crate::prim::reset_reg::ResetReg;

/// Cycles in a row without work after which nothing is under way any more.
const CALM_CYCLES: usize = 64;
/// Cycles for which the blocks are held in reset.
const HOLD_CYCLES: usize = 4;

block! {
    /// Ends all work, then holds every block in reset for a moment.
    ///
    /// Reads and writes that the host has seen must be answered, or the next ones would be taken for them. So a restart
    /// begins no new work, waits until none is left, and only then forgets.
    ///
    /// - **Ports** `request`: a pulse asks for a restart, also while one goes on; `busy`: some block has work; `pause`: none is to
    ///   begin; `hold`: reset of the blocks; `open`: the card is neither in reset nor about to be.
    /// - **Latency** `hold` rises when `busy` was low for 64 cycles, and lasts four.
    /// - **Reset** holds the blocks as well.
    /// - **Limits** work that never ends (a host that does not answer) delays the restart for ever; `open` tells.
    pub struct Restart {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub request: Signal<In, Bit>,
        pub busy: Signal<In, Bit>,
        pub pause: Signal<Out, Bit>,
        pub hold: Signal<Out, Bit>,
        pub open: Signal<Out, Bit>,
        ending: Reg<Bit>,
        holding: ResetReg,
        left: Reg<Bits<7>>,
        calm: Constant<Bits<7>> = number(CALM_CYCLES),
        held: Constant<Bits<7>> = number(HOLD_CYCLES),
    }
}

impl Logic for Restart {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, ending, holding, left);
        self.pause.next = self.ending.q.val() | self.holding.q.val();
        self.hold.next = self.holding.q.val();
        self.open.next = !self.ending.q.val() & !self.holding.q.val();
        self.left.d.next = self.left.q.val() - 1;
        if self.ending.q.val() {
            if self.busy.val() {
                self.left.d.next = self.calm.val();
            } else if !self.left.q.val().any() {
                self.ending.d.next = false;
                self.holding.d.next = true;
                self.left.d.next = self.held.val() - 1;
            }
        } else if self.holding.q.val() {
            if !self.left.q.val().any() {
                self.holding.d.next = false;
            }
        } else {
            self.left.d.next = self.calm.val();
        }
        if self.request.val() & !self.ending.q.val() {
            self.ending.d.next = true;
            self.left.d.next = self.calm.val();
        }
        if self.reset.val() {
            self.ending.d.next = false;
            self.holding.d.next = true;
            self.left.d.next = self.held.val() - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::Bench;

    use super::*;
    use crate::testing::{read, verilated};

    fn step(bench: &mut Bench, request: bool, busy: bool) -> (bool, bool, bool) {
        for (name, level) in [("request", request), ("busy", busy)] {
            let port = bench.model().port(name).expect("a port");
            bench.model_mut().set(port, level.into());
        }
        bench.step();
        (read(bench, "pause"), read(bench, "hold"), read(bench, "open"))
    }

    const OPEN: (bool, bool, bool) = (false, false, true);
    const ENDING: (bool, bool, bool) = (true, false, false);
    const HOLDING: (bool, bool, bool) = (true, true, false);

    fn fresh() -> Bench {
        let mut bench = verilated("restart", Restart::default);
        bench.reset(2);
        assert_eq!([(); 3].map(|()| step(&mut bench, false, false)), [HOLDING; 3]);
        assert_eq!(step(&mut bench, false, true), OPEN);
        bench
    }

    #[test]
    fn work_is_finished_before_anything_is_forgotten() {
        let mut bench = fresh();
        assert_eq!(step(&mut bench, true, true), ENDING);
        for _ in 0..500 {
            assert_eq!(step(&mut bench, false, true), ENDING);
        }
        for _ in 0..CALM_CYCLES {
            assert_eq!(step(&mut bench, false, false), ENDING);
        }
        assert_eq!([(); HOLD_CYCLES].map(|()| step(&mut bench, false, false)), [HOLDING; HOLD_CYCLES]);
        assert_eq!(step(&mut bench, false, false), OPEN);
    }

    #[test]
    fn a_last_piece_of_work_begins_the_wait_anew() {
        let mut bench = fresh();
        step(&mut bench, true, true);
        for _ in 0..CALM_CYCLES {
            assert_eq!(step(&mut bench, false, false), ENDING);
        }
        assert_eq!(step(&mut bench, false, true), ENDING);
        for _ in 0..CALM_CYCLES {
            assert_eq!(step(&mut bench, false, false), ENDING);
        }
        assert_eq!(step(&mut bench, false, false), HOLDING);
    }

    #[test]
    fn a_request_while_one_is_served_is_no_second_one() {
        let mut bench = fresh();
        step(&mut bench, true, false);
        step(&mut bench, true, false);
        let rest: Vec<_> = (0..80).map(|_| step(&mut bench, false, false)).collect();
        assert_eq!(rest.iter().filter(|state| **state == HOLDING).count(), HOLD_CYCLES);
        assert_eq!(rest.last(), Some(&OPEN));
    }
}
