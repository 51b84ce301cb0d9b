//! The regions as they were registered, for whoever asks.

use rust_hdl::prelude::*;

use super::creation::BODY_BITS;
use crate::constant::number;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

record! {
    /// A region, or the place for one.
    pub struct Kept {
        /// There is one.
        pub exists: Bit,
        /// Its body.
        pub body: Bits<BODY_BITS>,
    }
}

block! {
    /// Holds `2^MRS` regions.
    ///
    /// - **Ports** `read`, `index`: `kept` shows that region from the next cycle on and holds it until the next read, `beyond`
    ///   that there is no such place, where none `exists`. `write`, `write_index`, `write_kept`: stores one at the
    ///   clock edge. `ready`: the table is clean.
    /// - **Latency** 1 cycle. **Rate** one read and one write per cycle.
    /// - **Reset** clears all places, one a cycle; `ready` is low meanwhile, and writes are lost.
    /// - **Limits** `MRS` from 1 to 24.
    pub struct Table<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub read: Signal<In, Bit>,
        pub index: Signal<In, Bits<32>>,
        pub kept: Signal<Out, Kept>,
        pub beyond: Signal<Out, Bit>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<MRS>>,
        pub write_kept: Signal<In, Kept>,
        pub ready: Signal<Out, Bit>,
        regions: BlockRam<Kept, MRS>,
        is_beyond: Reg<Bit>,
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<MRS>>,
        nothing: Constant<Kept> = Constant::new(Kept::default()),
        log: Constant<Bits<5>> = number(MRS),
        last: Constant<Bits<MRS>> = Constant::new(Bits::mask()),
    }
}

impl<const MRS: usize> Logic for Table<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, regions);
        dff_setup!(self, clock, is_beyond, scrubbing, scrubbed);
        self.regions.read_enable.next = self.read.val();
        self.regions.read_address.next = bit_cast::<MRS, 32>(self.index.val());
        if self.read.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.beyond.next = self.is_beyond.q.val();
        self.kept.next = self.regions.read_data.val();
        if self.is_beyond.q.val() {
            self.kept.next.exists = false;
        }
        self.regions.write_enable.next = self.write.val() | self.scrubbing.q.val();
        self.regions.write_address.next = self.write_index.val();
        self.regions.write_data.next = self.write_kept.val();
        if self.scrubbing.q.val() {
            self.regions.write_address.next = self.scrubbed.q.val();
            self.regions.write_data.next = self.nothing.val();
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
