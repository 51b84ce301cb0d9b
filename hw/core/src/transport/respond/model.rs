//! The answers in plain Rust, an operation at a time.

use std::collections::{BTreeSet, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::rows::READS_LOG;
use super::serve::BURST;
use crate::fabric::records::ResultRow;
use crate::host::work::{QpChange, QpError};
use crate::transport::records::{Answer, Task, TxFailure, TxStep};

/// An acknowledgement that waits.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    psn: Bits<24>,
    msn: Bits<24>,
    syndrome: u8,
    /// READs, atomics and RPCs that are answered first.
    behind: usize,
}

impl Ack {
    fn says(&self) -> Syndrome {
        Syndrome::decode(self.syndrome)
    }

    fn number(&self) -> u32 {
        u32::try_from(u64::from(self.psn)).expect("24 bits")
    }

    fn is_positive(&self) -> bool {
        matches!(self.says(), Syndrome::Ack { .. })
    }

    fn is_final(&self) -> bool {
        matches!(self.says(), Syndrome::Nak(code) if code != NakCode::PsnSequence)
    }

    fn is_negative(&self) -> bool {
        self.syndrome >> 5 == Syndrome::Nak(NakCode::PsnSequence).encode() >> 5
    }
}

/// A READ, an atomic, or an RPC.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// It.
    pub task: Task,
    /// READ: its ticket, counted from the first ever.
    ticket: u64,
    /// RPC: status and bytes, once all of them are in the result area.
    kept: Option<(u64, u64)>,
    /// RPC: the same, and where they are, if they are in the staging.
    staged: Option<(u64, u64, u64)>,
    /// RPC, once more: a newer one has its place.
    is_outdated: bool,
}

impl Read {
    fn new(task: &Task, ticket: u64) -> Self {
        let ticket = if is(task, Answer::Data) { ticket } else { 0 };
        let replay = (task.status.into(), task.length.into());
        let kept = is(task, Answer::Replay).then_some(replay);
        let task = Task { fresh: is_fresh(task), ..*task };
        Self { task, ticket, kept, staged: None, is_outdated: false }
    }

    /// Is it an RPC that is to be answered for the first time, or since it came again while it ran?
    #[must_use]
    pub fn is_call(&self) -> bool {
        is(&self.task, Answer::Result) || is(&self.task, Answer::Pending)
    }

    fn may_go(&self, done: u64) -> bool {
        let is_known = self.kept.is_some() || self.staged.is_some();
        if self.is_call() { is_known } else { self.ticket <= done && !self.is_outdated }
    }
}

/// Counts are modulo this.
const COUNTS: u64 = 32;

/// What a queue pair owes its peer.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    /// The acknowledgement.
    pub ack: Option<Ack>,
    /// READs, atomics and RPCs.
    pub reads: VecDeque<Read>,
    /// The packets of the first of them that have gone.
    pub packets: u64,
    /// The PSN that came again of the RPC at the head, which still runs.
    busy: Option<Bits<24>>,
    /// A congestion notification.
    pub cnp: bool,
    /// When the last one was sent.
    cnp_at: Option<u64>,
    /// Nothing but a refusal.
    pub stopped: bool,
    /// READs, atomics and RPCs that came for the first time, and those of them that are over.
    taken: u64,
    over: u64,
    /// Those that were served while this one had something to send: each may be so once.
    served_first: BTreeSet<usize>,
}

