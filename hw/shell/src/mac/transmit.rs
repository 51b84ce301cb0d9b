//! From the card to the MAC.

pub mod model;
pub mod pad;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::async_fifo::AsyncFifo;
use stroma_hw::prim::packet_fifo::PacketFifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::rx::axis::AxisIn;
use stroma_hw::stream::{Beat, StreamSource};

use self::pad::Pad;
use super::mend::Mend;
use super::restart::Restart;
use super::tally::Tally;

block! {
    /// Takes the card's frames, carries them to the MAC's clock, and gives each without a gap, once it is there to its end.
    ///
    /// - **Ports** on `clock`: `tdata` .. `tready`: frames without FCS from the card; `overflowed`: frames of more than 16 KiB, which are
    ///   dropped; wraps. On `mac_clock`: `mac_tdata` .. `mac_tready`: the frames, at least 60 bytes each; inside one `mac_tvalid` does not fall.
    ///   `mac_tuser` is low: a frame with `tuser` at its end, or a `tkeep` that is none, is dropped here, before the MAC has seen any of it.
    ///   `is_up`: while low, frames are taken and dropped, those that wait here too, so that the card does not hang on a link that is
    ///   down; a frame that has begun on the pins, or is on offer there, goes on.
    /// - **Latency** 2 cycles of `clock` and 9 to 11 of `mac_clock` behind the end of a frame. **Rate** 1 beat per cycle of the slower clock.
    /// - **Backpressure** stalls `tready`, which is a register, when 16 KiB wait. No path leads from pin to pin.
    /// - **Reset** `reset` and `mac_reset` each begin a [`Restart`]: until it is over, frames are taken and dropped. `reset` lets a frame
    ///   go on that is there to its end, and drops what has come of the next; `mac_reset` drops all. Both must have come once.
    pub struct Transmit {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tdata: Signal<In, Bits<512>>,
        pub tkeep: Signal<In, Bits<64>>,
        pub tvalid: Signal<In, Bit>,
        pub tready: Signal<Out, Bit>,
        pub tlast: Signal<In, Bit>,
        pub tuser: Signal<In, Bit>,
        pub overflowed: Signal<Out, Bits<32>>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_reset: Signal<In, Bit>,
        pub is_up: Signal<In, Bit>,
        pub mac_tdata: Signal<Out, Bits<512>>,
        pub mac_tkeep: Signal<Out, Bits<64>>,
        pub mac_tvalid: Signal<Out, Bit>,
        pub mac_tready: Signal<In, Bit>,
        pub mac_tlast: Signal<Out, Bit>,
        pub mac_tuser: Signal<Out, Bit>,
        restart: Restart,
        beats: AxisIn<512, 64>,
        enter: Mend<512>,
        crossing: AsyncFifo<Beat<512>, 5>,
        arrive: Mend<512>,
        store: PacketFifo<512, 8>,
        pad: Pad,
        tally: Tally,
        /// The lowest bit of `store.overflowed` a cycle ago: when it changes, a frame was too long.
        parity: Reg<Bit>,
        parity_now: Signal<Local, Bit>,
    }
}

impl Logic for Transmit {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, restart, beats, enter, tally);
        self.restart.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();
        self.beats.closed.next = false;
        self.beats.tdata.next = self.tdata.val();
        self.beats.tkeep.next = self.tkeep.val();
        self.beats.tvalid.next = self.tvalid.val();
        self.beats.tlast.next = self.tlast.val();
        self.beats.tuser.next = self.tuser.val();
        self.tready.next = self.beats.tready.val();

        self.enter.reset.next = self.reset.val();
        self.enter.stops.next = self.restart.stops.val();
        self.enter.clears.next = false;
        self.enter.sink.valid.next = self.beats.source.valid.val();
        self.beats.source.ready.next = self.enter.sink.ready.val();
        self.enter.sink.payload.next.data = self.beats.source.payload.val().data;
        self.enter.sink.payload.next.nbytes = self.beats.source.payload.val().nbytes;
        self.enter.sink.payload.next.sop = self.beats.source.payload.val().sop;
        self.enter.sink.payload.next.eop = self.beats.source.payload.val().eop;
        // A last beat without a byte has no `tkeep` that the MAC would understand.
        self.enter.sink.payload.next.err = self.beats.source.payload.val().eop
            & (self.beats.source.payload.val().err | !self.beats.source.payload.val().nbytes.any());

        self.crossing.sink_clock.next = self.clock.val();
        self.crossing.sink_reset.next = self.restart.clears.val();
        self.crossing.source_clock.next = self.mac_clock.val();
        self.crossing.source_reset.next = self.restart.mac_clears.val();
        StreamSource::<Beat<512>>::join(&mut self.enter.source, &mut self.crossing.sink);

        clock!(self, mac_clock, arrive, store, pad);
        self.restart.mac_clock.next = self.mac_clock.val();
        self.restart.mac_reset.next = self.mac_reset.val();
        self.arrive.reset.next = self.mac_reset.val();
        self.arrive.stops.next = self.restart.mac_stops.val() | !self.is_up.val();
        self.arrive.clears.next = self.restart.mac_clears.val();
        StreamSource::<Beat<512>>::join(&mut self.crossing.source, &mut self.arrive.sink);
        self.store.reset.next = self.mac_reset.val();
        StreamSource::<Beat<512>>::join(&mut self.arrive.source, &mut self.store.sink);
        self.pad.reset.next = self.mac_reset.val();
        self.pad.is_up.next = self.is_up.val();
        StreamSource::<Beat<512>>::join(&mut self.store.source, &mut self.pad.sink);
        self.mac_tdata.next = self.pad.source.payload.val().data;
        self.mac_tkeep.next = self.pad.source.payload.val().keep;
        self.mac_tlast.next = self.pad.source.payload.val().last;
        self.mac_tuser.next = self.pad.source.payload.val().user;
        self.mac_tvalid.next = self.pad.source.valid.val();
        self.pad.source.ready.next = self.mac_tready.val();

        dff_setup!(self, mac_clock, parity);
        self.parity_now.next = self.store.overflowed.val().get_bit(0);
        self.parity.d.next = self.parity_now.val();
        self.tally.mac_clock.next = self.mac_clock.val();
        self.tally.mac_clears.next = self.restart.mac_clears.val();
        self.tally.happens.next =
            (self.parity_now.val() ^ self.parity.q.val()) & !self.restart.mac_stops.val();
        self.tally.reset.next = self.reset.val();
        self.tally.stops.next = self.restart.stops.val();
        self.overflowed.next = self.tally.count.val();
    }
}
