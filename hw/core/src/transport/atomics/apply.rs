//! What an atomic makes of its word, one after the other.

use rust_hdl::prelude::*;

use super::rows::{AtomicRow, Found, RESULTS_LOG};
use super::words::{WORDS, WORDS_LOG};
use crate::constant::number;
use crate::host::dma_read::ReadData;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Atomic, Operation};

record! {
    /// What came of an operation.
    pub struct Outcome {
        /// It had a word.
        pub has_word: Bit,
        /// The place of that word.
        pub word: Bits<WORDS_LOG>,
        /// `value` is written to it.
        pub writes: Bit,
        /// That value.
        pub value: Bits<64>,
        /// The peer is told what was found.
        pub tells: Bit,
        /// That value.
        pub found: Bits<64>,
        /// The word could not be read.
        pub fails: Bit,
    }
}

block! {
    /// Applies operations in order, each to the value its word has now, and looks up those that came again.
    ///
    /// - **Ports** `operation`, `word`: the next in line, and the place of its word. `known`, `bad`: as of [`Words`](super::words::Words). `read_data`: values of
    ///   words, a beat each, with their places as tags. `row`, `seen`: what is known of the queue pair of `done`, which stays from
    ///   the cycle in which an operation is taken to that in which `outcome` is; `slot`: the result that is looked at, or stored. `busy`: an operation is here.
    /// - **Latency** 2 cycles from an operation whose word is known to `outcome`; 1 from `known`; 4 to 19 for one that
    ///   came again. **Rate** an operation every 2 cycles.
    /// - **Backpressure** stalls `operation`; `read_data` waits a cycle for an operation at most.
    /// - **Reset** forgets the operation.
    pub struct Apply<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub operation: StreamSink<Operation>,
        pub word: Signal<In, Bits<WORDS_LOG>>,
        pub known: Signal<In, Bits<WORDS>>,
        pub bad: Signal<In, Bits<WORDS>>,
        pub read_data: StreamSink<ReadData<D>>,
        pub row: Signal<In, AtomicRow>,
        pub slot: Signal<Out, Bits<RESULTS_LOG>>,
        pub seen: Signal<In, Found>,
        pub done: Signal<Out, Operation>,
        pub outcome: StreamSource<Outcome>,
        pub busy: Signal<Out, Bit>,
        values: LutRam<Bits<64>, WORDS_LOG>,
        current: Reg<Operation>,
        place: Reg<Bits<WORDS_LOG>>,
        is_applying: Reg<Bit>,
        is_searching: Reg<Bit>,
        is_told: Reg<Bit>,
        result: Reg<Outcome>,
        /// The result that is asked for, and whether the one before it is there.
        asked: Reg<Bits<RESULTS_LOG>>,
        has_asked: Reg<Bit>,
        opens: Signal<Local, Bit>,
        is_replay: Signal<Local, Bit>,
        acts: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        applies: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        found: Signal<Local, Bits<64>>,
        value: Signal<Local, Bits<64>>,
        looked_at: Signal<Local, Bits<RESULTS_LOG>>,
        finds: Signal<Local, Bit>,
        add: Constant<Bits<2>> = number(Atomic::Add as u8),
        replay: Constant<Bits<2>> = number(Atomic::Replay as u8),
    }
}

impl<const D: usize> Logic for Apply<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, values);
        dff_setup!(self, clock, current, place, is_applying, is_searching, is_told, result, asked, has_asked);
        self.opens.next = !self.is_applying.q.val()
            & !self.is_searching.q.val()
            & (!self.is_told.q.val() | self.outcome.ready.val());
        self.operation.ready.next = self.opens.val();
        if self.opens.val() {
            self.is_told.d.next = false;
            self.is_applying.d.next = self.operation.valid.val();
            self.current.d.next = self.operation.payload.val();
            self.place.d.next = self.word.val();
        }

        self.is_replay.next = self.current.q.val().atomic == self.replay.val();
        self.acts.next = self.is_applying.q.val()
            & (self.is_replay.val() | self.known.val().get_bit(self.place.q.val().index()));
        self.is_bad.next = self.bad.val().get_bit(self.place.q.val().index());
        self.applies.next =
            self.acts.val() & !self.is_replay.val() & !self.row.val().failed & !self.is_bad.val();
        self.values.read_address.next = self.place.q.val();
        self.found.next = self.values.read_data.val();
        self.value.next = self.current.q.val().value;
        self.writes.next = self.applies.val() & (self.found.val() == self.current.q.val().compare);
        if self.current.q.val().atomic == self.add.val() {
            self.value.next = self.found.val() + self.current.q.val().value;
            self.writes.next = self.applies.val();
        }
        // A value from the host, or that of the operation, which then goes first.
        self.read_data.ready.next = !self.acts.val();
        self.values.write_enable.next = self.read_data.valid.val();
        self.values.write_address.next = bit_cast::<WORDS_LOG, 6>(self.read_data.payload.val().tag);
        self.values.write_data.next = bit_cast::<64, D>(self.read_data.payload.val().data);
        if self.acts.val() {
            self.values.write_enable.next = self.writes.val();
            self.values.write_address.next = self.place.q.val();
            self.values.write_data.next = self.value.val();
            self.is_applying.d.next = false;
            self.is_searching.d.next = self.is_replay.val() & !self.row.val().failed;
            self.is_told.d.next = !self.is_replay.val() | self.row.val().failed;
            self.asked.d.next = 0.into();
            self.has_asked.d.next = false;
            self.result.d.next.has_word = !self.is_replay.val();
            self.result.d.next.word = self.place.q.val();
            self.result.d.next.writes = self.writes.val();
            self.result.d.next.value = self.value.val();
            self.result.d.next.tells = self.applies.val();
            self.result.d.next.found = self.found.val();
            self.result.d.next.fails = !self.is_replay.val() & !self.row.val().failed & self.is_bad.val();
        }

        self.looked_at.next = self.asked.q.val() - 1;
        self.finds.next = self.has_asked.q.val()
            & self.row.val().kept.get_bit(self.looked_at.val().index())
            & (self.seen.val().psn == self.current.q.val().psn);
        if self.is_searching.q.val() {
            self.asked.d.next = self.asked.q.val() + 1;
            self.has_asked.d.next = true;
            self.result.d.next.tells = self.finds.val();
            self.result.d.next.found = self.seen.val().value;
            // All have been looked at when the first would be asked for again.
            if self.finds.val() | (self.has_asked.q.val() & !self.asked.q.val().any()) {
                self.is_searching.d.next = false;
                self.is_told.d.next = true;
            }
        }
        self.slot.next = self.current.q.val().slot;
        if self.is_searching.q.val() {
            self.slot.next = self.asked.q.val();
        }
        self.done.next = self.current.q.val();
        self.outcome.valid.next = self.is_told.q.val();
        self.outcome.payload.next = self.result.q.val();
        self.busy.next = self.is_applying.q.val() | self.is_searching.q.val() | self.is_told.q.val();
        if self.reset.val() {
            self.is_applying.d.next = false;
            self.is_searching.d.next = false;
            self.is_told.d.next = false;
        }
    }
}