impl Owed {
    /// Is there anything?
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.ack.is_some() || !self.reads.is_empty() || self.cnp
    }

    /// Is there nothing that may go before an RPC is finished?
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        let is_first = self.ack.is_none_or(|ack| ack.behind > 0) && !self.cnp && self.busy.is_none();
        is_first && self.reads.front().is_some_and(|read| read.is_call() && !read.may_go(0))
    }

    fn waiting(&mut self, place: Bits<4>) -> Option<&mut Read> {
        self.reads.iter_mut().find(|read| read.is_call() && read.task.place == place)
    }

    fn is_at_head(&self, place: Bits<4>) -> bool {
        self.reads.front().is_some_and(|read| read.is_call() && read.task.place == place)
    }

    /// The stage that is given back when all is given up.
    fn stage(&self) -> Option<u64> {
        self.reads.front().and_then(|read| read.staged).map(|(.., stage)| stage)
    }

    /// Has it something that may go?
    fn is_due(&self, done: u64) -> bool {
        let is_ack_first = self.ack.is_some_and(|ack| ack.behind == 0);
        let is_head_due = self.busy.is_some() || self.reads.front().is_some_and(|read| read.may_go(done));
        self.cnp || is_ack_first || is_head_due
    }

    /// Forgets all but a refusal.
    fn forget(&mut self) {
        self.served_first.clear();
        self.reads.clear();
        self.over = self.taken;
        (self.packets, self.cnp, self.stopped, self.busy) = (0, false, true, None);
        self.ack = self.ack.filter(Ack::is_negative).map(|ack| Ack { behind: 0, ..ack });
    }

    /// Is this a peer that goes back? It asks from behind the first packet of the answer at the head, which has gone, and not
    /// from behind the next; a copy that the wire made of an earlier request begins where that began.
    fn is_gone_back(&self, task: &Task) -> bool {
        let ahead = |head: &Task| u64::from(task.psn).wrapping_sub(head.psn.into()) & 0xff_ffff;
        let begins_within = |head: &Read| (1..=self.packets).contains(&ahead(&head.task));
        let asks_again = (is(task, Answer::Data) && !task.fresh) || is(task, Answer::Replay);
        asks_again && !self.stopped && self.reads.front().is_some_and(begins_within)
    }

    /// Makes place for one that goes back, which asks for all behind again; a refusal, or a gap, goes behind it.
    fn go_back(&mut self) {
        self.served_first.clear();
        self.reads.clear();
        (self.packets, self.over) = (0, self.taken);
        self.ack = self.ack.filter(|ack| !ack.is_positive()).map(|ack| Ack { behind: 1, ..ack });
    }

    /// Owes nothing new. What came before a final refusal is still sent, or the peer would not take the refusal for one; but RPCs
    /// are given up, and all with them.
    fn stop(&mut self, ends: bool) {
        let gives_up = self.reads.iter().any(Read::is_call);
        if ends || gives_up || !self.ack.is_some_and(|ack| ack.is_final()) {
            self.forget();
        }
        (self.cnp, self.stopped) = (false, true);
        self.ack = self.ack.filter(|_| !ends);
    }
}

/// All queue pairs, and what has been counted.
#[derive(Clone, Debug)]
pub struct Model {
    /// By number.
    pub owed: Vec<Owed>,
    /// READs, atomics and RPCs without room.
    pub dropped: u64,
    /// Answers that were asked for again, and whose place was taken by a newer one.
    pub outdated: u64,
    /// Where the results of each queue pair are.
    pub areas: Vec<ResultRow>,
    /// Stages that were sent from, and that were not needed.
    pub sent_stages: Vec<u64>,
    pub freed_stages: Vec<u64>,
    /// READs that took the place of all that waited.
    pub gone_back: u64,
    /// Notifications sent.
    pub cnps: u64,
    /// Cycles from one notification of a queue pair to the next at least.
    pub cnp_interval: u64,
    /// Queue pairs that failed, in order.
    pub errors: Vec<QpError>,
    /// For each queue pair, what was told of READs and atomics that are over, each number once.
    pub answered: Vec<Vec<u64>>,
}

fn is(task: &Task, answer: Answer) -> bool {
    task.answer == answer as u64
}

fn is_fresh(task: &Task) -> bool {
    task.fresh && !is(task, Answer::Replay) && !is(task, Answer::Pending)
}

/// Bytes of a full packet.
#[must_use]
pub fn mtu(task: &Task) -> u64 {
    128 << task.path_mtu.index()
}

/// Packets of an answer, as far as its task tells.
#[must_use]
pub fn packets(task: &Task) -> u64 {
    if !is(task, Answer::Data) && !is(task, Answer::Replay) {
        return 1;
    }
    u64::from(task.length).div_ceil(mtu(task)).max(1)
}

/// The PSN `count` packets on.
#[must_use]
pub fn psn(first: Bits<24>, count: u64) -> Bits<24> {
    ((u64::from(first) + count) & 0xff_ffff).into()
}

fn aeth(syndrome: u8, msn: Bits<24>) -> Bits<32> {
    (u64::from(syndrome) << 24 | u64::from(msn)).into()
}

