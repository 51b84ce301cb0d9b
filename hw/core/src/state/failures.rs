//! Which queue pairs have failed in some engine, and what has still to be told of it.

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::StreamSink;

record! {
    /// A queue pair's failure.
    pub struct Failure {
        /// It has failed.
        pub failed: Bit,
        /// The message of an unreliable connection that is under way has, and all that comes of it is thrown away.
        pub spoiled: Bit,
        /// The `Status` that is still to be told, by the next completion of the side it concerns, and with `spoiled` by that of the message;
        /// 0: none.
        pub status: Bits<8>,
        /// Its detail, for people.
        pub vendor: Bits<8>,
        /// That side is the one of the peer's requests: its completions are those of receives.
        pub of_request: Bit,
    }
}

block! {
    /// A row for each of `2^QPS` queue pairs: what was on its way behind a failure must not happen. The copy engine and the one
    /// that places what packets bring have such a table each.
    ///
    /// Rows are written from a register: to find a row, judge by it and write it would be too long for one cycle.
    ///
    /// - **Ports** `look`: the queue pair asked about; `found`: its row, true while `open` is high, and so it was in the cycle
    ///   before; `mark`: from now on that is `marked`, only while `open` is high; `change`: a queue pair that begins anew
    ///   has not failed.
    /// - **Latency** 0 cycles from `look` to `found`, 2 from `mark` and `change`.
    /// - **Backpressure** `change` is always taken; `open` is low meanwhile, and for two cycles behind it or a `mark`.
    /// - **Reset** clears all rows, one a cycle; `ready` is low meanwhile, `open` for a cycle more.
    /// - **Limits** numbers beyond `2^QPS` share the rows of those below.
    pub struct Failures<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub look: Signal<In, Bits<24>>,
        pub found: Signal<Out, Failure>,
        pub mark: Signal<In, Bit>,
        pub marked: Signal<In, Failure>,
        pub open: Signal<Out, Bit>,
        pub change: StreamSink<QpChange>,
        pub ready: Signal<Out, Bit>,
        rows: LutRam<Failure, QPS>,
        scrubbing: Reg<Bit>,
        row: Reg<Bits<QPS>>,
        /// A row is to be written, which, and with what.
        is_writing: Reg<Bit>,
        write_at: Reg<Bits<QPS>>,
        write_data: Reg<Failure>,
        /// One was in the cycle before.
        has_written: Reg<Bit>,
        clears: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Failures<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, scrubbing, row, is_writing, write_at, write_data, has_written);
        self.change.ready.next = true;
        self.clears.next = self.change.valid.val() & self.change.payload.val().resets;
        self.ready.next = !self.scrubbing.q.val();
        self.open.next = !self.scrubbing.q.val()
            & !self.clears.val()
            & !self.is_writing.q.val()
            & !self.has_written.q.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.look.val());
        self.found.next = self.rows.read_data.val();

        self.is_writing.d.next = self.mark.val() | self.clears.val();
        self.has_written.d.next = self.is_writing.q.val() | self.scrubbing.q.val();
        self.write_at.d.next = bit_cast::<QPS, 24>(self.look.val());
        self.write_data.d.next = self.marked.val();
        if self.clears.val() {
            self.write_at.d.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
            self.write_data.d.next.failed = false;
            self.write_data.d.next.spoiled = false;
        }
        self.rows.write_enable.next = self.is_writing.q.val();
        self.rows.write_address.next = self.write_at.q.val();
        self.rows.write_data.next = self.write_data.q.val();
        // A change meanwhile finds nothing to clear: no mark is made before the scrub is over.
        if self.scrubbing.q.val() {
            self.rows.write_enable.next = true;
            self.rows.write_address.next = self.row.q.val();
            self.rows.write_data.next.failed = false;
            self.rows.write_data.next.spoiled = false;
            self.row.d.next = self.row.q.val() + 1;
            self.scrubbing.d.next = self.row.q.val() != self.last.val();
        }
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.row.d.next = 0.into();
            self.is_writing.d.next = false;
        }
    }
}
