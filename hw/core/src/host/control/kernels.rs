//! Kernels: how long they may run, stored by the driver, and how often they did.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{CATALOGUE_MAX, kernels};
use stroma_abi::regs::{Block, Reg as Register};

use super::place::{PLACE_BITS, RegisterStore, bit, place};
use super::tally::Tally;
use crate::constant::number;
use crate::prim::reg::Reg;

/// Slots of kernels, as many as the catalogue has entries.
pub const SLOTS: usize = CATALOGUE_MAX;
/// Bits that name a slot.
pub const SLOT_BITS: usize = 4;

const _: () = assert!(SLOTS == 1 << SLOT_BITS);
// Both limits lie in the same eight bytes.
const _: () =
    assert!(kernels::BLOCK.address(&kernels::LIMIT) / 8 == kernels::BLOCK.address(&kernels::PATIENCE) / 8);

/// The part of a place in front of the slot, of one of the arrays.
fn array(reg: &Register) -> Constant<Bits<PLACE_BITS>> {
    let at = kernels::BLOCK.address(reg) / 8;
    assert!(at.is_multiple_of(SLOTS), "the low bits of a place name the slot");
    number(at / SLOTS)
}

/// The limits after reset, within their eight bytes.
fn initial() -> Constant<Bits<64>> {
    let of = |block: &Block, reg: &Register| reg.reset.expect("a number") << bit(block, reg);
    number(of(&kernels::BLOCK, &kernels::LIMIT) | of(&kernels::BLOCK, &kernels::PATIENCE))
}

block! {
    /// Keeps the registers of the block `kernels`.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: what these registers show there, 0 elsewhere; `store`: stores to BAR0.
    ///   `limit`, `patience`: as stored. `invoked`, `succeeded`, `failed`, `expired`, `aborted`: what happens in this cycle, a bit for each slot; the
    ///   last two are counted together.
    /// - **Latency** 1 cycle from `place` to `word` and from `store` to `limit` and `patience`; 4 to 19 from a pulse to what is shown. **Rate** a place, a store and all
    ///   pulses per cycle.
    /// - **Reset** puts limits and counters back, all at once.
    pub struct KernelTable {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub limit: Signal<Out, Bits<32>>,
        pub patience: Signal<Out, Bits<32>>,
        pub invoked: Signal<In, Bits<SLOTS>>,
        pub succeeded: Signal<In, Bits<SLOTS>>,
        pub failed: Signal<In, Bits<SLOTS>>,
        pub expired: Signal<In, Bits<SLOTS>>,
        pub aborted: Signal<In, Bits<SLOTS>>,
        found: Reg<Bits<64>>,
        limits: Reg<Bits<64>>,
        /// Pulses of the cycle before: kernels are far away.
        begun: Reg<Bits<SLOTS>>,
        good: Reg<Bits<SLOTS>>,
        bad: Reg<Bits<SLOTS>>,
        late: Reg<Bits<SLOTS>>,
        left: Reg<Bits<SLOTS>>,
        invocations: Tally,
        successes: Tally,
        failures: Tally,
        stops: Tally,
        slot: Signal<Local, Bits<SLOT_BITS>>,
        array: Signal<Local, Bits<PLACE_BITS>>,
        limits_place: Constant<Bits<PLACE_BITS>> = place(&kernels::BLOCK, &kernels::LIMIT, 0),
        limit_at: Constant<Bits<6>> = number(bit(&kernels::BLOCK, &kernels::LIMIT)),
        patience_at: Constant<Bits<6>> = number(bit(&kernels::BLOCK, &kernels::PATIENCE)),
        initial: Constant<Bits<64>> = initial(),
        slot_bits: Constant<Bits<3>> = number(SLOT_BITS),
        invoked_array: Constant<Bits<PLACE_BITS>> = array(&kernels::INVOKED),
        succeeded_array: Constant<Bits<PLACE_BITS>> = array(&kernels::SUCCEEDED),
        failed_array: Constant<Bits<PLACE_BITS>> = array(&kernels::FAILED),
        stopped_array: Constant<Bits<PLACE_BITS>> = array(&kernels::STOPPED),
        none: Constant<Bits<SLOTS>> = number(0_u64),
    }
}

impl Logic for KernelTable {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, invocations, successes, failures, stops);
        dff_setup!(self, clock, found, limits, begun, good, bad, late, left);
        self.invocations.reset.next = self.reset.val();
        self.successes.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.stops.reset.next = self.reset.val();

        // Limits.
        if self.store.val().valid & (self.store.val().place == self.limits_place.val()) {
            self.limits.d.next = (self.limits.q.val() & !self.store.val().mask)
                | (self.store.val().data & self.store.val().mask);
        }
        self.limit.next = bit_cast::<32, 64>(self.limits.q.val() >> self.limit_at.val());
        self.patience.next = bit_cast::<32, 64>(self.limits.q.val() >> self.patience_at.val());

        // Counters.
        self.begun.d.next = self.invoked.val();
        self.good.d.next = self.succeeded.val();
        self.bad.d.next = self.failed.val();
        self.late.d.next = self.expired.val();
        self.left.d.next = self.aborted.val();
        self.invocations.pulses.next = self.begun.q.val();
        self.invocations.others.next = self.none.val();
        self.successes.pulses.next = self.good.q.val();
        self.successes.others.next = self.none.val();
        self.failures.pulses.next = self.bad.q.val();
        self.failures.others.next = self.none.val();
        self.stops.pulses.next = self.late.q.val();
        self.stops.others.next = self.left.q.val();

        // What is shown.
        self.slot.next = bit_cast::<4, 13>(self.place.val());
        self.array.next = self.place.val() >> self.slot_bits.val();
        self.invocations.look.next = self.slot.val();
        self.successes.look.next = self.slot.val();
        self.failures.look.next = self.slot.val();
        self.stops.look.next = self.slot.val();
        self.found.d.next = 0.into();
        if self.place.val() == self.limits_place.val() {
            self.found.d.next = self.limits.q.val();
        }
        if self.array.val() == self.invoked_array.val() {
            self.found.d.next = self.invocations.value.val();
        }
        if self.array.val() == self.succeeded_array.val() {
            self.found.d.next = self.successes.value.val();
        }
        if self.array.val() == self.failed_array.val() {
            self.found.d.next = self.failures.value.val();
        }
        if self.array.val() == self.stopped_array.val() {
            self.found.d.next = self.stops.value.val();
        }
        self.word.next = self.found.q.val();

        if self.reset.val() {
            self.limits.d.next = self.initial.val();
            self.begun.d.next = 0.into();
            self.good.d.next = 0.into();
            self.bad.d.next = 0.into();
            self.late.d.next = 0.into();
            self.left.d.next = 0.into();
        }
    }
}