impl Model {
    /// `2^log` queue pairs that owe nothing.
    #[must_use]
    pub fn new(log: usize) -> Self {
        let answered = vec![vec![0]; 1 << log];
        let owed = vec![Owed::default(); 1 << log];
        Self {
            owed,
            dropped: 0,
            outdated: 0,
            areas: vec![ResultRow::default(); 1 << log],
            sent_stages: Vec::new(),
            freed_stages: Vec::new(),
            gone_back: 0,
            cnps: 0,
            cnp_interval: 0,
            errors: Vec::new(),
            answered,
        }
    }

    /// Tells how many are over, if that is news.
    fn tell(&mut self, number: usize) {
        let over = self.owed[number].over % COUNTS;
        if self.answered[number].last() != Some(&over) {
            self.answered[number].push(over);
        }
    }

    fn at(&mut self, qpn: Bits<24>) -> &mut Owed {
        let count = self.owed.len();
        &mut self.owed[qpn.index() % count]
    }

    /// Takes a task.
    ///
    /// # Panics
    /// When its syndrome has more than eight bits.
    pub fn task(&mut self, task: &Task, ticket: u64) {
        let owed = self.at(task.qpn);
        if owed.ack.is_some() {
            // It may give way to something that has to wait.
            owed.served_first.clear();
        }
        if is(task, Answer::Finished) {
            self.finish(task);
            return;
        }
        if is(task, Answer::Pending) && owed.waiting(task.place).is_some() {
            if owed.is_at_head(task.place) && owed.packets == 0 {
                owed.busy = Some(task.psn);
            }
            return;
        }
        if !is(task, Answer::Acknowledge) {
            self.ask(task, ticket);
            return;
        }
        let syndrome = u8::try_from(u64::from(task.syndrome)).expect("eight bits");
        let ack = Ack { psn: task.psn, msn: task.msn, syndrome, behind: owed.reads.len() };
        let is_older = |waiting: Ack| {
            let is_before = Psn::new(ack.number()).is_before(Psn::new(waiting.number()));
            ack.is_positive() && !waiting.is_positive() && is_before
        };
        let stays = owed.ack.is_some_and(|waiting| waiting.is_final() || is_older(waiting));
        if !stays && (!owed.stopped || ack.is_negative()) {
            owed.ack = Some(ack);
        }
    }

    /// Something comes among the READs, if there is room.
    fn ask(&mut self, task: &Task, ticket: u64) {
        let owed = self.at(task.qpn);
        let is_gone_back = owed.is_gone_back(task);
        if is_gone_back {
            owed.go_back();
        }
        let (is_result, fresh) = (is(task, Answer::Result), is_fresh(task));
        if is_result {
            let is_replaced =
                |read: &&mut Read| is(&read.task, Answer::Replay) && read.task.place == task.place;
            owed.reads.iter_mut().filter(is_replaced).for_each(|read| read.is_outdated = true);
        }
        let is_barred = is_result && owed.waiting(task.place).is_some();
        let has_room = owed.reads.len() < 1 << READS_LOG && !is_barred;
        owed.taken += u64::from(fresh);
        if has_room && !owed.stopped {
            // An RPC may run for long: it does not speak for an acknowledgement.
            owed.ack = owed.ack.filter(|ack| !(fresh && !is_result && ack.is_positive()));
            owed.reads.push_back(Read::new(task, ticket));
        } else {
            owed.over += u64::from(fresh);
        }
        let is_dropped = !has_room && !owed.stopped;
        self.dropped += u64::from(is_dropped);
        self.gone_back += u64::from(is_gone_back);
        self.tell(task.qpn.index() % self.owed.len());
    }

    /// An RPC is finished.
    fn finish(&mut self, task: &Task) {
        let owed = self.at(task.qpn);
        let is_at_head = owed.is_at_head(task.place);
        let result = (task.status.into(), task.length.into());
        let read = owed.waiting(task.place);
        if !task.staged {
            if let Some(read) = read {
                read.kept = Some(result);
            }
            return;
        }
        let stage = task.stage.into();
        match read.filter(|read| is_at_head && read.kept.is_none() && read.staged.is_none()) {
            Some(read) => read.staged = Some((result.0, result.1, stage)),
            None => self.freed_stages.push(stage),
        }
    }

