//! The CQ table: one row a queue, and copies of what others ask of it.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// One completion queue.
    pub struct QueueRow {
        /// The queue exists; of a row without it nothing else counts but `lined`.
        pub exists: Bit,
        /// DMA address of the ring, without its low twelve bits, which are zero.
        pub base: Bits<52>,
        /// log2 of the entries.
        pub log: Bits<5>,
        /// Doorbell page it belongs to.
        pub page: Bits<12>,
        /// Entries written.
        pub producer: Bits<24>,
        /// Entries taken.
        pub consumer: Bits<24>,
        /// 0 not armed, 1 for the next entry, 2 for the next solicited or failed one.
        pub armed: Bits<2>,
        /// An entry was lost.
        pub overflowed: Bit,
        /// Entries that its event waits for; 0 and 1: it does not wait.
        pub count: Bits<16>,
        /// Microseconds for which its event waits at most; 0: it has no such limit.
        pub period: Bits<16>,
        /// Entries that came since it was armed, of the kind it is armed for; none while it is not armed.
        pub awaited: Bits<16>,
        /// When the first of them came: cycles, modulo 2^32.
        pub since: Bits<32>,
        /// Its number stands in the line of those that wait for their time.
        pub lined: Bit,
    }
}

block! {
    /// Holds `2^CQS` completion queues.
    ///
    /// - **Ports** `number`: a queue; `read`: `row` and `beyond` show it from the next cycle on, until the next read; a
    ///   number beyond the table reads as a row that does not exist, and `beyond` says so. `write`, `write_number`, `write_row`:
    ///   stores the row of this queue at the clock edge. `probe`, `exists`: does this queue exist? `ready`: the table counts.
    /// - **Latency** `row` 1 cycle, `exists` none; a write shows in both after its clock edge. **Rate** one read or write
    ///   per cycle, and both probes.
    /// - **Reset** clears the table, a row a cycle; `ready` and `exists` are low meanwhile, and nothing may be written.
    /// - **Limits** `CQS` from 1 to 24.
    pub struct Table<const CQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub number: Signal<In, Bits<32>>,
        pub read: Signal<In, Bit>,
        pub row: Signal<Out, QueueRow>,
        pub beyond: Signal<Out, Bit>,
        pub write: Signal<In, Bit>,
        pub write_number: Signal<In, Bits<CQS>>,
        pub write_row: Signal<In, QueueRow>,
        pub probe: [Signal<In, Bits<24>>; 2],
        pub exists: [Signal<Out, Bit>; 2],
        pub ready: Signal<Out, Bit>,
        rows: BlockRam<QueueRow, CQS>,
        existence: [LutRam<Bit, CQS>; 2],
        is_beyond: Reg<Bit>,
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<CQS>>,
        above: Signal<Local, Bits<32>>,
        above_probe: [Signal<Local, Bits<24>>; 2],
        probed_at: [Signal<Local, Bits<CQS>>; 2],
        stores: Signal<Local, Bit>,
        stored_at: Signal<Local, Bits<CQS>>,
        stored: Signal<Local, QueueRow>,
        log: Constant<Bits<5>> = number(CQS),
        last: Constant<Bits<CQS>> = Constant::new(Bits::mask()),
        nothing: Constant<QueueRow> = Constant::new(QueueRow::default()),
    }
}

impl<const CQS: usize> Logic for Table<CQS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond, scrubbing, scrubbed);
        self.ready.next = !self.scrubbing.q.val();

        self.above.next = self.number.val() >> self.log.val();
        self.rows.read_enable.next = self.read.val();
        self.rows.read_address.next = bit_cast::<CQS, 32>(self.number.val());
        if self.read.val() {
            self.is_beyond.d.next = self.above.val().any();
        }
        self.beyond.next = self.is_beyond.q.val();
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.exists = false;
        }

        self.stores.next = self.write.val() | self.scrubbing.q.val();
        self.stored_at.next = self.write_number.val();
        self.stored.next = self.write_row.val();
        if self.scrubbing.q.val() {
            self.stored_at.next = self.scrubbed.q.val();
            self.stored.next = self.nothing.val();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }
        self.rows.write_enable.next = self.stores.val();
        self.rows.write_address.next = self.stored_at.val();
        self.rows.write_data.next = self.stored.val();
        self.probed_at[0].next = bit_cast::<CQS, 24>(self.probe[0].val());
        self.probed_at[1].next = bit_cast::<CQS, 24>(self.probe[1].val());
        for i in 0..2 {
            self.existence[i].clock.next = self.clock.val();
            self.existence[i].write_enable.next = self.stores.val();
            self.existence[i].write_address.next = self.stored_at.val();
            self.existence[i].write_data.next = self.stored.val().exists;
            self.existence[i].read_address.next = self.probed_at[i].val();
            self.above_probe[i].next = self.probe[i].val() >> self.log.val();
            self.exists[i].next = self.existence[i].read_data.val()
                & !self.above_probe[i].val().any()
                & !self.scrubbing.q.val();
        }
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
