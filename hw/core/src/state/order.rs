//! Order of answers: a queue for each client, so that one that waits for a walk holds up its own client alone.

use rust_hdl::prelude::*;

use super::access::Cause;
use super::pages::{Entry, Frame};
use super::walker::WALKS;
use crate::constant::number;
use crate::prim::fifo::Fifo;
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

block! {
    /// The answers of one client.
    ///
    /// - **Ports** `valid`, `answer`: one enters, and finds room; `room`: fewer than 24 wait; `arrived`: the walker's;
    ///   `head`: the oldest; `due`: it is there, and its walk too; `taken`: it goes.
    /// - **Latency** 1 cycle. **Rate** 1 answer per cycle. **Reset** empties it.
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
        answers: Fifo<Answer, 5>,
        oldest: Signal<Local, Answer>,
        limit: Constant<Bits<16>> = number(WAITING),
    }
}

impl Logic for Queue {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, answers);
        self.answers.reset.next = self.reset.val();
        self.answers.sink.valid.next = self.valid.val();
        self.answers.sink.payload.next = self.answer.val();
        self.answers.source.ready.next = self.taken.val();
        self.room.next = self.answers.level.val() < self.limit.val();
        self.oldest.next = self.answers.source.payload.val();
        self.head.next = self.oldest.val();
        self.due.next = self.answers.source.valid.val()
            & (!self.oldest.val().pending | self.arrived.val().get_bit(self.oldest.val().walk.index()));
    }
}

block! {
    /// Gives answers in the order of each client's requests, and between clients as they are ready.
    ///
    /// - **Ports** `sink`: answers in request order; `source`: the same, none of them `pending`. `room`: a bit for each
    ///   client of whom more may enter the pipeline before `sink`. The other ports are the walker's.
    /// - **Latency** 2 cycles for an answer that waits for nothing. **Rate** 1 answer per cycle.
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
        cut: Skid<Answer>,
        sector: Entry,
        frame: Frame,
        spaces: Signal<Local, Bits<CLIENTS>>,
        due: Signal<Local, Bits<CLIENTS>>,
        chosen: Signal<Local, Answer>,
        moves: Signal<Local, Bit>,
        page_list: Constant<Bits<3>> = number(Cause::PageList as u64),
    }
}

impl Logic for Order {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, cut);
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
        self.moves.next = self.due.val().any() & self.cut.sink.ready.val();
        self.turn.taken.next = self.moves.val();
        self.chosen.next = self.queues[0].head.val();
        for i in 0..CLIENTS {
            self.queues[i].taken.next = self.turn.grant.val().get_bit(i) & self.cut.sink.ready.val();
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.queues[i].head.val();
            }
        }
        self.look.next = self.chosen.val().walk;
        self.sector.line.next = self.line.val();
        self.sector.at.next = self.chosen.val().at;
        self.frame.entry.next = self.sector.entry.val();
        self.frame.page.next = self.chosen.val().size;
        self.frame.offset.next = self.chosen.val().iova;
        self.gone.next = self.moves.val() & self.chosen.val().pending;
        self.gone_walk.next = self.chosen.val().walk;

        self.cut.sink.valid.next = self.due.val().any();
        self.cut.sink.payload.next = self.chosen.val();
        if self.chosen.val().pending {
            self.cut.sink.payload.next.pending = false;
            self.cut.sink.payload.next.iova = self.frame.iova.val();
            if self.failed.val().get_bit(self.chosen.val().walk.index()) {
                self.cut.sink.payload.next.cause = self.page_list.val();
                self.cut.sink.payload.next.iova = 0.into();
                self.cut.sink.payload.next.len = 0.into();
            }
        }
        StreamSource::<Answer>::link(&mut self.source, &mut self.cut.source);
    }
}
