//! What of a WQE has to be looked up, and where its units lie.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcTarget;

use super::{HELD_LOG, PLACE_BITS};
use crate::constant::number;
use crate::host::parse::operations::{ATOMICS, BARE, CALLS, COPIES, FILLING, one_of};
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What a work is.
    pub struct Kind {
        /// Nothing of it is looked up.
        pub quiet: Bit,
        /// It has units. Without, it is `quiet`.
        pub has_units: Bit,
    }
}

record! {
    /// What has to be looked up of a WQE: a place, a list, or both.
    pub struct Look {
        /// Place of its first unit.
        pub at: Bits<PLACE_BITS>,
        /// It names one place beside its entries: `remote`, with `key`; of an RPC that of its result, where the entries of others
        /// begin.
        pub has_place: Bit,
        /// It is an RPC.
        pub is_call: Bit,
        /// Its entries stand one place later: behind operands, or behind a result's.
        pub is_second: Bit,
        /// Its entries are written, its one place is not; otherwise the other way round.
        pub fills_entries: Bit,
        /// Scatter/gather entries; 0 with inline data, and of an RPC without payload.
        pub entries: Bits<5>,
        /// Bytes of the payload.
        pub length: Bits<32>,
        /// As in [`Work`]; of an RPC, its `RpcTarget`.
        pub remote: Bits<64>,
        /// As in [`Work`].
        pub key: Bits<32>,
        /// As in [`Work`].
        pub pd: Bits<16>,
    }
}

block! {
    /// Takes works and their units, each as they come.
    ///
    /// - **Ports** `work`, `work_units`: WQEs; `taken`, `kind`: each work and what it is, into two FIFOs that are filled and
    ///   emptied together; `look`: those of which something is looked up; `write`, `write_at`, `unit`: to the memory, whose
    ///   places before `free_from` are free; `written`: the place behind the last unit that came; `busy`: units have come
    ///   whose work has not, or the other way round.
    /// - **Latency** 0 cycles. **Rate** 1 work and 1 unit per cycle.
    /// - **Backpressure** `work.ready` follows `taken.ready` and `look.ready`; works stall as well when more than seven
    ///   units are missing, so at most 23 are. `work_units.ready` is made of registers.
    /// - **Reset** the next unit is the first of the next work, and goes to place 0.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub work_units: StreamSink<Bits<512>>,
        pub taken: StreamSource<Work>,
        pub kind: StreamSource<Kind>,
        pub look: StreamSource<Look>,
        pub free_from: Signal<In, Bits<PLACE_BITS>>,
        pub write: Signal<Out, Bit>,
        pub write_at: Signal<Out, Bits<HELD_LOG>>,
        pub unit: Signal<Out, Bits<512>>,
        pub written: Signal<Out, Bits<PLACE_BITS>>,
        pub busy: Signal<Out, Bit>,
        /// Place of the first unit of the next work.
        start: Reg<Bits<PLACE_BITS>>,
        /// Place of the next unit.
        place: Reg<Bits<PLACE_BITS>>,
        /// Too many units were missing a cycle ago.
        is_ahead: Reg<Bit>,
        missing: Signal<Local, Bits<PLACE_BITS>>,
        has_units: Signal<Local, Bit>,
        is_copy: Signal<Local, Bit>,
        is_call: Signal<Local, Bit>,
        has_result: Signal<Local, Bit>,
        is_quiet: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        bare: Constant<Bits<256>> = one_of(BARE),
        copies: Constant<Bits<256>> = one_of(COPIES),
        filling: Constant<Bits<256>> = one_of(FILLING),
        seconds: Constant<Bits<256>> = one_of(&[ATOMICS, CALLS].concat()),
        calls: Constant<Bits<256>> = one_of(CALLS),
        response_at: Constant<Bits<6>> = number(RpcTarget::RESPONSE_MAX.low_bit(RpcTarget::LEN)),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, start, place, is_ahead);
        self.has_units.next = !self.work.payload.val().ends
            & !self.work.payload.val().status.any()
            & !self.bare.val().get_bit(self.work.payload.val().opcode.index());
        self.is_copy.next = self.copies.val().get_bit(self.work.payload.val().opcode.index());
        self.is_call.next = self.calls.val().get_bit(self.work.payload.val().opcode.index());
        self.has_result.next =
            self.is_call.val() & (self.work.payload.val().remote >> self.response_at.val()).any();
        self.is_quiet.next = !self.has_units.val()
            | (!self.has_result.val()
                & (!self.work.payload.val().length.any()
                    | (self.work.payload.val().inline & !self.is_copy.val())));

        self.work.ready.next = self.taken.ready.val() & self.look.ready.val() & !self.is_ahead.q.val();
        self.taken.valid.next = self.work.valid.val() & self.look.ready.val() & !self.is_ahead.q.val();
        self.taken.payload.next = self.work.payload.val();
        self.kind.valid.next = self.work.valid.val() & self.look.ready.val() & !self.is_ahead.q.val();
        self.kind.payload.next.quiet = self.is_quiet.val();
        self.kind.payload.next.has_units = self.has_units.val();
        self.look.valid.next =
            self.work.valid.val() & self.taken.ready.val() & !self.is_ahead.q.val() & !self.is_quiet.val();
        self.look.payload.next.at = self.start.q.val();
        self.look.payload.next.has_place = self.is_copy.val() | self.has_result.val();
        self.look.payload.next.is_call = self.is_call.val();
        self.look.payload.next.is_second = self.seconds.val().get_bit(self.work.payload.val().opcode.index());
        self.look.payload.next.fills_entries =
            self.filling.val().get_bit(self.work.payload.val().opcode.index());
        self.look.payload.next.entries = self.work.payload.val().sge_count;
        if self.work.payload.val().inline | !self.work.payload.val().length.any() {
            self.look.payload.next.entries = 0.into();
        }
        self.look.payload.next.length = self.work.payload.val().length;
        self.look.payload.next.remote = self.work.payload.val().remote;
        self.look.payload.next.key = self.work.payload.val().key;
        self.look.payload.next.pd = self.work.payload.val().pd;
        if self.work.valid.val()
            & self.taken.ready.val()
            & self.look.ready.val()
            & !self.is_ahead.q.val()
            & self.has_units.val()
        {
            self.start.d.next = self.start.q.val() + bit_cast::<PLACE_BITS, 4>(self.work.payload.val().units);
        }

        // All places are taken when the one to be written is the oldest.
        self.is_full.next = (bit_cast::<HELD_LOG, PLACE_BITS>(self.place.q.val())
            == bit_cast::<HELD_LOG, PLACE_BITS>(self.free_from.val()))
            & (self.place.q.val() != self.free_from.val());
        self.work_units.ready.next = !self.is_full.val();
        self.moves.next = self.work_units.valid.val() & !self.is_full.val();
        self.write.next = self.moves.val();
        self.write_at.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.place.q.val());
        self.unit.next = self.work_units.payload.val();
        self.written.next = self.place.q.val();
        if self.moves.val() {
            self.place.d.next = self.place.q.val() + 1;
        }
        // Negative when units have come before their works.
        self.missing.next = self.start.q.val() - self.place.q.val();
        self.is_ahead.d.next =
            !self.missing.val().get_bit(5) & (self.missing.val().get_bit(4) | self.missing.val().get_bit(3));
        self.busy.next = self.start.q.val() != self.place.q.val();
        if self.reset.val() {
            self.start.d.next = 0.into();
            self.place.d.next = 0.into();
            self.is_ahead.d.next = false;
        }
    }
}
