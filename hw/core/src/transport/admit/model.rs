//! The desk in plain Rust: messages and packets are counted without end, and cut to their width when they are told.

pub mod queue;

use std::collections::BTreeMap;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::RpcTarget;

use queue::{Queue, back_from, entry, key_job, low, opening, psn, slot, units, work_index};
pub use queue::{answers, asks, has_units, is_call, is_key, is_request, packets, psns};

use super::judge::PSN_WINDOW;
use crate::host::parse::Defect;
use crate::host::work::{QpChange, Work};
use crate::transport::records::{
    AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, OUTSTANDING_LOG, Occasion, Progress, QUANTUM_BYTES,
    Rewind, Sent, SentRow,
};

/// What the neighbours know when a work is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Of its queue pair.
    pub acked: AckedRow,
    /// Likewise.
    pub keyed: KeyedRow,
    /// There is room for work on a key.
    pub has_room: bool,
    /// Local works that have ended.
    pub ended: u64,
}

/// All that may come of one thing.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// To the mover; its units go along.
    pub local: Option<(Work, bool)>,
    /// To whoever changes keys.
    pub key: Option<KeyJob>,
    /// To be sent, without colour; its units go along.
    pub message: Option<Message>,
    /// The timer.
    pub alarm: Option<Alarm>,
    /// To the scheduler.
    pub progress: Option<Progress>,
    /// Failure or flush.
    pub nudge: Option<Nudge>,
    /// Row to be stored.
    pub sent: Option<(u64, SentRow)>,
    /// Entry to be stored.
    pub entry: Option<(u64, Sent)>,
    /// Epoch to be told.
    pub epoch: Option<(u64, u64)>,
    /// A READ or atomic waits for such.
    pub read_waits: bool,
}

/// The desk.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By number.
    pub queues: BTreeMap<u64, Queue>,
    issued: u64,
    bytes: u64,
    blocked: bool,
    follows: bool,
    owner: u64,
    /// Requests that only a fence has held back.
    pub fenced: u64,
    /// Works that a drain has held back.
    pub drained: u64,
}

impl Model {
    /// A work, with its first unit if it has any.
    ///
    /// # Panics
    /// If it has units and none is given.
    pub fn work(&mut self, work: &Work, first: Option<&Bits<512>>, view: &View) -> Outcome {
        let qpn = u64::from(work.qpn);
        let mut queue = self.queues.get(&qpn).cloned().unwrap_or_default();
        let mut outcome = Outcome::default();
        if !queue.started {
            queue.psn = u64::from(work.send_psn);
            queue.frontier = queue.psn;
        }
        queue.halted |= view.acked.failed;
        let tail = back_from(queue.head, u64::from(view.acked.tail), 6);
        queue.messages.retain(|number, _| *number >= tail);
        if self.follows || (queue.slot < tail && tail == queue.head) {
            if self.follows {
                queue.head_index = work_index(work);
            }
            (queue.index, queue.psn, queue.sent, queue.slot) =
                (queue.head_index, queue.frontier, 0, queue.head);
        } else if queue.slot < tail {
            let (psn, entry) = &queue.messages[&tail];
            let index = low(u64::from(entry.index));
            (queue.index, queue.psn, queue.sent, queue.slot) = (index, *psn, 0, tail);
        }
        self.follows = false;
        self.owner = qpn;
        if work.ends {
            self.issued += 1;
            outcome.local = Some((*work, false));
            outcome.progress = Some(Progress {
                qpn: work.qpn,
                next_index: u64::from(queue.index).into(),
                rewinds: false,
                blocked: self.blocked || (queue.held && queue.slot < queue.head && !is_stopped(&queue, view)),
                bytes: self.bytes.min(u64::from(u32::MAX)).into(),
            });
            (self.bytes, self.blocked) = (0, false);
        } else if work_index(work) == queue.index {
            self.judge(&mut queue, work, first, tail, view, &mut outcome);
        }
        self.queues.insert(qpn, queue);
        outcome
    }

