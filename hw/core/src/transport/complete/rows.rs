//! What is known of the answers of each queue pair.

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::StreamSink;

record! {
    /// How far a queue pair's messages are answered.
    pub struct Answered {
        /// Messages that are over, modulo 64; the low five bits are the place of the first that is not.
        pub tail: Bits<6>,
        /// Packets of that message that are answered.
        pub progress: Bits<24>,
        /// READs and atomics that are over, modulo 32.
        pub reads: Bits<5>,
        /// Retries since the last progress.
        pub used: Bits<3>,
        /// It sends again since the last progress: what asks for that once more comes from the same loss.
        pub recovering: Bit,
        /// RNR NAKs since the last progress; it goes round where there is no limit to them.
        pub rnr_used: Bits<3>,
        /// The peer was not ready: nothing is sent until the timer says so.
        pub resting: Bit,
        /// It has failed, or was flushed: answers count no more.
        pub failed: Bit,
    }
}

block! {
    /// Keeps an [`Answered`] for each of `2^QPS` queue pairs, for two operations at a time, and forgets it on demand.
    ///
    /// An operation is read, then it is worked on, while the next is read; it may end in the cycle in which a third is read. A row that
    /// is written in the cycle in which it is read is read as written. What is worked on when its row is read again shows as
    /// `is_same`: then the row that counts is the one that this leaves.
    ///
    /// A change never waits for an operation: it may hang on somebody who waits for the owner of the changes. The row of
    /// an operation that is overtaken by the end of its queue pair is not stored.
    ///
    /// - **Ports** `begins`, `index`: an operation reads a row; `row`: a cycle later, held until the next. `passes`: the operation that
    ///   was read is worked on from now on, and another may begin in the same cycle. `is_same`: what was read is the queue pair
    ///   that is worked on. `writes`, `changed`: the work ends, with the new row; in this cycle the next one passes. `change`: of a
    ///   queue pair; `open`: operations may begin. `ready`: the rows are scrubbed. `busy`: rows are scrubbed, or a change is under way.
    /// - **Latency** 1 cycle to read. An operation that begins after the cycle in which a change was taken finds the row
    ///   forgotten. **Rate** a change takes 2 cycles, 3 when an operation ends meanwhile.
    /// - **Backpressure** none but that. `change.ready` and `open` are registers.
    /// - **Reset** scrubs a row a cycle, with `ready` and `open` low; changes wait.
    /// - **Limits** queue pairs are in the table. An operation begins only in a cycle with `passes`, and operations do not end in two
    ///   cycles that follow each other.
    pub struct Rows<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub row: Signal<Out, Answered>,
        pub passes: Signal<In, Bit>,
        pub is_same: Signal<Out, Bit>,
        pub writes: Signal<In, Bit>,
        pub changed: Signal<In, Answered>,
        pub change: StreamSink<QpChange>,
        pub open: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        memory: BlockRam<Answered, QPS>,
        scrubbing: Reg<Bit>,
        /// `ending` is to be forgotten; after reset it is the row to be cleared.
        forgets: Reg<Bit>,
        ending: Reg<Bits<QPS>>,
        /// The queue pair that was read and the one that is worked on, and whether each ended meanwhile.
        fresh: Reg<Bits<QPS>>,
        current: Reg<Bits<QPS>>,
        is_fresh_outlived: Reg<Bit>,
        is_current_outlived: Reg<Bit>,
        /// Both are one queue pair.
        is_pair: Reg<Bit>,
        /// What the last work left, and that it was written while its row was read.
        left: Reg<Answered>,
        is_left: Reg<Bit>,
        is_open: Signal<Local, Bit>,
        clears: Signal<Local, Bit>,
        stores: Signal<Local, Bit>,
        outlives_fresh: Signal<Local, Bit>,
        nothing: Constant<Answered> = Constant::new(Answered::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Rows<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, scrubbing, forgets, ending, fresh, current);
        dff_setup!(self, clock, is_fresh_outlived, is_current_outlived, is_pair, left, is_left);
        self.is_open.next = !self.scrubbing.q.val() & !self.forgets.q.val();
        self.open.next = self.is_open.val();
        self.change.ready.next = self.is_open.val();
        if self.is_open.val() {
            self.forgets.d.next = self.change.valid.val() & self.change.payload.val().resets;
            self.ending.d.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }

        // What ends in this cycle is stored first, and forgotten after it.
        self.clears.next = self.forgets.q.val() & !self.writes.val();
        self.stores.next = self.writes.val() & !self.is_current_outlived.q.val();
        self.memory.write_enable.next = self.stores.val();
        self.memory.write_address.next = self.current.q.val();
        self.memory.write_data.next = self.changed.val();
        self.outlives_fresh.next = self.is_fresh_outlived.q.val()
            | (self.clears.val() & (self.ending.q.val() == self.fresh.q.val()));
        self.is_fresh_outlived.d.next = self.outlives_fresh.val();
        if self.clears.val() {
            self.forgets.d.next = false;
            self.memory.write_enable.next = true;
            self.memory.write_address.next = self.ending.q.val();
            self.memory.write_data.next = self.nothing.val();
            if self.ending.q.val() == self.current.q.val() {
                self.is_current_outlived.d.next = true;
            }
        }

        self.memory.read_enable.next = self.begins.val();
        self.memory.read_address.next = self.index.val();
        self.row.next = self.memory.read_data.val();
        if self.is_left.q.val() {
            self.row.next = self.left.q.val();
        }
        // Of two that are outlived, the second still comes after the first; one that began after the end does not.
        self.is_same.next =
            self.is_pair.q.val() & (self.is_fresh_outlived.q.val() == self.is_current_outlived.q.val());
        if self.passes.val() {
            self.current.d.next = self.fresh.q.val();
            self.is_current_outlived.d.next = self.outlives_fresh.val();
        }
        if self.begins.val() {
            self.fresh.d.next = self.index.val();
            self.is_fresh_outlived.d.next = false;
            self.is_pair.d.next = self.index.val() == self.fresh.q.val();
            self.is_left.d.next = self.stores.val() & (self.index.val() == self.current.q.val());
        }
        if self.writes.val() {
            self.left.d.next = self.changed.val();
        }

        if self.scrubbing.q.val() {
            self.memory.write_enable.next = true;
            self.memory.write_address.next = self.ending.q.val();
            self.memory.write_data.next = self.nothing.val();
            self.ending.d.next = self.ending.q.val() + 1;
            self.scrubbing.d.next = self.ending.q.val() != self.last.val();
        }
        self.ready.next = !self.scrubbing.q.val();
        self.busy.next = !self.is_open.val();

        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.forgets.d.next = false;
            self.ending.d.next = 0.into();
        }
    }
}
