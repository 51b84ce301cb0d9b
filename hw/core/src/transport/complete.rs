//! Who takes the answers of peers: ends messages in order, and has sent again what was lost.

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

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;

use kind::{Kind, Sort};
use measure::Measure;
use rows::{Answered, Rows};
use step::Step;

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
    /// Takes the answers and nudges of `2^QPS` queue pairs, one at a time; `OUT` is `QPS` and the bits of a message's place.
    ///
    /// ```text
    ///   arrival ─ Sort ─┬─ Measure ─ Step ─ errand, rewind, alarm
    ///   sent, entry ────┘             │
    ///   change ─ Rows ────────────────┘
    /// ```
    ///
    /// Cycle 0 reads the rows, cycle 1 the queue pair's first message that is not over, cycle 2 and 3 measure the arrival
    /// against it, cycle 4 is a step: one errand, and the row anew. A step that ends a message before the arrival's
    /// own is followed by one for the next message.
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
    /// - **Latency** 5 cycles from `arrival` to `errand`, `rewind`, `alarm` and the pulses. **Rate** an arrival every 5 cycles, and 2
    ///   for each message that it ends before its last step.
    /// - **Timeouts** of a queue pair whose message waits for its turn, all that was sent being answered, only set the alarm anew.
    /// - **Rests** begin with an RNR NAK: a rewind that `holds` and an alarm that `rests`. They end with the queue pair's next timeout,
    ///   or when nothing is left that was sent, with a plain rewind and alarm. In between answers count, but give neither
    ///   rewind nor alarm.
    /// - **Backpressure** `errand` holds 16, then arrivals wait in the middle; `rewind` and `alarm` hold 4, then before the
    ///   beginning. `change` waits for nobody. `sent_enable` and `sent_index` follow `arrival` combinationally, to save a
    ///   cycle; no other output does so.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; all waits.
    /// - **Limits** queue pairs are in the table; the code of the path MTU is 1 to 5; an atomic takes one PSN. A timeout that was
    ///   under way when a rest began ends it too early: the peer says once more that it is not ready.
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
        sort: Sort,
        rows: Rows<QPS>,
        measure: Measure,
        step: Step,
        errands: Fifo<Errand, 4>,
        rewinds: Fifo<Rewind, 2>,
        alarms: Fifo<Alarm, 2>,
        /// The arrival under way, and what it is.
        held: Reg<Arrival>,
        kind: Reg<Kind>,
        /// Its queue pair's row, as its steps leave it, and the messages not over.
        row: Reg<Answered>,
        outstanding: Reg<Bits<6>>,
        /// A step has gone before.
        follows: Reg<Bit>,
        /// Cycles 1 to 4.
        is_reading: Reg<Bit>,
        is_looking: Reg<Bit>,
        is_weighing: Reg<Bit>,
        is_stepping: Reg<Bit>,
        was_stale: Reg<Bit>,
        was_unwanted: Reg<Bit>,
        counted: Reg<Bits<REQUESTER_COUNTERS>>,
        is_idle: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        steps: Signal<Local, Bit>,
        walks: Signal<Local, Bit>,
        is_vain: Signal<Local, Bit>,
        slot: Signal<Local, Bits<6>>,
        slot_log: Constant<Bits<3>> = number(OUTSTANDING_LOG),
        slots: Constant<Bits<6>> = number((1_u64 << OUTSTANDING_LOG) - 1),
        late_at: Constant<Bits<2>> = number(counter(Statistics::LOCAL_ACK_TIMEOUT_ERR) - step::FIRST),
    }
}

