//! Carry: the payload of each errand goes to host memory, to a kernel, or nowhere.

use rust_hdl::prelude::*;

use super::ask::VALUE_BYTES;
use super::feed::Feed;
use crate::constant::number;
use crate::fabric::records::{KERNEL_BITS, Passage};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::prim::strip::Strip;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// What to do with the next payload.
    pub struct Pass {
        /// There is one, and it is written.
        pub writes: Bit,
        /// There is one, and it is thrown away.
        pub drops: Bit,
        /// There is one, and it goes to a kernel: to which, from which queue pair, and whether it begins a request there.
        pub calls: Bit,
        pub kernel: Bits<KERNEL_BITS>,
        pub qpn: Bits<24>,
        pub begins: Bit,
        /// Instead of one, these eight bytes are written, low byte first.
        pub has_value: Bit,
        /// The opposite, for the handshakes: the other one has a whole beat to select.
        pub has_payload: Bit,
        pub value: Bits<64>,
        /// Bytes of its first packet, or bytes to throw away.
        pub len: Bits<13>,
        /// It becomes a second packet, too.
        pub crosses: Bit,
        /// Bytes of that.
        pub rest: Bits<13>,
        /// The payload behind it is in the same packet.
        pub continues: Bit,
    }
}

record! {
    /// A packet on its way out, or an errand without one.
    pub struct Leg {
        /// A packet has to be taken first, of host memory or of a kernel.
        pub waits: Bit,
        pub waits_call: Bit,
        /// Last of its errand.
        pub ends: Bit,
    }
}

block! {
    /// Passes payload on, to host memory cut where pages or errands end, to a kernel as it is, or throws it away.
    ///
    /// The beat in which a cut lies is given to [`Strip`] twice: as the last one of the packet before, and as the first one
    /// of the packet behind, of which it skips what belongs to the one before. A value goes the same way, as a beat of its own.
    ///
    /// - **Ports** `pass`: errand by errand what to do; `payload`: a packet for each that writes, drops or calls, values apart, and one for all
    ///   that continue each other; `write_data`: packets; `call_data`, `call_passage`: packets for kernels, and with each beat whose
    ///   it is; `over`: a cycle high for each errand whose bytes are through, taken by `write_data` or `call_data`, or thrown away.
    /// - **Latency** from `payload` to `write_data` 3 cycles, from `pass` 4, to `call_data` 1 and 2; to `over` 2 from `pass` without payload, 1 from the last
    ///   beat taken. **Rate** 1 beat per cycle, without a gap between packets; a payload cut within a beat takes 1 more,
    ///   an errand without payload 1.
    /// - **Backpressure** stalls `payload`, and `pass` with 4 errands waiting. No combinational path from port to port.
    /// - **Reset** forgets all errands and packets; the next beat of `payload` begins a packet.
    pub struct Carry<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pass: StreamSink<Pass>,
        pub payload: StreamSink<Beat<D>>,
        pub write_data: StreamSource<Beat<D>>,
        pub call_data: StreamSource<Beat<D>>,
        pub call_passage: Signal<Out, Passage>,
        pub over: Signal<Out, Bit>,
        passes: Fifo<Pass, 2>,
        strip: Strip<D>,
        cut: Skid<Beat<D>>,
        feed: Feed<D>,
        legs: Fifo<Leg, 3>,
        /// Packets taken whose legs wait: at most as many as legs.
        taken: Reg<Bits<4>>,
        /// The second packet of an errand is under way.
        is_second: Reg<Bit>,
        /// A packet is, and has as many bytes left.
        is_begun: Reg<Bit>,
        left: Reg<Bits<13>>,
        /// Bytes of the beat on offer that belong to packets before, and of the first beat of the packet under way.
        used: Reg<Bits<13>>,
        skipped: Reg<Bits<13>>,
        open: Signal<Local, Bit>,
        beat: Signal<Local, Beat<D>>,
        has_beat: Signal<Local, Bit>,
        is_end: Signal<Local, Bit>,
        length: Signal<Local, Bits<13>>,
        left_now: Signal<Local, Bits<13>>,
        /// Where the packet ends, from the beginning of this beat.
        reach: Signal<Local, Bits<13>>,
        is_tail: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        is_cut: Signal<Local, Bit>,
        is_shared: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        throws: Signal<Local, Bit>,
        calls: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        advances: Signal<Local, Bit>,
        is_idle: Signal<Local, Bit>,
        took: Signal<Local, Bits<4>>,
        passes_leg: Signal<Local, Bit>,
        beat_len: Constant<Bits<13>> = number(D / 8),
        value_len: Constant<Bits<7>> = number(VALUE_BYTES),
    }
}

