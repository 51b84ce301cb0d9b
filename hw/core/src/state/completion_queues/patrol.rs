//! The line of CQs whose events wait for their time, and who looks after them.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::events::alarm::{CLOCK_KHZ, FRACTION, cycles_per_us};
use crate::prim::block_fifo::BlockFifo;
use crate::prim::mul::Mul;
use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;

/// Cycles from one visit to the next: completions keep their rate, and a time of microseconds is told well enough.
pub(super) const PACE: usize = 64;
/// Cycles from a known row to its product: those of the multiplier.
const RECKONING: usize = 3;

block! {
    /// Asks for visits to the queues in line, one after the other, and reckons whether the time of the one visited is over.
    ///
    /// A timer for each queue would be a table scanned all the time; nearly all queues wait for nothing. So those that wait stand
    /// in a line: the one at its head is visited, and leaves or goes to the end. The row of a queue says whether it stands there:
    /// none does twice, and the line never overflows.
    ///
    /// - **Ports** `joins`: `number` goes to the end of the line. `due`: `head` is to be visited; `begins`: its visit does. `is_known`:
    ///   its row is known, until the visit ends, and it waits since `since` for `period` microseconds; `now`: the time in cycles. `is_reckoned`:
    ///   `is_late` says whether its time was over a cycle ago. `ends`: the head leaves its place; it may join again in the same
    ///   cycle. `is_waiting`: somebody stands in line, or did so just now.
    /// - **Latency** `is_reckoned` 3 cycles behind `is_known`. **Rate** a visit in 64 cycles.
    /// - **Reset** empties the line.
    /// - **Limits** `CQS` from 1 to 15. A period that no visit finds over within `2^32` cycles begins anew.
    pub struct Patrol<const CQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub joins: Signal<In, Bit>,
        pub number: Signal<In, Bits<CQS>>,
        pub due: Signal<Out, Bit>,
        pub head: Signal<Out, Bits<CQS>>,
        pub begins: Signal<In, Bit>,
        pub is_known: Signal<In, Bit>,
        pub since: Signal<In, Bits<32>>,
        pub period: Signal<In, Bits<16>>,
        pub now: Signal<In, Bits<64>>,
        pub is_reckoned: Signal<Out, Bit>,
        pub is_late: Signal<Out, Bit>,
        pub ends: Signal<In, Bit>,
        pub is_waiting: Signal<Out, Bit>,
        line: BlockFifo<Bits<CQS>, CQS>,
        /// Cycles until the next visit may begin.
        rest: Reg<Bits<6>>,
        reckoned: Reg<Bits<2>>,
        elapsed: Reg<Bits<32>>,
        cycles: Mul<16, 16, 32>,
        limit: Signal<Local, Bits<32>>,
        cycles_per_us: Constant<Bits<16>> = cycles_per_us(CLOCK_KHZ),
        fraction: Constant<Bits<4>> = number(FRACTION),
        pace: Constant<Bits<6>> = number(PACE - 1),
        reckoning: Constant<Bits<2>> = number(RECKONING),
        own_clock: OwnClock,
    }
}

impl<const CQS: usize> Patrol<CQS> {
    /// A patrol on a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// If the clock is beyond 4 GHz.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { cycles_per_us: cycles_per_us(clock_khz), ..Self::default() }
    }
}

impl<const CQS: usize> Logic for Patrol<CQS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, line, cycles);
        dff_setup!(self, clock, rest, reckoned, elapsed);
        self.line.reset.next = self.reset.val();
        self.line.sink.valid.next = self.joins.val();
        self.line.sink.payload.next = self.number.val();
        self.line.source.ready.next = self.ends.val();
        self.head.next = self.line.source.payload.val();
        self.due.next = self.line.source.valid.val() & !self.rest.q.val().any();
        self.is_waiting.next = self.line.level.val().any() | self.rest.q.val().any();
        if self.rest.q.val().any() {
            self.rest.d.next = self.rest.q.val() - 1;
        }
        if self.begins.val() {
            self.rest.d.next = self.pace.val();
        }

        self.cycles.enable.next = true;
        self.cycles.a.next = self.period.val();
        self.cycles.b.next = self.cycles_per_us.val();
        // Between visits it rests: time goes on in every cycle.
        if self.is_known.val() {
            self.elapsed.d.next = bit_cast::<32, 64>(self.now.val()) - self.since.val();
        }
        self.limit.next = (self.cycles.p.val() >> self.fraction.val()) + 1;
        self.is_late.next = self.elapsed.q.val() >= self.limit.val();
        self.is_reckoned.next = self.reckoned.q.val() == self.reckoning.val();
        if !self.is_known.val() {
            self.reckoned.d.next = 0.into();
        } else if self.reckoned.q.val() != self.reckoning.val() {
            self.reckoned.d.next = self.reckoned.q.val() + 1;
        }
        if self.reset.val() {
            self.rest.d.next = 0.into();
            self.reckoned.d.next = 0.into();
        }
    }
}
