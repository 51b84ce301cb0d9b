//! Which places a WQE names.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};
use stroma_abi::wire::RpcTarget;

use super::ask::Range;
use super::intake::Look;
use super::{CALL_MAX, HELD_LOG, LENGTH_MAX, PLACE_BITS};
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

const _: () = assert!(UNIT == 4 * Sge::LEN, "a unit holds four entries, from its first byte on");

block! {
    /// Gives the ranges of each WQE, from its units.
    ///
    /// - **Ports** `look`: WQEs; `read_at`: the place that is looked at; `found`: the unit there, in the same cycle;
    ///   `written`: the place behind the last unit that came; `range`: for each WQE the ranges that have to be looked up, the
    ///   one place of a copy or the result of an RPC first, the last of them with its end, into a FIFO.
    /// - **Latency** 0 cycles. **Rate** 1 range or entry per cycle; units without entries take none.
    /// - **Backpressure** of `range` stalls all.
    /// - **Reset** forgets the WQE under way.
    /// - **Limits** a WQE has a place or entries. Places before `written` are at most 16 back, those behind at most 31 ahead.
    pub struct Ranges {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub look: StreamSink<Look>,
        pub written: Signal<In, Bits<PLACE_BITS>>,
        pub read_at: Signal<Out, Bits<HELD_LOG>>,
        pub found: Signal<In, Bits<512>>,
        pub range: StreamSource<Range>,
        /// The WQE's one place was given.
        is_placed: Reg<Bit>,
        /// Some entry was looked at: what follows says which one is next, and what is left.
        is_begun: Reg<Bit>,
        place: Reg<Bits<PLACE_BITS>>,
        slot: Reg<Bits<2>>,
        left: Reg<Bits<5>>,
        /// Bytes of the payload without those of the entries before, modulo what sixteen entries can have.
        rest: Reg<Bits<36>>,
        is_placing: Signal<Local, Bit>,
        place_now: Signal<Local, Bits<PLACE_BITS>>,
        slot_now: Signal<Local, Bits<2>>,
        left_now: Signal<Local, Bits<5>>,
        rest_now: Signal<Local, Bits<36>>,
        beyond: Signal<Local, Bits<PLACE_BITS>>,
        is_here: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        steps: Signal<Local, Bit>,
        entry: Signal<Local, Bits<128>>,
        length: Signal<Local, Bits<32>>,
        second_at: Constant<Bits<10>> = number(Sge::LEN * 8),
        third_at: Constant<Bits<10>> = number(2 * Sge::LEN * 8),
        fourth_at: Constant<Bits<10>> = number(3 * Sge::LEN * 8),
        body_slot: Constant<Bits<2>> = number(BODY_AT / Sge::LEN),
        second_slot: Constant<Bits<2>> = number(SECOND_AT / Sge::LEN),
        response_at: Constant<Bits<6>> = number(RpcTarget::RESPONSE_MAX.low_bit(RpcTarget::LEN)),
        last_slot: Constant<Bits<2>> = number(3_u64),
        address_at: Constant<Bits<8>> = number(Sge::ADDRESS.offset()),
        key_at: Constant<Bits<8>> = number(Sge::LOCAL_KEY.offset()),
        length_at: Constant<Bits<8>> = number(Sge::LENGTH.offset()),
        longest: Constant<Bits<32>> = number(LENGTH_MAX),
        longest_call: Constant<Bits<32>> = number(CALL_MAX),
    }
}

