//! Anything at any time: several queue pairs, answers right and wrong, nudges, resets.

use std::collections::HashSet;

use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{
    self, CmpSwap, FetchAdd, Read, Rpc, RpcWrite, Send, SendImm, SendInv, Write, WriteImm,
};
use stroma_abi::wire::{NakCode, Opcode, Syndrome, opcode};
use stroma_verilate::SplitMix64;

use crate::testing::{noise, stalls_of};
use crate::transport::complete::model::{ahead, fetches, front, is_atomic, is_call};
use crate::transport::complete::rig::{PAIRS, RING, Rig, Settings};
use crate::transport::records::{Arrival, Occasion, Sent, SentRow};

/// What is posted, READs and streams to kernels twice as often as anything else.
const OPS: [WorkOp; 12] =
    [Write, WriteImm, Send, SendImm, SendInv, Read, Read, CmpSwap, FetchAdd, Rpc, RpcWrite, RpcWrite];

/// How often each thing happened.
#[derive(Debug, Default)]
struct Seen {
    retired: usize,
    placed: usize,
    failed: usize,
    flushed: usize,
    rewound: usize,
    late: usize,
    resets: usize,
    values: usize,
    scattered: usize,
    rests: usize,
    despaired: usize,
    woken: usize,
    /// Arrivals that began two cycles after the one before them.
    close: usize,
    bursts: usize,
    /// RPCs that ended, those with answers of several packets, and how often peers were busy with one.
    called: usize,
    several: usize,
    busy: usize,
}

struct Traffic {
    rig: Rig,
    rng: SplitMix64,
    /// Of each queue pair, the PSN of its next message.
    next: Vec<u64>,
    resets: usize,
    bursts: usize,
    busy: usize,
}

impl Traffic {
    fn new(rig: Rig, seed: u64) -> Self {
        let mut traffic =
            Self { rig, rng: SplitMix64::new(seed), next: vec![0; PAIRS], resets: 0, bursts: 0, busy: 0 };
        for qpn in 0..PAIRS {
            traffic.begin(qpn);
        }
        traffic
    }

    fn small(&mut self, bound: usize) -> usize {
        usize::try_from(self.rng.below(bound as u64)).expect("small")
    }

    /// A queue pair of other settings, whose PSNs soon go round more often than not.
    fn begin(&mut self, qpn: usize) {
        self.rig.settings[qpn] = Settings {
            path_mtu: 1 + self.rng.below(5),
            timeout: self.rng.below(32),
            retry: self.rng.below(8),
            rnr_retry: self.rng.below(8),
        };
        let near = 0xff_ffff - self.rng.below(60);
        self.next[qpn] = if self.rng.below(3) > 0 { near } else { self.rng.below(1 << 24) };
        self.rig.begin(qpn, self.next[qpn]);
    }

    /// Is nothing of the queue pair on its way to the block?
    fn is_quiet(&self, qpn: usize) -> bool {
        let is_arriving = self.rig.arrivals.iter().any(|arrival| arrival.qpn.index() == qpn);
        !is_arriving && !self.rig.changes.iter().any(|change| change.qpn.index() == qpn)
    }

    fn admit(&mut self, qpn: usize) {
        if self.rig.held(qpn) == RING {
            return self.rig.step();
        }
        let psn = self.next[qpn];
        self.catch_up(qpn, psn);
        let op = OPS[self.small(OPS.len())];
        let unit = self.rig.mtu(qpn);
        let length = match self.rng.below(20) {
            0 => 0,
            1 => self.rng.below(1 << 20) * unit + self.rng.below(unit),
            2..6 => (1 + self.rng.below(3)) * unit,
            6..14 => self.rng.below(unit),
            _ => self.rng.below(5 * unit),
        };
        let length = if matches!(op, CmpSwap | FetchAdd) { 8 } else { length.min(1 << 31) };
        let message = match op {
            Rpc | RpcWrite => {
                let packets = if op == Rpc { 1 } else { 1 + self.rng.below(4) };
                let message = self.rig.call(qpn, packets, length.min(1 << 16), psn);
                Sent { opcode: (op as u64).into(), ..message }
            }
            _ => self.rig.message(qpn, op, length, psn),
        };
        let message = Sent {
            signaled: self.rng.below(3) > 0,
            address: noise(&mut self.rng),
            key: noise(&mut self.rng),
            index: noise(&mut self.rng),
            scatters: op == Read && self.rng.below(2) == 0,
            ..message
        };
        let packets = u64::from(message.packets);
        let most = if is_call(&message) { front(&message) } else { packets };
        let is_whole = (fetches(&message) && !is_call(&message)) || self.rng.below(3) > 0;
        let sent = if is_whole { packets } else { self.rng.below(most + 1) };
        self.next[qpn] = (psn + packets) & 0xff_ffff;
        self.rig.admit(qpn, message, sent);
    }

