//! Value: its bytes are read and go out.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::{LENGTH_BITS, SlotData, SlotRead, TICKET_BITS, TRANSFER_MAX};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::parameters::VALUE_BITS;

/// Bits of a count of reads: all of a value may be open.
const OPEN_BITS: usize = 5;

block! {
    /// Asks for a value in as few reads as possible, and makes one packet of their data.
    ///
    /// All reads but the last are whole beats, so that beats pass as they come. When a read fails, its last beat ends the
    /// packet, no more are asked for, and the data of those under way are thrown away.
    ///
    /// - **Ports** `begins`: one cycle, `len` bytes at `va` are wanted, 1 to 64 KiB, under `key`, for `ticket`, which both stay. `read`, `sink`: its reads
    ///   and their data; `source`: one packet; `ends`: one cycle, the packet is out and no read is open; `ending`, `given`: of the first read that failed, and bytes
    ///   of the packet; they stay until the next begins.
    /// - **Latency** 2 cycles from `begins` to `read`, 1 from `sink` to `source`, 2 from the last beat's leaving to `ends`.
    ///   **Rate** 1 read per cycle, 1 beat per cycle; one value at a time.
    /// - **Backpressure** `source` stalls `sink` two beats later. No combinational path from port to port.
    /// - **Reset** forgets the value; data of its reads must not come any more.
    pub struct FetchValue<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub va: Signal<In, Bits<64>>,
        pub len: Signal<In, Bits<VALUE_BITS>>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub key: Signal<In, Bits<32>>,
        pub read: StreamSource<SlotRead>,
        pub sink: StreamSink<SlotData<D>>,
        pub source: StreamSource<Beat<D>>,
        pub ends: Signal<Out, Bit>,
        pub ending: Signal<Out, Bits<2>>,
        pub given: Signal<Out, Bits<VALUE_BITS>>,
        is_under_way: Reg<Bit>,
        /// Bytes not asked for yet, and where they begin.
        left: Reg<Bits<VALUE_BITS>>,
        at: Reg<Bits<64>>,
        asked: Reg<SlotRead>,
        is_asked: Reg<Bit>,
        /// Reads whose data have not all come, that on offer included.
        open: Reg<Bits<OPEN_BITS>>,
        is_first: Reg<Bit>,
        how: Reg<Bits<2>>,
        count: Reg<Bits<VALUE_BITS>>,
        has_ended: Reg<Bit>,
        cut: Skid<Beat<D>>,
        asks: Signal<Local, Bit>,
        piece: Signal<Local, Bits<LENGTH_BITS>>,
        takes: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        whole: Constant<Bits<VALUE_BITS>> = number(TRANSFER_MAX),
        step: Constant<Bits<64>> = number(TRANSFER_MAX),
    }
}

impl<const D: usize> Logic for FetchValue<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(
            self,
            clock,
            is_under_way,
            left,
            at,
            asked,
            is_asked,
            open,
            is_first,
            how,
            count,
            has_ended
        );
        self.cut.reset.next = self.reset.val();
        self.read.valid.next = self.is_asked.q.val();
        self.read.payload.next = self.asked.q.val();
        self.ending.next = self.how.q.val();
        self.given.next = self.count.q.val();

        self.piece.next = bit_cast::<LENGTH_BITS, VALUE_BITS>(self.left.q.val());
        if self.left.q.val() > self.whole.val() {
            self.piece.next = bit_cast::<LENGTH_BITS, VALUE_BITS>(self.whole.val());
        }
        self.asks.next = self.left.q.val().any()
            & !self.how.q.val().any()
            & (!self.is_asked.q.val() | self.read.ready.val());
        if self.read.ready.val() {
            self.is_asked.d.next = false;
        }
        if self.asks.val() {
            self.is_asked.d.next = true;
            self.asked.d.next.ticket = self.ticket.val();
            self.asked.d.next.va = self.at.q.val();
            self.asked.d.next.key = self.key.val();
            self.asked.d.next.len = self.piece.val();
            self.at.d.next = self.at.q.val() + self.step.val();
            self.left.d.next = self.left.q.val() - bit_cast::<VALUE_BITS, LENGTH_BITS>(self.piece.val());
        }

        // After a failure the data of other reads come, and go nowhere.
        self.passes.next = !self.how.q.val().any();
        self.sink.ready.next = self.cut.sink.ready.val() | !self.passes.val();
        self.takes.next = self.sink.valid.val() & (self.cut.sink.ready.val() | !self.passes.val());
        self.closes.next = self.takes.val() & self.sink.payload.val().eop;
        if self.asks.val() & !self.closes.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.closes.val() & !self.asks.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        self.cut.sink.valid.next = self.sink.valid.val() & self.passes.val();
        self.cut.sink.payload.next.data = self.sink.payload.val().data;
        self.cut.sink.payload.next.nbytes = self.sink.payload.val().nbytes;
        self.cut.sink.payload.next.sop = self.is_first.q.val();
        self.cut.sink.payload.next.eop = self.sink.payload.val().eop
            & (self.sink.payload.val().err.any() | (!self.left.q.val().any() & (self.open.q.val() == 1)));
        self.cut.sink.payload.next.err = false;
        if self.takes.val() & self.passes.val() {
            self.is_first.d.next = false;
            self.count.d.next =
                self.count.q.val() + bit_cast::<VALUE_BITS, 7>(self.sink.payload.val().nbytes);
            if self.sink.payload.val().eop {
                self.how.d.next = self.sink.payload.val().err;
            }
        }
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);

        self.is_over.next = self.is_under_way.q.val()
            & (!self.left.q.val().any() | self.how.q.val().any())
            & !self.open.q.val().any()
            & !self.is_asked.q.val()
            & !self.cut.source.valid.val();
        self.has_ended.d.next = self.is_over.val();
        self.ends.next = self.has_ended.q.val();
        if self.is_over.val() {
            self.is_under_way.d.next = false;
        }
        if self.begins.val() {
            self.is_under_way.d.next = true;
            self.left.d.next = self.len.val();
            self.at.d.next = self.va.val();
            self.open.d.next = 0.into();
            self.is_first.d.next = true;
            self.how.d.next = 0.into();
            self.count.d.next = 0.into();
        }
        if self.reset.val() {
            self.is_under_way.d.next = false;
            self.left.d.next = 0.into();
            self.is_asked.d.next = false;
            self.how.d.next = 0.into();
            self.has_ended.d.next = false;
        }
    }
}