    /// A queue pair had its turn, and its answer at the head had been outdated.
    ///
    /// # Panics
    /// When it was not, or something goes before it.
    pub fn outdate(&mut self, number: usize) {
        let owed = &mut self.owed[number];
        assert!(!owed.cnp && owed.ack.is_none_or(|ack| ack.behind > 0), "something goes first");
        let read = owed.reads.pop_front().expect("there is one");
        assert!(read.is_outdated, "it is not: {read:?}");
        // It was its turn.
        owed.served_first.clear();
        owed.packets = 0;
        owed.ack.iter_mut().for_each(|ack| ack.behind -= 1);
        self.outdated += 1;
    }

    /// Takes a notice, in this cycle.
    pub fn notice(&mut self, qpn: Bits<24>, cycle: u64) {
        let interval = self.cnp_interval;
        let owed = self.at(qpn);
        let is_early = owed.cnp_at.is_some_and(|sent| cycle < sent + interval);
        owed.cnp |= !owed.stopped && !is_early;
    }

    /// Takes a failure.
    pub fn failure(&mut self, failure: &TxFailure) {
        let owed = self.at(failure.qpn);
        let holds =
            |read: &&Read| (0..packets(&read.task)).any(|count| psn(read.task.psn, count) == failure.psn);
        let lead = |ack: &Ack| u64::from(ack.psn).wrapping_sub(failure.psn.into()) & 0xff_ffff;
        let is_late = |ack: &Ack| ack.is_final() && !(1..1 << 23).contains(&lead(ack));
        if !failure.is_response || owed.ack.as_ref().is_some_and(is_late) {
            return;
        }
        let msn = owed.reads.front().filter(holds).map_or(0.into(), |read| read.task.msn);
        let stage = owed.stage();
        owed.forget();
        let syndrome = Syndrome::Nak(NakCode::RemoteOperational).encode();
        owed.ack = Some(Ack { psn: failure.psn, msn, syndrome, behind: 0 });
        self.freed_stages.extend(stage);
        let number = failure.qpn.index() % self.owed.len();
        self.tell(number);
        let (qpn, status) = ((number as u64).into(), (Status::General as u64).into());
        self.errors.push(QpError { qpn, status, untold: true });
    }

    /// Takes a change.
    pub fn change(&mut self, change: &QpChange) {
        let owed = self.at(change.qpn);
        let stage = owed.stage();
        if change.resets {
            *owed = Owed::default();
        } else if change.stops {
            owed.stop(change.ends);
        }
        let is_freed = owed.reads.is_empty();
        self.freed_stages.extend(stage.filter(|_| is_freed));
        self.tell(change.qpn.index() % self.owed.len());
    }

    /// Visits a queue pair, in this cycle: the steps it sends, in colour 0.
    ///
    /// # Panics
    /// When there is no such queue pair, or another has waited since it sent last.
    pub fn serve(&mut self, number: usize, done: u64, cycle: u64) -> Vec<TxStep> {
        let steps = self.visit(number, done, cycle);
        for (other, owed) in self.owed.iter_mut().enumerate() {
            if steps.is_empty() {
                continue;
            }
            if other == number || !owed.is_due(done) {
                owed.served_first.clear();
            } else {
                assert!(owed.served_first.insert(number), "{number} is served twice, and {other} waits");
            }
        }
        steps
    }

    fn visit(&mut self, number: usize, done: u64, cycle: u64) -> Vec<TxStep> {
        let blank = TxStep {
            qpn: (number as u64).into(),
            last: true,
            is_response: true,
            frees: true,
            ..TxStep::default()
        };
        let area = self.areas[number];
        let owed = &mut self.owed[number];
        if owed.cnp {
            (owed.cnp, owed.cnp_at) = (false, Some(cycle));
            self.cnps += 1;
            return vec![TxStep { op: u64::from(opcode::CNP.code).into(), ..blank }];
        }
        let is_ack_first = owed.ack.is_some_and(|ack| ack.behind == 0);
        if let Some(read) = owed.reads.front().copied().filter(|_| !is_ack_first) {
            let task = read.task;
            if let Some(psn) = owed.busy.take() {
                return vec![busy(&task, psn, &blank)];
            }
            if !read.may_go(done) {
                return Vec::new();
            }
            let count = read.packets();
            let end = count.min(owed.packets + BURST as u64);
            let steps = (owed.packets..end).map(|packet| read.step(packet, &area, &blank)).collect();
            owed.packets = end;
            if end == count {
                if let Some((_, length, stage)) = read.staged {
                    let list = if length == 0 { &mut self.freed_stages } else { &mut self.sent_stages };
                    list.push(stage);
                }
                owed.packets = 0;
                owed.over += u64::from(task.fresh);
                owed.reads.pop_front();
                owed.ack.iter_mut().for_each(|ack| ack.behind -= 1);
            }
            self.tell(number);
            return steps;
        }
        let step = |ack: Ack| TxStep {
            op: u64::from(opcode::RC_ACKNOWLEDGE.code).into(),
            psn: ack.psn,
            aeth: aeth(ack.syndrome, ack.msn),
            ..blank
        };
        owed.ack.take().map(step).into_iter().collect()
    }
}

