//! Whole: a payload is shown when its last beat is here.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSource};

/// log2 of the beats that still find a place when there is no `room` any more.
const SPARE_LOG: u64 = 3;

block! {
    /// Keeps payloads until they are taken, those that are good, and each when all of it is here.
    ///
    /// A payload of one beat needs no memory if nothing waits before it. Of a longer one the first beat is in the memory when the
    /// last one comes, and is read in that cycle.
    ///
    /// - **Ports** `beat`, `takes`: a beat in; `room`: eight and more may come. `source`: payloads whose last beat had no `err`.
    ///   `busy`: a good payload is inside.
    /// - **Latency** from the last beat in to the first out 1 cycle if it is the only one, 2 otherwise; 3 for one of a beat when
    ///   another waits, which it then follows without a gap. **Rate** 1 beat per cycle, in and out.
    /// - **Backpressure** `room` tells a cycle late, and leaves eight places for what is under way. Nothing follows a port
    ///   combinationally.
    /// - **Reset** empties it; the next beat begins a payload.
    /// - **Limits** a payload of more than `2^LOG - 8` beats has no room for ever.
    pub struct Whole<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub takes: Signal<In, Bit>,
        pub room: Signal<Out, Bit>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        memory: BlockRam<Beat<D>, LOG>,
        write_at: Reg<Bits<LOG>>,
        /// Behind the last beat of the last whole payload.
        commit_at: Reg<Bits<LOG>>,
        read_at: Reg<Bits<LOG>>,
        /// Beats of whole payloads have not been read.
        is_some: Reg<Bit>,
        has_room: Reg<Bit>,
        /// The memory shows a beat that has not gone on.
        is_fetched: Reg<Bit>,
        head: Reg<Beat<D>>,
        is_head: Reg<Bit>,
        used: Signal<Local, Bits<LOG>>,
        write_next: Signal<Local, Bits<LOG>>,
        read_next: Signal<Local, Bits<LOG>>,
        is_good_end: Signal<Local, Bit>,
        advances: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        fetches: Signal<Local, Bit>,
        spare_at: Constant<Bits<8>> = number(SPARE_LOG),
        /// Places in use, in eights, when no more may come.
        most: Constant<Bits<LOG>> = Constant::new(Bits::<LOG>::mask() >> SPARE_LOG),
    }
}

impl<const D: usize, const LOG: usize> Logic for Whole<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, write_at, commit_at, read_at, is_some, has_room, is_fetched, head, is_head);
        self.used.next = self.write_at.q.val() - self.read_at.q.val();
        self.has_room.d.next = (self.used.val() >> self.spare_at.val()) != self.most.val();
        self.room.next = self.has_room.q.val();
        self.source.valid.next = self.is_head.q.val();
        self.source.payload.next = self.head.q.val();
        self.busy.next = self.is_some.q.val() | self.is_fetched.q.val() | self.is_head.q.val();

        self.advances.next = self.source.ready.val() | !self.is_head.q.val();
        self.is_good_end.next = self.takes.val() & self.beat.val().eop & !self.beat.val().err;
        // Past the memory, or from it in the cycle in which the payload becomes whole.
        self.passes.next = self.is_good_end.val()
            & self.beat.val().sop
            & !self.is_some.q.val()
            & !self.is_fetched.q.val()
            & self.advances.val();
        self.fetches.next = (self.is_some.q.val() | (self.is_good_end.val() & !self.beat.val().sop))
            & (self.advances.val() | !self.is_fetched.q.val());

        // What was written and is not counted is written over.
        self.memory.write_enable.next = self.takes.val();
        self.memory.write_address.next = self.write_at.q.val();
        self.memory.write_data.next = self.beat.val();
        self.memory.read_enable.next = self.fetches.val();
        self.memory.read_address.next = self.read_at.q.val();
        self.write_next.next = self.write_at.q.val() + 1;
        self.read_next.next = self.read_at.q.val() + 1;

        if self.advances.val() {
            self.is_head.d.next = self.is_fetched.q.val() | self.passes.val();
            self.is_fetched.d.next = false;
            self.head.d.next = self.beat.val();
            if self.is_fetched.q.val() {
                self.head.d.next = self.memory.read_data.val();
            }
        }
        if self.fetches.val() {
            self.is_fetched.d.next = true;
            self.read_at.d.next = self.read_next.val();
            self.is_some.d.next = self.read_next.val() != self.commit_at.q.val();
        }
        if self.takes.val() & !self.passes.val() {
            self.write_at.d.next = self.write_next.val();
            if self.beat.val().eop & self.beat.val().err {
                self.write_at.d.next = self.commit_at.q.val();
            }
        }
        // Of two beats or more, and of one that does not pass, some are left, whatever is read in this cycle.
        if self.is_good_end.val() & !self.passes.val() {
            self.commit_at.d.next = self.write_next.val();
            self.is_some.d.next = true;
        }
        if self.reset.val() {
            self.write_at.d.next = 0.into();
            self.commit_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.is_some.d.next = false;
            self.has_room.d.next = true;
            self.is_fetched.d.next = false;
            self.is_head.d.next = false;
        }
    }
}
