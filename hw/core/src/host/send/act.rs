//! What an operation makes of a send queue.

use rust_hdl::prelude::*;

use super::look::Sight;
use super::rows::SendState;
use crate::host::work::SendDoorbell;
use crate::transport::records::Progress;

block! {
    /// Carries an operation out on what is known of a send queue. Combinational.
    ///
    /// - **Ports** `progresses`, `changes`, `kicks`, `rings`, `serves`: the operation. `state`, `sight`: what is known and seen of
    ///   the queue pair. `doorbell`, `good`, `advances`: the doorbell and its verdict; `progress`, `delay`: it, and cycles
    ///   that its bytes take at this queue pair's pace; `resets`: of the change. `is_alone`: nobody stands in line. `now`: the
    ///   cycle.
    ///   `changed`: the state from now on; `queues`: the queue pair goes to the end of the line; `fetches`: a job of `units`
    ///   units is fetched; `falls_back`: a push has to be fetched.
    pub struct Act {
        pub progresses: Signal<In, Bit>,
        pub changes: Signal<In, Bit>,
        pub kicks: Signal<In, Bit>,
        pub rings: Signal<In, Bit>,
        pub serves: Signal<In, Bit>,
        pub state: Signal<In, SendState>,
        pub sight: Signal<In, Sight>,
        pub doorbell: Signal<In, SendDoorbell>,
        pub good: Signal<In, Bit>,
        pub advances: Signal<In, Bit>,
        pub progress: Signal<In, Progress>,
        pub delay: Signal<In, Bits<64>>,
        pub resets: Signal<In, Bit>,
        pub is_alone: Signal<In, Bit>,
        pub now: Signal<In, Bits<64>>,
        pub changed: Signal<Out, SendState>,
        pub queues: Signal<Out, Bit>,
        pub fetches: Signal<Out, Bit>,
        pub units: Signal<Out, Bits<6>>,
        pub falls_back: Signal<Out, Bit>,
        runs: Signal<Local, Bit>,
        /// No job is under way; two are.
        rests: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        /// A second job would be of use, as far as the queue pair goes.
        is_trusted: Signal<Local, Bit>,
        may_have: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        rewinds: Signal<Local, Bit>,
        releases: Signal<Local, Bit>,
        blocks: Signal<Local, Bit>,
        /// The job ends, and the one behind it begins there.
        passes_on: Signal<Local, Bit>,
        is_pushed: Signal<Local, Bit>,
        /// The doorbell has news for a queue pair that waits for nothing.
        wants: Signal<Local, Bit>,
        is_fetched: Signal<Local, Bit>,
        joins: Signal<Local, Bit>,
        /// The job takes all there is.
        is_all: Signal<Local, Bit>,
    }
}

