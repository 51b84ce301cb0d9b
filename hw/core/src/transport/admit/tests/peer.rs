//! Schedulers, peers and applications of all queue pairs, at random.

use std::collections::BTreeMap;

use stroma_abi::desc::{Status, WorkOp};
use stroma_verilate::SplitMix64;

use crate::testing::noise;
use crate::transport::admit::rig::{Case, Rig};
use crate::transport::records::{AckedRow, KeyedRow, Rewind};

/// A queue pair as its neighbours see it.
struct Pair {
    path_mtu: u64,
    send_psn: u64,
    reads_out: u64,
    /// What is in the send queue, and units from there to the next.
    requests: BTreeMap<u16, (Case, u16)>,
    next: u16,
    /// Jobs under way.
    jobs: u64,
    waits: bool,
    /// Messages that are over, and READs among them, as the peer has answered.
    over: u64,
    reads_over: u64,
    is_stopping: bool,
    /// The last of the messages that are over did not succeed.
    has_failed: bool,
}

impl Pair {
    fn new(rng: &mut SplitMix64) -> Self {
        Self {
            path_mtu: 1 + rng.below(5),
            // Near the wrap, mostly.
            send_psn: if rng.below(3) == 0 { rng.below(1 << 24) } else { 0xff_ffff - rng.below(64) },
            reads_out: rng.below(7),
            requests: BTreeMap::new(),
            next: 0,
            jobs: 0,
            waits: false,
            over: 0,
            reads_over: 0,
            is_stopping: false,
            has_failed: false,
        }
    }

    fn request(&mut self, rng: &mut SplitMix64, qpn: u64, index: u16) -> (Case, u16) {
        let (path_mtu, send_psn, reads_out) = (self.path_mtu, self.send_psn, self.reads_out);
        let make = || {
            let op = match rng.below(27) {
                22 | 23 => WorkOp::Rpc,
                24..27 => WorkOp::RpcWrite,
                20 => WorkOp::Bind,
                21 => WorkOp::Invalidate,
                0 => WorkOp::Nop,
                1 => WorkOp::Gather,
                2 => WorkOp::Scatter,
                3..7 => WorkOp::Read,
                7 => WorkOp::CmpSwap,
                8 | 9 => WorkOp::FetchAdd,
                10 | 11 => WorkOp::Send,
                12 => WorkOp::SendImm,
                13 => WorkOp::SendInv,
                14 | 15 => WorkOp::WriteImm,
                _ => WorkOp::Write,
            };
            let is_atomic = matches!(op, WorkOp::CmpSwap | WorkOp::FetchAdd);
            let mtu = 128 << path_mtu;
            let length = match rng.below(24) {
                0 => 0,
                1 => 1 << 31,
                2 | 3 => rng.below(1 << 18),
                4 => (1 << 16) + rng.below(2),
                5 => rng.below(1 << 31),
                6..12 => (1 + rng.below(5)) * mtu + rng.below(3) - 1,
                _ => 1 + rng.below(3000),
            };
            // What does not end in its life keeps all behind it waiting.
            let length = match op {
                _ if is_atomic => 8,
                WorkOp::Bind | WorkOp::Invalidate => 0,
                WorkOp::Read => length,
                WorkOp::Rpc => 4 * rng.below(17),
                WorkOp::RpcWrite => length.min((1 << 31) - (1 << 16)),
                _ if length > 1 << 20 && rng.below(4) != 0 => 70_000,
                _ => length,
            };
            let units = if is_atomic { 1 } else { 1 + rng.below(8) * rng.below(2) * rng.below(2) };
            let is_fenced = rng.below(6) == 0;
            let mut case = Case::new(op, qpn, index.into(), length);
            case.units = vec![noise(rng)];
            if matches!(op, WorkOp::Rpc | WorkOp::RpcWrite) {
                let longest = match rng.below(6) {
                    0 => 0,
                    1 => 1 << 16,
                    2 | 3 => (1 + rng.below(5)) * mtu + rng.below(3) - 1,
                    _ => rng.below((1 << 16) + 1),
                };
                case = case.answered(u32::try_from(longest).expect("small"));
            }
            let case = case.with(|work| {
                work.units = units.into();
                work.path_mtu = path_mtu.into();
                work.send_psn = send_psn.into();
                work.reads_out = reads_out.into();
                work.fence = is_fenced;
            });
            let count = u16::try_from(units).expect("small");
            match rng.below(40) {
                0 => (case.status(Status::LocalQueuePair), 1 + u16::try_from(rng.below(8)).expect("small")),
                1 => (case.status(Status::General), 1 + u16::try_from(rng.below(8)).expect("small")),
                2 => (case.status(Status::LocalProtection), count),
                3 => (case.status(Status::Flushed), 1),
                _ => (case, count),
            }
        };
        self.requests.entry(index).or_insert_with(make).clone()
    }
}

