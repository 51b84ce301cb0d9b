//! The owner of the queue pairs: mailbox commands in, and what the sending side reads out.
//!
//! ```text
//!   command ─ creation, modification ─ judge ─┬─ drain, settle ─ change ─ reply
//!                                             ├─ tables ─ row
//!   error, emptied ─ failures ────────────────┘
//!                       └─ event, change
//! ```

mod attributes;
pub mod creation;
pub mod failures;
pub mod judge;
#[cfg(test)]
mod model;
pub mod modification;
#[cfg(test)]
mod rig;
pub mod rows;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod transitions;

use rust_hdl::prelude::*;
use stroma_abi::desc::QueuePair;

use self::failures::Failures;
use self::judge::{Judge, Verdict};
use self::tables::Tables;
use super::command::{ObjectCommand, ObjectReply};
use crate::constant::number;
use crate::fabric::records::ResultRow;
use crate::host::work::{EventRecord, QpChange, QpError, SendRow};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{PathRow, PeerRow, RingRow};

/// What the owner does with the command it holds.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// It holds none.
    Idle,
    /// Asks the table for the queue pair, behind an error that was before it.
    Look,
    /// The checks look at command and queue pair.
    Weigh,
    /// Their results decide.
    Judge,
    /// Writes the tables.
    Act,
    /// Tells all that the queue pair stops.
    Stop,
    /// Waits until all have heard it.
    Stopped,
    /// Says `drain`.
    Drain,
    /// Waits for `drained`.
    Drained,
    /// Waits until the last completion has been handed over to be written.
    Written,
    /// Says `settle`.
    Settle,
    /// Waits for `settled`.
    Settled,
    /// Tells all that it has changed.
    Change,
    /// Waits until all have heard it.
    Changed,
    /// Replies.
    Answer,
}

block! {
    /// Makes, changes, shows and ends `2^QPS` queue pairs, one command at a time.
    ///
    /// A refused command has changed nothing. A queue pair ends, or begins anew in RESET, in four waits. After them nothing
    /// of it is under way, and nothing of it will appear in host memory or on the wire:
    ///
    /// 1. The row changes first, and all hear that it stops: nobody begins anything for it any more.
    /// 2. Whoever reads it from the cycle of `drain` on finds the new one. `drained` says that the
    ///    jobs begun under the old one are retired: their payload has been accepted by the writer, and their completions
    ///    by the CQs, each before the job's end.
    /// 3. The CQs take a completion when they have none left to write, and offer its entry from the next cycle on. So
    ///    of all these completions only the last can be on offer and not accepted, and it is on offer when `drained`
    ///    comes. A cycle without `entry_waits` has it accepted. Entries of others do not keep the command waiting: there is
    ///    such a cycle between two of them.
    /// 4. Now all is accepted. The writer makes it visible in that order. `settled` says that it has, that the
    ///    errors of all this were taken from `error`: a late one would hit the next queue pair under this number; and that the windows that were bound to it
    ///    are bound to nothing.
    ///
    /// On its way to Drained it takes the second wait alone: then no job that could begin a request is left, and the change
    /// says that what has begun is known. Changes within Drained are not told.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command. `error`: a queue pair goes into
    ///   error; `emptied`: one in Drained has finished what it had begun; `event`: it failed and no completion tells it, or it
    ///   is emptied and wants to be told. `row_*`, `peer_*`, `path_*`, `ring_*`, `area_*`, `probe`, `exists`: as in [`Tables`].
    ///   `probe_cq`, `probe_exists`: do these CQs exist, the one for sending and the one for receiving, answered in the
    ///   same cycle; `probe_srq`, `srq_exists`: likewise. `change`: a queue pair begins anew, may go on, or stops, as it ends or has gone into error; `told`: all who
    ///   have to hear of changes have heard of those taken before this cycle, which a reply waits for. `drain`, `settle`: a pulse each; `drained`, `settled`: the pulse, in a later cycle, that answers;
    ///   `ending`: the queue pair of a command, meanwhile. `entry_waits`: a CQE is on offer and not accepted. `ready`: the tables are clean. `busy`: a command, an error, its
    ///   event or its change is inside, or the tables are not clean.
    /// - **Latency** from the command to the reply's offer, 5 cycles; a change adds 2, if it is taken and told at once, the way to Drained 2 more, the end of a
    ///   queue pair 7, if both pulses are answered a cycle later and no CQE is on offer, and an error taken together
    ///   with the command 1.
    /// - **Rate** one command at a time; one error or `emptied` in 2 cycles, in 3 if there is something to tell.
    /// - **Backpressure** commands wait for the reply before them. Errors wait for at most six cycles of a command and for
    ///   its `change`, never for `told`, `drained`, `settled` or `reply`; an event or a change that is not taken stalls them. So
    ///   `change` must not wait for an error to be taken: a queue that holds one of each queue pair and two more sees to it. No path from port to port but from
    ///   `probe_exists` to registers.
    /// - **Reset** forgets command, error, event and change, and all queue pairs, which takes `2^QPS` cycles; `ready` is
    ///   low meanwhile, and commands and errors wait.
    /// - **Limits** `QPS` and `CQS` to 24, `PAGES` to 12. A number beyond is `OutOfRange` for create, and `NoObject` for the
    ///   others.
    pub struct QueuePairs<const QPS: usize, const CQS: usize, const PAGES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub error: StreamSink<QpError>,
        pub emptied: StreamSink<Bits<24>>,
        pub event: StreamSource<EventRecord>,
        pub row_enable: Signal<In, Bit>,
        pub row_index: Signal<In, Bits<24>>,
        pub row: Signal<Out, SendRow>,
        pub peer_enable: Signal<In, Bit>,
        pub peer_index: Signal<In, Bits<24>>,
        pub peer: Signal<Out, PeerRow>,
        pub path_enable: Signal<In, Bit>,
        pub path_index: Signal<In, Bits<24>>,
        pub path: Signal<Out, PathRow>,
        pub ring_enable: [Signal<In, Bit>; 2],
        pub ring_index: [Signal<In, Bits<24>>; 2],
        pub ring: [Signal<Out, RingRow>; 2],
        pub area_enable: [Signal<In, Bit>; 2],
        pub area_index: [Signal<In, Bits<24>>; 2],
        pub area: [Signal<Out, ResultRow>; 2],
        pub probe: Signal<In, Bits<24>>,
        pub exists: Signal<Out, Bit>,
        pub probe_cq: [Signal<Out, Bits<24>>; 2],
        pub probe_exists: [Signal<In, Bit>; 2],
        pub probe_srq: Signal<Out, Bits<24>>,
        pub srq_exists: Signal<In, Bit>,
        pub change: StreamSource<QpChange>,
        pub told: Signal<In, Bit>,
        pub drain: Signal<Out, Bit>,
        pub drained: Signal<In, Bit>,
        pub entry_waits: Signal<In, Bit>,
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub ending: Signal<Out, Bits<24>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        tables: Tables<QPS>,
        failures: Failures<QPS>,
        judge: Judge<CQS, PAGES>,
        step: Reg<Step>,
        verb: Reg<Bits<8>>,
        object: Reg<Bits<32>>,
        attributes: Reg<Bits<64>>,
        /// The command's body; once judged, the queue pair to be stored or shown.
        body: Reg<Bits<896>>,
        verdict: Reg<Verdict>,
        is_open: Signal<Local, Bit>,
        looks: Signal<Local, Bit>,
        acts: Signal<Local, Bit>,
        changes: Signal<Local, Bit>,
        send_cq_at: Constant<Bits<10>> = number(QueuePair::SEND_CQ.offset()),
        receive_cq_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_CQ.offset()),
        srq_at: Constant<Bits<10>> = number(QueuePair::SRQ.offset()),
    }
}

