//! What a doorbell does to a CQ.

use rust_hdl::prelude::*;

use super::table::QueueRow;
use crate::host::work::CqDoorbell;

block! {
    /// Judges a doorbell. Logic only.
    ///
    /// Arming must not lose a wake-up: an entry may have been written while the doorbell was on its way. So a queue that is
    /// armed while entries are left untaken fires at once, whatever it is armed for: a driver that armed for solicited
    /// entries may find none, and arms again.
    ///
    /// - **Ports** `doorbell`, `row`: what came for which queue; `is_foreign`: through another page than the queue's;
    ///   `moved`: entries it takes; `held`: entries there are to be taken. `accepted`: `after` is the queue's row from now
    ///   on; `fires`: a completion event is due. `bad`, `wrong_page`: refused, and why.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Consume {
        pub doorbell: Signal<In, CqDoorbell>,
        pub row: Signal<In, QueueRow>,
        pub is_foreign: Signal<In, Bit>,
        pub moved: Signal<In, Bits<24>>,
        pub held: Signal<In, Bits<24>>,
        pub accepted: Signal<Out, Bit>,
        pub after: Signal<Out, QueueRow>,
        pub fires: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        is_ahead: Signal<Local, Bit>,
        is_good: Signal<Local, Bit>,
        arms: Signal<Local, Bit>,
        is_left: Signal<Local, Bit>,
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
        self.is_left.next = self.moved.val() != self.held.val();
        self.fires.next = self.is_good.val() & self.arms.val() & self.is_left.val();
        self.after.next = self.row.val();
        self.after.next.consumer = self.doorbell.val().consumer;
        if self.arms.val() {
            // For any entry is more than for some: arming never weakens.
            self.after.next.armed = 2.into();
            if self.doorbell.val().arm.get_bit(0) | self.row.val().armed.get_bit(0) {
                self.after.next.armed = 1.into();
            }
            if self.is_left.val() {
                self.after.next.armed = 0.into();
            }
        }
    }
}
