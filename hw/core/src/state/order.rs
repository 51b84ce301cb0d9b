//! Order of answers: a queue for each client, so that one that waits for a walk holds up its own client alone.

use rust_hdl::prelude::*;

use super::access::Cause;
use super::pages::{Entry, Frame};
use super::walker::WALKS;
use crate::constant::number;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::ring::Ring;
use crate::prim::round_robin::RoundRobin;
use crate::prim::skid::Skid;
use crate::record;
use crate::stream::StreamSource;

/// Clients there are.
pub const CLIENTS: usize = 8;
/// Answers of one client that may wait before it is refused; eight more can be in the pipeline.
const WAITING: u64 = 24;

record! {
    /// An answer, or what is known of it before its walk ends.
    pub struct Answer {
        pub client: Bits<3>,
        pub tag: Bits<6>,
        pub colour: Bit,
        /// 0, or why the request is refused.
        pub cause: Bits<3>,
        /// With `pending` the place in the page, otherwise the address.
        pub iova: Bits<64>,
        pub len: Bits<13>,
        pub more: Bit,
        /// The address comes with this walk,
        pub pending: Bit,
        pub walk: Bits<3>,
        /// is this entry of its line,
        pub at: Bits<3>,
        /// and names a page of this size.
        pub size: Bits<2>,
    }
}

record! {
    /// What an answer waits for.
    pub struct Wait {
        /// As in [`Answer`].
        pub pending: Bit,
        /// As in [`Answer`].
        pub walk: Bits<3>,
    }
}

block! {
    /// The answers of one client.
    ///
    /// Whether the oldest is due is decided a cycle before: eight queues are chosen from in the cycle in which it counts.
    ///
    /// - **Ports** `valid`, `answer`: one enters, and finds room; `room`: fewer than 24 wait; `arrived`: the walker's;
    ///   `head`: the oldest; `due`: it is there, and its walk too; `taken`: it goes, and was due.
    /// - **Latency** 1 cycle, 2 for an answer that waits for a walk though that has arrived; 1 cycle from `arrived` to `due`.
    ///   **Rate** 1 answer per cycle. **Reset** empties it.
    /// - **Limits** 32 answers; whoever gives one heeds `room`, and has at most eight more under way.
    pub struct Queue {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub valid: Signal<In, Bit>,
        pub answer: Signal<In, Answer>,
        pub room: Signal<Out, Bit>,
        pub arrived: Signal<In, Bits<WALKS>>,
        pub head: Signal<Out, Answer>,
        pub due: Signal<Out, Bit>,
        pub taken: Signal<In, Bit>,
        ring: Ring<5>,
        answers: LutRam<Answer, 5>,
        /// Once more, to be read a place ahead.
        waits: LutRam<Wait, 5>,
        is_due: Reg<Bit>,
        oldest: Signal<Local, Answer>,
        second: Signal<Local, Wait>,
        level: Signal<Local, Bits<16>>,
        is_oldest_due: Signal<Local, Bit>,
        is_second_due: Signal<Local, Bit>,
        is_entering_due: Signal<Local, Bit>,
        limit: Constant<Bits<16>> = number(WAITING),
    }
}

impl Logic for Queue {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ring, answers, waits);
        dff_setup!(self, clock, is_due);
        self.ring.reset.next = self.reset.val();
        self.ring.push.next = self.valid.val();
        self.ring.pop.next = self.taken.val();
        self.answers.write_enable.next = self.valid.val();
        self.answers.write_address.next = self.ring.write_at.val();
        self.answers.write_data.next = self.answer.val();
        self.answers.read_address.next = self.ring.read_at.val();
        self.waits.write_enable.next = self.valid.val();
        self.waits.write_address.next = self.ring.write_at.val();
        self.waits.write_data.next.pending = self.answer.val().pending;
        self.waits.write_data.next.walk = self.answer.val().walk;
        self.waits.read_address.next = self.ring.read_at.val() + 1;
        self.level.next = self.ring.level.val();
        self.room.next = self.level.val() < self.limit.val();
        self.oldest.next = self.answers.read_data.val();
        self.second.next = self.waits.read_data.val();
        self.head.next = self.oldest.val();
        self.due.next = self.is_due.q.val();

        // A walk that has arrived stays so until all who wait for it have gone.
        self.is_oldest_due.next =
            !self.oldest.val().pending | self.arrived.val().get_bit(self.oldest.val().walk.index());
        self.is_second_due.next =
            !self.second.val().pending | self.arrived.val().get_bit(self.second.val().walk.index());
        self.is_entering_due.next = self.valid.val() & !self.answer.val().pending;
        if self.taken.val() {
            self.is_due.d.next = self.is_entering_due.val();
            if self.level.val() > 1 {
                self.is_due.d.next = self.is_second_due.val();
            }
        } else {
            self.is_due.d.next = self.is_entering_due.val();
            if self.ring.some.val() {
                self.is_due.d.next = self.is_oldest_due.val();
            }
        }
        if self.reset.val() {
            self.is_due.d.next = false;
        }
    }
}

