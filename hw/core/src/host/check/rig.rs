//! The check between a parser and an MMU that follows a script.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::WorkOp::{
    self, Bind, CmpSwap, FetchAdd, Gather, Invalidate, Nop, Read, Rpc, RpcWrite, Scatter, Send, SendImm,
    SendInv, Write, WriteImm,
};
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};
use stroma_abi::desc::{Sge, Status};
use stroma_abi::wire::RpcTarget;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Outcome, UnitBytes, check, has_units};
use super::{Check, UNANSWERED_LOG};
use crate::host::work::Work;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::testing::{collect, noise, push, read, verilated};

/// Cycles after which the check counts as stuck.
const LIMIT: u64 = 100_000;
/// Cycles that the MMU takes for a hit.
pub(super) const HIT: u64 = 6;

/// A work and the units that come with it, none if it has none.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) work: Work,
    pub(super) units: Vec<UnitBytes>,
}

impl Case {
    /// A copy between one place and these pieces, or a request to the peer, in as few units as hold them.
    pub(super) fn copy(op: WorkOp, place: Sge, pieces: &[Sge]) -> Self {
        let is_second = ATOMICS.contains(&op) || op == RpcWrite;
        let mut bytes = vec![0xa5; if is_second { SECOND_AT } else { BODY_AT }];
        bytes.extend(pieces.iter().flat_map(Sge::to_bytes));
        bytes.resize(bytes.len().next_multiple_of(UNIT), 0x5a);
        let units: Vec<UnitBytes> =
            bytes.chunks(UNIT).map(|unit| unit.try_into().expect("a whole unit")).collect();
        let work = Work {
            qpn: 0x12_3456_u64.into(),
            pd: 0x789a_u64.into(),
            opcode: (op as u64).into(),
            units: (units.len() as u64).into(),
            sge_count: (pieces.len() as u64).into(),
            length: u64::from(place.length).into(),
            remote: place.address.into(),
            key: u64::from(place.local_key).into(),
            ..Work::default()
        };
        Self { work, units }
    }

    /// An RPC with parameters, whose answer of up to `response_max` bytes goes to `result`.
    pub(super) fn rpc(result: Sge, response_max: u32, parameters: u8) -> Self {
        let mut case = Self::stream(result, response_max, &[]);
        case.work.opcode = (Rpc as u64).into();
        (case.work.inline, case.work.length) = (true, u64::from(parameters).into());
        case.units.resize((SECOND_AT + usize::from(parameters)).div_ceil(UNIT), [0x5a; UNIT]);
        case.work.units = (case.units.len() as u64).into();
        case
    }

    /// An RPC whose payload is in these pieces.
    pub(super) fn stream(result: Sge, response_max: u32, pieces: &[Sge]) -> Self {
        let length = pieces.iter().map(|piece| piece.length).sum();
        let mut case = Self::copy(RpcWrite, Sge { length, ..result }, pieces);
        result.emit(&mut case.units[0][BODY_AT..]);
        case.work.remote = RpcTarget { response_max, ..target() }.to_address().into();
        case
    }

    pub(super) fn outcome(&self, mood: Mood) -> Outcome {
        check(&self.work, &self.units, |question| mood.judge(question))
    }
}

/// What an RPC says beside the longest answer, none of which matters here.
fn target() -> RpcTarget {
    RpcTarget { response_max: 0, flags: 0xa5, parameter_words: 0, operation: 0x5aa5 }
}

/// One in so many questions is refused, as its address says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mood(pub(super) u64);

impl Mood {
    pub(super) const GENEROUS: Self = Self(u64::MAX);

    pub(super) fn judge(self, question: &XlatRequest) -> u64 {
        let chance = SplitMix64::at(u64::from(question.va), u64::from(question.key));
        if chance.is_multiple_of(self.0) { 1 + chance / self.0 % 5 } else { 0 }
    }
}

fn small(rng: &mut SplitMix64, below: u64) -> usize {
    usize::try_from(rng.below(below)).expect("small")
}

/// Operations with units: copies, and what is asked of a peer.
pub(super) const COPIES: [WorkOp; 2] = [Gather, Scatter];
pub(super) const REQUESTS: [WorkOp; 8] = [Send, SendImm, SendInv, Write, WriteImm, Read, CmpSwap, FetchAdd];
pub(super) const CALLS: [WorkOp; 2] = [Rpc, RpcWrite];
pub(super) const ATOMICS: [WorkOp; 2] = [CmpSwap, FetchAdd];
/// Those whose data may be inline.
const INLINE: [WorkOp; 6] = [Gather, Send, SendImm, SendInv, Write, WriteImm];

