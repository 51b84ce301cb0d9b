//! Does a doorbell count?

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_abi::desc::wqe::UNITS_MAX;

use crate::constant::number;
use crate::host::work::{SendDoorbell, SendRow};

/// Units of messages that a queue pair may have unacknowledged, 32 of up to eight.
pub const UNACKNOWLEDGED_UNITS: usize = 32 * UNITS_MAX;

block! {
    /// Holds a doorbell against the queue pair it names. Combinational.
    ///
    /// WQEs behind the next to fetch may have completed, so that the driver uses their places again: those of the job under
    /// way, and after a rewind those for which an answer came late. They are known units, and no more than may be
    /// unacknowledged. As much farther than the ring reaches may a doorbell go.
    ///
    /// - **Ports** `doorbell`: it; `row`: the queue pair's; `gap`, `waiting`: units from the next to fetch to the doorbell's
    ///   index, and to the one known so far; `capacity`: units of the ring. `bad`: there is no such queue pair, it takes no
    ///   requests, or its ring has no such index; `wrong_page`: the queue pair belongs to another page; `good`: neither;
    ///   `advances`: it is good, and ahead of what is known.
    pub struct Verdict<const QPS: usize> {
        pub doorbell: Signal<In, SendDoorbell>,
        pub row: Signal<In, SendRow>,
        pub gap: Signal<In, Bits<16>>,
        pub waiting: Signal<In, Bits<16>>,
        pub capacity: Signal<In, Bits<16>>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub good: Signal<Out, Bit>,
        pub advances: Signal<Out, Bit>,
        exists: Signal<Local, Bit>,
        is_mine: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        completed: Signal<Local, Bits<16>>,
        is_inside: Signal<Local, Bit>,
        most_completed: Constant<Bits<16>> = number(UNACKNOWLEDGED_UNITS),
        queue_pairs_log: Constant<Bits<5>> = number(QPS),
        ready_to_send: Constant<Bits<3>> = number(QueuePairState::ReadyToSend as u8),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u8),
        send_error: Constant<Bits<3>> = number(QueuePairState::SendError as u8),
        error: Constant<Bits<3>> = number(QueuePairState::Error as u8),
    }
}

impl<const QPS: usize> Logic for Verdict<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.exists.next =
            self.row.val().exists & !(self.doorbell.val().qpn >> self.queue_pairs_log.val()).any();
        self.is_mine.next = self.row.val().page == self.doorbell.val().page;
        self.is_open.next = (self.row.val().state == self.ready_to_send.val())
            | (self.row.val().state == self.drained.val())
            | (self.row.val().state == self.send_error.val())
            | (self.row.val().state == self.error.val());
        self.completed.next = self.waiting.val();
        if self.waiting.val() > self.most_completed.val() {
            self.completed.next = self.most_completed.val();
        }
        self.is_inside.next = self.gap.val() <= (self.capacity.val() + self.completed.val());
        self.wrong_page.next = self.exists.val() & !self.is_mine.val();
        self.bad.next =
            !self.exists.val() | (self.is_mine.val() & (!self.is_open.val() | !self.is_inside.val()));
        self.good.next = self.exists.val() & self.is_mine.val() & self.is_open.val() & self.is_inside.val();
        // A doorbell that names a place already known, or one before it, says nothing new.
        self.advances.next = self.exists.val()
            & self.is_mine.val()
            & self.is_open.val()
            & self.is_inside.val()
            & (self.gap.val() > self.waiting.val());
    }
}
