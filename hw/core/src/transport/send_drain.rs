//! Who drains, and who has drained.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Tells when a queue pair on its way to Drained has nothing unacknowledged any more.
    ///
    /// A change that `drains` comes when no message can begin any more, so the count of those sent stands still. It is held
    /// against the count of those that are over then, and with each answer of the peer that comes later. Any other change
    /// of the queue pair ends the wait: it sends again, has failed, or begins anew.
    ///
    /// - **Ports** `change`: of queue pairs; `kick`: more messages of a queue pair are over, and the row was written before.
    ///   `sent_*`, `head`: messages sent, and `acked_*`, `tail`: messages over, modulo 64, as they are written. `emptied`: a queue
    ///   pair has drained, once for each change that `drains` at most; `telling`: some are there and not taken. `busy`: something is under way.
    /// - **Latency** 4 cycles from `change` or `kick` to `emptied`. **Rate** a change or a kick in 2 cycles, changes first.
    /// - **Backpressure** `emptied` has room for one of each queue pair and stalls nothing, if a queue pair that is in there does
    ///   not drain again; a change waits for a cycle without `acked_write`.
    /// - **Reset** forgets what is under way and who has drained. The rows stay: a queue pair that is created resets, and
    ///   `sent_*` writes zeros after reset.
    pub struct SendDrain<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub change: StreamSink<QpChange>,
        pub kick: StreamSink<Bits<24>>,
        pub sent_write: Signal<In, Bit>,
        pub sent_index: Signal<In, Bits<QPS>>,
        pub head: Signal<In, Bits<6>>,
        pub acked_write: Signal<In, Bit>,
        pub acked_index: Signal<In, Bits<QPS>>,
        pub tail: Signal<In, Bits<6>>,
        pub emptied: StreamSource<Bits<24>>,
        pub telling: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        heads: BlockRam<Bits<6>, QPS>,
        tails: BlockRam<Bits<6>, QPS>,
        /// Queue pairs that drain, and have messages unacknowledged.
        draining: BlockRam<Bit, QPS>,
        done: BlockFifo<Bits<24>, QPS>,
        /// The rows are there.
        acts: Reg<Bit>,
        is_change: Reg<Bit>,
        looks: Signal<Local, Bit>,
        index: Signal<Local, Bits<QPS>>,
        qpn: Signal<Local, Bits<24>>,
        drains: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_empty: Signal<Local, Bit>,
    }
}

impl<const QPS: usize> Logic for SendDrain<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, heads, tails, draining, done);
        dff_setup!(self, clock, acts, is_change);
        self.done.reset.next = self.reset.val();

        // Look. What is looked at stays on offer until it was acted on.
        self.looks.next = !self.acts.q.val() & (self.change.valid.val() | self.kick.valid.val());
        if self.looks.val() {
            self.is_change.d.next = self.change.valid.val();
        }
        self.qpn.next = self.kick.payload.val();
        if self.change.valid.val() & (!self.acts.q.val() | self.is_change.q.val()) {
            self.qpn.next = self.change.payload.val().qpn;
        }
        self.index.next = bit_cast::<QPS, 24>(self.qpn.val());
        self.heads.read_enable.next = self.looks.val();
        self.heads.read_address.next = self.index.val();
        self.tails.read_enable.next = self.looks.val();
        self.tails.read_address.next = self.index.val();
        self.draining.read_enable.next = self.looks.val();
        self.draining.read_address.next = self.index.val();

        // Act. A tail written meanwhile is news, and its kick comes behind.
        self.moves.next = self.acts.q.val() & !(self.is_change.q.val() & self.acked_write.val());
        self.acts.d.next = self.looks.val() | (self.acts.q.val() & !self.moves.val());
        self.change.ready.next = self.moves.val() & self.is_change.q.val();
        self.kick.ready.next = self.moves.val() & !self.is_change.q.val();
        self.drains.next = self.draining.read_data.val();
        if self.is_change.q.val() {
            self.drains.next = self.change.payload.val().drains;
        }
        self.is_empty.next = self.heads.read_data.val() == self.tails.read_data.val();
        self.draining.write_enable.next = self.moves.val();
        self.draining.write_address.next = self.index.val();
        self.draining.write_data.next = self.drains.val() & !self.is_empty.val();
        self.done.sink.valid.next = self.moves.val() & self.drains.val() & self.is_empty.val();
        self.done.sink.payload.next = self.qpn.val();
        StreamSource::<Bits<24>>::link(&mut self.emptied, &mut self.done.source);

        self.heads.write_enable.next = self.sent_write.val();
        self.heads.write_address.next = self.sent_index.val();
        self.heads.write_data.next = self.head.val();
        self.tails.write_enable.next = self.acked_write.val()
            | (self.moves.val() & self.is_change.q.val() & self.change.payload.val().resets);
        self.tails.write_address.next = self.index.val();
        self.tails.write_data.next = 0.into();
        if self.acked_write.val() {
            self.tails.write_address.next = self.acked_index.val();
            self.tails.write_data.next = self.tail.val();
        }

        self.telling.next = self.done.level.val().any();
        self.busy.next = self.acts.q.val() | self.done.level.val().any();
        if self.reset.val() {
            self.acts.d.next = false;
        }
    }
}