impl<const QPS: usize, const CQS: usize, const PAGES: usize> Logic for QueuePairs<QPS, CQS, PAGES> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "an arm for each step, and what all of them share")]
    fn update(&mut self) {
        clock!(self, clock, tables, failures, judge);
        dff_setup!(self, clock, step, verb, object, attributes, body, verdict);
        self.tables.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.ready.next = self.tables.ready.val();
        self.busy.next =
            !self.tables.ready.val() | (self.step.q.val() != Step::Idle) | self.failures.busy.val();

        // Between a command's look and its act nobody else may change the queue pair; elsewhere errors go first. A change
        // on offer stays, so none of an error may come in its place.
        self.is_open.next = self.tables.ready.val()
            & ((self.step.q.val() == Step::Idle)
                | (self.step.q.val() == Step::Stopped)
                | (self.step.q.val() == Step::Drained)
                | (self.step.q.val() == Step::Written)
                | (self.step.q.val() == Step::Settle)
                | (self.step.q.val() == Step::Settled)
                | (self.step.q.val() == Step::Changed)
                | (self.step.q.val() == Step::Answer));
        self.failures.open.next = self.is_open.val();
        StreamSink::<QpError>::link(&mut self.error, &mut self.failures.error);
        StreamSink::<Bits<24>>::link(&mut self.emptied, &mut self.failures.emptied);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.failures.event);
        self.failures.body.next = self.tables.body.val();
        self.failures.beyond.next = self.tables.beyond.val();

        self.looks.next = (self.step.q.val() == Step::Look) & !self.failures.looks.val();
        self.tables.read.next = self.looks.val() | self.failures.read.val();
        self.tables.index.next = self.failures.index.val();
        if self.looks.val() {
            self.tables.index.next = self.object.q.val();
        }
        self.acts.next = (self.step.q.val() == Step::Act) & self.verdict.q.val().writes;
        self.tables.write.next = self.acts.val() | self.failures.write.val();
        self.tables.write_index.next = self.failures.write_index.val();
        self.tables.write_body.next = self.failures.write_body.val();
        if self.acts.val() {
            self.tables.write_index.next = bit_cast::<QPS, 32>(self.object.q.val());
            self.tables.write_body.next = self.body.q.val();
        }
        self.tables.row_enable.next = self.row_enable.val();
        self.tables.row_index.next = self.row_index.val();
        self.row.next = self.tables.row.val();
        self.tables.peer_enable.next = self.peer_enable.val();
        self.tables.peer_index.next = self.peer_index.val();
        self.peer.next = self.tables.peer.val();
        self.tables.path_enable.next = self.path_enable.val();
        self.tables.path_index.next = self.path_index.val();
        self.path.next = self.tables.path.val();
        for i in 0..2 {
            self.tables.ring_enable[i].next = self.ring_enable[i].val();
            self.tables.ring_index[i].next = self.ring_index[i].val();
            self.ring[i].next = self.tables.ring[i].val();
            self.tables.area_enable[i].next = self.area_enable[i].val();
            self.tables.area_index[i].next = self.area_index[i].val();
            self.area[i].next = self.tables.area[i].val();
        }

        self.tables.probe.next = self.probe.val();
        self.exists.next = self.tables.exists.val();

        self.probe_cq[0].next = self.body.q.val().get_bits::<24>(self.send_cq_at.val().index());
        self.probe_cq[1].next = self.body.q.val().get_bits::<24>(self.receive_cq_at.val().index());
        for i in 0..2 {
            self.judge.cq_exists[i].next = self.probe_exists[i].val();
        }
        self.probe_srq.next = self.body.q.val().get_bits::<24>(self.srq_at.val().index());
        self.judge.srq_exists.next = self.srq_exists.val();
        self.judge.verb.next = self.verb.q.val();
        self.judge.attributes.next = self.attributes.q.val();
        self.judge.body.next = self.body.q.val();
        self.judge.present.next = self.tables.body.val();
        self.judge.beyond.next = self.tables.beyond.val();

        self.command.ready.next = self.tables.ready.val() & (self.step.q.val() == Step::Idle);
        self.drain.next = self.step.q.val() == Step::Drain;
        self.settle.next = self.step.q.val() == Step::Settle;
        self.ending.next = bit_cast::<24, 32>(self.object.q.val());
        self.changes.next = ((self.step.q.val() == Step::Stop) | (self.step.q.val() == Step::Change))
            & !self.failures.looks.val()
            & !self.failures.change.valid.val();
        self.change.valid.next = self.changes.val() | self.failures.change.valid.val();
        self.change.payload.next.qpn = bit_cast::<24, 32>(self.object.q.val());
        self.change.payload.next.resets = self.verdict.q.val().resets & (self.step.q.val() == Step::Change);
        self.change.payload.next.stops = self.verdict.q.val().stops | (self.step.q.val() == Step::Stop);
        self.change.payload.next.ends = self.step.q.val() == Step::Stop;
        self.change.payload.next.drains = self.verdict.q.val().pauses;
        if self.failures.change.valid.val() {
            self.change.payload.next = self.failures.change.payload.val();
        }
        self.failures.change.ready.next = self.change.ready.val();
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next.status = self.verdict.q.val().status;
        self.reply.payload.next.field = self.verdict.q.val().field;
        self.reply.payload.next.body = 0.into();
        if self.verdict.q.val().shows {
            self.reply.payload.next.body = self.body.q.val();
        }

        match self.step.q.val() {
            Step::Idle => {
                if self.tables.ready.val() & self.command.valid.val() {
                    self.verb.d.next = self.command.payload.val().verb;
                    self.object.d.next = self.command.payload.val().object;
                    self.attributes.d.next = self.command.payload.val().attributes;
                    self.body.d.next = self.command.payload.val().body;
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                if self.looks.val() {
                    self.step.d.next = Step::Weigh;
                }
            }
            Step::Weigh => {
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.verdict.d.next = self.judge.verdict.val();
                self.body.d.next = self.judge.outcome.val();
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                self.step.d.next = Step::Answer;
                if self.verdict.q.val().pauses & self.verdict.q.val().drains {
                    self.step.d.next = Step::Drain;
                } else if self.verdict.q.val().drains {
                    self.step.d.next = Step::Stop;
                } else if self.verdict.q.val().changes {
                    self.step.d.next = Step::Change;
                }
            }
            Step::Stop => {
                if self.changes.val() & self.change.ready.val() {
                    self.step.d.next = Step::Stopped;
                }
            }
            Step::Stopped => {
                if self.told.val() {
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                self.step.d.next = Step::Drained;
            }
            Step::Drained => {
                if self.drained.val() {
                    self.step.d.next = Step::Written;
                    if self.verdict.q.val().pauses {
                        self.step.d.next = Step::Change;
                    }
                }
            }
            Step::Written => {
                if !self.entry_waits.val() {
                    self.step.d.next = Step::Settle;
                }
            }
            Step::Settle => {
                self.step.d.next = Step::Settled;
            }
            Step::Settled => {
                if self.settled.val() {
                    self.step.d.next = Step::Answer;
                    if self.verdict.q.val().changes {
                        self.step.d.next = Step::Change;
                    }
                }
            }
            Step::Change => {
                if self.changes.val() & self.change.ready.val() {
                    self.step.d.next = Step::Changed;
                }
            }
            Step::Changed => {
                if self.told.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                if self.reply.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
