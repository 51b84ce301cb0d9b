//! The sequence, with what it asks for kept until a test can see it.

use rust_hdl::prelude::*;

use crate::host::work::QpChange;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Arrival, Errand, Stock};
use crate::transport::sequence::Sequence;

block! {
    /// [`Sequence`]; `looked*`, `counted*`, `took`: what it said in the cycle before.
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
        pub errand: StreamSource<Errand>,
        pub duplicates: Signal<Out, Bit>,
        pub naks: Signal<Out, Bit>,
        pub rnr_naks: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        sequence: Sequence<QPS>,
        look: Reg<Bit>,
        look_shared: Reg<Bit>,
        look_number: Reg<Bits<24>>,
        take: Reg<Bit>,
        count: Reg<Bit>,
        count_index: Reg<Bits<QPS>>,
    }
}

impl<const QPS: usize> Logic for Bed<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, sequence);
        dff_setup!(self, clock, look, look_shared, look_number, take, count, count_index);
        self.sequence.reset.next = self.reset.val();
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
        StreamSource::<Errand>::link(&mut self.errand, &mut self.sequence.errand);
        self.duplicates.next = self.sequence.duplicates.val();
        self.naks.next = self.sequence.naks.val();
        self.rnr_naks.next = self.sequence.rnr_naks.val();
        self.ready.next = self.sequence.ready.val();
        self.busy.next = self.sequence.busy.val();
    }
}
