//! What is known of the atomics of each queue pair.

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::StreamSink;

/// log2 of the results that a queue pair keeps.
pub const RESULTS_LOG: usize = 4;
/// Results that a queue pair keeps.
pub const RESULTS: usize = 1 << RESULTS_LOG;

record! {
    /// The atomics of a queue pair.
    pub struct AtomicRow {
        /// Those that are done, modulo 32.
        pub finished: Bits<5>,
        /// Places of results that hold one.
        pub kept: Bits<RESULTS>,
        /// A word could not be read: nothing happens any more.
        pub failed: Bit,
    }
}

record! {
    /// What an atomic found.
    pub struct Found {
        /// PSN of its answer.
        pub psn: Bits<24>,
        /// The value before it.
        pub value: Bits<64>,
    }
}

block! {
    /// Keeps an [`AtomicRow`] and 16 results for each of `2^QPS` queue pairs.
    ///
    /// - **Ports** `index`: the queue pair of the operation; `row`: its row. `changes`, `changed`: from now on. `slot`: a place among its
    ///   results: `keeps`, `kept`: stores one; `seen`: the one at `slot` of the cycle before. `change`: of a queue pair. `finished_write`,
    ///   `finished_index`, `finished`: news of that number. `ready`: the rows are scrubbed. `busy`: they are not, or a queue
    ///   pair is being forgotten.
    /// - **Latency** 0 cycles to `row`, 1 to `seen` and `finished_write`. A change is done within 3 cycles.
    /// - **Rate** one of each per cycle, but a change every 2.
    /// - **Backpressure** `change.ready` is a register; nobody holds it low for longer than 2 cycles.
    /// - **Reset** scrubs a row a cycle, with `ready` low, and tells each; changes wait.
    /// - **Limits** `RING` is `QPS + 4`; anything else panics when the block is built.
    pub struct Rows<const QPS: usize, const RING: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub row: Signal<Out, AtomicRow>,
        pub changes: Signal<In, Bit>,
        pub changed: Signal<In, AtomicRow>,
        pub slot: Signal<In, Bits<RESULTS_LOG>>,
        pub keeps: Signal<In, Bit>,
        pub kept: Signal<In, Found>,
        pub seen: Signal<Out, Found>,
        pub change: StreamSink<QpChange>,
        pub finished_write: Signal<Out, Bit>,
        pub finished_index: Signal<Out, Bits<QPS>>,
        pub finished: Signal<Out, Bits<5>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        table: LutRam<AtomicRow, QPS>,
        results: BlockRam<Found, RING> = results::<QPS, RING>(),
        is_scrubbing: Reg<Bit>,
        /// `ending` is to be forgotten.
        forgets: Reg<Bit>,
        /// That queue pair; after reset the row to be cleared.
        ending: Reg<Bits<QPS>>,
        tells: Reg<Bit>,
        told: Reg<Bits<QPS>>,
        number: Reg<Bits<5>>,
        clears: Signal<Local, Bit>,
        at: Signal<Local, Bits<QPS>>,
        put: Signal<Local, AtomicRow>,
        place: Signal<Local, Bits<RING>>,
        nothing: Constant<AtomicRow> = Constant::new(AtomicRow::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

fn results<const QPS: usize, const RING: usize>() -> BlockRam<Found, RING> {
    assert_eq!(RING, QPS + RESULTS_LOG, "2^{QPS} queue pairs have 2^{RING} results");
    BlockRam::default()
}

impl<const QPS: usize, const RING: usize> Logic for Rows<QPS, RING> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table, results);
        dff_setup!(self, clock, is_scrubbing, forgets, ending, tells, told, number);
        self.table.read_address.next = self.index.val();
        self.row.next = self.table.read_data.val();
        self.place.next =
            (bit_cast::<RING, QPS>(self.index.val()) << 4) | bit_cast::<RING, RESULTS_LOG>(self.slot.val());
        self.results.read_enable.next = true;
        self.results.read_address.next = self.place.val();
        self.seen.next = self.results.read_data.val();
        self.results.write_enable.next = self.keeps.val();
        self.results.write_address.next = self.place.val();
        self.results.write_data.next = self.kept.val();

        // Nothing of a queue pair that begins anew is inside: the operation's row is another, and goes first.
        self.change.ready.next = !self.is_scrubbing.q.val() & !self.forgets.q.val();
        if !self.is_scrubbing.q.val() & !self.forgets.q.val() {
            self.forgets.d.next = self.change.valid.val() & self.change.payload.val().resets;
            self.ending.d.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }
        self.clears.next = self.is_scrubbing.q.val() | (self.forgets.q.val() & !self.changes.val());
        self.at.next = self.index.val();
        self.put.next = self.changed.val();
        if self.clears.val() {
            self.forgets.d.next = false;
            self.at.next = self.ending.q.val();
            self.put.next = self.nothing.val();
        }
        if self.is_scrubbing.q.val() {
            self.ending.d.next = self.ending.q.val() + 1;
            self.is_scrubbing.d.next = self.ending.q.val() != self.last.val();
        }
        self.table.write_enable.next = self.changes.val() | self.clears.val();
        self.table.write_address.next = self.at.val();
        self.table.write_data.next = self.put.val();
        self.tells.d.next = self.changes.val() | self.clears.val();
        self.told.d.next = self.at.val();
        self.number.d.next = self.put.val().finished;
        self.finished_write.next = self.tells.q.val();
        self.finished_index.next = self.told.q.val();
        self.finished.next = self.number.q.val();
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val() | self.forgets.q.val() | self.tells.q.val();

        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.forgets.d.next = false;
            self.ending.d.next = 0.into();
            self.tells.d.next = false;
        }
    }
}
