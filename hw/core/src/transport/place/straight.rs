//! Place alone, whose errands need no cutting.

use rust_hdl::prelude::*;

use super::Place;
use crate::fabric::records::{Call, Passage};
use crate::host::work::{Done, EventRecord, HostWrite, QpChange, QpError};
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::records::{AckedRow, Errand, Operation, Order, Task};

block! {
    /// [`Place`] with its errands joined straight through: tests give them as they are when they come back cut into pieces.
    pub(super) struct Straight<const D: usize, const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub order: StreamSink<Order>,
        pub requests: StreamSink<Errand>,
        pub responses: StreamSink<Errand>,
        pub payload: StreamSink<Beat<D>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub call_data: StreamSource<Beat<D>>,
        pub call_passage: Signal<Out, Passage>,
        pub call: StreamSource<Call>,
        pub issued: Signal<In, Bits<16>>,
        pub task: StreamSource<Task>,
        pub operation: StreamSource<Operation>,
        pub operation_colour: Signal<In, Bit>,
        pub applies: Signal<In, Bit>,
        pub operation_enters: Signal<Out, Bit>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub event: StreamSource<EventRecord>,
        pub kick: StreamSource<Bits<24>>,
        pub acked_write: Signal<Out, Bit>,
        pub acked_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<Out, AckedRow>,
        pub change: StreamSink<QpChange>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub refused: Signal<Out, Bit>,
        pub accepted: Signal<Out, Bit>,
        pub overtaken: Signal<Out, Bit>,
        pub lost: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        place: Place<D, QPS>,
    }
}

impl<const D: usize, const QPS: usize> Logic for Straight<D, QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, place);
        StreamSource::<Errand>::join(&mut self.place.merged, &mut self.place.scattered);
        self.place.scattered_is_request.next = self.place.merged_is_request.val();
        self.place.reset.next = self.reset.val();
        StreamSink::<Order>::link(&mut self.order, &mut self.place.order);
        StreamSink::<Errand>::link(&mut self.requests, &mut self.place.requests);
        StreamSink::<Errand>::link(&mut self.responses, &mut self.place.responses);
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.place.payload);
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.place.xlat);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.place.answer);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.place.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.place.write_data);
        StreamSource::<Beat<D>>::link(&mut self.call_data, &mut self.place.call_data);
        self.call_passage.next = self.place.call_passage.val();
        StreamSource::<Call>::link(&mut self.call, &mut self.place.call);
        self.place.issued.next = self.issued.val();
        StreamSource::<Task>::link(&mut self.task, &mut self.place.task);
        StreamSource::<Operation>::link(&mut self.operation, &mut self.place.operation);
        self.place.operation_colour.next = self.operation_colour.val();
        self.place.applies.next = self.applies.val();
        self.operation_enters.next = self.place.operation_enters.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.place.done);
        StreamSource::<QpError>::link(&mut self.error, &mut self.place.error);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.place.event);
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.place.kick);
        self.acked_write.next = self.place.acked_write.val();
        self.acked_index.next = self.place.acked_index.val();
        self.acked.next = self.place.acked.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.place.change);
        self.leaves.next = self.place.leaves.val();
        self.leaves_colour.next = self.place.leaves_colour.val();
        self.refused.next = self.place.refused.val();
        self.accepted.next = self.place.accepted.val();
        self.overtaken.next = self.place.overtaken.val();
        self.lost.next = self.place.lost.val();
        self.ready.next = self.place.ready.val();
        self.busy.next = self.place.busy.val();
    }
}