/// A piece of memory of any length, also at the end of all addresses.
fn piece(rng: &mut SplitMix64) -> Sge {
    let length = [0, 1, 2, 5000, 1 << 27, 1 << 31][small(rng, 32).saturating_sub(26)];
    let length = if length == 0 && rng.below(4) != 0 { 1 + rng.below(300) } else { length };
    let address = match rng.below(30) {
        0 => 0_u64.wrapping_sub(length),
        1 => 1_u64.wrapping_sub(length),
        2 => u64::MAX,
        _ => rng.next_u64() >> 8,
    };
    Sge { address, local_key: rng.next_u32(), length: u32::try_from(length).expect("in range") }
}

/// An RPC of either kind.
fn random_call(rng: &mut SplitMix64) -> Case {
    let result = piece(rng);
    let response_max = if rng.below(4) == 0 { 0 } else { result.length.min(1 << 16) };
    let mut case = if rng.below(2) == 0 {
        let words = u8::try_from(rng.below(17)).expect("few");
        Case::rpc(result, response_max, 4 * words)
    } else {
        let most = [1, 2, 5, 16][small(rng, 4)];
        let mut pieces: Vec<Sge> = (0..=small(rng, most)).map(|_| piece(rng)).collect();
        for piece in &mut pieces {
            piece.length = piece.length.min(1 << 27);
        }
        Case::stream(result, response_max, &pieces)
    };
    match rng.below(8) {
        0 => case.work.length = 0.into(),
        1 if !case.work.inline => case.work.length = case.work.length + 1_u64,
        _ => {}
    }
    case
}

