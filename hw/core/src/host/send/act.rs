//! What an operation makes of a send queue.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairState;

use super::rows::SendState;
use crate::constant::number;
use crate::host::work::{JOB_UNITS, SendDoorbell, SendRow};
use crate::transport::records::Progress;

block! {
    /// Carries an operation out on what is known of a send queue. Combinational.
    ///
    /// - **Ports** `progresses`, `changes`, `kicks`, `rings`, `serves`: the operation. `row`, `state`: of the queue pair;
    ///   `waiting`: units that may be fetched; `gap`: units up to the doorbell's index; `capacity`: units of the ring.
    ///   `doorbell`, `good`, `advances`: the doorbell and its verdict; `progress`, `delay`: it, and cycles that its bytes take
    ///   at this queue pair's pace; `resets`: of the change.
    ///   `is_due`: the pace allows a job; `pause`: none may start; `fetch_room`, `push_room`: a job of either kind has room;
    ///   `is_alone`: nobody stands in line. `now`: the cycle.
    ///   `changed`: the state from now on; `queues`: the queue pair goes to the end of the line; `fetches`, `pushes`: a job
    ///   of `units` units starts, fetched or pushed; `flushes`: its WQEs are flushed; `drains`: none begins; `falls_back`: a push has to be fetched.
    pub struct Act {
        pub progresses: Signal<In, Bit>,
        pub changes: Signal<In, Bit>,
        pub kicks: Signal<In, Bit>,
        pub rings: Signal<In, Bit>,
        pub serves: Signal<In, Bit>,
        pub row: Signal<In, SendRow>,
        pub state: Signal<In, SendState>,
        pub waiting: Signal<In, Bits<16>>,
        pub gap: Signal<In, Bits<16>>,
        pub capacity: Signal<In, Bits<16>>,
        pub doorbell: Signal<In, SendDoorbell>,
        pub good: Signal<In, Bit>,
        pub advances: Signal<In, Bit>,
        pub progress: Signal<In, Progress>,
        pub delay: Signal<In, Bits<64>>,
        pub resets: Signal<In, Bit>,
        pub is_due: Signal<In, Bit>,
        pub pause: Signal<In, Bit>,
        pub fetch_room: Signal<In, Bit>,
        pub push_room: Signal<In, Bit>,
        pub is_alone: Signal<In, Bit>,
        pub now: Signal<In, Bits<64>>,
        pub changed: Signal<Out, SendState>,
        pub queues: Signal<Out, Bit>,
        pub fetches: Signal<Out, Bit>,
        pub pushes: Signal<Out, Bit>,
        pub units: Signal<Out, Bits<6>>,
        pub flushes: Signal<Out, Bit>,
        pub drains: Signal<Out, Bit>,
        pub falls_back: Signal<Out, Bit>,
        is_ready: Signal<Local, Bit>,
        is_drained: Signal<Local, Bit>,
        is_flushed: Signal<Local, Bit>,
        runs: Signal<Local, Bit>,
        may_start: Signal<Local, Bit>,
        is_idle: Signal<Local, Bit>,
        is_free: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        rewinds: Signal<Local, Bit>,
        /// The next job starts at the index of the progress.
        starts_at: Signal<Local, Bit>,
        releases: Signal<Local, Bit>,
        has_more: Signal<Local, Bit>,
        blocks: Signal<Local, Bit>,
        is_pushed: Signal<Local, Bit>,
        /// The doorbell has news for a queue pair that waits for nothing.
        wants: Signal<Local, Bit>,
        is_fetched: Signal<Local, Bit>,
        joins: Signal<Local, Bit>,
        distance: Signal<Local, Bits<16>>,
        limit: Signal<Local, Bits<16>>,
        most: Constant<Bits<16>> = number(JOB_UNITS),
        ready_to_send: Constant<Bits<3>> = number(QueuePairState::ReadyToSend as u8),
        drained: Constant<Bits<3>> = number(QueuePairState::Drained as u8),
        send_error: Constant<Bits<3>> = number(QueuePairState::SendError as u8),
        error: Constant<Bits<3>> = number(QueuePairState::Error as u8),
    }
}

impl Logic for Act {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ready.next = self.row.val().state == self.ready_to_send.val();
        self.is_drained.next = self.row.val().state == self.drained.val();
        self.is_flushed.next =
            (self.row.val().state == self.send_error.val()) | (self.row.val().state == self.error.val());
        // A drained queue pair finishes what it has begun, so its WQEs are fetched; whoever admits them knows which.
        self.runs.next =
            self.row.val().exists & (self.is_ready.val() | self.is_drained.val() | self.is_flushed.val());
        // What is flushed moves no data, so it is not paced.
        self.may_start.next = !self.pause.val() & (self.is_due.val() | self.is_flushed.val());
        self.is_idle.next = !self.state.val().busy & !self.state.val().queued;
        self.is_free.next = self.is_idle.val() & !self.state.val().blocked;

