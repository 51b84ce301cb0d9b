//! Place: errands are carried out, in order.

pub mod ask;
pub mod carry;
pub mod collect;
pub mod command;
pub mod feed;
pub mod finish;
pub mod invoke;
pub mod judge;
pub mod merge;
#[cfg(test)]
mod model;
pub mod reply;
pub mod retire;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod straight;
#[cfg(test)]
mod tests;
pub mod verdict;

use rust_hdl::prelude::*;

use ask::Ask;
use carry::{Carry, Pass};
use collect::{Collect, Found};
use command::{Command, Piece};
use finish::Finish;
use judge::Judge;
use merge::Merge;

use super::records::{AckedRow, Errand, Operation, Order, Task};
use crate::fabric::records::{Call, Passage};
use crate::host::work::{Done, EventRecord, HostWrite, QpChange, QpError};
use crate::state::access::XlatRequest;
use crate::state::failures::Failures;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

pub use ask::CLIENT;

block! {
    /// Moves or drops the payload of each errand, and then gives its answer and its completion.
    ///
    /// ```text
    ///   order ────── Merge ─ Ask ─ errands ─ Judge ─┬─ judged ────────────────── Finish ─ task, call, operation, error,
    ///   requests ─────┘       │                │    └─ Command ─ Carry ─ over ──┘        done, event, kick, acked, leaves
    ///   responses ────┘       xlat    answer ─ Collect   └ write   │ └ write_data, call_data
    ///                                  change ─ Failures           payload
    /// ```
    ///
    /// Questions run ahead, over the bounds of arrivals; nothing is decided before [`Judge`], and there in order. An errand
    /// has its place in [`Finish`] before its write command is offered, so bytes wait for host memory alone.
    ///
    /// - **Ports** `order`, `requests`, `responses`: errands, as [`Merge`] takes them. `merged`, `merged_is_request`: all of them, in one
    ///   order; `scattered`, `scattered_is_request`: the same in that order, those with a list cut into pieces by
    ///   [`Scatter`](super::scatter::Scatter). `payload`: a packet for each errand or drop with
    ///   `payload_len > 0`; an errand `has_value` has none. `xlat`, `answer`: the MMU, as client [`CLIENT`]. `write`, `write_data`: commands, and a packet for each;
    ///   `issued`: the ticket of the last command taken, a cycle later at most. `call_data`: what RPCs bring for kernels, a packet
    ///   for each packet with payload, in order; `call_passage`: steady along with its beats, whose it is. `call`: each packet of an RPC,
    ///   when its payload and the answers before are taken, its own included. `task`: answers to the peer; `operation`: atomics,
    ///   when the answers before are taken; `operation_colour`: that of one put on offer in this cycle, when `operation_enters` is
    ///   high, before its arrival leaves. `error`: queue pairs that fail, when the answer that says so is taken, and before the
    ///   completion that does is offered; `done`: completions; `event`: the last receive of a queue pair, behind its completion.
    ///   `acked_write`, `acked_index`, `acked`: a cycle high, the row is news; `kick`: the queue pair of an arrival with news,
    ///   when the last of them is written. `leaves`, `leaves_colour`: an arrival is over. `change`: a queue pair that resets has no
    ///   failure any more. A cycle high: `refused`, for each refusal that the peer is told by this block, or of the end
    ///   of a key; for each arrival that `is_awaited`
    ///   one of `accepted`, `overtaken` if its queue pair had failed before it, and `lost` if the message of an unreliable connection has. `ready`: reset is over. `busy`: something
    ///   is inside.
    /// - **Allowed** payload or value is written, in two packets if it crosses a page; then comes what the errand asks for. An
    ///   atomic becomes an operation; one that came again does so without a question.
    ///   What an RPC brings goes to its kernel; without one, or if it came again, it is thrown away. Then comes its call.
    /// - **Refused** nothing is written. To the peer's request goes a NAK, `RemoteAccess`, or `RemoteOperational` if a page list could
    ///   not be read, and the error is untold; a completion that the errand has is `Flushed`. If a list named the range it is
    ///   a NAK `RemoteOperational`. That, and an answer of the peer, gives an error `LocalProtection`, or `General`, and the
    ///   message fails with that, its cause as vendor code. A range that goes on behind the last address is refused as
    ///   `Bounds`, without a question.
    /// - **Failed** so is a queue pair behind an errand that was refused or `fails`: payload is thrown away, nothing is answered,
    ///   no atomic done, no error told. A call `gives_up`, and its target, key and length mean nothing. Errands that complete or retire give a completion without length, signaled or not.
    ///   What failed with a list or as an answer, and ended no message, is told by the first of them on the same side,
    ///   that of requests or that of answers; all others are `Flushed`. They retire as ever, and events are told.
    /// - **Unreliable** connections hear of nothing: no task is given. If a range without a list is refused, its message is thrown away up to the
    ///   next errand that `begins` one, and nothing fails; a completion on the way is `RemoteAccess`, without length. The same goes for a
    ///   list that is too short, but the completion is `LocalLength`.
    /// - **Latency** from an errand to `xlat` 2 cycles, to `task`, or `call` without an answer, 7 without questions and payload; from the last answer
    ///   to `write` 2, to `write_data` 6; from an errand to `call_data` 5, to `call` 3 from its last beat taken, and 1 from its answer taken. **Rate** 1 beat per cycle, without a gap between packets, 1 more for a payload cut within a
    ///   beat; an errand takes 1 cycle at least, a question 1, a command 1; an error 1 or 2 more, news of a failure 2, an event behind a
    ///   completion 1, a call with an answer 1. Payload is thrown away at the same rate.
    /// - **Backpressure** `answer` and `change` are always taken; at most 16 questions are unanswered. All others stall: 16
    ///   errands wait to be judged, 16 behind that. No combinational path from port to port.
    /// - **Reset** forgets all errands, and clears the failures, which takes `2^QPS` cycles; errands wait meanwhile. The MMU
    ///   and the writer have to be reset with it.
    /// - **Limits** `D` is 64 or 512. Payload has the length its errand says, and is no longer than the span of one that
    ///   places, nor than 4096 bytes if it does. An atomic's word lies at a multiple of eight. An RPC has no range, no
    ///   status, and one errand for each arrival. A queue pair resets when nothing of it is inside.
    pub struct Place<const D: usize, const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub order: StreamSink<Order>,
        pub requests: StreamSink<Errand>,
        pub responses: StreamSink<Errand>,
        pub merged: StreamSource<Errand>,
        pub merged_is_request: Signal<Out, Bit>,
        pub scattered: StreamSink<Errand>,
        pub scattered_is_request: Signal<In, Bit>,
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
        merge: Merge,
        ask: Ask,
        collect: Collect,
        failures: Failures<QPS>,
        judge: Judge,
        command: Command,
        carry: Carry<D>,
        finish: Finish<QPS>,
    }
}

