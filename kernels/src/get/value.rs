//! Value: what follows an object's key goes out as it comes.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::SlotData;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::parameters::KEY_WORDS;
use crate::ask::STRETCH_BITS;

block! {
    /// Takes the words before the value off an object, and makes one packet of the rest.
    ///
    /// A beat waits for its successor, unless it is the last: together they make a beat of the value. When a read fails, its last beat ends the packet,
    /// and what comes behind is thrown away. So is all of an object that does not pass; of that only a failure of the first read counts, for the others need not have
    /// been asked for.
    ///
    /// - **Ports** `begins`: one cycle, before an object's first beat; `head_words`: 2 to 5, to be left out; stays. `sink`: data of its reads; `is_last`: they are
    ///   of the last one; `takes`, `closes`: one cycle, a beat moves, and is the last of its read; `passes`: of all beats before, nothing speaks against the object.
    ///   `source`: the value, no packet if it has no bytes; `is_empty`: nothing waits; `ending`, `given`: of the first read that failed, and bytes of the packet; they
    ///   stay until the next object begins.
    /// - **Latency** `D` = 512: 1 cycle from the beat that completes one of the value, 2 from the last if it has bytes of its own; `D` = 64: 2 cycles.
    ///   **Rate** 1 beat per cycle.
    /// - **Backpressure** `source` stalls `sink` two beats later. No combinational path from `source` to `sink`.
    /// - **Reset** forgets what waits; what comes next is an object's first beat.
    /// - **Limits** `D` is 64 or 512.
    pub struct Value<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub head_words: Signal<In, Bits<3>>,
        pub passes: Signal<In, Bit>,
        pub is_last: Signal<In, Bit>,
        pub sink: StreamSink<SlotData<D>>,
        pub takes: Signal<Out, Bit>,
        pub closes: Signal<Out, Bit>,
        pub source: StreamSource<Beat<D>>,
        pub is_empty: Signal<Out, Bit>,
        pub ending: Signal<Out, Bits<2>>,
        pub given: Signal<Out, Bits<STRETCH_BITS>>,
        waiting: Reg<Bits<D>>,
        waiting_valid: Reg<Bit>,
        waiting_nbytes: Reg<Bits<7>>,
        waiting_ends: Reg<Bit>,
        /// Whole beats to be left out.
        ahead: Reg<Bits<3>>,
        is_first: Reg<Bit>,
        is_first_read: Reg<Bit>,
        how: Reg<Bits<2>>,
        count: Reg<Bits<STRETCH_BITS>>,
        cut: Skid<Beat<D>>,
        /// Bytes to be left out of each waiting beat, for they belong to the beat before.
        offset: Signal<Local, Bits<7>>,
        moves: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        completes: Signal<Local, Bit>,
        has_more: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        successor: Signal<Local, Bits<D>>,
        joined: Signal<Local, Bits<D>>,
        nbytes: Signal<Local, Bits<7>>,
        is_whole: Constant<Bit> = Constant::new(D == 512),
        beat_bytes: Constant<Bits<7>> = number(D / 8),
        words: [Constant<Bits<3>>; KEY_WORDS] = constants(|word| (word as u64 + 2).into()),
        down: [Constant<Bits<10>>; KEY_WORDS] = constants(|word| (64 * (word as u64 + 2)).into()),
        up: [Constant<Bits<10>>; KEY_WORDS] = constants(|word| (512 - 64 * (word as u64 + 2)).into()),
    }
}