        // A rewind does not end the job under way, which will say itself where the next begins.
        self.ends.next = self.progresses.val() & !self.progress.val().rewinds;
        self.rewinds.next = self.progresses.val() & self.progress.val().rewinds;
        self.starts_at.next = self.ends.val() | (self.rewinds.val() & !self.state.val().busy);
        self.has_more.next = self.state.val().producer != self.progress.val().next_index;
        self.blocks.next =
            self.progress.val().blocked & (self.rewinds.val() | (self.ends.val() & !self.state.val().kicked));
        // What a blocked queue pair may wait for has happened, or what a job under way will find blocked.
        self.releases.next = self.kicks.val()
            | (self.rewinds.val() & !self.blocks.val())
            | (self.changes.val() & !self.resets.val());

        // A push starts when its WQE is the very next, and a doorbell when nobody else waits.
        self.is_pushed.next = self.rings.val()
            & self.good.val()
            & self.doorbell.val().commits
            & self.doorbell.val().units.any()
            & (self.gap.val() == bit_cast::<16, 3>(self.doorbell.val().units))
            & self.is_free.val()
            & self.is_ready.val()
            & self.may_start.val()
            & self.push_room.val();
        self.wants.next = self.rings.val() & self.advances.val() & self.is_free.val() & !self.is_pushed.val();
        self.is_fetched.next = self.wants.val()
            & self.runs.val()
            & self.may_start.val()
            & self.is_alone.val()
            & self.fetch_room.val();
        self.joins.next = self.wants.val() & !self.is_fetched.val();
        self.distance.next = self.gap.val();
        if self.serves.val() {
            self.distance.next = self.waiting.val();
            self.is_fetched.next = self.runs.val() & self.waiting.val().any() & self.may_start.val();
            self.joins.next = self.runs.val() & self.waiting.val().any() & !self.may_start.val();
        }
        if self.progresses.val() {
            self.joins.next =
                self.starts_at.val() & !self.state.val().queued & self.has_more.val() & !self.blocks.val();
        }
        if self.changes.val() {
            self.joins.next = !self.resets.val() & self.is_idle.val() & self.waiting.val().any();
        }
        if self.kicks.val() {
            self.joins.next = self.state.val().blocked;
        }

        // More may wait than the ring has, if some of it has completed: a job never reads a place twice.
        self.limit.next = self.most.val();
        if self.capacity.val() < self.most.val() {
            self.limit.next = self.capacity.val();
        }
        self.units.next = bit_cast::<6, 16>(self.distance.val());
        if self.distance.val() > self.limit.val() {
            self.units.next = bit_cast::<6, 16>(self.limit.val());
        }
        self.queues.next = self.joins.val();
        self.fetches.next = self.is_fetched.val();
        self.pushes.next = self.is_pushed.val();
        self.flushes.next = self.is_flushed.val();
        self.drains.next = self.is_drained.val();
        self.falls_back.next =
            self.rings.val() & self.good.val() & self.doorbell.val().commits & !self.is_pushed.val();

        self.changed.next.producer = self.state.val().producer;
        self.changed.next.next_index = self.state.val().next_index;
        self.changed.next.queued = self.state.val().queued | self.joins.val();
        self.changed.next.busy = self.state.val().busy | self.is_fetched.val() | self.is_pushed.val();
        self.changed.next.blocked = self.state.val().blocked & !self.releases.val();
        self.changed.next.kicked = self.state.val().kicked | (self.releases.val() & self.state.val().busy);
        self.changed.next.not_before = self.state.val().not_before;
        if self.rings.val() & self.advances.val() {
            self.changed.next.producer = self.doorbell.val().producer;
        }
        if self.serves.val() {
            self.changed.next.queued = self.joins.val();
        }
        // The pace counts from a job's start to the next, so that waiting for the host does not slow it further.
        if self.is_fetched.val() | self.is_pushed.val() {
            self.changed.next.not_before = self.now.val();
        }
        if self.starts_at.val() {
            self.changed.next.next_index = self.progress.val().next_index;
        }
        // Whoever stands in line keeps its place: its job will be told to wait.
        if self.rewinds.val() & self.blocks.val() & self.is_idle.val() {
            self.changed.next.blocked = self.has_more.val();
        }
        if self.ends.val() {
            self.changed.next.busy = false;
            self.changed.next.blocked = self.blocks.val() & self.has_more.val();
            self.changed.next.kicked = false;
            self.changed.next.not_before = self.state.val().not_before + self.delay.val();
        }
        if self.changes.val() & self.resets.val() {
            self.changed.next.producer = 0.into();
            self.changed.next.next_index = 0.into();
            self.changed.next.blocked = false;
            self.changed.next.kicked = false;
            self.changed.next.not_before = 0.into();
        }
    }
}