impl Logic for Ranges {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_placed, is_begun, place, slot, left, rest);
        self.is_placing.next = self.look.payload.val().has_place & !self.is_placed.q.val();
        self.place_now.next = self.look.payload.val().at;
        self.slot_now.next = self.body_slot.val();
        if self.look.payload.val().is_second & !self.is_placing.val() {
            self.slot_now.next = self.second_slot.val();
        }
        self.left_now.next = self.look.payload.val().entries;
        self.rest_now.next = bit_cast::<36, 32>(self.look.payload.val().length);
        if self.is_begun.q.val() {
            self.place_now.next = self.place.q.val();
            self.slot_now.next = self.slot.q.val();
            self.left_now.next = self.left.q.val();
            self.rest_now.next = self.rest.q.val();
        }

        self.read_at.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.place_now.val());
        self.entry.next = bit_cast::<128, 512>(self.found.val());
        if self.slot_now.val() == 1 {
            self.entry.next = bit_cast::<128, 512>(self.found.val() >> self.second_at.val());
        } else if self.slot_now.val() == 2 {
            self.entry.next = bit_cast::<128, 512>(self.found.val() >> self.third_at.val());
        } else if self.slot_now.val() == 3 {
            self.entry.next = bit_cast::<128, 512>(self.found.val() >> self.fourth_at.val());
        }
        self.length.next = self.entry.val().get_bits::<32>(self.length_at.val().index());

        // The list follows the one place, which a copy's head names; a place that has been written is behind `written`.
        self.beyond.next = self.place_now.val() - self.written.val();
        self.is_here.next = self.look.valid.val()
            & ((self.is_placing.val() & !self.look.payload.val().is_call) | self.beyond.val().get_bit(5));
        self.is_last.next = self.left_now.val() == 1;
        if self.is_placing.val() {
            self.is_last.next = !self.look.payload.val().entries.any();
        }
        self.range.valid.next =
            self.is_here.val() & (self.is_placing.val() | self.is_last.val() | self.length.val().any());
        self.range.payload.next.is_empty = !self.is_placing.val() & !self.length.val().any();
        self.range.payload.next.ends = self.is_last.val();
        self.range.payload.next.mismatch =
            !self.is_placing.val() & (self.rest_now.val() != bit_cast::<36, 32>(self.length.val()));
        self.range.payload.next.excess = (self.look.payload.val().length > self.longest.val())
            | (self.look.payload.val().is_call & (self.look.payload.val().length > self.longest_call.val()));
        self.range.payload.next.va = self.entry.val().get_bits::<64>(self.address_at.val().index());
        self.range.payload.next.reach = self.length.val() - 1;
        self.range.payload.next.key = self.entry.val().get_bits::<32>(self.key_at.val().index());
        self.range.payload.next.pd = self.look.payload.val().pd;
        self.range.payload.next.writes = self.look.payload.val().fills_entries;
        if self.is_placing.val() {
            self.range.payload.next.va = self.look.payload.val().remote;
            self.range.payload.next.reach = self.look.payload.val().length - 1;
            self.range.payload.next.key = self.look.payload.val().key;
            self.range.payload.next.writes = !self.look.payload.val().fills_entries;
        }
        // As much of the result's entry as the answer may take.
        if self.is_placing.val() & self.look.payload.val().is_call {
            self.range.payload.next.va = self.entry.val().get_bits::<64>(self.address_at.val().index());
            self.range.payload.next.reach =
                bit_cast::<32, 64>(self.look.payload.val().remote >> self.response_at.val()) - 1;
            self.range.payload.next.key = self.entry.val().get_bits::<32>(self.key_at.val().index());
        }

        // An entry without bytes waits for room it does not take, so that no step waits for what an entry says.
        self.steps.next = self.is_here.val() & self.range.ready.val();
        self.look.ready.next = self.steps.val() & self.is_last.val();
        if self.steps.val() {
            self.is_placed.d.next = !self.is_last.val();
            self.is_begun.d.next = !self.is_last.val() & !self.is_placing.val();
            if !self.is_placing.val() {
                self.place.d.next = self.place_now.val() + (self.slot_now.val() == self.last_slot.val());
                self.slot.d.next = self.slot_now.val() + 1;
                self.left.d.next = self.left_now.val() - 1;
                self.rest.d.next = self.rest_now.val() - bit_cast::<36, 32>(self.length.val());
            }
        }
        if self.reset.val() {
            self.is_placed.d.next = false;
            self.is_begun.d.next = false;
        }
    }
}
