//! The sequence, with what it asks for kept until a test can see it.

use rust_hdl::prelude::*;
use stroma_abi::desc::statistics::RESPONDER_COUNTERS;

use super::world::OPERATIONS;
use crate::fabric::records::KERNEL_BITS;
use crate::host::work::QpChange;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::state::command::KeyWork;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Arrival, DEFERRED_LOG, Deferral, Errand, ResponderRow, Stock};
use crate::transport::sequence::Sequence;

block! {
    /// [`Sequence`]; `looked*`, `counted*`, `took`, `reserved*`, `wrote*`: what it said in the cycle before.
    pub(super) struct Bed<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrival: StreamSink<Arrival>,
        pub change: StreamSink<QpChange>,
        pub looked: Signal<Out, Bit>,
        pub looked_shared: Signal<Out, Bit>,
        pub looked_number: Signal<Out, Bits<24>>,
        pub stock: Signal<In, Stock>,
        pub took: Signal<Out, Bit>,
        pub counted: Signal<Out, Bit>,
        pub counted_index: Signal<Out, Bits<QPS>>,
        pub answered: Signal<In, Bits<5>>,
        pub finished: Signal<In, Bits<5>>,
        pub roomy: Signal<In, Bit>,
        pub place: Signal<In, Bits<DEFERRED_LOG>>,
        pub acted: Signal<Out, Arrival>,
        pub acts: Signal<Out, Bit>,
        pub deferral: Signal<Out, Deferral>,
        pub room: Signal<In, Bits<16>>,
        pub room_more: Signal<In, Bits<16>>,
        pub reserved: Signal<Out, Bit>,
        pub reserved_kernel: Signal<Out, Bits<KERNEL_BITS>>,
        pub reserved_begins: Signal<Out, Bit>,
        pub reserved_ends: Signal<Out, Bit>,
        pub part: StreamSource<KeyWork>,
        pub part_room: Signal<Out, Bit>,
        pub errand: StreamSource<Errand>,
        pub duplicates: Signal<Out, Bit>,
        pub naks: Signal<Out, Bit>,
        pub rnr_naks: Signal<Out, Bit>,
        pub early: Signal<Out, Bit>,
        pub unwanted: Signal<Out, Bit>,
        pub dropped: Signal<Out, Bit>,
        pub tally: Signal<Out, Bits<RESPONDER_COUNTERS>>,
        pub tally_index: Signal<Out, Bits<QPS>>,
        pub wrote: Signal<Out, Bit>,
        pub wrote_index: Signal<Out, Bits<QPS>>,
        pub wrote_row: Signal<Out, ResponderRow>,
        pub raw_taken: Signal<Out, Bit>,
        pub raw_lost: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        sequence: Sequence<QPS> = Sequence::new(&OPERATIONS.map(Some)),
        parts: Fifo<KeyWork, 1>,
        look: Reg<Bit>,
        look_shared: Reg<Bit>,
        look_number: Reg<Bits<24>>,
        take: Reg<Bit>,
        reserve: Reg<Bit>,
        reserve_kernel: Reg<Bits<KERNEL_BITS>>,
        reserve_begins: Reg<Bit>,
        reserve_ends: Reg<Bit>,
        count: Reg<Bit>,
        count_index: Reg<Bits<QPS>>,
        write: Reg<Bit>,
        write_index: Reg<Bits<QPS>>,
        row: Reg<ResponderRow>,
        act: Reg<Bit>,
        judged: Reg<Arrival>,
    }
}

impl<const QPS: usize> Logic for Bed<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, sequence, parts);
        dff_setup!(
            self,
            clock,
            look,
            look_shared,
            look_number,
            take,
            count,
            count_index,
            write,
            write_index,
            row
        );
        dff_setup!(self, clock, reserve, reserve_kernel, reserve_begins, reserve_ends, act, judged);
        self.sequence.reset.next = self.reset.val();
        self.parts.reset.next = self.reset.val();
        StreamSink::<Arrival>::link(&mut self.arrival, &mut self.sequence.arrival);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.sequence.change);
        self.look.d.next = self.sequence.look_enable.val();
        self.look_shared.d.next = self.sequence.look_shared.val();
        self.look_number.d.next = self.sequence.look_number.val();
        self.take.d.next = self.sequence.take.val();
        self.count.d.next = self.sequence.counts_enable.val();
        self.count_index.d.next = self.sequence.counts_index.val();
        self.looked.next = self.look.q.val();
        self.looked_shared.next = self.look_shared.q.val();
        self.looked_number.next = self.look_number.q.val();
        self.took.next = self.take.q.val();
        self.counted.next = self.count.q.val();
        self.counted_index.next = self.count_index.q.val();
        self.sequence.stock.next = self.stock.val();
        self.sequence.answered.next = self.answered.val();
        self.sequence.finished.next = self.finished.val();
        self.sequence.roomy.next = self.roomy.val();
        self.sequence.place.next = self.place.val();
        self.deferral.next = self.sequence.deferral.val();
        self.act.d.next = self.sequence.acts.val();
        self.judged.d.next = self.sequence.acted.val();
        self.acts.next = self.act.q.val();
        self.acted.next = self.judged.q.val();
        self.sequence.room.next = self.room.val();
        self.sequence.room_more.next = self.room_more.val();
        self.reserve.d.next = self.sequence.reserves.val();
        self.reserve_kernel.d.next = self.sequence.reserves_kernel.val();
        self.reserve_begins.d.next = self.sequence.reserves_begins.val();
        self.reserve_ends.d.next = self.sequence.reserves_ends.val();
        self.reserved.next = self.reserve.q.val();
        self.reserved_kernel.next = self.reserve_kernel.q.val();
        self.reserved_begins.next = self.reserve_begins.q.val();
        self.reserved_ends.next = self.reserve_ends.q.val();
        StreamSource::<KeyWork>::join(&mut self.sequence.part, &mut self.parts.sink);
        StreamSource::<KeyWork>::link(&mut self.part, &mut self.parts.source);
        self.part_room.next = self.parts.sink.ready.val();
        StreamSource::<Errand>::link(&mut self.errand, &mut self.sequence.errand);
        self.duplicates.next = self.sequence.duplicates.val();
        self.naks.next = self.sequence.naks.val();
        self.rnr_naks.next = self.sequence.rnr_naks.val();
        self.early.next = self.sequence.early.val();
        self.unwanted.next = self.sequence.unwanted.val();
        self.dropped.next = self.sequence.dropped.val();
        self.tally.next = self.sequence.tally.val();
        self.tally_index.next = self.sequence.tally_index.val();
        self.write.d.next = self.sequence.responder_write.val();
        self.write_index.d.next = self.sequence.responder_index.val();
        self.row.d.next = self.sequence.responder.val();
        self.wrote.next = self.write.q.val();
        self.wrote_index.next = self.write_index.q.val();
        self.wrote_row.next = self.row.q.val();
        self.raw_taken.next = self.sequence.raw_taken.val();
        self.raw_lost.next = self.sequence.raw_lost.val();
        self.ready.next = self.sequence.ready.val();
        self.busy.next = self.sequence.busy.val() | self.parts.source.valid.val();
    }
}