    /// Sends what was admitted, up to `psn`.
    fn catch_up(&mut self, qpn: usize, psn: u64) {
        let row = self.rig.sent[qpn];
        if row.frontier != psn {
            self.rig.write_row(qpn, SentRow { frontier: psn.into(), ..row });
        }
    }

    /// A PSN that may be answered, or one near those.
    fn psn(&mut self, qpn: usize) -> u64 {
        let row = self.rig.rows[qpn];
        let unanswered = row.unanswered(&self.rig.rings[qpn]);
        let window = ahead(self.rig.sent[qpn].frontier.into(), unanswered);
        let distance = match self.rng.below(12) {
            0 => 0_u64.wrapping_sub(1 + self.rng.below(4)),
            1 => window + self.rng.below(3),
            2 => self.rng.below(1 << 24),
            3 => window.wrapping_sub(1),
            4..8 => self.rng.below(window.max(1)),
            _ => self.rng.below(window.clamp(1, 6)),
        };
        unanswered.wrapping_add(distance) & 0xff_ffff
    }

    /// The data that the first READ or atomic waits for, now and then something else.
    fn data(&mut self, qpn: usize) -> Option<Arrival> {
        let (mut row, unit) = (self.rig.rows[qpn], self.rig.mtu(qpn));
        let ring = &self.rig.rings[qpn];
        while row.outstanding(&self.rig.sent[qpn]) > 0 && !fetches(row.entry(ring)) {
            (row.tail, row.progress) = ((row.tail + 1) & 0x3f, 0);
        }
        if row.outstanding(&self.rig.sent[qpn]) == 0 {
            return None;
        }
        let (entry, psn) = (*row.entry(ring), row.unanswered(ring));
        if is_call(&entry) && self.rng.below(40) > 0 {
            return Some(self.result(qpn, &entry, row.progress));
        }
        let is_last = row.progress + 1 == u64::from(entry.packets);
        // What is brought to an RPC here is none of its answer, and wrong whatever it has.
        let left = u64::from(entry.length).saturating_sub(row.progress * unit);
        let length = if is_last { left } else { unit };
        let begins = row.progress == 0 || row.recovering && self.rng.below(2) == 0;
        let odd: [bool; 4] = std::array::from_fn(|_| self.rng.below(40) == 0);
        if is_atomic(&entry) != odd[0] {
            return Some(self.rig.value(qpn, psn, self.rng.next_u64()));
        }
        let length = if odd[1] { length ^ 1 } else { length };
        let data = self.rig.data(qpn, psn, op_of(begins != odd[2], is_last != odd[3]), length);
        Some(if self.rng.below(10) == 0 { Arrival { aeth: noise(&mut self.rng), ..data } } else { data })
    }