impl<const D: usize> Logic for Value<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, waiting, waiting_valid, waiting_nbytes, waiting_ends, ahead, is_first);
        dff_setup!(self, clock, is_first_read, how, count);
        self.cut.reset.next = self.reset.val();
        self.ending.next = self.how.q.val();
        self.given.next = self.count.q.val();
        self.is_empty.next = !self.waiting_valid.q.val() & !self.cut.source.valid.val();
        self.sink.ready.next = self.cut.sink.ready.val();
        self.moves.next = self.sink.valid.val() & self.cut.sink.ready.val();
        self.takes.next = self.moves.val();
        self.closes.next = self.moves.val() & self.sink.payload.val().eop;
        self.ends.next =
            self.sink.payload.val().eop & (self.is_last.val() | self.sink.payload.val().err.any());

        // The waiting beat and its successor; the successor may have no bytes of its own.
        self.offset.next = 0.into();
        self.completes.next = false;
        self.has_more.next = self.waiting_ends.q.val();
        self.successor.next = self.sink.payload.val().data;
        if self.waiting_ends.q.val() {
            self.successor.next = 0.into();
        }
        self.joined.next = self.waiting.q.val();
        if self.is_whole.val() {
            self.offset.next = bit_cast::<7, 3>(self.head_words.val()) << 3;
            self.completes.next = !self.waiting_ends.q.val()
                & self.ends.val()
                & (self.sink.payload.val().nbytes <= self.offset.val());
            self.has_more.next =
                self.waiting_ends.q.val() & (self.waiting_nbytes.q.val() > self.offset.val());
            for i in 0..KEY_WORDS {
                if self.head_words.val() == self.words[i].val() {
                    self.joined.next = (self.waiting.q.val() >> self.down[i].val())
                        | (self.successor.val() << self.up[i].val());
                }
            }
        }
        self.nbytes.next = self.beat_bytes.val();
        if self.waiting_ends.q.val() {
            self.nbytes.next = self.waiting_nbytes.q.val() - self.offset.val();
        } else if self.completes.val() {
            self.nbytes.next = self.beat_bytes.val() - self.offset.val() + self.sink.payload.val().nbytes;
        }

        self.gives.next = self.waiting_valid.q.val()
            & self.passes.val()
            & !self.ahead.q.val().any()
            & (self.has_more.val() | (!self.waiting_ends.q.val() & self.sink.valid.val()));
        self.cut.sink.valid.next = self.gives.val();
        self.cut.sink.payload.next.data = self.joined.val();
        self.cut.sink.payload.next.nbytes = self.nbytes.val();
        self.cut.sink.payload.next.sop = self.is_first.q.val();
        self.cut.sink.payload.next.eop = self.waiting_ends.q.val() | self.completes.val();
        self.cut.sink.payload.next.err = false;
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.gives.val() & self.cut.sink.ready.val() {
            self.is_first.d.next = false;
            self.count.d.next = self.count.q.val() + bit_cast::<STRETCH_BITS, 7>(self.nbytes.val());
        }

        if self.cut.sink.ready.val()
            & (self.waiting_ends.q.val() | self.sink.valid.val() | !self.passes.val())
        {
            self.waiting_valid.d.next = false;
            if self.waiting_valid.q.val() & self.ahead.q.val().any() {
                self.ahead.d.next = self.ahead.q.val() - 1;
            }
        }
        if self.moves.val() {
            self.waiting.d.next = self.sink.payload.val().data;
            self.waiting_nbytes.d.next = self.sink.payload.val().nbytes;
            self.waiting_ends.d.next = self.ends.val();
            self.waiting_valid.d.next = !self.how.q.val().any()
                & self.passes.val()
                & !(self.waiting_valid.q.val() & self.completes.val());
            if self.sink.payload.val().eop {
                self.is_first_read.d.next = false;
                if !self.how.q.val().any() & (self.is_first_read.q.val() | self.passes.val()) {
                    self.how.d.next = self.sink.payload.val().err;
                }
            }
        }
        if self.begins.val() {
            self.waiting_valid.d.next = false;
            self.ahead.d.next = self.head_words.val();
            if self.is_whole.val() {
                self.ahead.d.next = 0.into();
            }
            self.is_first.d.next = true;
            self.is_first_read.d.next = true;
            self.how.d.next = 0.into();
            self.count.d.next = 0.into();
        }
        if self.reset.val() {
            self.waiting_valid.d.next = false;
            self.how.d.next = 0.into();
        }
    }
}
