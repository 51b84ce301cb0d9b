//! What a visit does to a CQ that stands in line.

use rust_hdl::prelude::*;

use super::table::QueueRow;

block! {
    /// Judges whether the queue at the head of the line has waited for long enough. Logic only.
    ///
    /// The number may mean another queue than the one that joined, or none, and its moderation may be another by now. So the row
    /// alone decides: a queue stays as long as entries are awaited that are not enough and have a time; every other leaves, and
    /// first fires if its entries are enough or its time is over.
    ///
    /// - **Ports** `row`: of the queue; `is_late`: its period has passed since the first awaited entry. `leaves`: `after` is its row
    ///   from now on, and it stands in line no more; otherwise it goes to the end of the line. `fires`: a completion event is due.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Visit {
        pub row: Signal<In, QueueRow>,
        pub is_late: Signal<In, Bit>,
        pub leaves: Signal<Out, Bit>,
        pub fires: Signal<Out, Bit>,
        pub after: Signal<Out, QueueRow>,
        is_awaited: Signal<Local, Bit>,
        is_timed: Signal<Local, Bit>,
        is_due: Signal<Local, Bit>,
    }
}

impl Logic for Visit {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_awaited.next = self.row.val().exists & self.row.val().awaited.any();
        self.is_timed.next = self.row.val().period.any();
        self.is_due.next =
            (self.row.val().awaited >= self.row.val().count) | (self.is_timed.val() & self.is_late.val());
        self.fires.next = self.is_awaited.val() & self.is_due.val();
        self.leaves.next = !self.is_awaited.val() | !self.is_timed.val() | self.is_due.val();
        self.after.next = self.row.val();
        self.after.next.lined = false;
        if self.is_awaited.val() & self.is_due.val() {
            self.after.next.armed = 0.into();
            self.after.next.awaited = 0.into();
        }
    }
}
