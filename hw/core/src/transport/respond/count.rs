//! How many READs and atomics are over, for the one who judges requests.

use rust_hdl::prelude::*;

use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// READs and atomics of a queue pair's peer that were not asked for before, modulo 32.
    pub struct CountRow {
        /// Those that came.
        pub taken: Bits<5>,
        /// Those that are answered or will never be.
        pub over: Bits<5>,
    }
}

block! {
    /// Keeps a [`CountRow`] for each of `2^QPS` queue pairs, and tells its second half: so others know how many a peer
    /// has open.
    ///
    /// - **Ports** `begins`, `index`: an operation reads its row; `ends`: its last cycle. In that cycle `comes`: one has come, and `drops`: had
    ///   no room; `goes`: one is answered; `forgets`: none waits any more; `resets`: none has ever come. `scrubs`: the same, of
    ///   `index`. `answered_write`, `answered_index`, `answered`: news.
    /// - **Latency** 1 cycle from `ends` and `scrubs` to `answered_write`. **Rate** an operation every 2 cycles.
    /// - **Reset** none: the owner scrubs.
    pub struct Count<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub begins: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub ends: Signal<In, Bit>,
        pub comes: Signal<In, Bit>,
        pub drops: Signal<In, Bit>,
        pub goes: Signal<In, Bit>,
        pub forgets: Signal<In, Bit>,
        pub resets: Signal<In, Bit>,
        pub scrubs: Signal<In, Bit>,
        pub answered_write: Signal<Out, Bit>,
        pub answered_index: Signal<Out, Bits<QPS>>,
        pub answered: Signal<Out, Bits<5>>,
        table: BlockRam<CountRow, QPS>,
        tells: Reg<Bit>,
        told: Reg<Bits<QPS>>,
        number: Reg<Bits<5>>,
        taken: Signal<Local, Bits<5>>,
        over: Signal<Local, Bits<5>>,
    }
}

impl<const QPS: usize> Logic for Count<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table);
        dff_setup!(self, clock, tells, told, number);
        self.table.read_enable.next = self.begins.val();
        self.table.read_address.next = self.index.val();
        self.taken.next = self.table.read_data.val().taken + self.comes.val();
        self.over.next =
            self.table.read_data.val().over + ((self.comes.val() & self.drops.val()) | self.goes.val());
        if self.forgets.val() {
            self.over.next = self.taken.val();
        }
        if self.resets.val() | self.scrubs.val() {
            self.taken.next = 0.into();
            self.over.next = 0.into();
        }
        self.table.write_enable.next = self.ends.val() | self.scrubs.val();
        self.table.write_address.next = self.index.val();
        self.table.write_data.next.taken = self.taken.val();
        self.table.write_data.next.over = self.over.val();
        self.tells.d.next = self.ends.val() | self.scrubs.val();
        self.told.d.next = self.index.val();
        self.number.d.next = self.over.val();
        self.answered_write.next = self.tells.q.val();
        self.answered_index.next = self.told.q.val();
        self.answered.next = self.number.q.val();
    }
}
