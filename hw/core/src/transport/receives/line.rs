//! A line in which each number stands at most once.

use rust_hdl::prelude::*;

use crate::prim::block_fifo::BlockFifo;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::StreamSource;

record! {
    /// A place in line.
    pub struct Ticket<const LOG: usize> {
        /// Who stands there.
        pub number: Bits<LOG>,
        /// What is noted of the number when it leaves.
        pub turn: Bit,
    }
}

block! {
    /// Keeps `2^LOG` numbers in the order in which they joined; one that stands in line already stays where it is.
    ///
    /// Two bits a number say whether it is in line: one turns when it joins, the other follows when it leaves, so each has one
    /// writer, and joining never waits.
    ///
    /// - **Ports** `joins`, `number`: it joins; `source`: the first in line, which leaves as it is taken. `scrubs`, `scrub_index`:
    ///   the number is not in line. `busy`: somebody is.
    /// - **Latency** 4 cycles from `joins` to `source`. **Rate** one joins and one leaves per cycle. **Backpressure** none for
    ///   `joins`: there is a place for every number.
    /// - **Promise** a number that joins is taken in a later cycle: what was written in the cycle of `joins` is seen by whoever
    ///   reads in the cycle in which it leaves, or later.
    /// - **Reset** empties the line; the owner scrubs all numbers before the first joins.
    /// - **Limits** `LOG` from 1 to 15.
    pub struct Line<const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub joins: Signal<In, Bit>,
        pub number: Signal<In, Bits<LOG>>,
        pub source: StreamSource<Bits<LOG>>,
        pub scrubs: Signal<In, Bit>,
        pub scrub_index: Signal<In, Bits<LOG>>,
        pub busy: Signal<Out, Bit>,
        has_one: Reg<Bit>,
        joining: Reg<Bits<LOG>>,
        joined: LutRam<Bit, LOG>,
        left: LutRam<Bit, LOG>,
        waiting: BlockFifo<Ticket<LOG>, LOG>,
        enters: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
    }
}

impl<const LOG: usize> Logic for Line<LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, joined, left, waiting);
        dff_setup!(self, clock, has_one, joining);
        self.waiting.reset.next = self.reset.val();
        // A cycle late, so that one who leaves in this very cycle has seen why the number joined.
        self.has_one.d.next = self.joins.val();
        self.joining.d.next = self.number.val();
        self.joined.read_address.next = self.joining.q.val();
        self.left.read_address.next = self.joining.q.val();
        self.enters.next = self.has_one.q.val() & (self.joined.read_data.val() == self.left.read_data.val());
        self.waiting.sink.valid.next = self.enters.val();
        self.waiting.sink.payload.next.number = self.joining.q.val();
        self.waiting.sink.payload.next.turn = !self.joined.read_data.val();

        self.leaves.next = self.waiting.source.valid.val() & self.source.ready.val();
        self.waiting.source.ready.next = self.source.ready.val();
        self.source.valid.next = self.waiting.source.valid.val();
        self.source.payload.next = self.waiting.source.payload.val().number;
        self.busy.next = self.has_one.q.val() | self.waiting.level.val().any();

        self.joined.write_enable.next = self.enters.val() | self.scrubs.val();
        self.joined.write_address.next = self.joining.q.val();
        self.joined.write_data.next = !self.joined.read_data.val();
        self.left.write_enable.next = self.leaves.val() | self.scrubs.val();
        self.left.write_address.next = self.waiting.source.payload.val().number;
        self.left.write_data.next = self.waiting.source.payload.val().turn;
        if self.scrubs.val() {
            self.joined.write_address.next = self.scrub_index.val();
            self.joined.write_data.next = false;
            self.left.write_address.next = self.scrub_index.val();
            self.left.write_data.next = false;
        }
        if self.reset.val() {
            self.has_one.d.next = false;
        }
    }
}
