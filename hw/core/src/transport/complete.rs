//! Who takes the answers of peers: ends messages in order, and has sent again what was lost.

pub mod flow;
pub mod focus;
pub mod judge;
pub mod kind;
pub mod measure;
pub mod model;
pub mod retry;
#[cfg(test)]
mod rig;
pub mod rows;
pub mod stand;
pub mod step;
pub mod tell;
#[cfg(test)]
mod tests;
pub mod weigh;

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;

use flow::Flow;
use focus::Focus;
use kind::{Kind, Sort};
use rows::Rows;
use step::Step;
use weigh::Weigh;

use super::records::{Alarm, Arrival, Errand, OUTSTANDING_LOG, Rewind, Sent, SentRow};
use super::statistics::counter;
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// A path MTU of code `c` has `2^(MTU_LOG + c)` bytes.
const MTU_LOG: usize = 7;

block! {
    /// Takes the answers and nudges of `2^QPS` queue pairs, in order; `OUT` is `QPS` and the bits of a message's place.
    ///
    /// ```text
    ///   arrival ─ Sort ──┬─ Weigh ─ Step ─ errand, rewind, alarm
    ///   entry ─── Focus ─┘           │
    ///   change ── Rows ──────────────┘
    /// ```
    ///
    /// Cycle 0 reads the rows, cycle 1 the queue pair's first message that is not over, cycle 2 the one behind it, cycle 3
    /// compares the arrival with the first, cycle 4 is a step: one errand, and the row anew. A step that ends a message
    /// before the arrival's own is followed by one for the next message, two cycles later. An arrival begins in cycle 2 of
    /// the one before it: see [`Flow`].
    ///
    /// An arrival for the queue pair of the one before it takes up what that leaves in [`Focus`]: the row, and the message if
    /// it is not over. For the case that it is, cycle 1 reads the message behind it, and cycle 2 the one behind that. So
    /// every message is read after `sent`, which says how many count: one that was sent later is none of this arrival, and
    /// one that counts was stored no later than the row that counts it.
    ///
    /// - **Ports** `arrival`: answers and nudges; `errand`: of each, one or more. `rewind`: at most one for each arrival; `alarm`:
    ///   too. `change`: only `resets` counts. `sent_enable`, `sent_index`, `sent` and `out_enable`, `out_index`, `out_entry`: what was
    ///   sent, there a cycle after `enable` and held; the place in the ring below the queue pair's number. One cycle each:
    ///   `timeouts`, an answer was overdue; `unwanted`, one came for a queue pair that has failed; `stale`, nothing came of
    ///   another: it answers what was answered or never sent, or says again what is known, or nothing that is spoken. `tally`,
    ///   `tally_index`: for a cycle, what is counted of a queue pair, a bit for each of the abi's counters of requesters.
    ///   `ready`: the rows are scrubbed. `busy`: something is under way.
    /// - **Errands** `index`, `opcode` and `length` are those of the message, and mean something with `completes` and `places`;
    ///   `need` with `places`, `va` and `key` too unless there is a list, `offset` if there is one; `value` with `has_value`;
    ///   `tail` and `reads` are there always. `length` is 0 of what did not succeed. `is_awaited`: an answer of which something comes.
    ///   At the end of an RPC `detail`, `flags` and `length` are those of its answer.
    /// - **Latency** 5 cycles from `arrival` to `errand`, `rewind`, `alarm` and the pulses. **Rate** an arrival every 2 cycles,
    ///   of one queue pair or of several, and 2 for each message that it ends before its last step. Of `tally` a count every 2
    ///   cycles at most.
    /// - **RPCs** are answered from the PSN of their last packet on; what comes before it is acknowledged. A peer that is busy with one
    ///   sets the alarm anew. When that runs out, all from there on is asked for again.
    /// - **Timeouts** of a queue pair whose message waits for its turn, all that was sent being answered, only set the alarm anew.
    /// - **Rests** begin with an RNR NAK: a rewind that `holds` and an alarm that `rests`. They end with the queue pair's next timeout,
    ///   or when nothing is left that was sent, with a plain rewind and alarm. In between answers count, but give neither
    ///   rewind nor alarm.
    /// - **Backpressure** `errand` holds 16, `rewind` and `alarm` hold 4; with one of these full a step waits, and one arrival behind
    ///   it. `change` waits for nobody. `sent_enable` and `sent_index` follow `arrival` combinationally, to save a
    ///   cycle; no other output does so.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; all waits.
    /// - **Limits** queue pairs are in the table; the code of the path MTU is 1 to 5; an atomic takes one PSN, an RPC any number
    ///   and behind them those of its answer, any other message as many as its length takes, from the one behind those of the message before it. A timeout that was under way
    ///   when a rest began ends it too early: the peer says once more that it is not ready.
    pub struct Complete<const QPS: usize, const OUT: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrival: StreamSink<Arrival>,
        pub change: StreamSink<QpChange>,
        pub errand: StreamSource<Errand>,
        pub rewind: StreamSource<Rewind>,
        pub alarm: StreamSource<Alarm>,
        pub sent_enable: Signal<Out, Bit>,
        pub sent_index: Signal<Out, Bits<QPS>>,
        pub sent: Signal<In, SentRow>,
        pub out_enable: Signal<Out, Bit>,
        pub out_index: Signal<Out, Bits<OUT>>,
        pub out_entry: Signal<In, Sent>,
        pub timeouts: Signal<Out, Bit>,
        pub stale: Signal<Out, Bit>,
        pub unwanted: Signal<Out, Bit>,
        pub tally: Signal<Out, Bits<REQUESTER_COUNTERS>>,
        pub tally_index: Signal<Out, Bits<QPS>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        flow: Flow,
        sort: Sort,
        rows: Rows<QPS>,
        focus: Focus,
        weigh: Weigh,
        step: Step,
        errands: Fifo<Errand, 4>,
        rewinds: Fifo<Rewind, 2>,
        alarms: Fifo<Alarm, 2>,
        /// The arrival that was read.
        fresh: Reg<Arrival>,
        /// The one that is worked on, what it is, how far it answers, and how far its queue pair had sent.
        held: Reg<Arrival>,
        kind: Reg<Kind>,
        reach: Reg<Bits<24>>,
        sent_row: Reg<SentRow>,
        /// A step has gone before.
        follows: Reg<Bit>,
        was_stale: Reg<Bit>,
        was_unwanted: Reg<Bit>,
        counted: Reg<Bits<REQUESTER_COUNTERS>>,
        counted_index: Reg<Bits<QPS>>,
        takes: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        succeeds: Signal<Local, Bit>,
        is_vain: Signal<Local, Bit>,
        slot: Signal<Local, Bits<6>>,
        owner: Signal<Local, Bits<24>>,
        slot_log: Constant<Bits<3>> = number(OUTSTANDING_LOG),
        slots: Constant<Bits<6>> = number((1_u64 << OUTSTANDING_LOG) - 1),
        late_at: Constant<Bits<2>> = number(counter(Statistics::LOCAL_ACK_TIMEOUT_ERR) - step::FIRST),
    }
}

