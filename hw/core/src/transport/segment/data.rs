//! Data: what a WQE itself brings, as the payload of packets.

use rust_hdl::prelude::*;
use stroma_abi::desc::Sge;
use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT, UNITS_MAX};

use crate::constant::number;
use crate::host::mover::entries::InlineUnit;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

const _: () = assert!(2 * BODY_AT == UNIT && UNIT * 8 == 512, "a row is two halves of units");
const _: () = assert!(UNITS_MAX == 8, "three bits count rows");
const _: () = assert!(SECOND_AT == BODY_AT + Sge::LEN && PARAMETERS_MAX == UNIT, "parameters are one row");

record! {
    /// The inline data of one packet.
    pub struct Part {
        /// Row it begins with.
        pub row: Bits<3>,
        /// Bytes, 1 to 480.
        pub len: Bits<9>,
        /// The data begin behind the entry of an RPC's result, and have 64 bytes at most.
        pub is_second: Bit,
        /// No other of this WQE is sent.
        pub last: Bit,
    }
}

record! {
    /// A part, with whether its first beat is its only one.
    pub struct Want {
        /// Row it begins with.
        pub row: Bits<3>,
        /// Bytes.
        pub len: Bits<9>,
        /// They begin behind the entry of an RPC's result.
        pub is_second: Bit,
        /// They fit in one beat.
        pub is_short: Bit,
        /// No other of this WQE is sent.
        pub last: Bit,
    }
}

block! {
    /// Gives the inline data of WQEs, packet by packet.
    ///
    /// Data begin in the middle of a unit, and packets at a multiple of a unit within the data, for so is every path MTU. A
    /// unit's upper half and the lower one behind it make a row, and packets begin with a row: nothing has to be shifted. The
    /// parameters of an RPC begin 16 bytes later: their one row has the last 16 bytes of the first unit and 48 of the second.
    ///
    /// - **Ports** `units`: of one WQE after the other; `part`: what is wanted of it, row by row; `source`: a packet for each;
    ///   `busy`: a part, a unit or a beat is inside.
    /// - **Latency** 2 cycles from `part` and a WQE's first unit to the first beat, if the second unit follows at once.
    ///   **Rate** a beat per cycle, a unit per cycle, and a row that is not sent per cycle.
    /// - **Backpressure** `part` waits while 4 wait, `units` while 32 beats wait. No combinational path from `source` to
    ///   another port.
    /// - **Reset** empties it; the next unit is the first of a WQE.
    /// - **Limits** `D` is 64 or 512. The parts of a WQE lie within its units, and all but its last have whole rows.
    pub struct Data<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub units: StreamSink<InlineUnit>,
        pub part: StreamSink<Part>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        parts: Fifo<Want, 2>,
        made: Fifo<Beat<D>, 5>,
        /// Upper half of the last unit taken, which begins a row; and whether no unit of the WQE follows.
        has_half: Reg<Bit>,
        half: Reg<Bits<256>>,
        is_tail: Reg<Bit>,
        /// Place of the row in the WQE, and of the beat in the row.
        row: Reg<Bits<3>>,
        slice: Reg<Bits<3>>,
        /// A packet has begun, and has as many bytes to come, or no more than a beat.
        is_begun: Reg<Bit>,
        left: Reg<Bits<9>>,
        is_short: Reg<Bit>,
        /// Nothing more is wanted of the WQE.
        is_over: Reg<Bit>,
        bytes: Signal<Local, Bits<512>>,
        has_row: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        left_now: Signal<Local, Bits<9>>,
        is_last: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<9>>,
        left_bits: Signal<Local, Bits<12>>,
        absent: Signal<Local, Bits<D>>,
        may_offer: Signal<Local, Bit>,
        may_give: Signal<Local, Bit>,
        may_leave: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        finishes: Signal<Local, Bit>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        half_bits: Constant<Bits<10>> = number(BODY_AT * 8),
        entry_bits: Constant<Bits<10>> = number(Sge::LEN * 8),
        rest_bits: Constant<Bits<10>> = number((BODY_AT - Sge::LEN) * 8),
        beat_len: Constant<Bits<9>> = number(D / 8),
        two_beats: Constant<Bits<9>> = number(2 * D / 8),
        log_bits: Constant<Bits<4>> = number(D.ilog2()),
        last_slice: Constant<Bits<3>> = number(UNIT * 8 / D - 1),
    }
}