block! {
    /// Gives answers in the order of each client's requests, and between clients as they are ready.
    ///
    /// - **Ports** `sink`: answers in request order; `source`: the same, none of them `pending`. `room`: a bit for each
    ///   client of whom more may enter the pipeline before `sink`. The other ports are the walker's.
    /// - **Latency** 2 cycles for an answer that waits for nothing; 3 from `arrived` for one that waits for its walk, whose
    ///   line is read in a cycle of its own. Answers that follow it without a gap stay behind it, and take 3 cycles as well.
    ///   **Rate** 1 answer per cycle, and a cycle without one before the first that waited for a walk.
    /// - **Backpressure** `room` falls at 24 answers of a client; `sink` has no `ready` because 8 more fit.
    /// - **Fairness** between clients with something to give, in turn.
    /// - **Reset** empties it.
    pub struct Order {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub valid: Signal<In, Bit>,
        pub answer: Signal<In, Answer>,
        pub room: Signal<Out, Bits<8>>,
        pub source: StreamSource<Answer>,
        pub arrived: Signal<In, Bits<WALKS>>,
        pub failed: Signal<In, Bits<WALKS>>,
        pub look: Signal<Out, Bits<3>>,
        pub line: Signal<In, Bits<512>>,
        pub gone: Signal<Out, Bit>,
        pub gone_walk: Signal<Out, Bits<3>>,
        queues: [Queue; CLIENTS] = std::array::from_fn(|_| Queue::default()),
        turn: RoundRobin<CLIENTS>,
        /// The answer whose line is read, or one that came behind such.
        late: Reg<Answer>,
        late_valid: Reg<Bit>,
        cut: Skid<Answer>,
        sector: Entry,
        frame: Frame,
        spaces: Signal<Local, Bits<CLIENTS>>,
        due: Signal<Local, Bits<CLIENTS>>,
        is_any_due: Signal<Local, Bit>,
        pairs: [Signal<Local, Answer>; 4],
        fours: [Signal<Local, Answer>; 2],
        grant: Signal<Local, Bits<CLIENTS>>,
        chosen: Signal<Local, Answer>,
        moves: Signal<Local, Bit>,
        page_list: Constant<Bits<3>> = number(Cause::PageList as u64),
    }
}

impl Logic for Order {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, cut);
        dff_setup!(self, clock, late, late_valid);
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.spaces.next = 0.into();
        self.due.next = 0.into();
        for i in 0..CLIENTS {
            self.queues[i].clock.next = self.clock.val();
            self.queues[i].reset.next = self.reset.val();
            self.queues[i].valid.next = self.valid.val() & (self.answer.val().client.index() == i);
            self.queues[i].answer.next = self.answer.val();
            self.queues[i].arrived.next = self.arrived.val();
            self.spaces.next = self.spaces.val().replace_bit(i, self.queues[i].room.val());
            self.due.next = self.due.val().replace_bit(i, self.queues[i].due.val());
        }
        self.room.next = self.spaces.val();

        self.turn.request.next = self.due.val();
        self.is_any_due.next = self.due.val().any();
        self.moves.next = self.cut.sink.ready.val();
        self.turn.taken.next = self.is_any_due.val() & self.moves.val();
        self.grant.next = self.turn.grant.val();
        for i in 0..CLIENTS {
            self.queues[i].taken.next = self.grant.val().get_bit(i) & self.moves.val();
        }
        // A tree, because the grant comes late.
        for i in 0..4 {
            self.pairs[i].next = self.queues[2 * i].head.val();
            if self.grant.val().get_bit(2 * i + 1) {
                self.pairs[i].next = self.queues[2 * i + 1].head.val();
            }
        }
        for i in 0..2 {
            self.fours[i].next = self.pairs[2 * i].val();
            if self.grant.val().get_bit(4 * i + 2) | self.grant.val().get_bit(4 * i + 3) {
                self.fours[i].next = self.pairs[2 * i + 1].val();
            }
        }
        self.chosen.next = self.fours[0].val();
        if self.grant.val().get_bits::<4>(4).any() {
            self.chosen.next = self.fours[1].val();
        }

        // Who waits for nothing passes by, unless somebody is there.
        if self.moves.val() {
            self.late.d.next = self.chosen.val();
            self.late_valid.d.next =
                self.is_any_due.val() & (self.chosen.val().pending | self.late_valid.q.val());
        }
        self.look.next = self.late.q.val().walk;
        self.sector.line.next = self.line.val();
        self.sector.at.next = self.late.q.val().at;
        self.frame.entry.next = self.sector.entry.val();
        self.frame.page.next = self.late.q.val().size;
        self.frame.offset.next = self.late.q.val().iova;
        self.gone.next = self.moves.val() & self.late_valid.q.val() & self.late.q.val().pending;
        self.gone_walk.next = self.late.q.val().walk;

        self.cut.sink.valid.next =
            self.late_valid.q.val() | (self.is_any_due.val() & !self.chosen.val().pending);
        self.cut.sink.payload.next = self.chosen.val();
        if self.late_valid.q.val() {
            self.cut.sink.payload.next = self.late.q.val();
            self.cut.sink.payload.next.pending = false;
            if self.late.q.val().pending {
                self.cut.sink.payload.next.iova = self.frame.iova.val();
                if self.failed.val().get_bit(self.late.q.val().walk.index()) {
                    self.cut.sink.payload.next.cause = self.page_list.val();
                    self.cut.sink.payload.next.iova = 0.into();
                    self.cut.sink.payload.next.len = 0.into();
                }
            }
        }
        StreamSource::<Answer>::link(&mut self.source, &mut self.cut.source);
        if self.reset.val() {
            self.late_valid.d.next = false;
        }
    }
}
