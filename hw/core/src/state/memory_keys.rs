//! The memory-region table: what each key stands for. A region, or a window bound to a part of one.

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;
use stroma_abi::desc::region::PAGE_LOGS;

use super::command::KeyWork;
use crate::constant::number;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::record;

/// log2 of the bytes of the smallest page.
pub(super) const ORIGIN_LOG: usize = PAGE_LOGS[0];
/// Bits of an address without its place in the smallest page.
pub const ORIGIN_BITS: usize = 64 - ORIGIN_LOG;

record! {
    /// One memory region, as [`Region`] says it, or a bound window.
    pub struct RegionRow {
        /// The region exists, or the window is bound; of a row without it nothing else counts.
        pub valid: Bit,
        /// Low byte of its keys.
        pub key: Bits<8>,
        /// Protection domain.
        pub pd: Bits<16>,
        /// Sum of the `stroma_abi::desc::region::rights`.
        pub rights: Bits<5>,
        /// Page size: 0 4 KiB, 1 2 MiB, 2 and 3 1 GiB.
        pub page: Bits<2>,
        /// There is no page list: `list` is the first page, the others follow it.
        pub direct: Bit,
        /// It is a window, and there for the peer of `qpn` alone.
        pub window: Bit,
        /// Of a window, the queue pair it is bound to; otherwise 0.
        pub qpn: Bits<24>,
        /// The region whose pages these are: a region's own number, or that of the region under a window.
        pub parent: Bits<24>,
        /// That region's first byte, from whose page on pages are counted; the low bits, which no page size keeps, are left out.
        pub origin: Bits<ORIGIN_BITS>,
        /// Virtual address of the first byte.
        pub base: Bits<64>,
        /// Bytes.
        pub length: Bits<48>,
        /// DMA address of the page list (or of the first page), without its low six bits, which are zero.
        pub list: Bits<58>,
    }
}

impl RegionRow {
    /// The row of a region that exists, under this number.
    #[must_use]
    pub fn of(number: u32, region: &Region) -> Self {
        Self {
            valid: true,
            key: u64::from(region.key).into(),
            pd: u64::from(region.pd).into(),
            rights: u64::from(region.rights).into(),
            page: u64::from(region.page).into(),
            direct: region.direct,
            window: false,
            qpn: 0.into(),
            parent: u64::from(number).into(),
            origin: (region.base >> ORIGIN_LOG).into(),
            base: region.base.into(),
            length: region.length.into(),
            list: (region.list >> 6).into(),
        }
    }

    /// The row of a window that this work binds to this region.
    #[must_use]
    pub fn window(&self, work: &KeyWork) -> Self {
        let (key, base, length) = (work.key.get_bits::<8>(0), work.base, work.length);
        Self { key, rights: work.rights, window: true, qpn: work.qpn, base, length, ..*self }
    }
}

record! {
    /// A row for the table of `2^MRS` regions and windows.
    pub struct RowWrite<const MRS: usize> {
        /// Where it goes.
        pub region: Bits<MRS>,
        /// What it says.
        pub row: RegionRow,
    }
}

block! {
    /// Holds `2^MRS` regions and windows.
    ///
    /// - **Ports** `read_enable`, `index`: `row` shows that one from the next cycle on and holds it until the next
    ///   read; an index beyond the table reads as a row that is not `valid`. `write_*`: stores a row at the clock edge.
    /// - **Latency** 1 cycle; a read during a write of the same row gives the *old* row. **Rate** one read and one write
    ///   per cycle.
    /// - **Reset** none: [`super::maintain`] scrubs the table.
    /// - **Limits** `MRS` from 1 to 24, the bits a key has for it.
    pub struct MemoryKeys<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub read_enable: Signal<In, Bit>,
        pub index: Signal<In, Bits<24>>,
        pub row: Signal<Out, RegionRow>,
        pub write_enable: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<MRS>>,
        pub write_row: Signal<In, RegionRow>,
        rows: BlockRam<RegionRow, MRS>,
        is_beyond: Reg<Bit>,
        above: Signal<Local, Bits<24>>,
        log: Constant<Bits<5>> = number(MRS),
    }
}

impl<const MRS: usize> Logic for MemoryKeys<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond);
        self.rows.read_enable.next = self.read_enable.val();
        self.rows.read_address.next = bit_cast::<MRS, 24>(self.index.val());
        self.above.next = self.index.val() >> self.log.val();
        if self.read_enable.val() {
            self.is_beyond.d.next = self.above.val().any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.valid = false;
        }
        self.rows.write_enable.next = self.write_enable.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next = self.write_row.val();
    }
}
