//! The rows: how far each queue pair has sent.

use rust_hdl::prelude::*;

use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// How far a queue pair has sent. All zero, the epoch apart: nothing was admitted since it began.
    pub struct CursorRow {
        /// Something was admitted; before, its first PSN is not known here.
        pub started: Bit,
        /// A request was overwritten under way, or has failed: nothing is carried out any more, and its error is on its way round.
        pub halted: Bit,
        /// The queue pair was stopped, and everything unacknowledged has been given up.
        pub stopped: Bit,
        /// The peer is not ready: nothing is sent until the next rewind.
        pub held: Bit,
        /// The cursor, what is sent next: index of its WQE,
        pub index: Bits<16>,
        /// packets of it that were sent,
        pub sent: Bits<24>,
        /// PSN of the next,
        pub psn: Bits<24>,
        /// and the message's place.
        pub slot: Bits<6>,
        /// Messages, modulo 64: place of the next one that is new.
        pub head: Bits<6>,
        /// PSN behind the last packet that was sent, ever.
        pub frontier: Bits<24>,
        /// Index behind the newest WQE that was admitted.
        pub head_index: Bits<16>,
        /// READs and atomics begun, modulo 32.
        pub reads: Bits<5>,
        /// The newest local work, counted over all queue pairs; 0: there was none.
        pub local_ticket: Bits<48>,
        /// The turn of the newest work on a key.
        pub key_turn: Bit,
        /// Rewinds that discard, modulo 16, whoever had this number: what was admitted in another epoch is stale.
        pub epoch: Bits<4>,
    }
}

block! {
    /// Keeps `2^QPS` rows.
    ///
    /// - **Ports** `look`: `row` shows the row of `look_index` from the next cycle on and holds it; `write*`: a row to be
    ///   stored; `scrubbing`, `scrub_index`: after reset, the row that is being cleared.
    /// - **Latency** 1 cycle. **Rate** one look and one write per cycle; a look at the row being written shows the new one.
    /// - **Reset** clears all rows, one a cycle; writes and looks do not count meanwhile.
    pub struct Rows<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub look: Signal<In, Bit>,
        pub look_index: Signal<In, Bits<QPS>>,
        pub row: Signal<Out, CursorRow>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub write_row: Signal<In, CursorRow>,
        pub scrubbing: Signal<Out, Bit>,
        pub scrub_index: Signal<Out, Bits<QPS>>,
        memory: BlockRam<CursorRow, QPS>,
        /// The row looked at was being written.
        is_fresh: Reg<Bit>,
        fresh: Reg<CursorRow>,
        is_scrubbing: Reg<Bit>,
        place: Reg<Bits<QPS>>,
        nothing: Constant<CursorRow> = Constant::new(CursorRow::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Rows<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, is_fresh, fresh, is_scrubbing, place);
        self.memory.read_enable.next = self.look.val();
        self.memory.read_address.next = self.look_index.val();
        self.row.next = self.memory.read_data.val();
        if self.is_fresh.q.val() {
            self.row.next = self.fresh.q.val();
        }
        if self.look.val() {
            self.is_fresh.d.next = self.write.val() & (self.write_index.val() == self.look_index.val());
            self.fresh.d.next = self.write_row.val();
        }
        self.memory.write_enable.next = self.write.val() | self.is_scrubbing.q.val();
        self.memory.write_address.next = self.write_index.val();
        self.memory.write_data.next = self.write_row.val();
        self.scrubbing.next = self.is_scrubbing.q.val();
        self.scrub_index.next = self.place.q.val();
        if self.is_scrubbing.q.val() {
            self.memory.write_address.next = self.place.q.val();
            self.memory.write_data.next = self.nothing.val();
            self.place.d.next = self.place.q.val() + 1;
            self.is_scrubbing.d.next = self.place.q.val() != self.last.val();
        }
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.place.d.next = 0.into();
        }
    }
}
