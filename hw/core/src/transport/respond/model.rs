//! The answers in plain Rust, an operation at a time.

use std::collections::{BTreeSet, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::rows::READS_LOG;
use super::serve::BURST;
use crate::host::work::{QpChange, QpError};
use crate::transport::records::{Answer, Task, TxFailure, TxStep};

/// An acknowledgement that waits.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    psn: Bits<24>,
    msn: Bits<24>,
    syndrome: u8,
    /// READs that are answered first.
    behind: usize,
}

impl Ack {
    fn says(&self) -> Syndrome {
        Syndrome::decode(self.syndrome)
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

/// A READ or an atomic, and its ticket counted from the first ever.
pub type Read = (Task, u64);

/// Counts are modulo this.
const COUNTS: u64 = 32;

/// What a queue pair owes its peer.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    /// The acknowledgement.
    pub ack: Option<Ack>,
    /// READs and atomics, and the packets of the first that have gone.
    pub reads: VecDeque<Read>,
    /// Those packets.
    pub packets: u64,
    /// A congestion notification.
    pub cnp: bool,
    /// Nothing but a refusal.
    pub stopped: bool,
    /// READs and atomics that came for the first time, and those of them that are over.
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

    /// Has it something that may go?
    fn is_due(&self, done: u64) -> bool {
        let is_ack_first = self.ack.is_some_and(|ack| ack.behind == 0);
        self.cnp || is_ack_first || self.reads.front().is_some_and(|(_, ticket)| *ticket <= done)
    }

    /// Forgets all but a refusal.
    fn forget(&mut self) {
        self.served_first.clear();
        self.reads.clear();
        self.over = self.taken;
        (self.packets, self.cnp, self.stopped) = (0, false, true);
        self.ack = self.ack.filter(Ack::is_negative).map(|ack| Ack { behind: 0, ..ack });
    }

    /// Is this a peer that goes back? It asks from behind the first packet of the READ at the head, which has gone, and not
    /// from behind the next; a copy that the wire made of an earlier request begins where that began.
    fn is_gone_back(&self, task: &Task) -> bool {
        let ahead = |head: &Task| u64::from(task.psn).wrapping_sub(head.psn.into()) & 0xff_ffff;
        let begins_within = |(head, _): &Read| (1..=self.packets).contains(&ahead(head));
        !is_value(task) && !task.fresh && !self.stopped && self.reads.front().is_some_and(begins_within)
    }

    /// Makes place for one that goes back, which asks for all behind again; a refusal, or a gap, goes behind it.
    fn go_back(&mut self) {
        self.served_first.clear();
        self.reads.clear();
        (self.packets, self.over) = (0, self.taken);
        self.ack = self.ack.filter(|ack| !ack.is_positive()).map(|ack| Ack { behind: 1, ..ack });
    }

    /// Owes nothing new. What came before a final refusal is still sent, or the peer would not take the refusal for one.
    fn stop(&mut self, ends: bool) {
        if ends || !self.ack.is_some_and(|ack| ack.is_final()) {
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
    /// READs and atomics without room.
    pub dropped: u64,
    /// READs that took the place of all that waited.
    pub gone_back: u64,
    /// Notifications sent.
    pub cnps: u64,
    /// Queue pairs that failed, in order.
    pub errors: Vec<QpError>,
    /// For each queue pair, what was told of READs and atomics that are over, each number once.
    pub answered: Vec<Vec<u64>>,
}

fn is_value(task: &Task) -> bool {
    task.answer == Answer::Value as u64
}

fn is_asked(task: &Task) -> bool {
    task.answer == Answer::Data as u64 || is_value(task)
}

/// Bytes of a full packet.
#[must_use]
pub fn mtu(task: &Task) -> u64 {
    128 << task.path_mtu.index()
}

/// Packets of an answer.
#[must_use]
pub fn packets(task: &Task) -> u64 {
    if is_value(task) {
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
        Self { owed, dropped: 0, gone_back: 0, cnps: 0, errors: Vec::new(), answered }
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
        if is_asked(task) {
            let is_gone_back = owed.is_gone_back(task);
            if is_gone_back {
                owed.go_back();
            }
            let has_room = owed.reads.len() < 1 << READS_LOG;
            owed.taken += u64::from(task.fresh);
            if has_room && !owed.stopped {
                owed.ack = owed.ack.filter(|ack| !(task.fresh && ack.is_positive()));
                owed.reads.push_back((*task, if is_value(task) { 0 } else { ticket }));
            } else {
                owed.over += u64::from(task.fresh);
            }
            let is_dropped = !has_room && !owed.stopped;
            self.dropped += u64::from(is_dropped);
            self.gone_back += u64::from(is_gone_back);
            self.tell(task.qpn.index() % self.owed.len());
            return;
        }
        let syndrome = u8::try_from(u64::from(task.syndrome)).expect("eight bits");
        let ack = Ack { psn: task.psn, msn: task.msn, syndrome, behind: owed.reads.len() };
        if !owed.ack.is_some_and(|ack| ack.is_final()) && (!owed.stopped || ack.is_negative()) {
            owed.ack = Some(ack);
        }
    }

    /// Takes a notice.
    pub fn notice(&mut self, qpn: Bits<24>) {
        let owed = self.at(qpn);
        owed.cnp |= !owed.stopped;
    }

    /// Takes a failure.
    pub fn failure(&mut self, failure: &TxFailure) {
        let owed = self.at(failure.qpn);
        let holds = |(task, _): &&Read| (0..packets(task)).any(|count| psn(task.psn, count) == failure.psn);
        let lead = |ack: &Ack| u64::from(ack.psn).wrapping_sub(failure.psn.into()) & 0xff_ffff;
        let is_late = |ack: &Ack| ack.is_final() && !(1..1 << 23).contains(&lead(ack));
        if !failure.is_response || owed.ack.as_ref().is_some_and(is_late) {
            return;
        }
        let msn = owed.reads.front().filter(holds).map_or(0.into(), |(task, _)| task.msn);
        owed.forget();
        let syndrome = Syndrome::Nak(NakCode::RemoteOperational).encode();
        owed.ack = Some(Ack { psn: failure.psn, msn, syndrome, behind: 0 });
        let number = failure.qpn.index() % self.owed.len();
        self.tell(number);
        let (qpn, status) = ((number as u64).into(), (Status::General as u64).into());
        self.errors.push(QpError { qpn, status, untold: true });
    }

    /// Takes a change.
    pub fn change(&mut self, change: &QpChange) {
        let owed = self.at(change.qpn);
        if change.resets {
            *owed = Owed::default();
        } else if change.stops {
            owed.stop(change.ends);
        }
        self.tell(change.qpn.index() % self.owed.len());
    }

    /// Visits a queue pair: the steps it sends, in colour 0.
    ///
    /// # Panics
    /// When there is no such queue pair, or another has waited since it sent last.
    pub fn serve(&mut self, number: usize, done: u64) -> Vec<TxStep> {
        let steps = self.visit(number, done);
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

    fn visit(&mut self, number: usize, done: u64) -> Vec<TxStep> {
        let blank = TxStep {
            qpn: (number as u64).into(),
            last: true,
            is_response: true,
            frees: true,
            ..TxStep::default()
        };
        let owed = &mut self.owed[number];
        if owed.cnp {
            owed.cnp = false;
            self.cnps += 1;
            return vec![TxStep { op: u64::from(opcode::CNP.code).into(), ..blank }];
        }
        let is_ack_first = owed.ack.is_some_and(|ack| ack.behind == 0);
        if let Some((task, ticket)) = owed.reads.front().copied().filter(|_| !is_ack_first) {
            if done < ticket {
                return Vec::new();
            }
            let end = packets(&task).min(owed.packets + BURST as u64);
            let steps = (owed.packets..end).map(|packet| data(&task, packet, &blank)).collect();
            owed.packets = end;
            if end == packets(&task) {
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

/// One packet of the answer to a READ, or that to an atomic.
fn data(task: &Task, packet: u64, blank: &TxStep) -> TxStep {
    let said = aeth(Syndrome::Ack { credits: 31 }.encode(), task.msn);
    if is_value(task) {
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