    /// What comes next of an RPC's answer, now and then something else of it.
    fn result(&mut self, qpn: usize, entry: &Sent, progress: u64) -> Arrival {
        let (unit, longest) = (self.rig.mtu(qpn), u64::from(entry.length));
        let (answers, came) = (u64::from(entry.answers), progress.saturating_sub(front(entry)));
        let skips = [0, 0, 0, 0, 0, 1, 1, 2][self.small(8)].min(answers - came - 1);
        let index = came + skips;
        let psn = u64::from(entry.psn) + front(entry) + index;
        let is_last = index + 1 == answers;
        if self.rng.below(4) == 0 {
            self.busy += 1;
            return self.rig.busy(qpn, psn.wrapping_sub(u64::from(self.rng.below(20) == 0)) & 0xff_ffff);
        }
        let odd: [bool; 3] = std::array::from_fn(|_| self.rng.below(40) == 0);
        if (is_last || self.rng.below(3) == 0) != odd[0] {
            let most = unit.min(longest.saturating_sub(index * unit));
            let here = if self.rng.below(3) == 0 { most } else { self.rng.below(most + 1) };
            let here = if odd[1] { here + 1 } else { here };
            let length =
                index * unit + here + [0, 0, 1, unit, 1 << 31][if odd[2] { self.small(5) } else { 0 }];
            let end = (self.rng.next_u32(), u32::try_from(length).expect("in range"));
            return self.rig.result(qpn, psn, here, Some(end));
        }
        self.rig.result(qpn, psn, if odd[1] { unit - 1 } else { unit }, None)
    }

    fn answer(&mut self, qpn: usize) -> Arrival {
        let psn = self.psn(qpn);
        let (length, op, code) = (self.rng.below(4097), self.small(opcode::TABLE.len()), self.small(5));
        match self.rng.below(20) {
            0 => self.rig.data(qpn, psn, opcode::TABLE[op], length),
            1 => self.rig.acknowledge(qpn, psn, Syndrome::decode(self.rng.next_u32().to_le_bytes()[0])),
            2 => self.rig.acknowledge(qpn, psn, Syndrome::Nak(NakCode::ALL[code])),
            3..5 => {
                let next = self.rig.rows[qpn].unanswered(&self.rig.rings[qpn]);
                let psn = if self.rng.below(3) > 0 { next } else { psn };
                let timer = self.rng.next_u32().to_le_bytes()[0] & 0x1f;
                self.rig.acknowledge(qpn, psn, Syndrome::RnrNak { timer })
            }
            5 => self.rig.acknowledge(qpn, psn, Syndrome::Nak(NakCode::PsnSequence)),
            6..12 => {
                self.rig.acknowledge(qpn, psn, Syndrome::decode(self.rng.next_u32().to_le_bytes()[0] & 0x1f))
            }
            _ => match self.data(qpn) {
                Some(data) => data,
                None => self.rig.acknowledge(qpn, psn, Syndrome::Ack { credits: 0 }),
            },
        }
    }

    fn nudge(&mut self, qpn: usize) -> Arrival {
        let tail = self.rig.rows[qpn].tail;
        match self.rng.below(12) {
            0 => self.rig.nudge(qpn, Occasion::Flush),
            1 => Arrival {
                slot: ((tail + self.rng.below(8)) & 0x3f).into(),
                status: (1 + self.rng.below(20)).into(),
                vendor: noise(&mut self.rng),
                ..self.rig.nudge(qpn, Occasion::Failure)
            },
            _ => self.rig.nudge(qpn, Occasion::Timeout),
        }
    }

    /// One thing, for a queue pair that has nothing on its way; else a cycle.
    fn act(&mut self) {
        let qpn = self.small(PAIRS);
        if !self.is_quiet(qpn) {
            return self.rig.step();
        }
        if self.rig.rows[qpn].failed && self.rng.below(6) == 0 {
            return self.restart(qpn);
        }
        match self.rng.below(12) {
            0..4 if !self.rig.rows[qpn].failed => self.admit(qpn),
            4 => self.catch_up(qpn, self.next[qpn]),
            5 => self.rig.tell(qpn, false),
            6 => {
                let nudge = self.nudge(qpn);
                self.send(&nudge);
            }
            7 | 8 => self.burst(qpn),
            _ => {
                let answer = self.answer(qpn);
                self.send(&answer);
            }
        }
    }