impl<const QPS: usize, const OUT: usize> Logic for Complete<QPS, OUT> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "the steps of an arrival, and what each of them gives")]
    fn update(&mut self) {
        clock!(self, clock, rows, measure, errands, rewinds, alarms);
        dff_setup!(self, clock, held, kind, row, outstanding, follows);
        dff_setup!(self, clock, is_reading, is_looking, is_weighing, is_stepping);
        dff_setup!(self, clock, counted, was_stale, was_unwanted);
        self.rows.reset.next = self.reset.val();
        self.errands.reset.next = self.reset.val();
        self.rewinds.reset.next = self.reset.val();
        self.alarms.reset.next = self.reset.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.rows.change);

        // Begin, when there is room for what an arrival may bring once.
        self.is_idle.next = !self.is_reading.q.val()
            & !self.is_looking.q.val()
            & !self.is_weighing.q.val()
            & !self.is_stepping.q.val();
        self.takes.next = self.is_idle.val()
            & self.rows.open.val()
            & self.rewinds.sink.ready.val()
            & self.alarms.sink.ready.val();
        self.arrival.ready.next = self.takes.val();
        self.begins.next = self.takes.val() & self.arrival.valid.val();
        self.is_reading.d.next = self.begins.val();
        if self.begins.val() {
            self.held.d.next = self.arrival.payload.val();
            self.follows.d.next = false;
        }
        self.sent_enable.next = self.begins.val();
        self.sent_index.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);
        self.rows.begins.next = self.begins.val();
        self.rows.index.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);

        // Read. A step reads the message behind its own, wanted or not.
        self.sort.arrival.next = self.held.q.val();
        if self.is_reading.q.val() {
            self.kind.d.next = self.sort.kind.val();
            self.row.d.next = self.rows.row.val();
            self.outstanding.d.next = self.sent.val().head - self.rows.row.val().tail;
        }
        self.slot.next = self.rows.row.val().tail;
        if self.is_stepping.q.val() {
            self.slot.next = self.row.q.val().tail + 1;
        }
        self.out_index.next = (bit_cast::<OUT, 24>(self.held.q.val().qpn) << self.slot_log.val())
            | bit_cast::<OUT, 6>(self.slot.val() & self.slots.val());

        // Measure. The next message of the same arrival needs no weighing: none of it is answered.
        self.is_weighing.d.next = self.is_looking.q.val() & !self.follows.q.val();
        self.measure.looks.next = self.is_looking.q.val();
        self.measure.weighs.next = self.is_weighing.q.val();
        self.measure.arrival.next = self.held.q.val();
        self.measure.answers.next = self.kind.q.val().answers;
        self.measure.acknowledges.next = self.kind.q.val().acknowledges;
        self.measure.entry.next = self.out_entry.val();
        self.measure.progress.next = self.row.q.val().progress;
        self.measure.frontier.next = self.sent.val().frontier;

        // Step.
        self.step.kind.next = self.kind.q.val();
        self.step.arrival.next = self.held.q.val();
        self.step.row.next = self.row.q.val();
        self.step.outstanding.next = self.outstanding.q.val();
        self.step.entry.next = self.out_entry.val();
        self.step.measures.next = self.measure.measures.val();
        self.step.follows.next = self.follows.q.val();
        self.steps.next = self.is_stepping.q.val() & self.errands.sink.ready.val();
        self.walks.next = self.steps.val() & self.step.verdict.val().continues;
        self.is_stepping.d.next = self.is_weighing.q.val()
            | (self.is_looking.q.val() & self.follows.q.val())
            | (self.is_stepping.q.val() & !self.errands.sink.ready.val());
        self.is_looking.d.next = self.is_reading.q.val() | self.walks.val();
        if self.walks.val() {
            self.follows.d.next = true;
            self.row.d.next = self.step.after.val();
            self.outstanding.d.next = self.outstanding.q.val() - 1;
        }
        self.out_enable.next = self.is_reading.q.val() | self.steps.val();
        self.measure.passes.next = self.walks.val();
        self.rows.writes.next = self.steps.val() & !self.step.verdict.val().continues;
        self.rows.changed.next = self.step.after.val();

        self.errands.sink.valid.next = self.is_stepping.q.val();
        self.errands.sink.payload.next = self.step.errand.val();
        self.rewinds.sink.valid.next = self.steps.val() & self.step.verdict.val().rewinds;
        self.rewinds.sink.payload.next = self.step.rewind.val();
        self.alarms.sink.valid.next = self.steps.val() & self.step.verdict.val().alarms;
        self.alarms.sink.payload.next = self.step.alarm.val();
        StreamSource::<Errand>::link(&mut self.errand, &mut self.errands.source);
        StreamSource::<Rewind>::link(&mut self.rewind, &mut self.rewinds.source);
        StreamSource::<Alarm>::link(&mut self.alarm, &mut self.alarms.source);
        self.is_vain.next = self.steps.val()
            & self.kind.q.val().is_packet
            & !self.held.q.val().raw
            & self.step.verdict.val().is_vain;
        self.was_stale.d.next = self.is_vain.val() & !self.row.q.val().failed;
        self.was_unwanted.d.next = self.is_vain.val() & self.row.q.val().failed;
        self.stale.next = self.was_stale.q.val();
        self.unwanted.next = self.was_unwanted.q.val();
        self.counted.d.next = 0.into();
        if self.steps.val() {
            self.counted.d.next = self.step.counts.val();
        }
        self.timeouts.next = self.counted.q.val().get_bit(self.late_at.val().index());
        // An arrival that is taken behind this one is held a cycle later.
        self.tally.next = self.counted.q.val();
        self.tally_index.next = bit_cast::<QPS, 24>(self.held.q.val().qpn);

        self.ready.next = self.rows.ready.val();
        self.busy.next = !self.is_idle.val()
            | self.rows.busy.val()
            | self.errands.level.val().any()
            | self.rewinds.level.val().any()
            | self.alarms.level.val().any();
        if self.reset.val() {
            self.is_reading.d.next = false;
            self.is_looking.d.next = false;
            self.is_weighing.d.next = false;
            self.is_stepping.d.next = false;
            self.was_stale.d.next = false;
            self.was_unwanted.d.next = false;
            self.counted.d.next = 0.into();
        }
    }
}
