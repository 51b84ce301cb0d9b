//! Which places a WQE names.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};

use super::ask::Range;
use super::{HELD_LOG, LENGTH_MAX, PLACE_BITS};
use crate::constant::number;
use crate::host::parse::operations::{ATOMICS, BARE, COPIES, FILLING, one_of};
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Gives the ranges of each WQE and stores its units.
    ///
    /// - **Ports** `work`, `units`: WQEs; `taken`: the same works, into a FIFO; `range`: for each work the ranges that have
    ///   to be looked up, the one place of a copy first, and its end; `write`, `write_at`, `unit`: to the memory, whose places before
    ///   `free_from` are free.
    /// - **Latency** 1 cycle from `work` to the first range. **Rate** as [`Check`](super::Check) says.
    /// - **Backpressure** of `range` stalls all; `work.ready` follows `taken.ready`, and `taken.valid` follows `work.valid`,
    ///   combinationally. Units are taken behind their work only.
    /// - **Reset** forgets the WQE under way; the next unit goes to place 0.
    pub struct Ranges {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub taken: StreamSource<Work>,
        pub range: StreamSource<Range>,
        pub free_from: Signal<In, Bits<PLACE_BITS>>,
        pub write: Signal<Out, Bit>,
        pub write_at: Signal<Out, Bits<HELD_LOG>>,
        pub unit: Signal<Out, Bits<512>>,
        // At most one of the four: the one place is given, a unit is taken, its entries are given, the end is.
        placing: Reg<Bit>,
        taking: Reg<Bit>,
        splitting: Reg<Bit>,
        ending: Reg<Bit>,
        held: Reg<Work>,
        is_checked: Reg<Bit>,
        /// What is left of the unit, the next entry lowest, and how many entries that are.
        entries: Reg<Bits<512>>,
        in_unit: Reg<Bits<3>>,
        /// No unit of the WQE has come.
        is_first: Reg<Bit>,
        units_left: Reg<Bits<4>>,
        entries_left: Reg<Bits<5>>,
        sum: Reg<Bits<36>>,
        place: Reg<Bits<PLACE_BITS>>,
        is_idle: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        has_place: Signal<Local, Bit>,
        has_units: Signal<Local, Bit>,
        room: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        length: Signal<Local, Bits<32>>,
        splits: Signal<Local, Bit>,
        fills_entries: Signal<Local, Bit>,
        bare: Constant<Bits<256>> = one_of(BARE),
        copies: Constant<Bits<256>> = one_of(COPIES),
        filling: Constant<Bits<256>> = one_of(FILLING),
        atomics: Constant<Bits<256>> = one_of(ATOMICS),
        address_at: Constant<Bits<10>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<10>> = number(Sge::LOCAL_KEY.offset()),
        length_at: Constant<Bits<10>> = number(Sge::LENGTH.offset()),
        entry_bits: Constant<Bits<10>> = number(Sge::LEN * 8),
        body_bits: Constant<Bits<10>> = number(BODY_AT * 8),
        result_bits: Constant<Bits<10>> = number(SECOND_AT * 8),
        unit_entries: Constant<Bits<3>> = number(UNIT / Sge::LEN),
        first_entries: Constant<Bits<3>> = number((UNIT - BODY_AT) / Sge::LEN),
        longest: Constant<Bits<32>> = number(LENGTH_MAX),
        capacity: Constant<Bits<PLACE_BITS>> = number(1_u64 << HELD_LOG),
    }
}

