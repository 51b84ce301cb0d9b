//! The pins: AXI4-Stream as a MAC gives it, made into beats.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::constant::{constants, number};
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{Beat, StreamSource};

block! {
    /// Takes frames from AXI4-Stream, or drops them while the card is closed.
    ///
    /// A card that begins anew has to come to rest first. Behind this block a frame that is dropped is work, so whoever sends without a
    /// pause would keep the card from it; here it is none.
    ///
    /// - **Ports** `tdata` .. `tuser`: frames without FCS, `tuser` on the last beat says that the frame is bad;
    ///   `source`: the same frames as beats. A beat with `tlast` may hold no byte, then neither does its beat here.
    ///   A `tkeep` with holes, or one that is partial before `tlast`, makes the frame bad: `err` on its last beat.
    ///   `closed`: a frame whose first beat moves in this cycle is dropped, all of it; one that has begun goes on. `dropped`: high for a
    ///   cycle behind each that was. `enters`: a frame that is not dropped has begun, and has not ended.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `tready`, which is a register.
    /// - **Reset** the next beat begins a frame.
    /// - **Limits** `D = 8 * K`, `K` at most 64; other values do not build.
    pub struct AxisIn<const D: usize, const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tdata: Signal<In, Bits<D>>,
        pub tkeep: Signal<In, Bits<K>>,
        pub tvalid: Signal<In, Bit>,
        pub tready: Signal<Out, Bit>,
        pub tlast: Signal<In, Bit>,
        pub tuser: Signal<In, Bit>,
        pub closed: Signal<In, Bit>,
        pub dropped: Signal<Out, Bit>,
        pub enters: Signal<Out, Bit>,
        pub source: StreamSource<Beat<D>>,
        cut: Skid<Beat<D>>,
        is_inside: Reg<Bit>,
        is_bad: Reg<Bit>,
        /// The frame that has begun is dropped.
        is_dropped: Reg<Bit>,
        was_dropped: Reg<Bit>,
        drops: Signal<Local, Bit>,
        has_holes: Signal<Local, Bit>,
        is_odd: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<7>>,
        counted: [Signal<Local, Bits<7>>; 8],
        absent: Signal<Local, Bits<10>>,
        zero: Constant<Bits<7>> = number(0_u64),
        full: Constant<Bits<7>> = number(D / 8),
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        weight: [Constant<Bits<K>>; 7] = constants(weight),
    }
}

/// The bits of `tkeep` whose parity is bit `bit` of their count, if they are ones without a hole: every `2^bit`-th.
fn weight<const K: usize>(bit: usize) -> Bits<K> {
    let places = (0..K).filter(|place| (place + 1).is_multiple_of(1 << bit));
    places.fold(Bits::default(), |all, place| all.replace_bit(place, true))
}

impl<const D: usize, const K: usize> Logic for AxisIn<D, K> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, is_inside, is_bad, is_dropped, was_dropped);
        self.cut.reset.next = self.reset.val();
        self.tready.next = self.cut.sink.ready.val();
        self.drops.next = self.closed.val();
        if self.is_inside.q.val() {
            self.drops.next = self.is_dropped.q.val();
        }
        self.cut.sink.valid.next = self.tvalid.val() & !self.drops.val();
        self.dropped.next = self.was_dropped.q.val();
        self.enters.next = self.is_inside.q.val() & !self.is_dropped.q.val();
        self.was_dropped.d.next = false;

        self.has_holes.next = (self.tkeep.val() & (self.tkeep.val() + 1)).any();
        self.is_odd.next = self.has_holes.val() | (!self.tlast.val() & !self.tkeep.val().all());
        self.counted[0].next = self.zero.val();
        for i in 0..7 {
            self.counted[i + 1].next =
                self.counted[i].val().replace_bit(i, (self.tkeep.val() & self.weight[i].val()).xor());
        }
        self.nbytes.next = self.counted[7].val();
        if self.is_odd.val() {
            self.nbytes.next = self.full.val();
        }
        self.absent.next = bit_cast::<10, 7>(self.full.val() - self.nbytes.val()) << 3;
        self.cut.sink.payload.next.data = self.tdata.val() & (self.whole.val() >> self.absent.val());
        self.cut.sink.payload.next.nbytes = self.nbytes.val();
        self.cut.sink.payload.next.sop = !self.is_inside.q.val();
        self.cut.sink.payload.next.eop = self.tlast.val();
        self.cut.sink.payload.next.err =
            self.tlast.val() & (self.tuser.val() | self.is_odd.val() | self.is_bad.q.val());
        if self.tvalid.val() & self.cut.sink.ready.val() {
            self.is_inside.d.next = !self.tlast.val();
            self.is_dropped.d.next = self.drops.val();
            self.was_dropped.d.next = self.drops.val() & self.tlast.val();
            self.is_bad.d.next = !self.tlast.val() & (self.is_odd.val() | self.is_bad.q.val());
        }
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.reset.val() {
            self.is_inside.d.next = false;
            self.is_bad.d.next = false;
            self.was_dropped.d.next = false;
        }
    }
}