    fn judge(
        &mut self,
        queue: &mut Queue,
        work: &Work,
        first: Option<&Bits<512>>,
        tail: u64,
        view: &View,
        outcome: &mut Outcome,
    ) {
        let status = u64::from(work.status);
        let (is_request, asks) = (is_request(work), asks(work));
        let is_stopped = is_stopped(queue, view);
        let has_ended = view.keyed.turn == (queue.keys % 2 == 1);
        let is_spent = self.bytes >= QUANTUM_BYTES as u64;
        let (reads_out, pending) = (u64::from(work.reads_out), queue.head - tail);
        if queue.slot < queue.head && !is_stopped {
            let agrees = is_request && {
                let sent = &queue.messages[&queue.slot].1;
                let entry = entry(queue, work, first);
                (sent.index, sent.opcode, sent.length) == (entry.index, entry.opcode, entry.length)
                    && sent.packets == entry.packets
                    && (!asks || (sent.address, sent.key) == (entry.address, entry.key))
            };
            if queue.held {
                self.blocked = true;
            } else if agrees {
                if !is_spent {
                    self.send(queue, work, first, outcome);
                }
            } else if status == Status::Flushed as u64 {
                self.blocked = true;
            } else {
                let own = (u64::from(work.status), u64::from(work.vendor));
                let (status, vendor) =
                    if status == 0 { (Status::LocalQueuePair as u64, Defect::Index as u64) } else { own };
                queue.halted = true;
                outcome.nudge = Some(Nudge {
                    occasion: (Occasion::Failure as u64).into(),
                    qpn: work.qpn,
                    slot: slot(queue.slot),
                    status: status.into(),
                    vendor: vendor.into(),
                    ..Nudge::default()
                });
            }
        } else if work.drains {
            self.drained += 1;
            self.blocked = true;
        } else if is_request && !is_stopped && !(asks && reads_out == 0) {
            let reads = queue.reads - back_from(queue.reads, u64::from(view.acked.reads), 5);
            let oldest = queue.messages.values().next().map_or(queue.psn, |(psn, _)| *psn);
            outcome.read_waits = asks && reads >= reads_out;
            let is_full = pending == 1 << OUTSTANDING_LOG || queue.psn + psns(work) - oldest > PSN_WINDOW;
            let is_fenced = work.fence && reads > 0;
            let waits = is_full || outcome.read_waits || queue.held;
            self.fenced += u64::from(is_fenced && !waits);
            if waits || is_fenced {
                self.blocked = true;
            } else if view.ended >= queue.local_ticket && has_ended && !is_spent {
                self.send(queue, work, first, outcome);
            }
        } else if pending > 0 {
            self.blocked = true;
        } else if !has_ended {
        } else if is_key(work) && !is_stopped {
            if view.ended >= queue.local_ticket && view.has_room {
                queue.keys += 1;
                queue.started = true;
                queue.index = queue.index.wrapping_add(units(work));
                queue.head_index = queue.index;
                outcome.key = Some(key_job(work, first, queue.keys % 2 == 1));
            }
        } else {
            self.issued += 1;
            let mut local = *work;
            if is_stopped {
                (local.status, local.vendor) = ((Status::Flushed as u64).into(), 0.into());
            } else if is_request {
                local.status = (Status::LocalQueuePair as u64).into();
                local.vendor = (Defect::OpCode as u64).into();
            }
            let goes = u64::from(local.status) == 0;
            if goes {
                self.bytes += u64::from(work.length);
            }
            self.follows = status != 0;
            queue.started = true;
            queue.index = queue.index.wrapping_add(units(work));
            queue.head_index = queue.index;
            queue.local_ticket = self.issued;
            outcome.local = Some((local, goes && has_units(work)));
        }
    }