impl<const D: usize> Logic for Carry<D> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "one payload, and all its ways out")]
    fn update(&mut self) {
        clock!(self, clock, passes, strip, cut, feed, legs);
        dff_setup!(self, clock, taken, is_second, is_begun, left, used, skipped);
        self.passes.reset.next = self.reset.val();
        self.strip.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.feed.reset.next = self.reset.val();
        self.legs.reset.next = self.reset.val();
        StreamSink::<Pass>::link(&mut self.pass, &mut self.passes.sink);

        // In.
        self.open.next = self.passes.source.valid.val() & self.legs.sink.ready.val();
        self.beat.next = self.payload.payload.val();
        if self.passes.source.payload.val().has_value {
            self.beat.next.data = bit_cast::<D, 64>(self.passes.source.payload.val().value);
            self.beat.next.nbytes = self.value_len.val();
            self.beat.next.sop = true;
            self.beat.next.eop = true;
            self.beat.next.err = false;
        }
        self.has_beat.next = self.payload.valid.val() | !self.passes.source.payload.val().has_payload;
        self.is_end.next = self.payload.payload.val().eop | !self.passes.source.payload.val().has_payload;
        self.length.next = self.passes.source.payload.val().len;
        if self.is_second.q.val() {
            self.length.next = self.passes.source.payload.val().rest;
        }
        self.left_now.next = self.length.val();
        if self.is_begun.q.val() {
            self.left_now.next = self.left.q.val();
        }
        self.reach.next = self.used.q.val() + self.left_now.val();
        // The last packet of a payload ends where that does.
        self.is_tail.next = self.is_second.q.val() | !self.passes.source.payload.val().crosses;
        self.is_cut.next = (!self.is_tail.val() | self.passes.source.payload.val().continues)
            & (self.reach.val() <= self.beat_len.val());
        self.is_shared.next = self.is_cut.val() & (self.reach.val() != self.beat_len.val());
        self.is_last.next = self.is_cut.val() | self.is_end.val();
        self.offers.next = self.open.val() & self.passes.source.payload.val().writes & self.has_beat.val();
        self.moves.next = self.offers.val() & self.strip.sink.ready.val();
        self.throws.next =
            self.open.val() & self.passes.source.payload.val().drops & self.payload.valid.val();
        self.calls.next = self.open.val() & self.passes.source.payload.val().calls & self.payload.valid.val();
        self.gives.next = self.calls.val() & self.feed.beat.ready.val();
        self.advances.next = self.moves.val() | self.throws.val() | self.gives.val();
        self.is_idle.next = self.open.val()
            & !self.passes.source.payload.val().writes
            & !self.passes.source.payload.val().calls
            & !self.passes.source.payload.val().drops;
        self.payload.ready.next = self.open.val()
            & !self.is_shared.val()
            & (self.passes.source.payload.val().drops
                | (self.passes.source.payload.val().calls & self.feed.beat.ready.val())
                | (self.passes.source.payload.val().writes
                    & self.passes.source.payload.val().has_payload
                    & self.strip.sink.ready.val()));
        self.strip.sink.valid.next = self.offers.val();
        self.strip.sink.payload.next = self.beat.val();
        self.strip.sink.payload.next.eop = self.is_last.val();
        self.strip.skip.next = bit_cast::<8, 13>(self.used.q.val());
        if self.is_begun.q.val() {
            self.strip.skip.next = bit_cast::<8, 13>(self.skipped.q.val());
        }
        self.strip.keep.next = self.length.val();
        self.ends.next = self.advances.val() & self.is_last.val();
        self.passes.source.ready.next = self.is_idle.val() | (self.ends.val() & self.is_tail.val());
        if self.advances.val() {
            self.is_begun.d.next = !self.is_last.val();
            self.left.d.next = self.reach.val() - self.beat_len.val();
            self.used.d.next = 0.into();
            if self.is_shared.val() {
                self.used.d.next = self.reach.val();
            }
            if !self.is_begun.q.val() {
                self.skipped.d.next = self.used.q.val();
            }
            if self.is_last.val() {
                self.is_second.d.next = !self.is_tail.val();
            }
        }

        // To kernels.
        self.feed.beat.valid.next = self.calls.val();
        self.feed.beat.payload.next = self.payload.payload.val();
        self.feed.passage.next.kernel = self.passes.source.payload.val().kernel;
        self.feed.passage.next.qpn = self.passes.source.payload.val().qpn;
        self.feed.passage.next.begins = self.passes.source.payload.val().begins;
        StreamSource::<Beat<D>>::link(&mut self.call_data, &mut self.feed.call_data);
        self.call_passage.next = self.feed.call_passage.val();

        // Out.
        StreamSource::<Beat<D>>::join(&mut self.strip.source, &mut self.cut.sink);
        self.write_data.valid.next = self.cut.source.valid.val();
        self.write_data.payload.next = self.cut.source.payload.val();
        self.cut.source.ready.next = self.write_data.ready.val();
        self.legs.sink.valid.next = self.is_idle.val() | self.ends.val();
        self.legs.sink.payload.next.waits = self.passes.source.payload.val().writes;
        self.legs.sink.payload.next.waits_call = self.passes.source.payload.val().calls;
        self.legs.sink.payload.next.ends = self.is_tail.val();
        // A packet may be taken before its leg is the oldest: legs without one are still in between.
        self.took.next = self.taken.q.val()
            + (self.cut.source.valid.val() & self.cut.source.payload.val().eop & self.write_data.ready.val());
        self.taken.d.next = self.took.val();
        self.passes_leg.next = (!self.legs.source.payload.val().waits | self.taken.q.val().any())
            & (!self.legs.source.payload.val().waits_call | self.feed.has_taken.val());
        self.legs.source.ready.next = self.passes_leg.val();
        self.over.next =
            self.legs.source.valid.val() & self.legs.source.payload.val().ends & self.passes_leg.val();
        if self.legs.source.valid.val() & self.legs.source.payload.val().waits & self.taken.q.val().any() {
            self.taken.d.next = self.took.val() - 1;
        }
        self.feed.tells.next =
            self.legs.source.valid.val() & self.legs.source.payload.val().waits_call & self.passes_leg.val();
        if self.reset.val() {
            self.taken.d.next = 0.into();
            self.is_second.d.next = false;
            self.is_begun.d.next = false;
            self.used.d.next = 0.into();
        }
    }
}
