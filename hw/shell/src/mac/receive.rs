//! From the MAC to the card.

pub mod gate;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::async_fifo::AsyncFifo;
use stroma_hw::prim::packet_fifo::PacketFifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::rx::axis::AxisIn;
use stroma_hw::stream::{Beat, StreamSource};
use stroma_hw::tx::axis::AxisOut;

use self::gate::Gate;
use super::mend::Mend;
use super::pins::Pins;
use super::restart::Restart;
use super::tally::Tally;

block! {
    /// Takes frames from a MAC that cannot wait, carries them to the core's clock, and gives them to the card whole.
    ///
    /// - **Ports** on `mac_clock`: `mac_tdata` .. `mac_tuser`: frames without FCS, as the MAC has them; there is no ready. On `clock`:
    ///   `tdata` .. `tready`: the frames, to the card. One that the MAC calls bad, or that has a `tkeep` with holes, goes there too, with
    ///   `tuser` on its last beat: the card counts it (`mac-error`). `overrun`: frames lost for want of room, in the crossing or
    ///   in the 32 KiB behind it; wraps. Every frame is either given to the card, byte for byte and in order, or counted there.
    /// - **Latency** 3 cycles of `mac_clock` and 9 to 10 of `clock` behind the end of a frame. **Rate** 1 beat per cycle of the slower clock.
    /// - **Backpressure** when the card does not take them, 32 KiB of frames wait; what comes then is lost, by whole frames. No path leads
    ///   from pin to pin.
    /// - **Reset** `reset` and `mac_reset` each begin a [`Restart`]. Frames under way in the crossing are lost without being counted; a
    ///   frame that comes to its end behind `reset` is too. What waits for the card stays when `mac_reset` comes; `reset` forgets it,
    ///   and makes `overrun` 0. Both must have come once.
    /// - **Limits** a frame of the MAC that ends with `tlast`, `tuser` and an empty `tkeep` is counted in `overrun` in place of being given to
    ///   the card; one of more than 32 KiB is lost.
    pub struct Receive {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tdata: Signal<Out, Bits<512>>,
        pub tkeep: Signal<Out, Bits<64>>,
        pub tvalid: Signal<Out, Bit>,
        pub tready: Signal<In, Bit>,
        pub tlast: Signal<Out, Bit>,
        pub tuser: Signal<Out, Bit>,
        pub overrun: Signal<Out, Bits<32>>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_reset: Signal<In, Bit>,
        pub mac_tdata: Signal<In, Bits<512>>,
        pub mac_tkeep: Signal<In, Bits<64>>,
        pub mac_tvalid: Signal<In, Bit>,
        pub mac_tlast: Signal<In, Bit>,
        pub mac_tuser: Signal<In, Bit>,
        restart: Restart,
        shown: Reg<Pins>,
        is_shown: Reg<Bit>,
        gate: Gate,
        crossing: AsyncFifo<Pins, 6>,
        beats: AxisIn<512, 64>,
        is_cut: Signal<Local, Bit>,
        mend: Mend<512>,
        store: PacketFifo<512, 9> = PacketFifo::new(true),
        leave: AxisOut<512, 64>,
        /// Frames of which nothing crossed.
        shut_out: Tally,
        /// Frames that a restart cut: the store counts them too, and room was not what they wanted.
        mended: Reg<Bits<32>>,
        behind: Reg<Bits<32>>,
        before: Reg<Bits<32>>,
        all: Reg<Bits<32>>,
    }
}

