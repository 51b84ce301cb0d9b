//! What is known of the send queues, and what an operation sees of it.

use rust_hdl::prelude::*;

use super::look::{Look, Sight};
use crate::constant::number;
use crate::host::work::{SendDoorbell, SendRow};
use crate::prim::mul::Mul;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::Progress;

record! {
    /// What is known of a send queue. Its jobs under way lie one behind the other, the youngest up to `fetched`.
    pub struct SendState {
        /// Index behind the last WQE that may be fetched.
        pub producer: Bits<16>,
        /// Index of the first unit that is not told to be done with; the oldest job begins there, unless it is `stale`.
        pub next_index: Bits<16>,
        /// Index of the next unit to fetch.
        pub fetched: Bits<16>,
        /// Where the youngest job begins; meaningful with two jobs.
        pub later: Bits<16>,
        /// Jobs that have not ended, up to two.
        pub jobs: Bits<2>,
        /// The only job goes for nothing: the one before it has ended earlier than where it begins.
        pub stale: Bit,
        /// The last job did not end where it should have, so that a second one at once would be fetched for nothing.
        pub doubtful: Bit,
        /// Units that a job has fewer than it may: as many as the last ones left for the next, so that WQEs end with it.
        pub short: Bits<3>,
        /// It stands in line.
        pub queued: Bit,
        /// Its next WQE waits for an answer of the peer: no job starts, though units wait.
        pub blocked: Bit,
        /// With jobs: something has happened that what they find blocked may have waited for.
        pub kicked: Bit,
        /// No job starts before this cycle; with jobs, when the youngest started. All 64 bits: fewer would come round, and
        /// hold up a queue pair that had rested long.
        pub not_before: Bits<64>,
    }
}

block! {
    /// Keeps a [`SendState`] for each of `2^QPS` queue pairs, and holds the one in use, with its row, for the operation.
    ///
    /// - **Ports** `begins`, `index`: read; `doorbell`, `progress`: the operation, if it is one of them, from then on; `fetch_room`,
    ///   `push_room`: there is room for jobs. `looks`: a cycle later, with the queue pair's `row`, the cycle, `now`, and `pause`;
    ///   `rings`: it is a doorbell. `pushes`: with `looks`, a push starts, from `start` on. `held_row`, `state`, `sight`: both
    ///   rows, and what is seen with them, from the next cycle on. `delay`: cycles that the progress's bytes take at the
    ///   row's pace, 2 cycles after the others; 0 at once without a pace. `writes`, `changed`: the new state of `index`;
    ///   `scrubs`: nothing is known of it.
    /// - **Latency** as said. **Rate** an operation every 3 cycles.
    /// - **Reset** none: the owner scrubs.
    /// - **Limits** the delay is rounded down to whole cycles.
    pub struct Rows<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub looks: Signal<In, Bit>,
        pub rings: Signal<In, Bit>,
        pub row: Signal<In, SendRow>,
        pub doorbell: Signal<In, SendDoorbell>,
        pub progress: Signal<In, Progress>,
        pub now: Signal<In, Bits<64>>,
        pub fetch_room: Signal<In, Bit>,
        pub push_room: Signal<In, Bit>,
        pub pause: Signal<In, Bit>,
        pub pushes: Signal<Out, Bit>,
        pub start: Signal<Out, Bits<16>>,
        pub held_row: Signal<Out, SendRow>,
        pub state: Signal<Out, SendState>,
        pub sight: Signal<Out, Sight>,
        pub delay: Signal<Out, Bits<64>>,
        pub writes: Signal<In, Bit>,
        pub changed: Signal<In, SendState>,
        pub scrubs: Signal<In, Bit>,
        states: BlockRam<SendState, QPS>,
        look: Look<QPS>,
        weigh: Mul<32, 24, 56>,
        seen_row: Reg<SendRow>,
        seen_state: Reg<SendState>,
        seen: Reg<Sight>,
        /// Of the doorbell, and of the jobs: nobody else takes room while the operation is under way.
        first: Reg<Bits<16>>,
        had_fetch_room: Reg<Bit>,
        had_push_room: Reg<Bit>,
        /// Bytes by cycles a KiB, in 1/256.
        pace_at: Constant<Bits<6>> = number(18),
        nothing: Constant<SendState> = Constant::new(SendState::default()),
    }
}

impl<const QPS: usize> Logic for Rows<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, states, weigh);
        dff_setup!(self, clock, seen_row, seen_state, seen, first, had_fetch_room, had_push_room);
        self.states.read_enable.next = self.begins.val();
        self.states.read_address.next = self.index.val();
        self.look.row.next = self.row.val();
        self.look.state.next = self.states.read_data.val();
        self.look.doorbell.next = self.doorbell.val();
        self.look.progress.next = self.progress.val();
        self.look.now.next = self.now.val();
        if self.begins.val() {
            self.first.d.next = self.doorbell.val().producer - bit_cast::<16, 3>(self.doorbell.val().units);
            self.had_fetch_room.d.next = self.fetch_room.val();
            self.had_push_room.d.next = self.push_room.val();
        }
        self.look.rings.next = self.rings.val();
        self.look.start.next = self.first.q.val();
        self.look.pause.next = self.pause.val();
        self.look.fetch_room.next = self.had_fetch_room.q.val();
        self.look.push_room.next = self.had_push_room.q.val();
        self.start.next = self.first.q.val();
        self.pushes.next = self.looks.val() & self.look.sight.val().is_push;
        if self.looks.val() {
            self.seen_row.d.next = self.row.val();
            self.seen_state.d.next = self.states.read_data.val();
            self.seen.d.next = self.look.sight.val();
        }
        self.weigh.enable.next = true;
        self.weigh.a.next = self.progress.val().bytes;
        self.weigh.b.next = self.row.val().pace;

        self.held_row.next = self.seen_row.q.val();
        self.state.next = self.seen_state.q.val();
        self.sight.next = self.seen.q.val();
        self.delay.next = 0.into();
        if self.seen.q.val().is_paced {
            self.delay.next = bit_cast::<64, 56>(self.weigh.p.val() >> self.pace_at.val());
        }

        self.states.write_enable.next = self.writes.val() | self.scrubs.val();
        self.states.write_address.next = self.index.val();
        self.states.write_data.next = self.changed.val();
        if self.scrubs.val() {
            self.states.write_data.next = self.nothing.val();
        }
    }
}
