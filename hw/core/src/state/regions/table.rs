//! The regions as they were registered, and the windows as they are bound, for whoever asks.

use rust_hdl::prelude::*;

use super::creation::BODY_BITS;
use crate::constant::number;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// A region or a window, or the place for one.
    pub struct Kept<const MRS: usize> {
        /// There is one.
        pub exists: Bit,
        /// It is a window, and bound; otherwise the next two are zero.
        pub bound: Bit,
        /// The region it is bound to.
        pub parent: Bits<MRS>,
        /// The queue pair for whose peer it is there.
        pub qpn: Bits<24>,
        /// Its body; a bound window's says what it stands for.
        pub body: Bits<BODY_BITS>,
    }
}

record! {
    /// What is asked of the table in a cycle.
    pub struct TableUse<const MRS: usize> {
        /// To show the region `index`.
        pub read: Bit,
        /// Its number, within the table or not.
        pub index: Bits<32>,
        /// To store `write_kept` at `write_index`.
        pub write: Bit,
        pub write_index: Bits<MRS>,
        pub write_kept: Kept<MRS>,
        /// To note that `count_windows` windows are bound to the region `count_index`.
        pub count: Bit,
        pub count_index: Bits<MRS>,
        pub count_windows: Bits<MRS>,
    }
}

block! {
    /// Holds `2^MRS` regions and windows, and of each region how many windows are bound to it.
    ///
    /// - **Ports** `turn`: what is asked. After a read `kept` shows that region from the next cycle on and holds it until the
    ///   next read, `bound_count` how many are bound to it, `beyond` that there is no such place, where none `exists`. Writes
    ///   count from the next cycle on. `ready`: the table is clean.
    /// - **Latency** 1 cycle. **Rate** one read and one write of each kind per cycle.
    /// - **Reset** clears all places, one a cycle; `ready` is low meanwhile, and writes are lost.
    /// - **Limits** `MRS` from 1 to 24.
    pub struct Table<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub turn: Signal<In, TableUse<MRS>>,
        pub kept: Signal<Out, Kept<MRS>>,
        pub bound_count: Signal<Out, Bits<MRS>>,
        pub beyond: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        regions: BlockRam<Kept<MRS>, MRS>,
        counts: BlockRam<Bits<MRS>, MRS>,
        is_beyond: Reg<Bit>,
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<MRS>>,
        nothing: Constant<Kept<MRS>> = Constant::new(Kept::default()),
        log: Constant<Bits<5>> = number(MRS),
        last: Constant<Bits<MRS>> = Constant::new(Bits::mask()),
    }
}

impl<const MRS: usize> Logic for Table<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, regions, counts);
        dff_setup!(self, clock, is_beyond, scrubbing, scrubbed);
        self.regions.read_enable.next = self.turn.val().read;
        self.regions.read_address.next = bit_cast::<MRS, 32>(self.turn.val().index);
        self.counts.read_enable.next = self.turn.val().read;
        self.counts.read_address.next = bit_cast::<MRS, 32>(self.turn.val().index);
        if self.turn.val().read {
            self.is_beyond.d.next = (self.turn.val().index >> self.log.val()).any();
        }
        self.beyond.next = self.is_beyond.q.val();
        self.kept.next = self.regions.read_data.val();
        if self.is_beyond.q.val() {
            self.kept.next.exists = false;
        }
        self.bound_count.next = self.counts.read_data.val();

        self.regions.write_enable.next = self.turn.val().write | self.scrubbing.q.val();
        self.regions.write_address.next = self.turn.val().write_index;
        self.regions.write_data.next = self.turn.val().write_kept;
        self.counts.write_enable.next = self.turn.val().count | self.scrubbing.q.val();
        self.counts.write_address.next = self.turn.val().count_index;
        self.counts.write_data.next = self.turn.val().count_windows;
        if self.scrubbing.q.val() {
            self.regions.write_address.next = self.scrubbed.q.val();
            self.regions.write_data.next = self.nothing.val();
            self.counts.write_address.next = self.scrubbed.q.val();
            self.counts.write_data.next = 0.into();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }
        self.ready.next = !self.scrubbing.q.val();
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
