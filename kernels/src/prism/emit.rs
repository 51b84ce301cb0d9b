//! Emit: bytes that leave the kernel, to memory or in an answer.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::store::SIZE_BITS;

block! {
    /// Makes one packet of a head and of beats of the card's memory.
    ///
    /// - **Ports** `begins`: one cycle, a packet of the low `head_len` bytes of `head`, at most 64, and of beats of `sink`, together `len` bytes, at least 1; to `data_out` if `is_answer`, else to `write_data`.
    ///   If there are both, the head is 64 bytes. `is_free`: the next may begin, in the same direction; `ends`: one cycle, the last beat of a packet has moved.
    /// - **Latency** 3 cycles from `begins` with a head, or 2 from `sink`; 1 from the last beat to `ends`. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink`. No combinational path from port to port but `sink.ready`, which follows no port.
    /// - **Reset** forgets the packet.
    /// - **Limits** `D` is 64 or 512. Bytes behind the last are zero.
    pub struct Emit<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub is_answer: Signal<In, Bit>,
        pub head: Signal<In, Bits<512>>,
        pub head_len: Signal<In, Bits<7>>,
        pub len: Signal<In, Bits<SIZE_BITS>>,
        pub sink: StreamSink<Bits<D>>,
        pub is_free: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub write_data: StreamSource<Beat<D>>,
        pub data_out: StreamSource<Beat<D>>,
        to_answer: Reg<Bit>,
        rest: Reg<Bits<512>>,
        head_left: Reg<Bits<7>>,
        left: Reg<Bits<SIZE_BITS>>,
        is_first: Reg<Bit>,
        /// A beat that may have bytes behind its last.
        raw: Reg<Beat<D>>,
        is_raw: Reg<Bit>,
        absent: Reg<Bits<10>>,
        cut: Skid<Beat<D>>,
        has_ended: Reg<Bit>,
        has_room: Signal<Local, Bit>,
        from_head: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<7>>,
        leaves: Signal<Local, Bit>,
        beat: Constant<Bits<SIZE_BITS>> = number(D / 8),
        head_beat: Constant<Bits<7>> = number(D / 8),
        every: Constant<Bits<D>> = Constant::new(Bits::mask()),
        is_whole: Constant<Bit> = Constant::new(D == 512),
    }
}

impl<const D: usize> Logic for Emit<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, to_answer, rest, head_left, left, is_first, raw, is_raw, absent, has_ended);
        self.cut.reset.next = self.reset.val();
        self.is_free.next = !self.left.q.val().any();

        self.has_room.next = !self.is_raw.q.val() | self.cut.sink.ready.val();
        self.from_head.next = self.head_left.q.val().any();
        self.sink.ready.next = self.left.q.val().any() & !self.from_head.val() & self.has_room.val();
        self.moves.next =
            self.left.q.val().any() & self.has_room.val() & (self.from_head.val() | self.sink.valid.val());
        self.is_last.next = self.left.q.val() <= self.beat.val();
        self.nbytes.next = self.head_beat.val();
        if self.is_last.val() {
            self.nbytes.next = self.left.q.val().get_bits::<7>(0);
        }
        if self.has_room.val() {
            self.is_raw.d.next = self.moves.val();
            self.raw.d.next.data = self.sink.payload.val();
            if self.from_head.val() {
                self.raw.d.next.data = self.rest.q.val().get_bits::<D>(0);
            }
            self.raw.d.next.nbytes = self.nbytes.val();
            self.raw.d.next.sop = self.is_first.q.val();
            self.raw.d.next.eop = self.is_last.val();
            self.raw.d.next.err = false;
            self.absent.d.next = bit_cast::<10, 7>(self.head_beat.val() - self.nbytes.val()) << 3;
        }
        if self.moves.val() {
            self.is_first.d.next = false;
            self.left.d.next = self.left.q.val() - self.beat.val();
            if self.is_last.val() {
                self.left.d.next = 0.into();
            }
            if !self.is_whole.val() {
                self.rest.d.next = self.rest.q.val() >> 64;
            }
            self.head_left.d.next = 0.into();
            if self.head_left.q.val() > self.head_beat.val() {
                self.head_left.d.next = self.head_left.q.val() - self.head_beat.val();
            }
        }
        if self.begins.val() {
            self.to_answer.d.next = self.is_answer.val();
            self.rest.d.next = self.head.val();
            self.head_left.d.next = self.head_len.val();
            self.left.d.next = self.len.val();
            self.is_first.d.next = true;
        }

        self.cut.sink.valid.next = self.is_raw.q.val();
        self.cut.sink.payload.next = self.raw.q.val();
        self.cut.sink.payload.next.data = self.raw.q.val().data & (self.every.val() >> self.absent.q.val());
        self.write_data.payload.next = self.cut.source.payload.val();
        self.write_data.valid.next = self.cut.source.valid.val() & !self.to_answer.q.val();
        self.data_out.payload.next = self.cut.source.payload.val();
        self.data_out.valid.next = self.cut.source.valid.val() & self.to_answer.q.val();
        self.leaves.next = self.write_data.ready.val();
        if self.to_answer.q.val() {
            self.leaves.next = self.data_out.ready.val();
        }
        self.cut.source.ready.next = self.leaves.val();
        self.has_ended.d.next =
            self.cut.source.valid.val() & self.leaves.val() & self.cut.source.payload.val().eop;
        self.ends.next = self.has_ended.q.val();
        if self.reset.val() {
            self.left.d.next = 0.into();
            self.is_raw.d.next = false;
            self.has_ended.d.next = false;
        }
    }
}
