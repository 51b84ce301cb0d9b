//! What an operation sees of a send queue before it acts.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_abi::desc::wqe::UNITS_MAX;

use super::rows::SendState;
use crate::constant::number;
use crate::host::work::{JOB_UNITS, SendDoorbell, SendRow};
use crate::record;
use crate::transport::records::{Progress, QUANTUM_BYTES};

/// log2 of the units that a job has at most.
const JOB_LOG: u32 = JOB_UNITS.ilog2();

const _: () = assert!(JOB_UNITS == 1 << JOB_LOG, "a ring has fewer units than a job, or a multiple");

record! {
    /// What is known a cycle before the operation is carried out, so that little is left to be done then.
    pub struct Sight {
        /// The row is one of a queue pair, and it is ready to send.
        pub is_ready: Bit,
        /// Likewise, drained; in error.
        pub is_drained: Bit,
        /// Likewise, in error, of either kind.
        pub is_flushed: Bit,
        /// There is the queue pair that the doorbell names.
        pub is_there: Bit,
        /// It belongs to the doorbell's page.
        pub is_mine: Bit,
        /// It has a pace.
        pub is_paced: Bit,
        /// Neither pause nor pace forbid a job.
        pub may_start: Bit,
        /// There was room for a fetched job.
        pub has_fetch_room: Bit,
        /// The doorbell is the commit of a push that starts in this cycle.
        pub is_push: Bit,
        /// Units of the ring.
        pub capacity: Bits<16>,
        /// Units that a job may have.
        pub limit: Bits<6>,
        /// Units from the next to fetch to the known producer.
        pub waiting: Bits<16>,
        /// Units from the next to fetch to the doorbell's index.
        pub ahead: Bits<16>,
        /// Units from the first that is not told to be done with to the known producer.
        pub known: Bits<16>,
        /// Units from there to the doorbell's index.
        pub gap: Bits<16>,
        /// Units from the known producer to the doorbell's index.
        pub beyond: Bits<16>,
        /// The progress is where the oldest job ends.
        pub is_whole: Bit,
        /// Units from the progress to that place, modulo eight.
        pub left: Bits<3>,
        /// The job went on to within a WQE of that place, and neither waits nor has spent its quantum: WQEs are what ended it.
        pub is_cut: Bit,
        /// There are units behind the progress.
        pub has_more: Bit,
    }
}

block! {
    /// Holds the rows of a queue pair against the doorbell and the progress. Combinational.
    ///
    /// A push is decided here already: it starts if its WQE is the very next, which takes no arithmetic, and it saves a cycle.
    ///
    /// - **Ports** `rings`: the operation is a doorbell. `row`, `state`: of the queue pair; `doorbell`, `progress`: the operation,
    ///   if it is one of them; `start`: index of the doorbell's first pushed unit; `now`: the cycle; `pause`: no job may
    ///   start; `fetch_room`, `push_room`: a job of either kind has room. `sight`: what is seen.
    pub struct Look<const QPS: usize> {
        pub rings: Signal<In, Bit>,
        pub row: Signal<In, SendRow>,
        pub state: Signal<In, SendState>,
        pub doorbell: Signal<In, SendDoorbell>,
        pub progress: Signal<In, Progress>,
        pub start: Signal<In, Bits<16>>,
        pub now: Signal<In, Bits<64>>,
        pub pause: Signal<In, Bit>,
        pub fetch_room: Signal<In, Bit>,
        pub push_room: Signal<In, Bit>,
        pub sight: Signal<Out, Sight>,
        is_ready: Signal<Local, Bit>,
        is_flushed: Signal<Local, Bit>,
        is_there: Signal<Local, Bit>,
        is_mine: Signal<Local, Bit>,
        /// The pace allows a job.
        is_due: Signal<Local, Bit>,
        /// Where the oldest job ends, and units from the progress to there.
        end: Signal<Local, Bits<16>>,
        tail: Signal<Local, Bits<16>>,
        one: Constant<Bits<16>> = number(1),
        most: Constant<Bits<6>> = number(JOB_UNITS),
        job_log: Constant<Bits<4>> = number(JOB_LOG),
        wqe_log: Constant<Bits<4>> = number(UNITS_MAX.ilog2()),
        quantum: Constant<Bits<32>> = number(QUANTUM_BYTES),
        queue_pairs_log: Constant<Bits<5>> = number(QPS),
        ready_to_send: Constant<Bits<3>> = number(QueuePairState::ReadyToSend as u8),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u8),
        send_error: Constant<Bits<3>> = number(QueuePairState::SendError as u8),
        error: Constant<Bits<3>> = number(QueuePairState::Error as u8),
    }
}

