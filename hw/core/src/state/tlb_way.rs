//! One way of the TLB: tags, lines, and whose they are.

use rust_hdl::prelude::*;

use super::pages::LINE_BITS;
use crate::prim::ram::BlockRam;
use crate::record;

record! {
    /// Which line it is.
    pub struct Tag<const MRS: usize> {
        /// There is one.
        pub valid: Bit,
        /// Its region.
        pub region: Bits<MRS>,
        /// Its number in the region's page list.
        pub number: Bits<LINE_BITS>,
    }
}

block! {
    /// One way: at most one line for each of `2^SETS` sets.
    ///
    /// - **Ports** `read_enable`, `read_set`: `hit` and `data` tell from the next cycle on whether the line of `region` and
    ///   `number` is in that set. `fill`, `set`, `fill_*`: stores a line. `scan`: the set whose owner is looked at; `clear`: that
    ///   owner was `leaving`, or `everything` goes, so drops the line of `set`, which is the one scanned a cycle ago.
    /// - **Latency** 1 cycle. **Reset** none.
    pub struct Way<const MRS: usize, const SETS: usize> {
        pub clock: Signal<In, Clock>,
        pub read_enable: Signal<In, Bit>,
        pub read_set: Signal<In, Bits<SETS>>,
        pub region: Signal<In, Bits<MRS>>,
        pub number: Signal<In, Bits<LINE_BITS>>,
        pub hit: Signal<Out, Bit>,
        pub data: Signal<Out, Bits<512>>,
        pub set: Signal<In, Bits<SETS>>,
        pub fill: Signal<In, Bit>,
        pub fill_region: Signal<In, Bits<MRS>>,
        pub fill_number: Signal<In, Bits<LINE_BITS>>,
        pub fill_data: Signal<In, Bits<512>>,
        pub scan: Signal<In, Bits<SETS>>,
        pub clear: Signal<In, Bit>,
        pub everything: Signal<In, Bit>,
        pub leaving: Signal<In, Bits<MRS>>,
        tags: BlockRam<Tag<MRS>, SETS>,
        lines: BlockRam<Bits<512>, SETS>,
        /// The tags' regions once more, so that a scan takes nothing from lookups.
        owners: BlockRam<Bits<MRS>, SETS>,
    }
}

impl<const MRS: usize, const SETS: usize> Logic for Way<MRS, SETS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, tags, lines, owners);
        self.tags.read_enable.next = self.read_enable.val();
        self.tags.read_address.next = self.read_set.val();
        self.lines.read_enable.next = self.read_enable.val();
        self.lines.read_address.next = self.read_set.val();
        self.hit.next = self.tags.read_data.val().valid
            & (self.tags.read_data.val().region == self.region.val())
            & (self.tags.read_data.val().number == self.number.val());
        self.data.next = self.lines.read_data.val();

        self.owners.read_enable.next = true;
        self.owners.read_address.next = self.scan.val();
        self.tags.write_enable.next = self.fill.val()
            | (self.clear.val()
                & (self.everything.val() | (self.owners.read_data.val() == self.leaving.val())));
        self.tags.write_address.next = self.set.val();
        self.tags.write_data.next.valid = self.fill.val();
        self.tags.write_data.next.region = self.fill_region.val();
        self.tags.write_data.next.number = self.fill_number.val();
        self.owners.write_enable.next = self.fill.val();
        self.owners.write_address.next = self.set.val();
        self.owners.write_data.next = self.fill_region.val();
        self.lines.write_enable.next = self.fill.val();
        self.lines.write_address.next = self.set.val();
        self.lines.write_data.next = self.fill_data.val();
    }
}
