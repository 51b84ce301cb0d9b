//! Anything at any time: several queue pairs, answers right and wrong, nudges, resets.

use stroma_abi::desc::WorkOp;
use stroma_abi::wire::{NakCode, Opcode, Position, Syndrome, opcode};
use stroma_verilate::SplitMix64;

use crate::testing::{noise, stalls_of};
use crate::transport::complete::model::{ahead, mtu};
use crate::transport::complete::rig::{PAIRS, RING, Rig};
use crate::transport::records::{Arrival, Occasion, Sent, SentRow};

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
}

struct Traffic {
    rig: Rig,
    rng: SplitMix64,
    /// Of each queue pair, the PSN of its next message.
    next: Vec<u64>,
    resets: usize,
}

impl Traffic {
    fn new(rig: Rig, seed: u64) -> Self {
        let mut traffic = Self { rig, rng: SplitMix64::new(seed), next: vec![0; PAIRS], resets: 0 };
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
        self.rig.settings[qpn] = (1 + self.rng.below(5), self.rng.below(32), self.rng.below(8));
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
        let op = [WorkOp::Write, WorkOp::Write, WorkOp::Read][self.small(3)];
        let unit = mtu(self.rig.settings[qpn].0.into());
        let length = match self.rng.below(20) {
            0 => 0,
            1 => self.rng.below(1 << 20) * unit + self.rng.below(unit),
            2..6 => (1 + self.rng.below(3)) * unit,
            6..14 => self.rng.below(unit),
            _ => self.rng.below(5 * unit),
        };
        let message = self.rig.message(qpn, op, length.min(1 << 31), psn);
        let message = Sent {
            signaled: self.rng.below(3) > 0,
            address: noise(&mut self.rng),
            key: noise(&mut self.rng),
            index: noise(&mut self.rng),
            ..message
        };
        let packets = u64::from(message.packets);
        let sent =
            if op == WorkOp::Read || self.rng.below(3) > 0 { packets } else { self.rng.below(packets + 1) };
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

    /// The data that the first READ waits for, if only WRITEs are before it.
    fn data(&mut self, qpn: usize) -> Option<Arrival> {
        let (mut row, unit) = (self.rig.rows[qpn], mtu(self.rig.settings[qpn].0.into()));
        let ring = &self.rig.rings[qpn];
        while row.outstanding(&self.rig.sent[qpn]) > 0 && row.entry(ring).opcode != WorkOp::Read as u64 {
            (row.tail, row.progress) = ((row.tail + 1) & 0x3f, 0);
        }
        if row.outstanding(&self.rig.sent[qpn]) == 0 {
            return None;
        }
        let (entry, psn) = (*row.entry(ring), row.unanswered(ring));
        let is_last = row.progress + 1 == u64::from(entry.packets);
        let length = if is_last { u64::from(entry.length) - row.progress * unit } else { unit };
        let is_wrong = self.rng.below(24) == 0;
        let position = if is_last == is_wrong { Position::Middle } else { Position::Last };
        let length = if self.rng.below(24) == 0 { length ^ 1 } else { length };
        Some(self.rig.data(qpn, psn, op_of(position, self.rng.below(2) == 0), length))
    }

    fn answer(&mut self, qpn: usize) -> Arrival {
        let psn = self.psn(qpn);
        let (length, op, code) = (self.rng.below(4097), self.small(opcode::TABLE.len()), self.small(5));
        match self.rng.below(20) {
            0 => self.rig.data(qpn, psn, opcode::TABLE[op], length),
            1 => self.rig.acknowledge(qpn, psn, Syndrome::decode(self.rng.next_u32().to_le_bytes()[0])),
            2 => self.rig.acknowledge(qpn, psn, Syndrome::Nak(NakCode::ALL[code])),
            3..6 => self.rig.acknowledge(qpn, psn, Syndrome::Nak(NakCode::PsnSequence)),
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
            _ => {
                let answer = self.answer(qpn);
                self.send(&answer);
            }
        }
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
        Seen {
            retired: count(|errand| errand.retires),
            placed: count(|errand| errand.places),
            failed: count(|errand| errand.fails),
            flushed: count(|errand| errand.completes && errand.status == 5),
            rewound: given.rewinds.len(),
            late: given.timeouts.len(),
            resets: self.resets,
        }
    }
}

fn op_of(position: Position, begins: bool) -> Opcode {
    match (position, begins) {
        (Position::Last, true) => opcode::RC_READ_RESPONSE_ONLY,
        (Position::Last, false) => opcode::RC_READ_RESPONSE_LAST,
        (_, true) => opcode::RC_READ_RESPONSE_FIRST,
        (_, false) => opcode::RC_READ_RESPONSE_MIDDLE,
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
        for _ in 0..6000 {
            traffic.act();
        }
        traffic.rig.settle();
        let seen = traffic.seen();
        assert!(seen.retired > 100 && seen.rewound > 10, "{seen:?}");
        rig = traffic.rig;
    }
}