impl Logic for Ranges {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, placing, taking, splitting, ending, held, is_checked, entries, in_unit);
        dff_setup!(self, clock, is_first, units_left, entries_left, sum, place);
        self.is_idle.next =
            !self.placing.q.val() & !self.taking.q.val() & !self.splitting.q.val() & !self.ending.q.val();
        self.work.ready.next = self.is_idle.val() & self.taken.ready.val();
        self.taken.valid.next = self.is_idle.val() & self.work.valid.val();
        self.taken.payload.next = self.work.payload.val();
        self.takes.next = self.is_idle.val() & self.taken.ready.val() & self.work.valid.val();
        self.has_place.next = self.copies.val().get_bit(self.work.payload.val().opcode.index())
            & self.work.payload.val().length.any();
        self.has_units.next = !self.work.payload.val().ends
            & !self.work.payload.val().status.any()
            & !self.bare.val().get_bit(self.work.payload.val().opcode.index());

        self.room.next = (self.place.q.val() - self.free_from.val()) != self.capacity.val();
        self.units.ready.next = self.taking.q.val() & self.room.val();
        self.moves.next = self.taking.q.val() & self.room.val() & self.units.valid.val();
        self.write.next = self.moves.val();
        self.write_at.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.place.q.val());
        self.unit.next = self.units.payload.val();

        self.fills_entries.next = self.filling.val().get_bit(self.held.q.val().opcode.index());
        self.length.next = self.entries.q.val().get_bits::<32>(self.length_at.val().index());
        self.range.valid.next =
            self.placing.q.val() | (self.splitting.q.val() & self.length.val().any()) | self.ending.q.val();
        self.range.payload.next.ends = self.ending.q.val();
        self.range.payload.next.mismatch = self.is_checked.q.val()
            & !self.held.q.val().inline
            & (self.sum.q.val() != bit_cast::<36, 32>(self.held.q.val().length));
        self.range.payload.next.excess =
            self.is_checked.q.val() & (self.held.q.val().length > self.longest.val());
        self.range.payload.next.va = self.entries.q.val().get_bits::<64>(self.address_at.val().index());
        self.range.payload.next.reach = self.length.val() - 1;
        self.range.payload.next.key = self.entries.q.val().get_bits::<32>(self.key_at.val().index());
        self.range.payload.next.pd = self.held.q.val().pd;
        self.range.payload.next.writes = self.fills_entries.val();
        if self.placing.q.val() {
            self.range.payload.next.va = self.held.q.val().remote;
            self.range.payload.next.reach = self.held.q.val().length - 1;
            self.range.payload.next.key = self.held.q.val().key;
            self.range.payload.next.writes = !self.fills_entries.val();
        }

        self.ending.d.next = self.ending.q.val() & !self.range.ready.val();
        if self.takes.val() {
            self.held.d.next = self.work.payload.val();
            self.is_checked.d.next = self.has_units.val() & self.work.payload.val().length.any();
            self.placing.d.next = self.has_units.val() & self.has_place.val();
            self.taking.d.next = self.has_units.val() & !self.has_place.val();
            self.ending.d.next = !self.has_units.val();
            self.is_first.d.next = true;
            self.units_left.d.next = self.work.payload.val().units;
            self.entries_left.d.next = self.work.payload.val().sge_count;
            if self.work.payload.val().inline | !self.work.payload.val().length.any() {
                self.entries_left.d.next = 0.into();
            }
            self.sum.d.next = 0.into();
        }
        if self.placing.q.val() & self.range.ready.val() {
            self.placing.d.next = false;
            self.taking.d.next = true;
        }
        if self.moves.val() {
            self.place.d.next = self.place.q.val() + 1;
            self.units_left.d.next = self.units_left.q.val() - 1;
            self.is_first.d.next = false;
            self.entries.d.next = self.units.payload.val();
            self.in_unit.d.next = self.unit_entries.val();
            if self.is_first.q.val() {
                self.entries.d.next = self.units.payload.val() >> self.body_bits.val();
                self.in_unit.d.next = self.first_entries.val();
                // An atomic's one entry stands behind its operands.
                if self.atomics.val().get_bit(self.held.q.val().opcode.index()) {
                    self.entries.d.next = self.units.payload.val() >> self.result_bits.val();
                }
            }
            if self.entries_left.q.val().any() {
                self.taking.d.next = false;
                self.splitting.d.next = true;
            } else if self.units_left.q.val() == 1 {
                self.taking.d.next = false;
                self.ending.d.next = true;
            }
        }
        self.splits.next = self.splitting.q.val() & (self.range.ready.val() | !self.length.val().any());
        if self.splits.val() {
            self.sum.d.next = self.sum.q.val() + bit_cast::<36, 32>(self.length.val());
            self.entries.d.next = self.entries.q.val() >> self.entry_bits.val();
            self.in_unit.d.next = self.in_unit.q.val() - 1;
            self.entries_left.d.next = self.entries_left.q.val() - 1;
            if (self.in_unit.q.val() == 1) | (self.entries_left.q.val() == 1) {
                self.splitting.d.next = false;
                self.taking.d.next = self.units_left.q.val().any();
                self.ending.d.next = !self.units_left.q.val().any();
            }
        }
        if self.reset.val() {
            self.placing.d.next = false;
            self.taking.d.next = false;
            self.splitting.d.next = false;
            self.ending.d.next = false;
            self.place.d.next = 0.into();
        }
    }
}
