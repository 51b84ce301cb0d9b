//! What an operation makes of a receive queue.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairState;

use super::shelf::Posted;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::{ReceiveDoorbell, RingRow, SharedRow};

record! {
    /// What was told of an SRQ's limit.
    pub struct Told {
        /// An event was given.
        pub told: Bit,
        /// For the limit of this round.
        pub round: Bits<8>,
    }
}

block! {
    /// Holds an operation against what is known of its queue.
    ///
    /// - **Ports** `looks`: the rows are there: `ring` or `shared`, as the `operation` says, and what is `posted` to and was `taken`
    ///   from the queue. A cycle later: `good`, `bad`, `wrong_page`: a doorbell is one of these, and if it is good, what is
    ///   posted then is `moved`; `anew`: what is posted when the queue begins anew; `fails`: its queue pair is in error;
    ///   `recalls`: and it has receives. `owes`: a nudge is due in any case; `nudges`: one is due. `told`: of the SRQ's limit;
    ///   `tells`: an event is due; `noted`: what was told from now on.
    /// - **Latency** 1 cycle; `owes` and `told` act combinationally. **Reset** none.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub looks: Signal<In, Bit>,
        pub operation: Signal<In, ReceiveDoorbell>,
        pub ring: Signal<In, RingRow>,
        pub shared: Signal<In, SharedRow>,
        pub posted: Signal<In, Posted>,
        pub taken: Signal<In, Bits<16>>,
        pub owes: Signal<In, Bit>,
        pub told: Signal<In, Told>,
        pub good: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub moved: Signal<Out, Posted>,
        pub anew: Signal<Out, Posted>,
        pub fails: Signal<Out, Bit>,
        pub recalls: Signal<Out, Bit>,
        pub nudges: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub noted: Signal<Out, Told>,
        exists: Reg<Bit>,
        is_mine: Reg<Bit>,
        /// Receives may be posted to it.
        is_open: Reg<Bit>,
        is_in_error: Reg<Bit>,
        capacity: Reg<Bits<16>>,
        limit: Reg<Bits<16>>,
        round: Reg<Bits<8>>,
        base: Reg<Bits<16>>,
        consumer: Reg<Bits<16>>,
        count: Reg<Bits<16>>,
        /// As many would be posted after the doorbell.
        ahead: Reg<Bits<16>>,
        end: Reg<Bits<16>>,
        log: Signal<Local, Bits<4>>,
        page: Signal<Local, Bits<12>>,
        new_end: Signal<Local, Bits<16>>,
        is_known: Signal<Local, Bit>,
        is_inside: Signal<Local, Bit>,
        is_recalled: Signal<Local, Bit>,
        was_told: Signal<Local, Bit>,
        is_told: Signal<Local, Bit>,
        one: Constant<Bits<16>> = number(1),
        nowhere: Constant<Bits<3>> = number(QueuePairState::Reset as u8),
        error: Constant<Bits<3>> = number(QueuePairState::Error as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, exists, is_mine, is_open, is_in_error, capacity, limit, round);
        dff_setup!(self, clock, base, consumer, count, ahead, end);
        self.log.next = self.ring.val().receive_log;
        self.page.next = self.ring.val().page;
        if self.operation.val().shared {
            self.log.next = self.shared.val().log;
            self.page.next = self.shared.val().page;
        }
        self.new_end.next = self.operation.val().producer + self.posted.val().base;
        if self.looks.val() {
            self.exists.d.next = self.ring.val().exists;
            self.is_open.d.next = (self.ring.val().state != self.nowhere.val())
                & self.ring.val().receive_log.any()
                & !self.ring.val().has_srq;
            self.is_in_error.d.next = self.ring.val().exists & (self.ring.val().state == self.error.val());
            if self.operation.val().shared {
                self.exists.d.next = self.shared.val().exists;
                self.is_open.d.next = true;
                self.is_in_error.d.next = false;
            }
            self.is_mine.d.next = self.page.val() == self.operation.val().page;
            self.capacity.d.next = self.one.val() << self.log.val();
            self.limit.d.next = self.shared.val().limit;
            self.round.d.next = self.shared.val().round;
            self.base.d.next = self.posted.val().base;
            self.consumer.d.next = self.taken.val();
            self.count.d.next = self.posted.val().end - self.taken.val();
            self.ahead.d.next = self.new_end.val() - self.taken.val();
            self.end.d.next = self.new_end.val();
        }

        // Neither more than the ring has, nor fewer than are known: a doorbell never goes back.
        self.is_inside.next = (self.ahead.q.val() <= self.capacity.q.val())
            & (self.ahead.q.val() >= self.count.q.val())
            & self.is_open.q.val();
        self.is_known.next = self.exists.q.val() & self.is_mine.q.val();
        self.good.next = self.is_known.val() & self.is_inside.val();
        self.bad.next = !self.exists.q.val() | (self.is_known.val() & !self.is_inside.val());
        self.wrong_page.next = self.exists.q.val() & !self.is_mine.q.val();
        self.moved.next.base = self.base.q.val();
        self.moved.next.end = self.end.q.val();
        self.anew.next.base = self.consumer.q.val();
        self.anew.next.end = self.consumer.q.val();

        self.is_recalled.next = self.is_in_error.q.val() & self.count.q.val().any();
        self.fails.next = self.is_in_error.q.val();
        self.recalls.next = self.is_recalled.val();
        self.nudges.next = self.is_recalled.val() | self.owes.val();

        self.was_told.next = self.told.val().told & (self.told.val().round == self.round.q.val());
        self.is_told.next =
            self.exists.q.val() & (self.count.q.val() < self.limit.q.val()) & !self.was_told.val();
        self.tells.next = self.is_told.val();
        self.noted.next.told = self.was_told.val() | self.is_told.val();
        self.noted.next.round = self.round.q.val();
    }
}