impl<const QPS: usize> Logic for Look<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ready.next = self.row.val().exists & (self.row.val().state == self.ready_to_send.val());
        self.is_flushed.next = self.row.val().exists
            & ((self.row.val().state == self.send_error.val()) | (self.row.val().state == self.error.val()));
        self.is_there.next =
            self.row.val().exists & !(self.doorbell.val().qpn >> self.queue_pairs_log.val()).any();
        self.is_mine.next = self.row.val().page == self.doorbell.val().page;
        self.is_due.next = (self.now.val() >= self.state.val().not_before) | !self.row.val().pace.any();
        self.sight.next.is_ready = self.is_ready.val();
        self.sight.next.is_drained = self.row.val().exists & (self.row.val().state == self.drained.val());
        self.sight.next.is_flushed = self.is_flushed.val();
        self.sight.next.is_there = self.is_there.val();
        self.sight.next.is_mine = self.is_mine.val();
        self.sight.next.is_paced = self.row.val().pace.any();
        // What is flushed moves no data, so it is not paced.
        self.sight.next.may_start = !self.pause.val() & (self.is_due.val() | self.is_flushed.val());
        self.sight.next.has_fetch_room = self.fetch_room.val();
        self.sight.next.is_push = self.rings.val()
            & self.doorbell.val().commits
            & self.doorbell.val().units.any()
            & (self.state.val().fetched == self.start.val())
            & !self.state.val().jobs.any()
            & !self.state.val().queued
            & !self.state.val().blocked
            & self.is_ready.val()
            & self.is_there.val()
            & self.is_mine.val()
            & self.push_room.val()
            & !self.pause.val()
            & self.is_due.val();

        self.sight.next.capacity = self.one.val() << self.row.val().log;
        // More may wait than the ring has, if some of it has completed: a job never reads a place twice.
        self.sight.next.limit = self.most.val() - bit_cast::<6, 3>(self.state.val().short);
        if self.row.val().log < self.job_log.val() {
            self.sight.next.limit = bit_cast::<6, 16>(self.one.val() << self.row.val().log);
        }
        self.sight.next.waiting = self.state.val().producer - self.state.val().fetched;
        self.sight.next.ahead = self.doorbell.val().producer - self.state.val().fetched;
        self.sight.next.known = self.state.val().producer - self.state.val().next_index;
        self.sight.next.gap = self.doorbell.val().producer - self.state.val().next_index;
        self.sight.next.beyond = self.doorbell.val().producer - self.state.val().producer;

        self.end.next = self.state.val().fetched;
        if self.state.val().jobs.get_bit(1) {
            self.end.next = self.state.val().later;
        }
        self.sight.next.is_whole = self.progress.val().next_index == self.end.val();
        self.tail.next = self.end.val() - self.progress.val().next_index;
        self.sight.next.left = bit_cast::<3, 16>(self.tail.val());
        self.sight.next.is_cut = !(self.tail.val() >> self.wqe_log.val()).any()
            & !self.progress.val().blocked
            & (self.progress.val().bytes < self.quantum.val());
        self.sight.next.has_more = self.progress.val().next_index != self.state.val().producer;
    }
}