/// Any work: copies and requests good and bad, inline data, and what passes.
pub(super) fn random(rng: &mut SplitMix64) -> Case {
    if rng.below(6) == 0 {
        return random_call(rng);
    }
    let op = if rng.below(3) == 0 { COPIES[small(rng, 2)] } else { REQUESTS[small(rng, 8)] };
    let is_atomic = ATOMICS.contains(&op);
    let most = if is_atomic { 1 } else { [1, 2, 6, 16][small(rng, 4)] };
    let mut pieces: Vec<Sge> = (0..=small(rng, most)).map(|_| piece(rng)).collect();
    let sum: u64 = pieces.iter().map(|piece| u64::from(piece.length)).sum();
    // An atomic has eight bytes, and its entry mostly says the same.
    let sum = if is_atomic { 8 } else { sum };
    if is_atomic && rng.below(4) != 0 {
        pieces[0].length = 8;
    }
    let wrong = if is_atomic { 0 } else { [0, 1, 1 << 16][small(rng, 20).saturating_sub(17)] };
    let length = u32::try_from(sum ^ wrong).unwrap_or(u32::MAX);
    let mut case = Case::copy(op, Sge { length, ..piece(rng) }, &pieces);
    let copied = case.work;
    case.work = noise(rng);
    (case.work.ends, case.work.status, case.work.vendor) = (false, 0.into(), 0.into());
    (case.work.opcode, case.work.units, case.work.inline) = (copied.opcode, copied.units, false);
    (case.work.sge_count, case.work.length) = (copied.sge_count, copied.length);
    (case.work.remote, case.work.key) = (copied.remote, copied.key);
    match rng.below(9) {
        0 => case.work.ends = true,
        1 => case.work.opcode = ([Nop, Invalidate][small(rng, 2)] as u64).into(),
        2 => {
            let status = [Status::LocalQueuePair, Status::Flushed, Status::General][small(rng, 3)];
            case.work.status = (status as u64).into();
        }
        3 if !is_atomic => case.work.length = 0.into(),
        4 => {
            case.work.opcode = (INLINE[small(rng, 6)] as u64).into();
            case.work.inline = true;
            case.work.sge_count = 0.into();
            case.work.length = rng.below(case.units.len() as u64 * 64 - 31).into();
        }
        5 => {
            case.work.opcode = (Bind as u64).into();
            (case.work.sge_count, case.work.length) = (0.into(), 0.into());
        }
        _ => {}
    }
    if !has_units(&case.work) {
        case.units.clear();
    }
    case
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) work: SourceId,
    pub(super) work_units: SourceId,
    pub(super) xlat: SinkId,
    answer: SourceId,
    pub(super) checked: SinkId,
    pub(super) units: SinkId,
    pub(super) mood: Mood,
    /// Cycles that an answer takes, at least and less than.
    pub(super) delay: (u64, u64),
    waiting: VecDeque<(u64, XlatResponse)>,
    /// Answers that were due so far.
    due: u64,
    asked: Vec<XlatRequest>,
    /// Most questions that were unanswered at once.
    pub(super) most: u64,
    rng: SplitMix64,
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("check", Check::default);
        let [work, work_units, answer] =
            ["work", "work_units", "answer"].map(|name| bench.source(name).expect("the stream exists"));
        let [xlat, checked, units] =
            ["xlat", "checked", "units"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self {
            bench,
            work,
            work_units,
            xlat,
            answer,
            checked,
            units,
            mood: Mood::GENEROUS,
            delay: (HIT, HIT + 1),
            waiting: VecDeque::new(),
            due: 0,
            asked: Vec::new(),
            most: 0,
            rng: SplitMix64::new(78),
        }
    }

    /// Pauses of work, its units, questions, checked, its units.
    pub(super) fn pause(&mut self, [work, work_units, xlat, checked, units]: [Pause; 5]) {
        self.bench[self.work].pause(work);
        self.bench[self.work_units].pause(work_units);
        self.bench[self.xlat].pause(xlat);
        self.bench[self.checked].pause(checked);
        self.bench[self.units].pause(units);
    }

    pub(super) fn send(&mut self, cases: &[Case]) {
        for case in cases {
            push(&mut self.bench, self.work, &[case.work]);
            self.send_units(case);
        }
    }

    pub(super) fn send_units(&mut self, case: &Case) {
        let units: Vec<Bits<512>> = case.units.iter().map(unit_bits).collect();
        push(&mut self.bench, self.work_units, &units);
    }

    /// One cycle: the MMU hears what was asked, and answers what is due.
    pub(super) fn step(&mut self) {
        let cycle = self.bench.cycle();
        while self.waiting.front().is_some_and(|(due, _)| *due <= cycle) {
            let (_, answer) = self.waiting.pop_front().expect("there is a front");
            push(&mut self.bench, self.answer, &[answer]);
            self.due += 1;
        }
        self.bench.step();
        for question in collect::<XlatRequest>(&mut self.bench, self.xlat) {
            let cause = self.mood.judge(&question);
            let answer = XlatResponse {
                client: question.client,
                ok: cause == 0,
                cause: cause.into(),
                more: false,
                ..noise(&mut self.rng)
            };
            let due = cycle + self.delay.0 + self.rng.below(self.delay.1 - self.delay.0);
            self.waiting.push_back((due, answer));
            self.asked.push(question);
        }
        let unanswered = self.waiting.len() as u64 + self.due - self.bench[self.answer].sent();
        assert!(unanswered <= 1 << UNANSWERED_LOG, "{unanswered} questions are unanswered");
        self.most = self.most.max(unanswered);
        assert!(read::<bool>(&self.bench, "answer$ready"), "answers are always taken");
    }

    pub(super) fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "the check is stuck");
            self.step();
        }
    }

    /// Forgets what came out so far.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
        self.asked.clear();
        for sink in [self.xlat, self.checked, self.units] {
            self.bench[sink].take();
        }
    }

    pub(super) fn check(&mut self, cases: &[Case]) {
        self.send(cases);
        self.settle();
        self.compare(cases);
    }

    pub(super) fn compare(&mut self, cases: &[Case]) {
        let outcomes: Vec<Outcome> = cases.iter().map(|case| case.outcome(self.mood)).collect();
        let works: Vec<Work> = outcomes.iter().map(|outcome| outcome.work).collect();
        let questions: Vec<XlatRequest> =
            outcomes.iter().flat_map(|outcome| outcome.questions.clone()).collect();
        let sent = outcomes.iter().zip(cases).filter(|(outcome, _)| outcome.sends);
        let units: Vec<Bits<512>> = sent.flat_map(|(_, case)| case.units.iter().map(unit_bits)).collect();
        let found: Vec<Work> = collect(&mut self.bench, self.checked);
        for (at, (found, expected)) in found.iter().zip(&works).enumerate() {
            assert_eq!(found, expected, "work {at}");
        }
        assert_eq!(found.len(), works.len(), "works");
        assert_eq!(std::mem::take(&mut self.asked), questions, "questions");
        assert!(collect::<Bits<512>>(&mut self.bench, self.units) == units, "units");
    }
}

fn unit_bits(unit: &UnitBytes) -> Bits<512> {
    crate::pack::from_bytes(unit)
}
