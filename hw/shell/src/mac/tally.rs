//! Events of the MAC's clock, counted on the core's.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::constants;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::sync2::Sync2;

block! {
    /// Counts pulses of another clock.
    ///
    /// A counter of eight bits crosses as a Gray code; the core adds what it has grown by since its last look. So a count arrives when
    /// nothing else happens, and none is lost however fast they come.
    ///
    /// - **Ports** `happens`: a cycle of `mac_clock` high is one; `count`: how many came, on `clock`, wraps. `mac_clears`, `stops`:
    ///   of the [`Restart`](super::restart::Restart) between the two clocks.
    /// - **Latency** 2 cycles of `mac_clock` and 5 of `clock`. **Rate** one in every cycle.
    /// - **Reset** `reset` makes the count 0. Of what happens while `stops` is high, or in the cycles of latency before, nothing is counted.
    pub struct Tally {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub stops: Signal<In, Bit>,
        pub count: Signal<Out, Bits<32>>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_clears: Signal<In, Bit>,
        pub happens: Signal<In, Bit>,
        number: Reg<Bits<8>>,
        gray: Reg<Bits<8>>,
        gray_here: Sync2<Bits<8>>,
        now: Reg<Bits<8>>,
        before: Reg<Bits<8>>,
        grown: Reg<Bits<8>>,
        total: Reg<Bits<32>>,
        decoded: [Signal<Local, Bits<8>>; 9],
        zero: Constant<Bits<8>> = Constant::new(0.into()),
        /// The bits of a Gray code whose parity is bit `i` of its number: that one and those above.
        above: [Constant<Bits<8>>; 8] = constants(|bit| (0xff_u64 << bit & 0xff).into()),
    }
}

impl Logic for Tally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, mac_clock, number, gray);
        self.number.d.next = self.number.q.val() + self.happens.val();
        self.gray.d.next = self.number.q.val() ^ (self.number.q.val() >> 1);
        if self.mac_clears.val() {
            self.number.d.next = 0.into();
            self.gray.d.next = 0.into();
        }

        clock!(self, clock, gray_here);
        dff_setup!(self, clock, now, before, grown, total);
        self.gray_here.d.next = self.gray.q.val();
        self.decoded[0].next = self.zero.val();
        for i in 0..8 {
            self.decoded[i + 1].next =
                self.decoded[i].val().replace_bit(i, (self.gray_here.q.val() & self.above[i].val()).xor());
        }
        self.now.d.next = self.decoded[8].val();
        self.before.d.next = self.now.q.val();
        self.grown.d.next = self.now.q.val() - self.before.q.val();
        self.total.d.next = self.total.q.val() + bit_cast::<32, 8>(self.grown.q.val());
        self.count.next = self.total.q.val();
        if self.stops.val() {
            self.grown.d.next = 0.into();
        }
        if self.reset.val() {
            self.total.d.next = 0.into();
        }
    }
}
