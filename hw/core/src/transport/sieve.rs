//! Sieve: a queue pair that sends again does so at once, and not behind all that was admitted before.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
pub mod unsent;

use rust_hdl::prelude::*;

use super::records::TxStep;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{StreamSink, StreamSource};
use unsent::Unsent;

block! {
    /// Throws away packets that were admitted before their queue pair began to send again.
    ///
    /// Between Admit and here wait many packets, whole quanta of them. When the peer misses one, it takes none of those, and each
    /// is admitted again behind the missing one: to send them first would only cost time, and more loss. So a rewind counts up its
    /// queue pair's epoch, and a packet of another epoch than the present one is stale.
    ///
    /// ```text
    ///   step ─ stale? ─ Skid ─ source
    ///           ▲   └─ drops ▲
    ///   epoch ─ RAM   Unsent ┘ again
    /// ```
    ///
    /// - **Ports** `step`: packets of requests, in steps; `source`: those that go on. Their `again` is put right: what was thrown away,
    ///   and not sent before, is not sent again when it comes once more. `epoch_write`, `epoch_index`, `epoch`: the present epoch of a queue
    ///   pair. `drops`, `drops_colour`: a cycle high for each packet with `frees` that was thrown away, but not while `leaves` is high: then
    ///   another tells those who count of such a packet. `ready`: the rows are cleared; `busy`: a step, or a pulse, is inside.
    /// - **Stale** packets go whole: it is decided with a packet's first step, in the cycle in which that is taken. One with inline data
    ///   goes on, because its bytes have a stream of their own; it counts as not sent all the same, for the peer throws it away.
    /// - **Latency** 1 cycle; `drops` comes 1 cycle behind the packet's last step, or when `leaves` is low. **Rate** a step per cycle,
    ///   passed on or not, and 1 cycle more, or until `drops` may come, for each thrown away that frees.
    /// - **Backpressure** holds two steps, then stalls `step`, also for those that would be thrown away. No combinational path from
    ///   port to port but from `leaves` to `drops`.
    /// - **Reset** forgets what is inside; the next step begins a packet. All epochs become 0, a row a cycle; no step is taken
    ///   meanwhile, and no epoch may be written.
    /// - **Limits** epochs are counted modulo 16: of packets that are older by as many, some are not known to be stale. They are
    ///   sent, and the peer throws them away.
    pub struct Sieve<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub step: StreamSink<TxStep>,
        pub source: StreamSource<TxStep>,
        pub epoch_write: Signal<In, Bit>,
        pub epoch_index: Signal<In, Bits<QPS>>,
        pub epoch: Signal<In, Bits<4>>,
        pub leaves: Signal<In, Bit>,
        pub drops: Signal<Out, Bit>,
        pub drops_colour: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        epochs: LutRam<Bits<4>, QPS>,
        unsent: Unsent<QPS>,
        cut: Skid<TxStep>,
        /// A packet has begun: what became of its first step.
        is_begun: Reg<Bit>,
        is_dropped: Reg<Bit>,
        is_again: Reg<Bit>,
        /// A packet that frees was thrown away, and that is not told yet.
        tells: Reg<Bit>,
        colour: Reg<Bit>,
        is_scrubbing: Reg<Bit>,
        place: Reg<Bits<QPS>>,
        index: Signal<Local, Bits<QPS>>,
        is_stale: Signal<Local, Bit>,
        is_out: Signal<Local, Bit>,
        again: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Sieve<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, epochs, unsent, cut);
        dff_setup!(self, clock, is_begun, is_dropped, is_again, tells, colour, is_scrubbing, place);
        self.cut.reset.next = self.reset.val();

        self.is_open.next = !self.is_scrubbing.q.val() & !self.tells.q.val();
        self.step.ready.next = self.is_open.val() & self.cut.sink.ready.val();
        self.moves.next = self.step.valid.val() & self.is_open.val() & self.cut.sink.ready.val();
        self.index.next = bit_cast::<QPS, 24>(self.step.payload.val().qpn);
        self.epochs.read_address.next = self.index.val();
        self.is_stale.next = self.step.payload.val().epoch != self.epochs.read_data.val();
        self.unsent.index.next = self.index.val();
        self.unsent.psn.next = self.step.payload.val().psn;
        self.unsent.admitted_again.next = self.step.payload.val().again;
        self.unsent.passes.next = self.moves.val() & !self.is_begun.q.val() & !self.is_stale.val();
        self.unsent.drops.next = self.moves.val() & !self.is_begun.q.val() & self.is_stale.val();

        // The first step decides for all.
        self.is_out.next = self.is_stale.val() & !self.step.payload.val().inline;
        self.again.next = self.unsent.again.val();
        if self.is_begun.q.val() {
            self.is_out.next = self.is_dropped.q.val();
            self.again.next = self.is_again.q.val();
        }
        self.cut.sink.valid.next = self.step.valid.val() & self.is_open.val() & !self.is_out.val();
        self.cut.sink.payload.next = self.step.payload.val();
        self.cut.sink.payload.next.again = self.again.val();
        StreamSource::<TxStep>::link(&mut self.source, &mut self.cut.source);

        self.drops.next = self.tells.q.val() & !self.leaves.val();
        self.drops_colour.next = self.colour.q.val();
        if !self.leaves.val() {
            self.tells.d.next = false;
        }
        if self.moves.val() {
            self.is_begun.d.next = !self.step.payload.val().last;
            self.is_dropped.d.next = self.is_out.val();
            self.is_again.d.next = self.again.val();
            self.colour.d.next = self.step.payload.val().colour;
            self.tells.d.next =
                self.is_out.val() & self.step.payload.val().last & self.step.payload.val().frees;
        }
        self.busy.next = self.cut.source.valid.val() | self.tells.q.val();

        self.epochs.write_enable.next = self.epoch_write.val() | self.is_scrubbing.q.val();
        self.epochs.write_address.next = self.epoch_index.val();
        self.epochs.write_data.next = self.epoch.val();
        self.unsent.clears.next = self.is_scrubbing.q.val();
        self.unsent.clear_index.next = self.place.q.val();
        self.ready.next = !self.is_scrubbing.q.val();
        if self.is_scrubbing.q.val() {
            self.epochs.write_address.next = self.place.q.val();
            self.epochs.write_data.next = 0.into();
            self.place.d.next = self.place.q.val() + 1;
            self.is_scrubbing.d.next = self.place.q.val() != self.last.val();
        }
        if self.reset.val() {
            self.is_begun.d.next = false;
            self.tells.d.next = false;
            self.is_scrubbing.d.next = true;
            self.place.d.next = 0.into();
        }
    }
}