impl Logic for Receive {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, mac_clock, gate);
        dff_setup!(self, mac_clock, shown, is_shown);
        self.restart.mac_clock.next = self.mac_clock.val();
        self.restart.mac_reset.next = self.mac_reset.val();
        self.shown.d.next.data = self.mac_tdata.val();
        self.shown.d.next.keep = self.mac_tkeep.val();
        self.shown.d.next.last = self.mac_tlast.val();
        self.shown.d.next.user = self.mac_tuser.val();
        self.is_shown.d.next = self.mac_tvalid.val() & !self.mac_reset.val();
        self.gate.reset.next = self.mac_reset.val();
        self.gate.stops.next = self.restart.mac_stops.val();
        self.gate.clears.next = self.restart.mac_clears.val();
        self.gate.beat.next = self.shown.q.val();
        self.gate.valid.next = self.is_shown.q.val();

        self.crossing.sink_clock.next = self.mac_clock.val();
        self.crossing.sink_reset.next = self.restart.mac_clears.val();
        self.crossing.source_clock.next = self.clock.val();
        self.crossing.source_reset.next = self.restart.clears.val();
        StreamSource::<Pins>::join(&mut self.gate.source, &mut self.crossing.sink);

        clock!(self, clock, restart, beats, mend, store, leave, shut_out);
        self.restart.reset.next = self.reset.val();
        self.beats.reset.next = self.restart.clears.val() | self.reset.val();
        self.beats.closed.next = false;
        self.beats.tdata.next = self.crossing.source.payload.val().data;
        self.beats.tkeep.next = self.crossing.source.payload.val().keep;
        self.beats.tlast.next = self.crossing.source.payload.val().last;
        self.beats.tuser.next = self.crossing.source.payload.val().user;
        self.beats.tvalid.next = self.crossing.source.valid.val();
        self.crossing.source.ready.next = self.beats.tready.val();

        // In the store `err` means that a frame is dropped, and those that were cut are. `sop`, for which nobody asks there, carries the
        // mark of those that are bad and go on.
        self.mend.reset.next = self.reset.val();
        self.mend.stops.next = self.restart.stops.val();
        self.mend.clears.next = self.restart.clears.val();
        self.is_cut.next =
            self.beats.source.payload.val().err & !self.beats.source.payload.val().nbytes.any();
        self.mend.sink.valid.next = self.beats.source.valid.val();
        self.beats.source.ready.next = self.mend.sink.ready.val();
        self.mend.sink.payload.next.data = self.beats.source.payload.val().data;
        self.mend.sink.payload.next.nbytes = self.beats.source.payload.val().nbytes;
        self.mend.sink.payload.next.sop = self.beats.source.payload.val().err;
        self.mend.sink.payload.next.eop = self.beats.source.payload.val().eop;
        self.mend.sink.payload.next.err = self.is_cut.val();
        self.store.reset.next = self.reset.val();
        StreamSource::<Beat<512>>::join(&mut self.mend.source, &mut self.store.sink);
        self.leave.reset.next = self.reset.val();
        self.leave.pause.next = false;
        self.leave.sink.valid.next = self.store.source.valid.val();
        self.store.source.ready.next = self.leave.sink.ready.val();
        self.leave.sink.payload.next.data = self.store.source.payload.val().data;
        self.leave.sink.payload.next.nbytes = self.store.source.payload.val().nbytes;
        self.leave.sink.payload.next.sop = false;
        self.leave.sink.payload.next.eop = self.store.source.payload.val().eop;
        self.leave.sink.payload.next.err = self.store.source.payload.val().sop;
        self.tdata.next = self.leave.tdata.val();
        self.tkeep.next = self.leave.tkeep.val();
        self.tvalid.next = self.leave.tvalid.val();
        self.tlast.next = self.leave.tlast.val();
        self.tuser.next = self.leave.tuser.val();
        self.leave.tready.next = self.tready.val();

        // Each frame that is lost is counted in one place: before the crossing, or where the store meets its end.
        self.shut_out.mac_clock.next = self.mac_clock.val();
        self.shut_out.mac_clears.next = self.restart.mac_clears.val();
        self.shut_out.happens.next = self.gate.lost.val();
        self.shut_out.reset.next = self.reset.val();
        self.shut_out.stops.next = self.restart.stops.val();
        dff_setup!(self, clock, mended, behind, before, all);
        self.mended.d.next = self.mended.q.val() + self.mend.mended.val();
        self.behind.d.next = self.store.dropped.val() + self.store.overflowed.val();
        self.before.d.next = self.shut_out.count.val() - self.mended.q.val();
        self.all.d.next = self.behind.q.val() + self.before.q.val();
        self.overrun.next = self.all.q.val();
        if self.reset.val() {
            self.mended.d.next = 0.into();
            self.behind.d.next = 0.into();
            self.before.d.next = 0.into();
            self.all.d.next = 0.into();
        }
    }
}
