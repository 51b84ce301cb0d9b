//! How long the codes of waits are, in cycles.

use rust_hdl::prelude::*;
use stroma_abi::wire::aeth::RNR_TIMER_US;

use crate::constant::constants;

/// Unless the constructor says otherwise.
const CLOCK_KHZ: u64 = 250_000;
/// Codes of either kind.
const CODES: usize = RNR_TIMER_US.len();

block! {
    /// Looks a code up: of the wait for an answer, or of the rest that an RNR NAK asks for. Logic only.
    ///
    /// - **Ports** `code`, `rests`: the code, and its kind; `cycles`: none too few; `arms`: there is an end to wait for. For
    ///   an answer code 0 waits for ever; every rest ends.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** clocks up to 4 GHz.
    pub struct Waits {
        pub code: Signal<In, Bits<5>>,
        pub rests: Signal<In, Bit>,
        pub cycles: Signal<Out, Bits<48>>,
        pub arms: Signal<Out, Bit>,
        answer_cycles: [Constant<Bits<48>>; CODES] = answer_cycles(CLOCK_KHZ),
        rest_cycles: [Constant<Bits<48>>; CODES] = rest_cycles(CLOCK_KHZ),
        found: Signal<Local, Bits<48>>,
    }
}

/// Cycles of 4.096 us, doubled as often as the code says, and none too few.
pub(super) fn wait(clock_khz: u64, code: usize) -> u64 {
    let cycles = ((u128::from(clock_khz) * 4096) << code).div_ceil(1_000_000);
    u64::try_from(cycles).expect("a clock of some GHz")
}

/// Cycles of an RNR timer, and none too few.
pub(super) fn rest(clock_khz: u64, code: usize) -> u64 {
    (clock_khz * u64::from(RNR_TIMER_US[code])).div_ceil(1000)
}

fn answer_cycles(clock_khz: u64) -> [Constant<Bits<48>>; CODES] {
    constants(|code| wait(clock_khz, code).into())
}

fn rest_cycles(clock_khz: u64) -> [Constant<Bits<48>>; CODES] {
    constants(|code| rest(clock_khz, code).into())
}

impl Waits {
    /// Waits on a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// If the clock is beyond the limits.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self {
            answer_cycles: answer_cycles(clock_khz),
            rest_cycles: rest_cycles(clock_khz),
            ..Self::default()
        }
    }
}

impl Logic for Waits {
    #[hdl_gen]
    fn update(&mut self) {
        self.found.next = self.answer_cycles[0].val();
        for i in 0..CODES {
            if self.code.val().index() == i {
                self.found.next = self.answer_cycles[i].val();
                if self.rests.val() {
                    self.found.next = self.rest_cycles[i].val();
                }
            }
        }
        self.cycles.next = self.found.val();
        self.arms.next = self.rests.val() | self.code.val().any();
    }
}
