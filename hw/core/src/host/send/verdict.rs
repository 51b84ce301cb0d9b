//! Does a doorbell count?

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNITS_MAX;

use super::look::Sight;
use crate::constant::number;

/// Units of messages that a queue pair may have unacknowledged, 32 of up to eight.
pub const UNACKNOWLEDGED_UNITS: usize = 32 * UNITS_MAX;

block! {
    /// Holds a doorbell against the queue pair it names. Combinational.
    ///
    /// WQEs behind the first that is not told to be done with may have completed, so that the driver uses their places
    /// again: those of the jobs under way, and after a rewind those for which an answer came late. They are known units,
    /// and no more than may be unacknowledged. As much farther than the ring reaches may a doorbell go.
    ///
    /// - **Ports** `sight`: what is seen of doorbell and queue pair. `bad`: there is no such queue pair, it takes no
    ///   requests, or its ring has no such index; `wrong_page`: the queue pair belongs to another page; `good`: neither;
    ///   `advances`: it is good, and ahead of what is known.
    pub struct Verdict {
        pub sight: Signal<In, Sight>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub good: Signal<Out, Bit>,
        pub advances: Signal<Out, Bit>,
        is_open: Signal<Local, Bit>,
        is_new: Signal<Local, Bit>,
        is_inside: Signal<Local, Bit>,
        is_good: Signal<Local, Bit>,
        most_completed: Constant<Bits<16>> = number(UNACKNOWLEDGED_UNITS),
    }
}

impl Logic for Verdict {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_open.next =
            self.sight.val().is_ready | self.sight.val().is_drained | self.sight.val().is_flushed;
        // A doorbell that names a place already known, or one before it, says nothing new.
        self.is_new.next = self.sight.val().gap > self.sight.val().known;
        // No farther than the ring and what may have completed, which is no more than is known: both limits at once.
        self.is_inside.next = (self.sight.val().gap
            <= (self.sight.val().capacity + self.most_completed.val()))
            & (!self.is_new.val() | (self.sight.val().beyond <= self.sight.val().capacity));
        self.is_good.next =
            self.sight.val().is_there & self.sight.val().is_mine & self.is_open.val() & self.is_inside.val();
        self.wrong_page.next = self.sight.val().is_there & !self.sight.val().is_mine;
        self.bad.next = !self.sight.val().is_there
            | (self.sight.val().is_mine & (!self.is_open.val() | !self.is_inside.val()));
        self.good.next = self.is_good.val();
        self.advances.next = self.is_good.val() & self.is_new.val();
    }
}