/// That an RPC still runs.
fn busy(task: &Task, psn: Bits<24>, blank: &TxStep) -> TxStep {
    let aeth = aeth(Syndrome::Ack { credits: 31 }.encode(), task.msn);
    TxStep { op: u64::from(opcode::RPC_BUSY.code).into(), psn, aeth, ..*blank }
}

impl Read {
    /// Status and bytes of an RPC's answer, and the bytes of it that are not asked for.
    fn result(&self) -> Option<(u64, u64, u64)> {
        let skipped = if is(&self.task, Answer::Replay) { self.task.va.into() } else { 0 };
        let staged = self.staged.map(|(status, length, _)| (status, length));
        staged.or(self.kept).map(|(status, length)| (status, length, skipped))
    }

    /// Packets to be sent.
    fn packets(&self) -> u64 {
        let bytes = self.result().map(|(_, length, skipped)| length - skipped);
        bytes.map_or_else(|| packets(&self.task), |bytes| bytes.div_ceil(mtu(&self.task)).max(1))
    }

    fn step(&self, packet: u64, area: &ResultRow, blank: &TxStep) -> TxStep {
        let Some((status, length, skipped)) = self.result() else { return data(&self.task, packet, blank) };
        let task = &self.task;
        let before = skipped + packet * mtu(task);
        let bytes = mtu(task).min(length - before);
        let is_last = packet + 1 == self.packets();
        let row = if is_last { opcode::RPC_RESPONSE_END } else { opcode::RPC_RESPONSE };
        let said = aeth(Syndrome::Ack { credits: 31 }.encode(), task.msn);
        let bare = TxStep {
            op: u64::from(row.code).into(),
            psn: psn(task.psn, packet),
            aeth: if is_last { said } else { 0.into() },
            a1: if is_last { status << 32 | length } else { 0 }.into(),
            payload_len: bytes.into(),
            ..*blank
        };
        if self.staged.is_some() {
            return TxStep { inline: bytes > 0, ..bare };
        }
        let place = u64::from(area.base) << 12 | u64::from(task.place) << area.log.index();
        let (address, key) = ((place + before).into(), area.key);
        TxStep { pd: task.pd, address, key, bytes: bytes.into(), ..bare }
    }
}

/// One packet of the answer to a READ, or that to an atomic.
fn data(task: &Task, packet: u64, blank: &TxStep) -> TxStep {
    let said = aeth(Syndrome::Ack { credits: 31 }.encode(), task.msn);
    if is(task, Answer::Value) {
        let op = u64::from(opcode::RC_ATOMIC_ACKNOWLEDGE.code).into();
        return TxStep { op, psn: task.psn, aeth: said, a1: task.value, ..*blank };
    }
    let before = packet * mtu(task);
    let bytes = mtu(task).min(u64::from(task.length) - before);
    let row = match (packet == 0, packet + 1 == packets(task)) {
        (true, true) => opcode::RC_READ_RESPONSE_ONLY,
        (true, false) => opcode::RC_READ_RESPONSE_FIRST,
        (false, true) => opcode::RC_READ_RESPONSE_LAST,
        (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
    };
    let has_aeth = !row.headers.is_empty();
    TxStep {
        op: u64::from(row.code).into(),
        psn: psn(task.psn, packet),
        aeth: if has_aeth { said } else { 0.into() },
        payload_len: bytes.into(),
        pd: task.pd,
        address: u64::from(task.va).wrapping_add(before).into(),
        key: task.key,
        need: u64::from(rights::REMOTE_READ).into(),
        bytes: bytes.into(),
        ..*blank
    }
}