    /// Several arrivals that follow each other, each as if those before it had been taken; now and then one of another queue pair
    /// comes between them.
    fn burst(&mut self, qpn: usize) {
        let other = self.small(PAIRS);
        let is_mixed = other != qpn && self.is_quiet(other) && self.rng.below(2) == 0;
        let before = self.rig.rows.clone();
        for _ in 0..2 + self.rng.below(5) {
            let turn = if is_mixed && self.rng.below(3) == 0 { other } else { qpn };
            let arrival = if self.rng.below(12) == 0 { self.nudge(turn) } else { self.answer(turn) };
            let (sent, ring) = (self.rig.sent[turn], &self.rig.rings[turn]);
            self.rig.rows[turn].arrive(&arrival, &sent, ring);
            self.send(&arrival);
        }
        self.rig.rows = before;
        self.bursts += 1;
    }

    fn send(&mut self, arrival: &Arrival) {
        self.rig.arrive(&Arrival { colour: self.rng.below(2) == 1, ..*arrival });
    }

    /// The queue pair ends and begins anew, once all its arrivals are through.
    fn restart(&mut self, qpn: usize) {
        self.rig.tell(qpn, true);
        self.rig.settle();
        self.begin(qpn);
        self.resets += 1;
    }

    fn seen(&self) -> Seen {
        let given = &self.rig.given;
        let count = |of: fn(&crate::transport::records::Errand) -> bool| {
            given.errands.iter().filter(|(_, errand)| of(errand)).count()
        };
        let retiring = given.errands.iter().filter(|(_, errand)| errand.retires && errand.ends);
        let retiring: HashSet<u64> = retiring.map(|(cycle, _)| *cycle).collect();
        Seen {
            retired: count(|errand| errand.retires),
            placed: count(|errand| errand.places),
            failed: count(|errand| errand.fails),
            flushed: count(|errand| errand.completes && errand.status == Status::Flushed as u64),
            values: count(|errand| errand.has_value),
            scattered: count(|errand| errand.list.any()),
            rests: given.rewinds.iter().filter(|(_, rewind)| rewind.holds).count(),
            despaired: count(|errand| errand.status == Status::RnrRetryExceeded as u64),
            // The rewind that comes when nothing is left comes with the end of a message.
            woken: given.rewinds.iter().filter(|(cycle, _)| retiring.contains(cycle)).count(),
            rewound: given.rewinds.len(),
            late: given.timeouts.len(),
            resets: self.resets,
            close: self.rig.taken.windows(2).filter(|pair| pair[1] == pair[0] + 2).count(),
            bursts: self.bursts,
            called: count(|errand| errand.flags.any()),
            several: count(|errand| {
                errand.flags.any()
                    && errand.places
                    && u64::from(errand.payload_len) < u64::from(errand.length)
            }),
            busy: self.busy,
        }
    }
}

fn op_of(begins: bool, ends: bool) -> Opcode {
    match (begins, ends) {
        (true, true) => opcode::RC_READ_RESPONSE_ONLY,
        (false, true) => opcode::RC_READ_RESPONSE_LAST,
        (true, false) => opcode::RC_READ_RESPONSE_FIRST,
        (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
    }
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for seed in 0..4 {
        rig.reset();
        let mut traffic = Traffic::new(rig, seed);
        for _ in 0..20_000 {
            traffic.act();
        }
        traffic.rig.settle();
        let seen = traffic.seen();
        assert!(seen.retired > 1000 && seen.placed > 500 && seen.failed > 100, "{seen:?}");
        assert!(seen.flushed > 100 && seen.rewound > 300 && seen.late > 100 && seen.resets > 100, "{seen:?}");
        assert!(seen.values > 100 && seen.scattered > 100 && seen.rests > 60, "{seen:?}");
        assert!(seen.despaired > 5 && seen.woken > 2, "{seen:?}");
        assert!(seen.close > 1000 && seen.bursts > 300, "{seen:?}");
        assert!(seen.called > 100 && seen.several > 10 && seen.busy > 100, "{seen:?}");
        rig = traffic.rig;
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, pauses) in (100..).zip(stalls_of::<5>()) {
        rig.reset();
        rig.pause(pauses);
        let mut traffic = Traffic::new(rig, seed);
        for _ in 0..8000 {
            traffic.act();
        }
        traffic.rig.settle();
        let seen = traffic.seen();
        assert!(seen.retired > 100 && seen.rewound > 10, "{seen:?}");
        rig = traffic.rig;
    }
}
