//! The bytes of each read, in one packet, whatever pages they came from.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::dma_read::ReadData;
use crate::prim::reg::Reg;
use crate::prim::splice::Splice;
use crate::record;
use crate::slot::{Ending, SlotData};
use crate::state::access::Cause;
use crate::stream::StreamSink;
use crate::transport::fetch::resolve::Part;

record! {
    /// Whose read it is.
    pub struct Reader<const N: usize> {
        /// The kernel, one bit of all.
        pub to: Bits<N>,
        /// Colour it was begun in.
        pub colour: Bit,
    }
}

block! {
    /// Makes one packet of the one or two parts of each read.
    ///
    /// Most reads lie in one page, and pass as they come. The parts of others are joined, and nobody passes them meanwhile.
    ///
    /// - **Ports** `part`: in order, the last of each read marked; `reader`: of each read; `read_data`: a packet for each part that is
    ///   read. `to`, `beat`: a beat for that kernel, or for none; what could not be had is a packet that ends as it says.
    ///   `leaves`, `leaves_colour`: all of a read has come.
    /// - **Latency** 0 cycles; 2 where parts are joined. **Rate** 1 beat per cycle; behind a read of two parts up to 3 cycles more.
    /// - **Backpressure** `to` is always taken. `ready` of the sinks follows `valid` of all three combinationally.
    /// - **Reset** forgets the read under way.
    pub struct Gather<const D: usize, const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub part: StreamSink<Part>,
        pub reader: StreamSink<Reader<N>>,
        pub read_data: StreamSink<ReadData<D>>,
        pub to: Signal<Out, Bits<N>>,
        pub beat: Signal<Out, SlotData<D>>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        splice: Splice<D>,
        /// A read of two parts has begun, and its last beat has not come; whose it is, and how it ends so far.
        is_joining: Reg<Bit>,
        joined_to: Reg<Bits<N>>,
        joined_ending: Reg<Bits<2>>,
        is_there: Signal<Local, Bit>,
        joins: Signal<Local, Bit>,
        is_free: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_end: Signal<Local, Bit>,
        ending: Signal<Local, Bits<2>>,
        good: Constant<Bits<2>> = number(Ending::Good as u8),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
        failed: Constant<Bits<2>> = number(Ending::Failed as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl<const D: usize, const N: usize> Logic for Gather<D, N> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, splice);
        dff_setup!(self, clock, is_joining, joined_to, joined_ending);
        self.splice.reset.next = self.reset.val();

        self.is_there.next = self.part.valid.val()
            & self.reader.valid.val()
            & (self.read_data.valid.val() | !self.part.payload.val().is_read);
        self.joins.next = !self.part.payload.val().last | self.is_joining.q.val();
        self.is_free.next = self.is_joining.q.val() | !self.splice.busy.val();
        self.moves.next = self.is_there.val() & self.is_free.val();
        self.is_end.next = self.read_data.payload.val().eop | !self.part.payload.val().is_read;
        self.read_data.ready.next = self.moves.val() & self.part.payload.val().is_read;
        self.part.ready.next = self.moves.val() & self.is_end.val();
        self.reader.ready.next = self.moves.val() & self.is_end.val() & self.part.payload.val().last;
        self.leaves.next = self.moves.val() & self.is_end.val() & self.part.payload.val().last;
        self.leaves_colour.next = self.reader.payload.val().colour;

        self.ending.next = self.good.val();
        if self.part.payload.val().is_read {
            if self.read_data.payload.val().err {
                self.ending.next = self.failed.val();
            }
        } else if self.part.payload.val().cause == self.page_list.val() {
            self.ending.next = self.failed.val();
        } else {
            self.ending.next = self.refused.val();
        }

        self.splice.sink.valid.next = self.moves.val() & self.joins.val();
        self.splice.sink.payload.next.data = self.read_data.payload.val().data;
        self.splice.sink.payload.next.nbytes = self.read_data.payload.val().nbytes;
        if !self.part.payload.val().is_read {
            self.splice.sink.payload.next.data = 0.into();
            self.splice.sink.payload.next.nbytes = 0.into();
        }
        self.splice.sink.payload.next.eop = self.is_end.val();
        self.splice.sink.payload.next.last = self.part.payload.val().last;
        self.splice.sink.payload.next.err = false;
        self.splice.source.ready.next = true;
        if self.moves.val() & self.joins.val() {
            self.is_joining.d.next = !self.is_end.val() | !self.part.payload.val().last;
            self.joined_to.d.next = self.reader.payload.val().to;
            // The first part that fails tells how.
            if self.is_end.val()
                & (!self.part.payload.val().last | (self.joined_ending.q.val() == self.good.val()))
            {
                self.joined_ending.d.next = self.ending.val();
            }
        }

        self.to.next = 0.into();
        self.beat.next.data = self.read_data.payload.val().data;
        self.beat.next.nbytes = self.read_data.payload.val().nbytes;
        self.beat.next.sop = self.read_data.payload.val().sop;
        self.beat.next.eop = self.is_end.val();
        self.beat.next.err = 0.into();
        if !self.part.payload.val().is_read {
            self.beat.next.nbytes = 1.into();
            self.beat.next.sop = true;
        }
        if self.moves.val() & !self.joins.val() {
            self.to.next = self.reader.payload.val().to;
        }
        if self.is_end.val() {
            self.beat.next.err = self.ending.val();
        }
        if self.splice.source.valid.val() {
            self.to.next = self.joined_to.q.val();
            self.beat.next.data = self.splice.source.payload.val().data;
            self.beat.next.nbytes = self.splice.source.payload.val().nbytes;
            if !self.splice.source.payload.val().nbytes.any() {
                self.beat.next.nbytes = 1.into();
            }
            self.beat.next.sop = self.splice.source.payload.val().sop;
            self.beat.next.eop = self.splice.source.payload.val().eop;
            self.beat.next.err = 0.into();
            if self.splice.source.payload.val().eop {
                self.beat.next.err = self.joined_ending.q.val();
            }
        }
        if self.reset.val() {
            self.is_joining.d.next = false;
        }
    }
}
