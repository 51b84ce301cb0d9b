//! Interrupt moderation: a row for each vector, stored by the driver and looked up when an event is told.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{VECTORS, moderation};

use super::place::{PLACE_BITS, RegisterStore, flag, part, place};
use crate::constant::number;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;

/// Bits that name a vector.
pub const VECTOR_BITS: usize = 5;

const _: () = assert!(VECTORS == 1 << VECTOR_BITS);

record! {
    /// How often a vector may fire.
    pub struct Moderation {
        /// Longest wait.
        pub period_us: Bits<16>,
        /// Events to wait for.
        pub count: Bits<16>,
        /// Hold the vector back.
        pub mask: Bit,
    }
}

block! {
    /// Keeps the registers of the block `moderation`.
    ///
    /// Three memories hold the same rows: for the vector that is asked for, for the host that reads, and for the host that
    /// stores a part of a row. A bit for each row says that it was stored since reset; without it the row counts as zero,
    /// so nothing has to be scrubbed.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: the row there, 0 elsewhere; `store`: stores to BAR0;
    ///   `vector`, `moderation`: a vector, and its row.
    /// - **Latency** 1 cycle from `place` to `word` and from `store` to the row; 0 from `vector` to `moderation`.
    ///   **Rate** a place, a store and a vector per cycle.
    /// - **Reset** clears all rows at once.
    pub struct VectorTable {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub vector: Signal<In, Bits<VECTOR_BITS>>,
        pub moderation: Signal<Out, Moderation>,
        found: Reg<Bits<64>>,
        is_stored: Reg<Bits<VECTORS>>,
        asked: LutRam<Moderation, VECTOR_BITS>,
        shown: LutRam<Moderation, VECTOR_BITS>,
        kept: LutRam<Moderation, VECTOR_BITS>,
        row: Signal<Local, Bits<VECTOR_BITS>>,
        stores: Signal<Local, Bit>,
        before: Signal<Local, Moderation>,
        old: Signal<Local, Bits<64>>,
        merged: Signal<Local, Bits<64>>,
        merged_mask: Signal<Local, Bits<64>>,
        next_row: Signal<Local, Moderation>,
        look: Signal<Local, Bits<VECTOR_BITS>>,
        looked: Signal<Local, Moderation>,
        nothing: Constant<Moderation> = Constant::new(Moderation::default()),
        first: Constant<Bits<PLACE_BITS>> = place(&moderation::BLOCK, &moderation::VECTOR, 0),
        last: Constant<Bits<PLACE_BITS>> = place(&moderation::BLOCK, &moderation::VECTOR, VECTORS - 1),
        period_at: Constant<Bits<6>> = number(part(&moderation::BLOCK, &moderation::VECTOR, "period_us")),
        count_at: Constant<Bits<6>> = number(part(&moderation::BLOCK, &moderation::VECTOR, "count")),
        mask_flag: Constant<Bits<64>> = flag(part(&moderation::BLOCK, &moderation::VECTOR, "mask")),
    }
}

impl Logic for VectorTable {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, asked, shown, kept);
        dff_setup!(self, clock, found, is_stored);

        // A store goes over the row as it was.
        self.row.next = bit_cast::<5, 13>(self.store.val().place - self.first.val());
        self.stores.next = self.store.val().valid
            & (self.store.val().place >= self.first.val())
            & (self.store.val().place <= self.last.val());
        self.kept.read_address.next = self.row.val();
        self.before.next = self.nothing.val();
        if self.is_stored.q.val().get_bit(self.row.val().index()) {
            self.before.next = self.kept.read_data.val();
        }
        self.old.next = (bit_cast::<64, 16>(self.before.val().period_us) << self.period_at.val())
            | (bit_cast::<64, 16>(self.before.val().count) << self.count_at.val());
        if self.before.val().mask {
            self.old.next = self.old.val() | self.mask_flag.val();
        }
        self.merged.next =
            (self.old.val() & !self.store.val().mask) | (self.store.val().data & self.store.val().mask);
        self.merged_mask.next = self.merged.val() & self.mask_flag.val();
        self.next_row.next.period_us = bit_cast::<16, 64>(self.merged.val() >> self.period_at.val());
        self.next_row.next.count = bit_cast::<16, 64>(self.merged.val() >> self.count_at.val());
        self.next_row.next.mask = self.merged_mask.val().any();
        self.asked.write_enable.next = self.stores.val();
        self.shown.write_enable.next = self.stores.val();
        self.kept.write_enable.next = self.stores.val();
        self.asked.write_address.next = self.row.val();
        self.shown.write_address.next = self.row.val();
        self.kept.write_address.next = self.row.val();
        self.asked.write_data.next = self.next_row.val();
        self.shown.write_data.next = self.next_row.val();
        self.kept.write_data.next = self.next_row.val();
        if self.stores.val() {
            self.is_stored.d.next = self.is_stored.q.val().replace_bit(self.row.val().index(), true);
        }

        self.asked.read_address.next = self.vector.val();
        self.moderation.next = self.nothing.val();
        if self.is_stored.q.val().get_bit(self.vector.val().index()) {
            self.moderation.next = self.asked.read_data.val();
        }

        self.look.next = bit_cast::<5, 13>(self.place.val() - self.first.val());
        self.shown.read_address.next = self.look.val();
        self.looked.next = self.nothing.val();
        if (self.place.val() >= self.first.val())
            & (self.place.val() <= self.last.val())
            & self.is_stored.q.val().get_bit(self.look.val().index())
        {
            self.looked.next = self.shown.read_data.val();
        }
        self.found.d.next = (bit_cast::<64, 16>(self.looked.val().period_us) << self.period_at.val())
            | (bit_cast::<64, 16>(self.looked.val().count) << self.count_at.val());
        if self.looked.val().mask {
            self.found.d.next = (bit_cast::<64, 16>(self.looked.val().period_us) << self.period_at.val())
                | (bit_cast::<64, 16>(self.looked.val().count) << self.count_at.val())
                | self.mask_flag.val();
        }
        self.word.next = self.found.q.val();
        if self.reset.val() {
            self.is_stored.d.next = 0.into();
        }
    }
}