impl<const D: usize, const QPS: usize> Logic for Place<D, QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, merge, ask, collect, failures, judge, command, carry, finish);
        self.merge.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.collect.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.judge.reset.next = self.reset.val();
        self.command.reset.next = self.reset.val();
        self.carry.reset.next = self.reset.val();
        self.finish.reset.next = self.reset.val();

        // Errands and answers come in.
        StreamSink::<Order>::link(&mut self.order, &mut self.merge.order);
        StreamSink::<Errand>::link(&mut self.requests, &mut self.merge.requests);
        StreamSink::<Errand>::link(&mut self.responses, &mut self.merge.responses);
        StreamSource::<Errand>::link(&mut self.merged, &mut self.merge.source);
        self.merged_is_request.next = self.merge.is_request.val();
        StreamSink::<Errand>::link(&mut self.scattered, &mut self.ask.errand);
        self.ask.is_request.next = self.scattered_is_request.val();
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.ask.xlat);
        StreamSource::<Bit>::join(&mut self.ask.due, &mut self.collect.due);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.collect.answer);
        self.ask.answered.next = self.collect.answered.val();

        // They are judged.
        StreamSource::<Errand>::join(&mut self.ask.waiting, &mut self.judge.errand);
        self.judge.mark.next = self.ask.mark.val();
        StreamSource::<Found>::join(&mut self.collect.found, &mut self.judge.found);
        self.failures.look.next = self.judge.look.val();
        self.judge.failure.next = self.failures.found.val();
        self.failures.mark.next = self.judge.marks.val();
        self.failures.marked.next = self.judge.failure_next.val();
        self.judge.open.next = self.failures.open.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.failures.change);
        self.refused.next = self.judge.refused.val();
        self.accepted.next = self.judge.accepted.val();
        self.overtaken.next = self.judge.overtaken.val();
        self.lost.next = self.judge.lost.val();

        // Payload moves, and the rest happens.
        StreamSource::<Piece>::join(&mut self.judge.piece, &mut self.command.piece);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.command.write);
        StreamSource::<Pass>::join(&mut self.command.pass, &mut self.carry.pass);
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.carry.payload);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.carry.write_data);
        StreamSource::<Beat<D>>::link(&mut self.call_data, &mut self.carry.call_data);
        self.call_passage.next = self.carry.call_passage.val();
        StreamSource::<Errand>::join(&mut self.judge.judged, &mut self.finish.judged);
        self.finish.untold.next = self.judge.untold.val();
        self.finish.over.next = self.carry.over.val();
        self.finish.issued.next = self.issued.val();
        StreamSource::<Task>::link(&mut self.task, &mut self.finish.task);
        StreamSource::<Call>::link(&mut self.call, &mut self.finish.call);
        StreamSource::<Operation>::link(&mut self.operation, &mut self.finish.operation);
        self.finish.operation_colour.next = self.operation_colour.val();
        self.finish.applies.next = self.applies.val();
        self.operation_enters.next = self.finish.operation_enters.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.finish.done);
        StreamSource::<QpError>::link(&mut self.error, &mut self.finish.error);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.finish.event);
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.finish.kick);
        self.acked_write.next = self.finish.acked_write.val();
        self.acked_index.next = self.finish.acked_index.val();
        self.acked.next = self.finish.acked.val();
        self.leaves.next = self.finish.leaves.val();
        self.leaves_colour.next = self.finish.leaves_colour.val();
        self.ready.next = self.failures.ready.val();
        // An errand waits before its judgement, or behind it until its bytes are through.
        self.busy.next = self.merge.busy.val() | self.ask.waiting.valid.val() | self.finish.busy.val();
    }
}