impl<const QPS: usize, const OUT: usize> Logic for Complete<QPS, OUT> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "the steps of an arrival, and what each of them gives")]
    fn update(&mut self) {
        clock!(self, clock, flow, rows, focus, weigh, errands, rewinds, alarms);
        dff_setup!(self, clock, fresh, held, kind, reach, sent_row, follows);
        dff_setup!(self, clock, counted, counted_index, was_stale, was_unwanted);
        self.flow.reset.next = self.reset.val();
        self.rows.reset.next = self.reset.val();
        self.errands.reset.next = self.reset.val();
        self.rewinds.reset.next = self.reset.val();
        self.alarms.reset.next = self.reset.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.rows.change);
        self.flow.has_room.next =
            self.errands.sink.ready.val() & self.rewinds.sink.ready.val() & self.alarms.sink.ready.val();
        self.flow.continues.next = self.weigh.standing.val().continues;

        // Begin.
        self.takes.next = self.flow.passes.val() & self.rows.open.val();
        self.arrival.ready.next = self.takes.val();
        self.begins.next = self.takes.val() & self.arrival.valid.val();
        self.flow.arrives.next = self.rows.open.val() & self.arrival.valid.val();
        if self.begins.val() {
            self.fresh.d.next = self.arrival.payload.val();
        }
        self.sent_enable.next = self.begins.val();
        self.sent_index.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);
        self.rows.begins.next = self.begins.val();
        self.rows.index.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);

        // Read the first message, then the second; behind another of the same queue pair the second and the third, as it knows
        // them, for the case that its first is over then. A step that is followed by another has this turn to itself.
        self.succeeds.next = self.flow.is_stepping.val() & self.rows.is_same.val();
        self.slot.next = self.rows.row.val().tail + 1;
        if self.succeeds.val() | self.flow.walks.val() {
            self.slot.next = self.focus.row.val().tail + 2;
        }
        if self.flow.reads.val() {
            self.slot.next = self.rows.row.val().tail;
            if self.flow.weighs.val() & self.rows.is_same.val() {
                self.slot.next = self.focus.row.val().tail + 1;
            }
        }
        self.owner.next = self.fresh.q.val().qpn;
        if self.flow.walks.val() {
            self.owner.next = self.held.q.val().qpn;
        }
        // A step that waits leaves the message there that the one behind it has read.
        self.out_enable.next = !self.flow.waits.val();
        self.out_index.next = (bit_cast::<OUT, 24>(self.owner.val()) << self.slot_log.val())
            | bit_cast::<OUT, 6>(self.slot.val() & self.slots.val());

        // Load.
        self.sort.arrival.next = self.fresh.q.val();
        if self.flow.passes.val() {
            self.held.d.next = self.fresh.q.val();
            self.kind.d.next = self.sort.kind.val();
            self.reach.d.next = self.fresh.q.val().psn + self.sort.kind.val().acknowledges;
            self.sent_row.d.next = self.sent.val();
            self.follows.d.next = false;
        }
        if self.flow.walks.val() {
            self.follows.d.next = true;
        }
        self.rows.passes.next = self.flow.passes.val();
        self.focus.loads.next = self.flow.passes.val() & !self.succeeds.val();
        self.focus.read_row.next = self.rows.row.val();
        self.focus.found.next = self.out_entry.val();
        self.focus.succeeds.next = self.flow.passes.val() & self.succeeds.val();
        self.focus.walks.next = self.flow.walks.val();
        self.focus.after.next = self.step.after.val();
        self.focus.retires.next = self.step.verdict.val().retires;
        self.focus.answered.next = self.step.answered.val();

        // Compare.
        self.weigh.weighs.next = self.flow.weighs.val();
        self.weigh.arrival.next = self.held.q.val();
        self.weigh.kind.next = self.kind.q.val();
        self.weigh.reach.next = self.reach.q.val();
        self.weigh.sent.next = self.sent_row.q.val();
        self.weigh.row.next = self.focus.row.val();
        self.weigh.entry.next = self.focus.entry.val();
        self.weigh.front.next = self.focus.front.val();
        self.weigh.unanswered.next = self.focus.unanswered.val();

        // Step.
        self.step.standing.next = self.weigh.standing.val();
        self.step.kind.next = self.kind.q.val();
        self.step.arrival.next = self.held.q.val();
        self.step.row.next = self.focus.row.val();
        self.step.entry.next = self.focus.entry.val();
        self.step.unanswered.next = self.focus.unanswered.val();
        self.step.reach.next = self.reach.q.val();
        self.step.ahead.next = self.weigh.ahead.val();
        self.step.offset.next = self.weigh.offset.val();
        self.step.here.next = self.weigh.here.val();
        self.step.base.next = self.weigh.base.val();
        self.step.follows.next = self.follows.q.val();
        self.rows.writes.next = self.flow.steps.val() & !self.weigh.standing.val().continues;
        self.rows.changed.next = self.step.after.val();

        self.errands.sink.valid.next = self.flow.steps.val();
        self.errands.sink.payload.next = self.step.errand.val();
        self.rewinds.sink.valid.next = self.flow.steps.val() & self.step.verdict.val().rewinds;
        self.rewinds.sink.payload.next = self.step.rewind.val();
        self.alarms.sink.valid.next = self.flow.steps.val() & self.step.verdict.val().alarms;
        self.alarms.sink.payload.next = self.step.alarm.val();
        StreamSource::<Errand>::link(&mut self.errand, &mut self.errands.source);
        StreamSource::<Rewind>::link(&mut self.rewind, &mut self.rewinds.source);
        StreamSource::<Alarm>::link(&mut self.alarm, &mut self.alarms.source);
        self.is_vain.next = self.flow.steps.val()
            & self.kind.q.val().is_packet
            & !self.held.q.val().raw
            & self.step.verdict.val().is_vain;
        self.was_stale.d.next = self.is_vain.val() & !self.focus.row.val().failed;
        self.was_unwanted.d.next = self.is_vain.val() & self.focus.row.val().failed;
        self.stale.next = self.was_stale.q.val();
        self.unwanted.next = self.was_unwanted.q.val();
        self.counted.d.next = 0.into();
        if self.flow.steps.val() {
            self.counted.d.next = self.step.counts.val();
        }
        self.timeouts.next = self.counted.q.val().get_bit(self.late_at.val().index());
        self.counted_index.d.next = bit_cast::<QPS, 24>(self.held.q.val().qpn);
        self.tally.next = self.counted.q.val();
        self.tally_index.next = self.counted_index.q.val();

        self.ready.next = self.rows.ready.val();
        self.busy.next = self.flow.busy.val()
            | self.rows.busy.val()
            | self.errands.level.val().any()
            | self.rewinds.level.val().any()
            | self.alarms.level.val().any();
        if self.reset.val() {
            self.was_stale.d.next = false;
            self.was_unwanted.d.next = false;
            self.counted.d.next = 0.into();
        }
    }
}
