//! Entries: the scatter/gather list, taken out of the units of a WQE.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

const _: () =
    assert!(SECOND_AT + Sge::LEN == UNIT, "behind the entry of a result, the first unit holds one more");
const _: () = assert!(Sge::LEN * 8 == 128 && UNIT == 4 * Sge::LEN, "a unit has four places of 128 bits");

record! {
    /// What the units of a WQE hold.
    pub struct Outline {
        /// How many they are, 1 to 8.
        pub units: Bits<4>,
        /// Scatter/gather entries, 0 to 16.
        pub sge_count: Bits<5>,
        /// They are wanted: there are some, and they stand for bytes.
        pub has_entries: Bit,
        /// They begin one place later, behind the entry of an RPC's result.
        pub is_second: Bit,
        /// Data are wanted, which stand in their place. With neither, the units do not matter.
        pub has_data: Bit,
    }
}

record! {
    /// One piece of local memory.
    pub struct Range {
        /// Virtual address.
        pub address: Bits<64>,
        /// `L_Key`.
        pub key: Bits<32>,
        /// Bytes; none is legal.
        pub length: Bits<32>,
        /// Last of its WQE.
        pub last: Bit,
    }
}

record! {
    /// One unit of a WQE with inline data.
    pub struct InlineUnit {
        /// The bytes, the head's among them.
        pub data: Bits<512>,
        /// Last of its WQE.
        pub last: Bit,
    }
}

block! {
    /// Reads the units of each ordered work.
    ///
    /// - **Ports** `order`: what works with units hold; `units`: theirs, in order; `ranges`: the entries of works that have them;
    ///   `inlines`: the units of works with inline data. All other units are thrown away.
    /// - **Latency** 1 cycle to `ranges`, 0 to `inlines`. **Rate** one entry, or one unit without entries, per cycle.
    /// - **Backpressure** stalls `units` and `order`; `inlines` and `units` are joined combinationally.
    /// - **Reset** empties it; the next unit is the first of a WQE.
    /// - **Limits** entries that the units do not hold are left out; the last one held is marked as last.
    pub struct Entries {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub order: StreamSink<Outline>,
        pub units: StreamSink<Bits<512>>,
        pub ranges: StreamSource<Range>,
        pub inlines: StreamSource<InlineUnit>,
        found: Fifo<Range, 2>,
        /// Which unit of the work is on offer, from 1 on.
        unit: Reg<Bits<4>>,
        /// The place in the unit.
        place: Reg<Bits<2>>,
        /// Which entry of the work that is, from 1 on; and whether the last was given.
        entry: Reg<Bits<5>>,
        is_given: Reg<Bit>,
        sge: Signal<Local, Bits<128>>,
        is_last_unit: Signal<Local, Bit>,
        is_last_entry: Signal<Local, Bit>,
        has_entry: Signal<Local, Bit>,
        place_now: Signal<Local, Bits<2>>,
        is_there: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        first_place: Constant<Bits<2>> = number(BODY_AT / Sge::LEN),
        last_place: Constant<Bits<2>> = number(UNIT / Sge::LEN - 1),
        address_at: Constant<Bits<7>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<7>> = number(Sge::LOCAL_KEY.offset()),
        length_at: Constant<Bits<7>> = number(Sge::LENGTH.offset()),
    }
}

impl Logic for Entries {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, found);
        dff_setup!(self, clock, unit, place, entry, is_given);
        self.found.reset.next = self.reset.val();

        self.place_now.next = self.place.q.val();
        // The first unit has room for one of them then, at its end.
        if self.order.payload.val().is_second & (self.unit.q.val() == 1) {
            self.place_now.next = self.last_place.val();
        }
        self.sge.next = self.units.payload.val().get_bits::<128>(0);
        for i in 1..4 {
            if self.place_now.val().index() == i {
                self.sge.next = self.units.payload.val().get_bits::<128>(i * 128);
            }
        }
        self.is_there.next = self.order.valid.val() & self.units.valid.val();
        self.is_last_unit.next = self.unit.q.val() == self.order.payload.val().units;
        self.is_last_entry.next = (self.entry.q.val() == self.order.payload.val().sge_count)
            | (self.is_last_unit.val() & (self.place_now.val() == self.last_place.val()));
        self.has_entry.next = self.order.payload.val().has_entries & !self.is_given.q.val();

        self.found.sink.valid.next = self.is_there.val() & self.has_entry.val();
        self.found.sink.payload.next.address = bit_cast::<64, 128>(self.sge.val() >> self.address_at.val());
        self.found.sink.payload.next.key = bit_cast::<32, 128>(self.sge.val() >> self.key_at.val());
        self.found.sink.payload.next.length = bit_cast::<32, 128>(self.sge.val() >> self.length_at.val());
        self.found.sink.payload.next.last = self.is_last_entry.val();
        StreamSource::<Range>::link(&mut self.ranges, &mut self.found.source);
        self.gives.next = self.is_there.val() & self.has_entry.val() & self.found.sink.ready.val();

        self.inlines.valid.next = self.is_there.val() & self.order.payload.val().has_data;
        self.inlines.payload.next.data = self.units.payload.val();
        self.inlines.payload.next.last = self.is_last_unit.val();

        if self.gives.val() {
            self.entry.d.next = self.entry.q.val() + 1;
            self.is_given.d.next = self.is_last_entry.val();
            self.place.d.next = self.place.q.val() + 1;
        }
        // A unit goes with its last entry, or at once if it has none.
        self.leaves.next = self.is_there.val()
            & !self.has_entry.val()
            & (!self.order.payload.val().has_data | self.inlines.ready.val());
        if self.gives.val() {
            self.leaves.next = self.is_last_entry.val() | (self.place_now.val() == self.last_place.val());
        }
        self.units.ready.next = self.leaves.val();
        self.order.ready.next = self.leaves.val() & self.is_last_unit.val();
        if self.leaves.val() {
            self.unit.d.next = self.unit.q.val() + 1;
            self.place.d.next = 0.into();
            if self.is_last_unit.val() {
                self.unit.d.next = 1.into();
                self.entry.d.next = 1.into();
                self.is_given.d.next = false;
                self.place.d.next = self.first_place.val();
            }
        }
        if self.reset.val() {
            self.unit.d.next = 1.into();
            self.entry.d.next = 1.into();
            self.is_given.d.next = false;
            self.place.d.next = self.first_place.val();
        }
    }
}
