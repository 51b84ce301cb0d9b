//! From a region as it was registered to its row in the MMU.

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;

use super::creation::BODY_BITS;
use crate::constant::number;
use crate::state::memory_keys::{ORIGIN_BITS, ORIGIN_LOG, RegionRow};

block! {
    /// Makes the row of a region. Logic only.
    ///
    /// - **Ports** `number`, `body`: of the region; `row`: as [`RegionRow::of`] gives it.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct RowOf {
        pub number: Signal<In, Bits<24>>,
        pub body: Signal<In, Bits<BODY_BITS>>,
        pub row: Signal<Out, RegionRow>,
        key_at: Constant<Bits<8>> = number(Region::KEY.offset()),
        pd_at: Constant<Bits<8>> = number(Region::PD.offset()),
        rights_at: Constant<Bits<8>> = number(Region::RIGHTS.offset()),
        page_at: Constant<Bits<8>> = number(Region::PAGE.offset()),
        direct_at: Constant<Bits<8>> = number(Region::DIRECT.offset()),
        base_at: Constant<Bits<8>> = number(Region::BASE.offset()),
        /// Of the base without its low bits.
        origin_at: Constant<Bits<8>> = number(Region::BASE.offset() + ORIGIN_LOG),
        length_at: Constant<Bits<8>> = number(Region::LENGTH.offset()),
        /// Of the list without its low six bits.
        list_at: Constant<Bits<8>> = number(Region::LIST.offset() + 6),
    }
}

impl Logic for RowOf {
    #[hdl_gen]
    fn update(&mut self) {
        self.row.next.valid = true;
        self.row.next.key = self.body.val().get_bits::<8>(self.key_at.val().index());
        self.row.next.pd = self.body.val().get_bits::<16>(self.pd_at.val().index());
        self.row.next.rights = self.body.val().get_bits::<5>(self.rights_at.val().index());
        self.row.next.page = self.body.val().get_bits::<2>(self.page_at.val().index());
        self.row.next.direct = self.body.val().get_bit(self.direct_at.val().index());
        self.row.next.window = false;
        self.row.next.qpn = 0.into();
        self.row.next.parent = self.number.val();
        self.row.next.origin = self.body.val().get_bits::<ORIGIN_BITS>(self.origin_at.val().index());
        self.row.next.base = self.body.val().get_bits::<64>(self.base_at.val().index());
        self.row.next.length = self.body.val().get_bits::<48>(self.length_at.val().index());
        self.row.next.list = self.body.val().get_bits::<58>(self.list_at.val().index());
    }
}