impl<const D: usize> Logic for Data<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, parts, made);
        dff_setup!(self, clock, has_half, half, is_tail, row, slice, is_begun, left, is_short, is_over);
        self.parts.reset.next = self.reset.val();
        self.made.reset.next = self.reset.val();
        self.part.ready.next = self.parts.sink.ready.val();
        self.parts.sink.valid.next = self.part.valid.val();
        self.parts.sink.payload.next.row = self.part.payload.val().row;
        self.parts.sink.payload.next.len = self.part.payload.val().len;
        self.parts.sink.payload.next.is_second = self.part.payload.val().is_second;
        self.parts.sink.payload.next.is_short = self.part.payload.val().len <= self.beat_len.val();
        self.parts.sink.payload.next.last = self.part.payload.val().last;

        // The row, whose second half is the unit on offer; in the last row that means nothing, and no beat reaches it.
        self.has_row.next = self.has_half.q.val() & (self.is_tail.q.val() | self.units.valid.val());
        self.bytes.next =
            bit_cast::<512, 256>(self.half.q.val()) | (self.units.payload.val().data << self.half_bits.val());
        if self.parts.source.payload.val().is_second {
            self.bytes.next = bit_cast::<512, 256>(self.half.q.val() >> self.entry_bits.val())
                | (self.units.payload.val().data << self.rest_bits.val());
        }
        self.is_before.next = self.row.q.val() < self.parts.source.payload.val().row;

        // The beat.
        self.left_now.next = self.parts.source.payload.val().len;
        self.is_last.next = self.parts.source.payload.val().is_short;
        if self.is_begun.q.val() {
            self.left_now.next = self.left.q.val();
            self.is_last.next = self.is_short.q.val();
        }
        self.nbytes.next = self.beat_len.val();
        if self.is_last.val() {
            self.nbytes.next = self.left_now.val();
        }
        // Nothing of the beat is absent if more is left than it holds.
        self.left_bits.next = bit_cast::<12, 9>(self.left_now.val()) << 3;
        self.absent.next = self.whole.val() << self.left_bits.val();
        self.may_offer.next = self.parts.source.valid.val() & !self.is_over.q.val() & !self.is_before.val();
        self.made.sink.valid.next = self.has_row.val() & self.may_offer.val();
        self.made.sink.payload.next.data = bit_cast::<D, 512>(
            self.bytes.val() >> (bit_cast::<10, 3>(self.slice.q.val()) << self.log_bits.val()),
        ) & !self.absent.val();
        self.made.sink.payload.next.nbytes = bit_cast::<7, 9>(self.nbytes.val());
        self.made.sink.payload.next.sop = !self.is_begun.q.val();
        self.made.sink.payload.next.eop = self.is_last.val();
        self.made.sink.payload.next.err = false;
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.made.source);
        self.may_give.next = self.may_offer.val() & self.made.sink.ready.val();
        self.gives.next = self.has_row.val() & self.may_give.val();
        self.parts.source.ready.next = self.gives.val() & self.is_last.val();

        // A row goes with its last beat, or at once if it is not sent.
        self.may_leave.next = self.is_over.q.val() | (self.parts.source.valid.val() & self.is_before.val());
        if self.may_give.val() {
            self.may_leave.next = self.is_last.val() | (self.slice.q.val() == self.last_slice.val());
        }
        self.leaves.next = self.has_row.val() & self.may_leave.val();
        if self.gives.val() {
            self.slice.d.next = self.slice.q.val() + 1;
            self.is_begun.d.next = !self.is_last.val();
            self.left.d.next = self.left_now.val() - self.beat_len.val();
            self.is_short.d.next = self.left_now.val() <= self.two_beats.val();
            self.is_over.d.next = self.is_last.val() & self.parts.source.payload.val().last;
        }
        // With a tail, the next WQE begins. The last unit is done with if all that is wanted ends in its lower half.
        self.finishes.next = self.gives.val()
            & self.is_last.val()
            & self.parts.source.payload.val().last
            & !self.is_tail.q.val()
            & self.units.payload.val().last;
        // Without a unit there may be no row, but then nothing is taken either: `ready` does not wait for `valid`.
        self.units.ready.next = !self.has_half.q.val() | self.may_leave.val();
        if !self.has_half.q.val() | self.leaves.val() {
            self.has_half.d.next = self.units.valid.val();
            self.half.d.next = bit_cast::<256, 512>(self.units.payload.val().data >> self.half_bits.val());
            self.is_tail.d.next = self.units.payload.val().last;
        }
        if self.leaves.val() {
            self.slice.d.next = 0.into();
            self.row.d.next = self.row.q.val() + 1;
            if self.is_tail.q.val() | self.finishes.val() {
                self.row.d.next = 0.into();
                self.is_over.d.next = false;
            }
        }
        if self.finishes.val() {
            self.has_half.d.next = false;
        }
        self.busy.next = self.parts.source.valid.val() | self.has_half.q.val() | self.made.source.valid.val();
        if self.reset.val() {
            self.has_half.d.next = false;
            self.row.d.next = 0.into();
            self.slice.d.next = 0.into();
            self.is_begun.d.next = false;
            self.is_over.d.next = false;
        }
    }
}