impl Logic for Act {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "one operation a paragraph, on one state")]
    fn update(&mut self) {
        // A drained queue pair finishes what it has begun, so its WQEs are fetched; whoever admits them knows which.
        self.runs.next =
            self.sight.val().is_ready | self.sight.val().is_drained | self.sight.val().is_flushed;
        self.rests.next = !self.state.val().jobs.any();
        self.is_full.next = self.state.val().jobs.get_bit(1);
        self.is_trusted.next =
            self.sight.val().is_ready & !self.sight.val().is_paced & !self.state.val().doubtful;
        self.may_have.next =
            !self.state.val().blocked & (self.rests.val() | (!self.is_full.val() & self.is_trusted.val()));

        // A rewind does not end a job under way, which will say itself where the next begins.
        self.ends.next = self.progresses.val() & !self.progress.val().rewinds;
        self.rewinds.next = self.progresses.val() & self.progress.val().rewinds;
        self.passes_on.next = self.ends.val() & self.is_full.val() & self.sight.val().is_whole;
        self.blocks.next =
            self.progress.val().blocked & (self.rewinds.val() | (self.ends.val() & !self.state.val().kicked));
        // What a blocked queue pair may wait for has happened, or what a job under way will find blocked.
        self.releases.next = self.kicks.val()
            | (self.rewinds.val() & !self.blocks.val())
            | (self.changes.val() & !self.resets.val());

        // A push has started if its WQE was the very next; a doorbell starts a job when nobody else waits.
        self.is_pushed.next = self.rings.val() & self.sight.val().is_push;
        self.wants.next = self.rings.val()
            & self.advances.val()
            & self.may_have.val()
            & !self.state.val().queued
            & !self.is_pushed.val();
        self.is_fetched.next = self.wants.val()
            & self.sight.val().may_start
            & self.is_alone.val()
            & self.sight.val().has_fetch_room;
        self.joins.next = self.wants.val() & !self.is_fetched.val();
        self.is_all.next = self.sight.val().ahead <= bit_cast::<16, 6>(self.sight.val().limit);
        if self.serves.val() {
            self.is_all.next = self.sight.val().waiting <= bit_cast::<16, 6>(self.sight.val().limit);
            self.is_fetched.next = self.runs.val()
                & self.sight.val().waiting.any()
                & self.may_have.val()
                & self.sight.val().may_start;
            self.joins.next = self.runs.val()
                & self.sight.val().waiting.any()
                & self.may_have.val()
                & !self.sight.val().may_start;
        }
        // Who may have a second job stands in line for it at once, behind all others.
        if self.is_fetched.val() & self.rests.val() & self.is_trusted.val() & !self.is_all.val() {
            self.joins.next = true;
        }
        if self.ends.val() {
            self.joins.next = !self.state.val().queued
                & !self.state.val().blocked
                & !self.blocks.val()
                & !self.is_full.val()
                & self.sight.val().has_more;
        }
        if self.passes_on.val() {
            self.joins.next = !self.state.val().queued
                & !self.progress.val().blocked
                & self.sight.val().is_ready
                & !self.sight.val().is_paced
                & self.sight.val().waiting.any();
        }
        if self.rewinds.val() {
            self.joins.next =
                self.rests.val() & !self.state.val().queued & self.sight.val().has_more & !self.blocks.val();
        }
        if self.changes.val() {
            self.joins.next = !self.resets.val()
                & self.rests.val()
                & !self.state.val().queued
                & self.sight.val().waiting.any();
        }
        if self.kicks.val() {
            self.joins.next = self.rests.val() & !self.state.val().queued & self.state.val().blocked;
        }

        self.units.next = self.sight.val().limit;
        if self.is_all.val() {
            self.units.next = bit_cast::<6, 16>(self.sight.val().ahead);
            if self.serves.val() {
                self.units.next = bit_cast::<6, 16>(self.sight.val().waiting);
            }
        }
        self.queues.next = self.joins.val();
        self.fetches.next = self.is_fetched.val();
        self.falls_back.next =
            self.rings.val() & self.good.val() & self.doorbell.val().commits & !self.is_pushed.val();

        self.changed.next = self.state.val();
        self.changed.next.queued = (self.state.val().queued & !self.serves.val()) | self.joins.val();
        self.changed.next.blocked = self.state.val().blocked & !self.releases.val();
        self.changed.next.kicked = self.state.val().kicked | (self.releases.val() & !self.rests.val());
        if self.rings.val() & self.advances.val() {
            self.changed.next.producer = self.doorbell.val().producer;
        }
        // The pace counts from a job's start to the next, so that waiting for the host does not slow it further.
        if self.is_fetched.val() | self.is_pushed.val() {
            self.changed.next.jobs = self.state.val().jobs + 1;
            self.changed.next.later = self.state.val().fetched;
            self.changed.next.fetched = self.state.val().fetched + bit_cast::<16, 6>(self.sight.val().limit);
            self.changed.next.not_before = self.now.val();
        }
        if (self.is_fetched.val() & self.is_all.val()) | self.is_pushed.val() {
            self.changed.next.fetched = self.state.val().producer;
            if self.rings.val() {
                self.changed.next.fetched = self.doorbell.val().producer;
            }
        }
        // What is fetched behind the place where a job has ended is of no use: it is fetched again.
        if self.ends.val() | (self.rewinds.val() & self.rests.val()) {
            self.changed.next.next_index = self.progress.val().next_index;
            if !self.passes_on.val() {
                self.changed.next.fetched = self.progress.val().next_index;
            }
        }
        // Whoever stands in line keeps its place: its job will be told to wait.
        if self.rewinds.val() & self.blocks.val() & self.rests.val() {
            self.changed.next.blocked =
                (self.state.val().blocked | !self.state.val().queued) & self.sight.val().has_more;
        }
        if self.ends.val() {
            self.changed.next.jobs = self.state.val().jobs - 1;
            self.changed.next.stale = self.is_full.val() & !self.sight.val().is_whole;
            self.changed.next.blocked =
                (self.state.val().blocked | self.blocks.val()) & self.sight.val().has_more;
            self.changed.next.kicked = self.state.val().kicked & self.is_full.val();
            self.changed.next.not_before = self.state.val().not_before + self.delay.val();
            if !self.state.val().stale {
                self.changed.next.doubtful = !self.sight.val().is_whole | self.progress.val().blocked;
                if self.sight.val().is_cut {
                    self.changed.next.short = self.state.val().short + self.sight.val().left;
                }
            }
        }
        if self.changes.val() & self.resets.val() {
            self.changed.next.producer = 0.into();
            self.changed.next.next_index = 0.into();
            self.changed.next.fetched = 0.into();
            self.changed.next.blocked = false;
            self.changed.next.kicked = false;
            self.changed.next.doubtful = false;
            self.changed.next.short = 0.into();
            self.changed.next.not_before = 0.into();
        }
    }
}
