//! Unsent: what was admitted and thrown away has never been sent.

use rust_hdl::prelude::*;

use crate::prim::ram::LutRam;
use crate::record;

record! {
    /// Packets of a queue pair that Admit counts as sent, and that have not left.
    pub struct UnsentRow {
        /// There are some.
        pub some: Bit,
        /// PSN of the first of them; all behind it are such.
        pub from: Bits<24>,
    }
}

block! {
    /// Tells packets that are sent again from those that are only admitted again.
    ///
    /// Packets of a queue pair come in order within an epoch. So those that never left begin with the first that was thrown away,
    /// begin later with each that passes, and end when one passes that is admitted for the first time.
    ///
    /// - **Ports** `index`, `psn`, `admitted_again`: a packet; `again`: it was sent before; `passes`, `drops`: it goes on, or is
    ///   thrown away, in this cycle. `clears`, `clear_index`: a row is cleared, in a cycle without packets.
    /// - **Latency** 0 cycles to `again`; a packet counts for the next one. **Rate** a packet per cycle.
    /// - **Reset** none: rows are cleared. A queue pair that begins anew need not clear its row, for its first packet does.
    /// - **Limits** a READ takes more PSNs than its one packet, as the last of an RPC does: asked for again from its middle, while packets behind it have not
    ///   left, it is taken for one that was not sent.
    pub struct Unsent<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub index: Signal<In, Bits<QPS>>,
        pub psn: Signal<In, Bits<24>>,
        pub admitted_again: Signal<In, Bit>,
        pub passes: Signal<In, Bit>,
        pub drops: Signal<In, Bit>,
        pub again: Signal<Out, Bit>,
        pub clears: Signal<In, Bit>,
        pub clear_index: Signal<In, Bits<QPS>>,
        rows: LutRam<UnsentRow, QPS>,
        row: Signal<Local, UnsentRow>,
        after: Signal<Local, UnsentRow>,
        beyond: Signal<Local, Bits<24>>,
        never_left: Signal<Local, Bit>,
    }
}

impl<const QPS: usize> Logic for Unsent<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        self.rows.read_address.next = self.index.val();
        self.row.next = self.rows.read_data.val();
        self.beyond.next = self.psn.val() - self.row.val().from;
        self.never_left.next = self.row.val().some & !self.beyond.val().get_bit(23);
        self.again.next = self.admitted_again.val() & !self.never_left.val();

        self.after.next = self.row.val();
        if self.drops.val() & !self.admitted_again.val() & !self.never_left.val() {
            self.after.next.some = true;
            self.after.next.from = self.psn.val();
        }
        if self.passes.val() {
            if self.never_left.val() {
                self.after.next.from = self.psn.val() + 1;
            }
            if !self.admitted_again.val() {
                self.after.next.some = false;
            }
        }
        self.rows.write_enable.next = self.passes.val() | self.drops.val() | self.clears.val();
        self.rows.write_address.next = self.index.val();
        self.rows.write_data.next = self.after.val();
        if self.clears.val() {
            self.rows.write_address.next = self.clear_index.val();
            self.rows.write_data.next.some = false;
            self.rows.write_data.next.from = 0.into();
        }
    }
}