pub(super) struct Peers {
    rng: SplitMix64,
    pairs: Vec<Pair>,
    heard: usize,
    /// Works on keys that have ended.
    keys_over: usize,
}

impl Peers {
    pub(super) fn new(seed: u64, count: usize) -> Self {
        let mut rng = SplitMix64::new(seed);
        let pairs = (0..count).map(|_| Pair::new(&mut rng)).collect();
        Self { rng, pairs, heard: 0, keys_over: 0 }
    }

    pub(super) fn step(&mut self, rig: &mut Rig) {
        let qpn = self.rng.below(self.pairs.len() as u64);
        let row = match self.rng.below(40) {
            0..8 => self.job(rig, qpn),
            8..16 => self.answer(rig, qpn),
            16..18 => self.rewind(rig, qpn),
            18 => self.stop(rig, qpn),
            19 => self.begin_anew(rig, qpn),
            _ => None,
        };
        self.end_key(rig);
        rig.ended = (rig.ended + self.rng.below(4) / 3).min(rig.seen.local.len() as u64);
        rig.step_with(row.map(|row| (qpn, row)));
        for progress in &rig.seen.progress[self.heard..] {
            let pair = &mut self.pairs[progress.qpn.index()];
            pair.next = u16::try_from(progress.next_index.index()).expect("16 bits");
            pair.jobs -= u64::from(!progress.rewinds);
            pair.waits = progress.blocked;
        }
        self.heard = rig.seen.progress.len();
    }

    /// The oldest work on a key ends, or not yet; seldom badly.
    fn end_key(&mut self, rig: &mut Rig) {
        if let Some(job) = rig.seen.key.get(self.keys_over)
            && self.rng.below(30) == 0
        {
            self.keys_over += 1;
            rig.end_key(job.qpn.into(), KeyedRow { turn: job.turn, failed: self.rng.below(8) == 0 });
        }
    }

    /// Fetches some requests; seldom where nothing can go, or from the wrong place. A second job may begin where the first
    /// would end.
    fn job(&mut self, rig: &mut Rig, qpn: u64) -> Option<AckedRow> {
        let (pair, rng) = (&mut self.pairs[usize::try_from(qpn).expect("small")], &mut self.rng);
        if pair.jobs > 0 || (pair.waits && rng.below(8) != 0) || !rig.is_calm(qpn) {
            return None;
        }
        pair.jobs = 1 + rng.below(2);
        let drains = rng.below(8) == 0;
        let mut index = pair.next.wrapping_sub(u16::from(rng.below(40) == 0));
        for _ in 0..pair.jobs {
            index = self.fetch(rig, qpn, index, drains);
        }
        None
    }

    /// One job, seldom with what was overwritten; the index behind it.
    fn fetch(&mut self, rig: &mut Rig, qpn: u64, mut index: u16, drains: bool) -> u16 {
        let (pair, rng) = (&mut self.pairs[usize::try_from(qpn).expect("small")], &mut self.rng);
        for _ in 0..rng.below(6) {
            let (mut case, count) = pair.request(rng, qpn, index);
            if rng.below(60) == 0 {
                case = match rng.below(4) {
                    0 => case.with(|work| work.length = work.length ^ 1),
                    1 => case.with(|work| work.opcode = (WorkOp::Nop as u64).into()),
                    2 => case.status(Status::Flushed),
                    _ => Case { units: case.units.iter().map(|unit| *unit ^ (*unit >> 1)).collect(), ..case },
                };
            }
            let status = u64::from(case.work.status);
            rig.send(case.with(|work| work.drains = drains));
            index = index.wrapping_add(count);
            if [Status::LocalQueuePair as u64, Status::General as u64].contains(&status) && rng.below(2) == 0
            {
                break;
            }
        }
        let (send_psn, reads_out) = (pair.send_psn, pair.reads_out);
        rig.send(Case::end(qpn, index.into()).with(|work| {
            work.send_psn = send_psn.into();
            work.reads_out = reads_out.into();
            work.drains = drains;
        }));
        index
    }

