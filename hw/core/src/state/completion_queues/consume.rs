//! What a doorbell does to a CQ.

use rust_hdl::prelude::*;

use super::table::QueueRow;
use crate::host::work::CqDoorbell;

block! {
    /// Judges a doorbell. Logic only.
    ///
    /// Arming must not lose a wake-up: an entry may have been written while the doorbell was on its way. So a queue that is
    /// armed while entries are left untaken fires at once, whatever it is armed for: a driver that armed for solicited
    /// entries may find none, and arms again. With moderation they count as awaited ones, which must be enough; if not their time
    /// begins now, unless it has begun before: who arms again and again puts nothing off.
    ///
    /// - **Ports** `doorbell`, `row`: what came for which queue; `is_foreign`: through another page than the queue's;
    ///   `moved`: entries it takes; `held`: entries there are to be taken; `left`: those it does not take; `now`: the time.
    ///   `accepted`: `after` is the queue's row from now
    ///   on; `fires`: a completion event is due. `bad`, `wrong_page`: refused, and why.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Consume {
        pub doorbell: Signal<In, CqDoorbell>,
        pub row: Signal<In, QueueRow>,
        pub is_foreign: Signal<In, Bit>,
        pub moved: Signal<In, Bits<24>>,
        pub held: Signal<In, Bits<24>>,
        pub left: Signal<In, Bits<24>>,
        pub now: Signal<In, Bits<64>>,
        pub accepted: Signal<Out, Bit>,
        pub after: Signal<Out, QueueRow>,
        pub fires: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        is_ahead: Signal<Local, Bit>,
        is_good: Signal<Local, Bit>,
        arms: Signal<Local, Bit>,
        is_left: Signal<Local, Bit>,
        is_enough: Signal<Local, Bit>,
    }
}

impl Logic for Consume {
    #[hdl_gen]
    fn update(&mut self) {
        // Entries that were never written cannot be taken.
        self.is_ahead.next = self.moved.val() > self.held.val();
        self.wrong_page.next = self.row.val().exists & self.is_foreign.val();
        self.bad.next = !self.row.val().exists | (!self.is_foreign.val() & self.is_ahead.val());
        self.is_good.next = self.row.val().exists & !self.is_foreign.val() & !self.is_ahead.val();
        self.accepted.next = self.is_good.val();

        self.arms.next = self.doorbell.val().arm.any();
        self.is_left.next = self.left.val().any();
        self.is_enough.next =
            self.is_left.val() & (self.left.val() >= bit_cast::<24, 16>(self.row.val().count));
        self.fires.next = self.is_good.val() & self.arms.val() & self.is_enough.val();
        self.after.next = self.row.val();
        self.after.next.consumer = self.doorbell.val().consumer;
        if self.arms.val() {
            // For any entry is more than for some: arming never weakens.
            self.after.next.armed = 2.into();
            if self.doorbell.val().arm.get_bit(0) | self.row.val().armed.get_bit(0) {
                self.after.next.armed = 1.into();
            }
            if self.is_enough.val() {
                self.after.next.armed = 0.into();
                self.after.next.awaited = 0.into();
            } else {
                self.after.next.awaited = bit_cast::<16, 24>(self.left.val());
                if !self.row.val().awaited.any() {
                    self.after.next.since = bit_cast::<32, 64>(self.now.val());
                }
                self.after.next.lined =
                    self.row.val().lined | (self.is_left.val() & self.row.val().period.any());
            }
        }
    }
}