    /// Sends a message, or as much of it as a visit may.
    fn send(&mut self, queue: &mut Queue, work: &Work, first: Option<&Bits<512>>, outcome: &mut Outcome) {
        let asks = asks(work);
        let mtu = 128 << u64::from(work.path_mtu);
        // What carries no data is one packet, and takes all the PSNs that are left; so does the last packet of an RPC.
        let asks_again = is_call(work) && queue.sent >= packets(work);
        let is_single = (asks && !is_call(work)) || asks_again;
        let share = QUANTUM_BYTES as u64 / mtu;
        let carries = if is_single { 1 } else { (packets(work) - queue.sent).min(share) };
        let is_part = !is_single && queue.sent + carries < packets(work);
        let covers = if is_part { carries } else { psns(work) - queue.sent };
        queue.started = true;
        if queue.slot == queue.head {
            let entry = entry(queue, work, first);
            queue.messages.insert(queue.slot, (queue.psn, entry));
            outcome.entry = Some(((u64::from(work.qpn) << 5) | (queue.slot % 32), entry));
            queue.head += 1;
            queue.head_index = queue.index.wrapping_add(units(work));
            queue.reads += u64::from(asks);
        }
        let (length, skips) = if asks_again { (0, 0) } else { (u64::from(work.length), queue.sent * mtu) };
        self.bytes += (length - skips).min(if is_single { u64::MAX } else { carries * mtu });
        let (head, operands) = opening(first);
        let mut remote = RpcTarget::from_address(work.remote.into());
        if asks_again {
            remote.parameter_words = 0;
        }
        outcome.message = Some(Message {
            qpn: work.qpn,
            pd: work.pd,
            path_mtu: work.path_mtu,
            opcode: if asks_again { (WorkOp::Rpc as u64).into() } else { work.opcode },
            solicited: head.solicited,
            imm: u64::from(head.immediate).into(),
            a1: operands.swap_add.into(),
            a2: operands.compare.into(),
            inline: work.inline && !asks_again,
            units: work.units,
            sge_count: work.sge_count,
            length: length.into(),
            skips: skips.into(),
            packets: carries.into(),
            psn: psn(queue.psn),
            remote: remote.to_address().into(),
            key: work.key,
            slot: slot(queue.slot),
            again: queue.psn + covers <= queue.frontier,
            colour: false,
            epoch: queue.told_epoch().into(),
        });
        outcome.alarm = Some(Alarm { qpn: work.qpn, timeout: work.timeout, ..Alarm::default() });
        queue.psn += covers;
        queue.sent += covers;
        queue.frontier = queue.frontier.max(queue.psn);
        if queue.sent == psns(work) {
            (queue.sent, queue.slot) = (0, queue.slot + 1);
            queue.index = queue.index.wrapping_add(units(work));
        }
        let row = SentRow { head: slot(queue.head), frontier: psn(queue.frontier) };
        outcome.sent = Some((u64::from(work.qpn), row));
    }

    /// The peer, or its silence, asks for packets again.
    pub fn rewind(&mut self, rewind: &Rewind) -> Outcome {
        let mut outcome = Outcome::default();
        let qpn = u64::from(rewind.qpn);
        let Some(queue) = self.queues.get_mut(&qpn) else { return outcome };
        if !queue.started || queue.is_stopped() {
            return outcome;
        }
        queue.held = rewind.holds;
        queue.slot = back_from(queue.head, u64::from(rewind.slot), 6);
        (queue.index, queue.psn, queue.sent) = if queue.slot == queue.head {
            (queue.head_index, queue.frontier, 0)
        } else {
            let psn = back_from(queue.frontier, u64::from(rewind.psn), 24);
            (low(u64::from(rewind.index)), psn, u64::from(rewind.skips))
        };
        queue.epoch += u64::from(rewind.discards);
        outcome.epoch = Some((qpn, queue.told_epoch()));
        self.blocked &= self.owner != qpn || rewind.holds;
        outcome.progress = Some(Progress {
            qpn: rewind.qpn,
            next_index: u64::from(queue.index).into(),
            rewinds: true,
            blocked: rewind.holds,
            ..Progress::default()
        });
        outcome
    }

    /// A queue pair has changed.
    pub fn change(&mut self, change: &QpChange) -> Outcome {
        let mut outcome = Outcome::default();
        let qpn = u64::from(change.qpn);
        let queue = self.queues.entry(qpn).or_default();
        if change.resets {
            *queue = Queue { epoch: queue.epoch, ..Queue::default() };
            outcome.epoch = Some((qpn, queue.told_epoch()));
            outcome.sent = Some((qpn, SentRow::default()));
            self.blocked &= self.owner != qpn;
            self.follows &= self.owner != qpn;
        } else if change.stops && !queue.stopped {
            queue.stopped = true;
            outcome.epoch = Some((qpn, queue.told_epoch()));
            let occasion = (Occasion::Flush as u64).into();
            outcome.nudge = Some(Nudge { occasion, qpn: change.qpn, ..Nudge::default() });
        }
        outcome
    }
}

/// Does a queue pair send no more?
fn is_stopped(queue: &Queue, view: &View) -> bool {
    queue.is_stopped() || view.keyed.failed
}