    /// The peer answers, or the answer is written down.
    fn answer(&mut self, rig: &Rig, qpn: u64) -> Option<AckedRow> {
        let (pair, rng) = (&mut self.pairs[usize::try_from(qpn).expect("small")], &mut self.rng);
        let queue = rig.model.queues.get(&qpn).filter(|_| !rig.is_changing())?;
        if queue.stopped {
            (pair.over, pair.reads_over) = (queue.head, queue.reads);
        }
        // A rewind is never far behind the answers.
        if !rig.is_calm(qpn) && rng.below(4) != 0 {
            return None;
        }
        let mut moves = false;
        while let Some((psn, entry)) = queue.messages.get(&pair.over)
            && !pair.has_failed
            && psn + u64::from(entry.packets) <= queue.frontier
            && rng.below(4) != 0
        {
            pair.over += 1;
            moves = true;
            let asks = (WorkOp::Read as u64..=WorkOp::RpcWrite as u64).contains(&u64::from(entry.opcode));
            pair.reads_over += u64::from(asks);
        }
        pair.waits = false;
        pair.has_failed |= moves && rng.below(60) == 0;
        (rng.below(2) == 0).then(|| AckedRow {
            tail: (pair.over % 64).into(),
            reads: (pair.reads_over % 32).into(),
            failed: pair.has_failed,
        })
    }

    fn rewind(&mut self, rig: &mut Rig, qpn: u64) -> Option<AckedRow> {
        let (pair, rng) = (&self.pairs[usize::try_from(qpn).expect("small")], &mut self.rng);
        let queue = rig.model.queues.get(&qpn).filter(|_| !rig.is_changing() && !pair.has_failed)?;
        let Some((psn, entry)) = queue.messages.get(&pair.over) else {
            // All was answered while it rested: index and PSN mean nothing.
            if queue.held && !rig.is_rewinding(qpn) {
                let slot = (pair.over % 64).into();
                rig.rewind(Rewind { qpn: qpn.into(), slot, holds: rng.below(4) == 0, ..noise(rng) });
            }
            return None;
        };
        let most = (u64::from(entry.packets) - 1).min(queue.frontier - psn);
        let answers = u64::from(entry.answers);
        let skips = match rng.below(2) {
            // Of an RPC, from the middle of its answer on.
            0 if answers > 1 => most.saturating_sub(rng.below(answers - 1)),
            0 => 0,
            _ => rng.below(most + 1),
        };
        rig.rewind(Rewind {
            qpn: qpn.into(),
            index: entry.index,
            slot: (pair.over % 64).into(),
            psn: ((psn + skips) & 0xff_ffff).into(),
            skips: skips.into(),
            holds: rng.below(4) == 0,
            discards: rng.below(3) > 0,
        });
        None
    }

    fn stop(&mut self, rig: &mut Rig, qpn: u64) -> Option<AckedRow> {
        let pair = &mut self.pairs[usize::try_from(qpn).expect("small")];
        let is_halted = rig.model.queues.get(&qpn).is_some_and(|queue| queue.halted);
        let has_failed = rig.keyed.get(&qpn).is_some_and(|row| row.failed);
        if is_halted || pair.has_failed || has_failed || self.rng.below(20) == 0 {
            pair.is_stopping = true;
            rig.change(qpn, false, self.rng.below(8) != 0);
        }
        None
    }

    /// The queue pair is reset, when nothing of it is under way.
    fn begin_anew(&mut self, rig: &mut Rig, qpn: u64) -> Option<AckedRow> {
        let pair = &mut self.pairs[usize::try_from(qpn).expect("small")];
        let mut keys = rig.expected.key[self.keys_over..].iter();
        let is_over = rig.model.queues.get(&qpn).is_none_or(|queue| pair.over == queue.head)
            && keys.all(|job| u64::from(job.qpn) != qpn);
        if pair.jobs > 0 || !pair.is_stopping || !is_over || !rig.is_calm(qpn) {
            return None;
        }
        *pair = Pair::new(&mut self.rng);
        rig.change(qpn, true, false);
        rig.end_key(qpn, KeyedRow::default());
        Some(AckedRow::default())
    }
}
