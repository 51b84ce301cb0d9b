//! The interrupt: when is it worth waking the driver?

use rust_hdl::prelude::*;

use super::Moderation;
use crate::constant::number;
use crate::prim::mul::Mul;
use crate::prim::reg::Reg;
use crate::stream::StreamSource;

/// Unless the constructor says otherwise.
pub(crate) const CLOCK_KHZ: u64 = 250_000;
/// Cycles of a microsecond are kept in units of `2^-FRACTION`.
pub(crate) const FRACTION: u32 = 4;

block! {
    /// Fires the vector when entries wait, as often as moderation allows.
    ///
    /// - **Ports** `running`: the queue is in use; while it is not, nothing is taken and the vector is armed. `visible`: entries
    ///   in host memory. `taken`: entries the driver has taken since. `now`: the time. The rest as in [`Events`](super::Events).
    /// - **Latency** 1 cycle from `visible` to `irq.valid`, 2 from `consumer_stored` to `taken`.
    /// - **Backpressure** while a vector is not taken none fires, and none is forgotten.
    /// - **Reset** forgets everything.
    pub struct Alarm {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub running: Signal<In, Bit>,
        pub visible: Signal<In, Bits<32>>,
        pub consumer: Signal<In, Bits<32>>,
        pub consumer_stored: Signal<In, Bit>,
        pub taken: Signal<Out, Bits<32>>,
        pub vector: Signal<In, Bits<5>>,
        pub moderation: Signal<In, Moderation>,
        pub now: Signal<In, Bits<64>>,
        pub irq: StreamSource<Bits<5>>,
        pub wake: Signal<Out, Bits<64>>,
        pub busy: Signal<Out, Bit>,
        /// `consumer` was stored a cycle ago: it shows the new value by now, whoever keeps it.
        stored: Reg<Bit>,
        taken_count: Reg<Bits<32>>,
        rule: Reg<Moderation>,
        period: Mul<16, 16, 32>,
        armed: Reg<Bit>,
        waiting: Reg<Bit>,
        deadline: Reg<Bits<64>>,
        irq_valid: Reg<Bit>,
        irq_vector: Reg<Bits<5>>,
        pending: Signal<Local, Bits<32>>,
        is_pending: Signal<Local, Bit>,
        may_fire: Signal<Local, Bit>,
        is_enough: Signal<Local, Bit>,
        is_late: Signal<Local, Bit>,
        fires: Signal<Local, Bit>,
        cycles_per_us: Constant<Bits<16>> = cycles_per_us(CLOCK_KHZ),
        fraction: Constant<Bits<4>> = number(FRACTION),
        never: Constant<Bits<64>> = Constant::new(Bits::mask()),
    }
}

/// Cycles of a microsecond in units of `2^-FRACTION`, and none too few.
pub(crate) fn cycles_per_us(clock_khz: u64) -> Constant<Bits<16>> {
    number((clock_khz << FRACTION).div_ceil(1000))
}

impl Alarm {
    /// An alarm on a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// If the clock is beyond 4 GHz.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { cycles_per_us: cycles_per_us(clock_khz), ..Self::default() }
    }
}

impl Logic for Alarm {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, period);
        dff_setup!(self, clock, stored, taken_count, rule, armed, waiting, deadline, irq_valid, irq_vector);
        self.rule.d.next = self.moderation.val();
        self.period.enable.next = true;
        self.period.a.next = self.rule.q.val().period_us;
        self.period.b.next = self.cycles_per_us.val();
        self.stored.d.next = self.consumer_stored.val();
        self.taken.next = self.taken_count.q.val();

        // A driver that claims more than there is has nothing to wait for.
        self.pending.next = self.visible.val() - self.taken_count.q.val();
        self.is_pending.next = self.pending.val().any() & !self.pending.val().get_bit(31);
        self.may_fire.next =
            self.running.val() & self.armed.q.val() & !self.rule.q.val().mask & self.is_pending.val();
        self.is_enough.next = !self.rule.q.val().period_us.any();
        if self.rule.q.val().count.any() {
            self.is_enough.next = self.pending.val() >= bit_cast::<32, 16>(self.rule.q.val().count);
        }
        self.is_late.next = self.waiting.q.val()
            & self.rule.q.val().period_us.any()
            & (self.now.val() >= self.deadline.q.val());
        // What was stored comes first: it may be all there is.
        self.fires.next = self.may_fire.val()
            & (self.is_enough.val() | self.is_late.val())
            & !self.stored.q.val()
            & !self.irq_valid.q.val();

        if self.is_pending.val() & self.armed.q.val() & !self.waiting.q.val() {
            self.waiting.d.next = true;
            self.deadline.d.next =
                self.now.val() + bit_cast::<64, 32>(self.period.p.val() >> self.fraction.val()) + 1;
        }
        self.irq.valid.next = self.irq_valid.q.val();
        self.irq.payload.next = self.irq_vector.q.val();
        if self.irq.ready.val() {
            self.irq_valid.d.next = false;
        }
        if self.fires.val() {
            self.irq_valid.d.next = true;
            self.irq_vector.d.next = self.vector.val();
            self.armed.d.next = false;
            self.waiting.d.next = false;
        }
        if self.stored.q.val() {
            self.taken_count.d.next = self.consumer.val();
            self.armed.d.next = true;
            self.waiting.d.next = false;
        }
        if !self.running.val() {
            self.taken_count.d.next = 0.into();
            self.armed.d.next = true;
            self.waiting.d.next = false;
        }

        self.wake.next = self.never.val();
        if self.may_fire.val() & self.waiting.q.val() & self.rule.q.val().period_us.any() {
            self.wake.next = self.deadline.q.val();
        }
        self.busy.next = self.irq_valid.q.val()
            | self.stored.q.val()
            | (self.may_fire.val() & (self.is_enough.val() | !self.waiting.q.val()));
        if self.reset.val() {
            self.stored.d.next = false;
            self.armed.d.next = true;
            self.waiting.d.next = false;
            self.taken_count.d.next = 0.into();
            self.irq_valid.d.next = false;
        }
    }
}
