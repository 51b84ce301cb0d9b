//! Which groups of stations the network port belongs to, stored by the driver.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{PORT_GROUPS, groups};

use super::place::{PLACE_BITS, RegisterStore, bit, part, place};
use super::stations::{HalfStore, MemberStore};
use crate::constant::number;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;

/// Bits that name a word of the table: members, then from [`HALVES_AT`] on halves of addresses.
const WORD_BITS: usize = 6;
/// Words of the table.
const WORDS: usize = 1 << WORD_BITS;
/// Where the halves begin.
const HALVES_AT: usize = WORDS / 2;

const _: () = assert!(PORT_GROUPS <= HALVES_AT && 2 * PORT_GROUPS == WORDS - HALVES_AT);

/// The bits of `member` that mean something, within its eight bytes.
fn member_bits() -> Constant<Bits<64>> {
    let parts = groups::MEMBER.fields.iter().map(|entry| entry.field.max() << entry.field.offset());
    number(parts.fold(0, |bits, part| bits | part) << bit(&groups::BLOCK, &groups::MEMBER))
}

block! {
    /// Keeps the registers of the block `groups`.
    ///
    /// A bit for each word says that it was stored since reset; without it the word counts as zero, so nothing has to be scrubbed.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: the register there, 0 elsewhere; `store`: stores to BAR0; `half`, `member`:
    ///   what changes by it.
    /// - **Latency** 1 cycle from `place` to `word`, and from `store` to all else. **Rate** a place and a store per cycle.
    /// - **Reset** clears all at once.
    pub struct GroupTable {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub half: Signal<Out, HalfStore>,
        pub member: Signal<Out, MemberStore>,
        found: Reg<Bits<64>>,
        is_stored: Reg<Bits<WORDS>>,
        half_store: Reg<HalfStore>,
        member_store: Reg<MemberStore>,
        shown: LutRam<Bits<64>, WORD_BITS>,
        kept: LutRam<Bits<64>, WORD_BITS>,
        is_member: Signal<Local, Bit>,
        is_half: Signal<Local, Bit>,
        at: Signal<Local, Bits<WORD_BITS>>,
        old: Signal<Local, Bits<64>>,
        merged: Signal<Local, Bits<64>>,
        looks: Signal<Local, Bit>,
        look: Signal<Local, Bits<WORD_BITS>>,
        first_member: Constant<Bits<PLACE_BITS>> = place(&groups::BLOCK, &groups::MEMBER, 0),
        last_member: Constant<Bits<PLACE_BITS>> = place(&groups::BLOCK, &groups::MEMBER, PORT_GROUPS - 1),
        first_half: Constant<Bits<PLACE_BITS>> = place(&groups::BLOCK, &groups::LOW, 0),
        last_half: Constant<Bits<PLACE_BITS>> = place(&groups::BLOCK, &groups::HIGH, PORT_GROUPS - 1),
        halves_at: Constant<Bits<WORD_BITS>> = number(HALVES_AT),
        member_bits: Constant<Bits<64>> = member_bits(),
        number_at: Constant<Bits<6>> = number(part(&groups::BLOCK, &groups::MEMBER, "queue_pair")),
        enable_at: Constant<Bits<6>> = number(part(&groups::BLOCK, &groups::MEMBER, "enable")),
    }
}

impl Logic for GroupTable {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, shown, kept);
        dff_setup!(self, clock, found, is_stored, half_store, member_store);

        // A store goes over what was there.
        self.is_member.next = self.store.val().valid
            & (self.store.val().place >= self.first_member.val())
            & (self.store.val().place <= self.last_member.val());
        self.is_half.next = self.store.val().valid
            & (self.store.val().place >= self.first_half.val())
            & (self.store.val().place <= self.last_half.val());
        self.at.next = bit_cast::<6, 13>(self.store.val().place - self.first_member.val());
        if self.is_half.val() {
            self.at.next =
                bit_cast::<6, 13>(self.store.val().place - self.first_half.val()) | self.halves_at.val();
        }
        self.kept.read_address.next = self.at.val();
        self.old.next = 0.into();
        if self.is_stored.q.val().get_bit(self.at.val().index()) {
            self.old.next = self.kept.read_data.val();
        }
        self.merged.next =
            (self.old.val() & !self.store.val().mask) | (self.store.val().data & self.store.val().mask);
        if self.is_member.val() {
            self.merged.next = ((self.old.val() & !self.store.val().mask)
                | (self.store.val().data & self.store.val().mask))
                & self.member_bits.val();
        }
        self.kept.write_enable.next = self.is_member.val() | self.is_half.val();
        self.kept.write_address.next = self.at.val();
        self.kept.write_data.next = self.merged.val();
        self.shown.write_enable.next = self.is_member.val() | self.is_half.val();
        self.shown.write_address.next = self.at.val();
        self.shown.write_data.next = self.merged.val();
        if self.is_member.val() | self.is_half.val() {
            self.is_stored.d.next = self.is_stored.q.val().replace_bit(self.at.val().index(), true);
        }
        self.half_store.d.next.valid = self.is_half.val();
        self.half_store.d.next.half = bit_cast::<5, 6>(self.at.val());
        self.half_store.d.next.bytes = self.merged.val();
        self.member_store.d.next.valid = self.is_member.val();
        self.member_store.d.next.group = bit_cast::<4, 6>(self.at.val());
        self.member_store.d.next.queue_pair = bit_cast::<24, 64>(self.merged.val() >> self.number_at.val());
        self.member_store.d.next.enable = self.merged.val().get_bit(self.enable_at.val().index());
        self.half.next = self.half_store.q.val();
        self.member.next = self.member_store.q.val();

        self.looks.next = false;
        self.look.next = bit_cast::<6, 13>(self.place.val() - self.first_member.val());
        if (self.place.val() >= self.first_member.val()) & (self.place.val() <= self.last_member.val()) {
            self.looks.next = true;
        }
        if (self.place.val() >= self.first_half.val()) & (self.place.val() <= self.last_half.val()) {
            self.looks.next = true;
            self.look.next =
                bit_cast::<6, 13>(self.place.val() - self.first_half.val()) | self.halves_at.val();
        }
        self.shown.read_address.next = self.look.val();
        self.found.d.next = 0.into();
        if self.looks.val() & self.is_stored.q.val().get_bit(self.look.val().index()) {
            self.found.d.next = self.shown.read_data.val();
        }
        self.word.next = self.found.q.val();
        if self.reset.val() {
            self.is_stored.d.next = 0.into();
            self.half_store.d.next.valid = false;
            self.member_store.d.next.valid = false;
        }
    }
}
