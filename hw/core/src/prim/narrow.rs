//! Narrow: words of 64 bytes go onto a path that may have less.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;
use super::skid::Skid;
use crate::constant::number;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// Up to 64 bytes of a packet.
    pub struct Wide {
        /// The bytes, first byte lowest; those past `nbytes` are zero.
        pub data: Bits<512>,
        /// How many of them count: 1 to 64, and 64 unless `eop`.
        pub nbytes: Bits<7>,
        /// First word of its packet.
        pub sop: Bit,
        /// Last word of its packet.
        pub eop: Bit,
    }
}

block! {
    /// Cuts words into beats of `D` bits.
    ///
    /// - **Ports** `sink`: words of packets; `source`: the same bytes as beats, never with `err`.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle; a word takes as many beats as its bytes need, so at 512 bits one,
    ///   at 64 bits up to eight. No gap between words.
    /// - **Backpressure** stalls `sink`, which keeps its word on offer until the last beat of it has gone: nothing is
    ///   stored but two beats. `sink.ready` follows `sink.payload` combinationally, nothing follows `source.ready`.
    /// - **Reset** empties it; the next word is cut from its first byte.
    /// - **Limits** `D` is 64 or 512. A word with fewer bytes inside a packet gives a partial beat there.
    pub struct Narrow<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Wide>,
        pub source: StreamSource<Beat<D>>,
        /// Bytes of the word that have gone.
        gone: Reg<Bits<7>>,
        cut: Skid<Beat<D>>,
        behind: Signal<Local, Bits<7>>,
        is_last: Signal<Local, Bit>,
        beat_bytes: Constant<Bits<7>> = number(D / 8),
        /// A word may take several beats.
        splits: Constant<Bit> = Constant::new(D < 512),
    }
}

impl<const D: usize> Logic for Narrow<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, gone);
        self.cut.reset.next = self.reset.val();

        self.behind.next = self.gone.q.val() + self.beat_bytes.val();
        self.is_last.next = true;
        if self.splits.val() {
            self.is_last.next = self.behind.val() >= self.sink.payload.val().nbytes;
            if self.sink.valid.val() & self.cut.sink.ready.val() {
                self.gone.d.next = self.behind.val();
                if self.is_last.val() {
                    self.gone.d.next = 0.into();
                }
            }
        }
        self.sink.ready.next = self.cut.sink.ready.val() & self.is_last.val();

        self.cut.sink.valid.next = self.sink.valid.val();
        self.cut.sink.payload.next.data =
            bit_cast::<D, 512>(self.sink.payload.val().data >> (bit_cast::<10, 7>(self.gone.q.val()) << 3));
        self.cut.sink.payload.next.nbytes = self.beat_bytes.val();
        if self.is_last.val() {
            self.cut.sink.payload.next.nbytes = self.sink.payload.val().nbytes - self.gone.q.val();
        }
        self.cut.sink.payload.next.sop = self.sink.payload.val().sop & !self.gone.q.val().any();
        self.cut.sink.payload.next.eop = self.sink.payload.val().eop & self.is_last.val();
        self.cut.sink.payload.next.err = false;
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.reset.val() {
            self.gone.d.next = 0.into();
        }
    }
}
