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
    /// Keeps an [`Answered`] for each of `2^QPS` queue pairs, for one operation at a time, and forgets it on demand.
    ///
    /// A change never waits for the operation: it may hang on somebody who waits for the owner of the changes. The row of
    /// an operation that is overtaken by the end of its queue pair is not stored.
    ///
    /// - **Ports** `begins`, `index`: an operation reads a row; `row`: a cycle later, held until the next; `writes`, `changed`:
    ///   its last cycle, with the new row. `change`: of a queue pair; `open`: operations may begin. `ready`: the rows
    ///   are scrubbed. `busy`: rows are scrubbed, or a change is under way.
    /// - **Latency** 1 cycle to read. An operation that begins after the cycle in which a change was taken finds the row
    ///   forgotten. **Rate** a change takes 2 cycles, 3 when an operation ends meanwhile.
    /// - **Backpressure** none but that. `change.ready` and `open` are registers.
    /// - **Reset** scrubs a row a cycle, with `ready` and `open` low; changes wait.
    /// - **Limits** queue pairs are in the table.
    pub struct Rows<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub row: Signal<Out, Answered>,
        pub writes: Signal<In, Bit>,
        pub changed: Signal<In, Answered>,
        pub change: StreamSink<QpChange>,
        pub open: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        memory: BlockRam<Answered, QPS>,
        scrubbing: Reg<Bit>,
        /// `ending` is to be forgotten.
        forgets: Reg<Bit>,
        ending: Reg<Bits<QPS>>,
        /// The queue pair of the operation, and whether it ended meanwhile; after reset the row to be cleared.
        current: Reg<Bits<QPS>>,
        is_outlived: Reg<Bit>,
        is_open: Signal<Local, Bit>,
        clears: Signal<Local, Bit>,
        nothing: Constant<Answered> = Constant::new(Answered::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Rows<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, scrubbing, forgets, ending, current, is_outlived);
        self.is_open.next = !self.scrubbing.q.val() & !self.forgets.q.val();
        self.open.next = self.is_open.val();
        self.change.ready.next = self.is_open.val();
        if self.is_open.val() {
            self.forgets.d.next = self.change.valid.val() & self.change.payload.val().resets;
            self.ending.d.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }

        self.memory.read_enable.next = self.begins.val();
        self.memory.read_address.next = self.index.val();
        self.row.next = self.memory.read_data.val();
        if self.begins.val() {
            self.current.d.next = self.index.val();
            self.is_outlived.d.next = false;
        }

        // An operation that ends in this cycle is stored first, and forgotten after it.
        self.clears.next = self.forgets.q.val() & !self.writes.val();
        self.memory.write_enable.next = self.writes.val() & !self.is_outlived.q.val();
        self.memory.write_address.next = self.current.q.val();
        self.memory.write_data.next = self.changed.val();
        if self.clears.val() {
            self.forgets.d.next = false;
            self.memory.write_enable.next = true;
            self.memory.write_address.next = self.ending.q.val();
            self.memory.write_data.next = self.nothing.val();
            if self.ending.q.val() == self.current.q.val() {
                self.is_outlived.d.next = true;
            }
        }
        if self.scrubbing.q.val() {
            self.memory.write_enable.next = true;
            self.memory.write_address.next = self.current.q.val();
            self.memory.write_data.next = self.nothing.val();
            self.current.d.next = self.current.q.val() + 1;
            self.scrubbing.d.next = self.current.q.val() != self.last.val();
        }
        self.ready.next = !self.scrubbing.q.val();
        self.busy.next = !self.is_open.val();

        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.forgets.d.next = false;
            self.current.d.next = 0.into();
        }
    }
}
