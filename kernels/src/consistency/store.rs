//! Store: an object waits until its CRC is known to fit, and goes out.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::prim::stream_ram::StreamRam;
use stroma_hw::stream::{Beat, StreamSource};

use super::parameters::OBJECT_BITS;

block! {
    /// Keeps the beats of an object, and makes a packet of its first bytes when told to.
    ///
    /// The first words are fetched while it is not known yet whether they are wanted.
    ///
    /// - **Ports** `begins`: one cycle, before an object's first beat: what there was is forgotten; `takes`: one cycle, `data` are its next beat. `is_open`: all of it is there, and its first `len` bytes
    ///   may go out, at least one; until they have. `len` stays from `begins` on. `source`: one packet; `is_over`: all of it has moved.
    /// - **Latency** 1 cycle from `is_open` to `source`; 1 from the last beat to `is_over`. **Rate** 1 beat per cycle, in and out.
    /// - **Backpressure** there is room for every beat; `source` waits for as long as it has to. No combinational path from port to port.
    /// - **Reset** forgets all.
    /// - **Limits** `D` is 64 or 512; up to `2^LOG` beats.
    pub struct Store<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub takes: Signal<In, Bit>,
        pub data: Signal<In, Bits<D>>,
        pub len: Signal<In, Bits<OBJECT_BITS>>,
        pub is_open: Signal<In, Bit>,
        pub source: StreamSource<Beat<D>>,
        pub is_over: Signal<Out, Bit>,
        memory: StreamRam<Bits<D>, LOG>,
        /// Beats that came, and that were fetched.
        came: Reg<Bits<OBJECT_BITS>>,
        fetched: Reg<Bits<OBJECT_BITS>>,
        /// Bytes that are to go out.
        left: Reg<Bits<OBJECT_BITS>>,
        is_first: Reg<Bit>,
        /// Of the last beat that goes out, the bits that do.
        kept: Reg<Bits<D>>,
        cut: Skid<Beat<D>>,
        gives: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<7>>,
        absent: Signal<Local, Bits<10>>,
        beat_bytes: Constant<Bits<OBJECT_BITS>> = number(D / 8),
        within_beat: Constant<Bits<10>> = number(D / 8 - 1),
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
    }
}

impl<const D: usize, const LOG: usize> Logic for Store<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory, cut);
        dff_setup!(self, clock, came, fetched, left, is_first, kept);
        self.cut.reset.next = self.reset.val();
        self.memory.reset.next = self.reset.val() | self.begins.val();
        self.memory.write_enable.next = self.takes.val();
        self.memory.write_at.next = self.came.q.val().get_bits::<LOG>(0);
        self.memory.write_data.next = self.data.val();
        self.memory.some.next = self.fetched.q.val() != self.came.q.val();
        self.memory.read_at.next = self.fetched.q.val().get_bits::<LOG>(0);
        if self.takes.val() {
            self.came.d.next = self.came.q.val() + 1;
        }
        if self.memory.taken.val() {
            self.fetched.d.next = self.fetched.q.val() + 1;
        }

        // Bytes of the last beat that are missing: what `len` lacks of whole beats.
        self.absent.next = (bit_cast::<10, OBJECT_BITS>(self.beat_bytes.val())
            - self.len.val().get_bits::<10>(0))
            & self.within_beat.val();
        self.kept.d.next = self.whole.val() >> (self.absent.val() << 3);
        self.is_last.next = self.left.q.val() <= self.beat_bytes.val();
        self.nbytes.next = self.beat_bytes.val().get_bits::<7>(0);
        self.cut.sink.payload.next.data = self.memory.source.payload.val();
        if self.is_last.val() {
            self.nbytes.next = self.left.q.val().get_bits::<7>(0);
            self.cut.sink.payload.next.data = self.memory.source.payload.val() & self.kept.q.val();
        }
        self.gives.next = self.memory.source.valid.val() & self.is_open.val() & self.left.q.val().any();
        self.memory.source.ready.next = self.is_open.val() & self.cut.sink.ready.val();
        self.cut.sink.valid.next = self.gives.val();
        self.cut.sink.payload.next.nbytes = self.nbytes.val();
        self.cut.sink.payload.next.sop = self.is_first.q.val();
        self.cut.sink.payload.next.eop = self.is_last.val();
        self.cut.sink.payload.next.err = false;
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.gives.val() & self.cut.sink.ready.val() {
            self.is_first.d.next = false;
            self.left.d.next = self.left.q.val() - bit_cast::<OBJECT_BITS, 7>(self.nbytes.val());
        }
        self.is_over.next = !self.left.q.val().any() & !self.cut.source.valid.val();
        if self.begins.val() {
            self.came.d.next = 0.into();
            self.fetched.d.next = 0.into();
            self.left.d.next = self.len.val();
            self.is_first.d.next = true;
        }
        if self.reset.val() {
            self.came.d.next = 0.into();
            self.fetched.d.next = 0.into();
            self.left.d.next = 0.into();
        }
    }
}
