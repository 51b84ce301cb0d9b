//! The parser between a scheduler, a host memory and a checker.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::WorkOp::{
    self, Bind, CmpSwap, FetchAdd, Gather, Invalidate, Nop, Read, Rpc, RpcWrite, Scatter, Send, SendImm,
    SendInv, Write, WriteImm,
};
use stroma_abi::desc::queue_pair::QueuePairKind;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT, UNITS_MAX};
use stroma_abi::desc::{Sge, WqeHead};
use stroma_abi::wire::RpcTarget;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Parse;
use super::model::{Outcome, UnitBytes, parse};
use crate::host::work::{JOB_UNITS, Job, PUSH_UNITS, Unit, Work};
use crate::testing::{collect, noise, push, read, verilated};

/// Cycles after which the parser counts as stuck.
const LIMIT: u64 = 100_000;

/// A job and what is read for it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) job: Job,
    pub(super) units: Vec<UnitBytes>,
    /// Units of the first of two read commands; all of them for one.
    pub(super) cut: usize,
    /// Commands that fail.
    pub(super) errs: [bool; 2],
}

impl Case {
    /// A job of one read command that succeeds.
    pub(super) fn fetched(index: u16, units: Vec<UnitBytes>) -> Self {
        let job = Job {
            qpn: 0x12_3456_u64.into(),
            index: u64::from(index).into(),
            units: (units.len() as u64).into(),
            pd: 0x789a_u64.into(),
            cq: 0xbc_def0_u64.into(),
            kind: (QueuePairKind::Reliable as u64).into(),
            ..Job::default()
        };
        Self { job, cut: units.len(), units, errs: [false; 2] }
    }

    /// The same from a push.
    pub(super) fn pushed(index: u16, units: Vec<UnitBytes>) -> Self {
        let case = Self::fetched(index, units);
        Self { job: Job { pushed: true, ..case.job }, ..case }
    }

    fn failed(&self) -> bool {
        !self.job.pushed && (self.errs[0] || (self.cut < self.units.len() && self.errs[1]))
    }

    pub(super) fn outcome(&self) -> Outcome {
        parse(&self.job, &self.units, self.failed())
    }
}

/// A WQE with this head, whose body is noise.
pub(super) fn wqe(head: WqeHead, rng: &mut SplitMix64) -> Vec<UnitBytes> {
    let mut units: Vec<UnitBytes> = (0..head.units.max(1)).map(|_| unit_noise(rng)).collect();
    head.emit(&mut units[0]);
    units
}

pub(super) fn unit_noise(rng: &mut SplitMix64) -> UnitBytes {
    std::array::from_fn(|_| rng.next_u32().to_le_bytes()[0])
}

fn unit_bits(unit: &UnitBytes) -> Bits<512> {
    crate::pack::from_bytes(unit)
}

fn small(rng: &mut SplitMix64, below: usize) -> usize {
    usize::try_from(rng.below(below as u64)).expect("small")
}

/// What a reliable queue pair carries out.
pub(super) const GOOD_OPS: [WorkOp; 15] = [
    Nop, Gather, Scatter, Send, SendImm, SendInv, Write, WriteImm, Read, CmpSwap, FetchAdd, Bind, Invalidate,
    Rpc, RpcWrite,
];

/// A head that is right on a reliable queue pair, of `units` units.
fn good_head(rng: &mut SplitMix64, index: u16, units: u8) -> WqeHead {
    let op = GOOD_OPS[small(rng, GOOD_OPS.len())];
    let may_inline =
        !matches!(op, Nop | Scatter | Read | CmpSwap | FetchAdd | Bind | Invalidate | Rpc | RpcWrite);
    let inline = may_inline && rng.below(2) == 0;
    let room = usize::from(units) * UNIT - WqeHead::LEN;
    let most = (room / 16).min(15);
    // Some bodies are as long as they can be.
    let mut up_to = |most: usize| if rng.below(3) == 0 { most } else { small(rng, most + 1) };
    let (data, entries) = (up_to(room), up_to(most));
    let mut head = WqeHead { opcode: op as u8, inline, units, index, ..random_head(rng) };
    (head.local, head.tx_kernel) = (false, false);
    head.sge_count = if inline { head.sge_count } else { entries.to_le_bytes()[0] };
    if inline {
        head.length = u32::try_from(data).expect("few bytes");
    } else if matches!(op, CmpSwap | FetchAdd) {
        (head.sge_count, head.length) = (1, 8);
    } else if matches!(op, Bind | Invalidate) {
        (head.sge_count, head.length) = (0, 0);
    } else if op != Nop && entries == 0 && room / 16 < 16 {
        head.length = 0;
    }
    if matches!(op, Rpc | RpcWrite) {
        call_head(rng, op, &mut head);
    }
    head
}

/// Makes a good head one of an RPC; its parameters and its answer are as long as they can be, or shorter.
fn call_head(rng: &mut SplitMix64, op: WorkOp, head: &mut WqeHead) {
    let room = usize::from(head.units) * UNIT - SECOND_AT;
    let mut up_to = |most: usize| if rng.below(3) == 0 { most } else { small(rng, most + 1) };
    let mut words = up_to(room.min(64) / 4);
    if op == Rpc {
        (head.sge_count, head.length) = (1, u32::try_from(words * 4).expect("few bytes"));
    } else {
        let entries = up_to((room / 16).min(15));
        head.sge_count = entries.to_le_bytes()[0];
        if entries == 0 && room / 16 < 16 {
            head.length = 0;
        }
        words = words.min(head.length as usize / 4);
    }
    let target = RpcTarget {
        response_max: u32::try_from(up_to(1 << 16)).expect("in range"),
        parameter_words: words.to_le_bytes()[0],
        ..RpcTarget::from_address(head.remote)
    };
    head.remote = target.to_address();
}

/// Makes the entry behind the head one of so many bytes.
pub(super) fn set_room(unit: &mut UnitBytes, length: u32) {
    let entry = Sge::parse(&unit[BODY_AT..]).expect("a whole entry");
    Sge { length, ..entry }.emit(&mut unit[BODY_AT..]);
}

fn random_head(rng: &mut SplitMix64) -> WqeHead {
    let mut bytes: Vec<u8> = unit_noise(rng).into();
    bytes.truncate(WqeHead::LEN);
    WqeHead::parse(&bytes).expect("as long as a head")
}

/// Makes a good head one of a frame, mostly; its length is right, or about as long as is still right.
fn frame_head(rng: &mut SplitMix64, head: &mut WqeHead) {
    head.opcode = Send as u8;
    if !head.inline {
        let lengths = [13, 14, 60, 1500, 4095, 4096, 4097];
        head.length = lengths[small(rng, lengths.len())];
        head.sge_count = head.sge_count.max(1);
    }
}

/// One thing of the head is wrong, or may be.
fn corrupt(rng: &mut SplitMix64, head: &mut WqeHead) {
    let noise = random_head(rng);
    match rng.below(12) {
        0 => head.opcode = noise.opcode % 16,
        1 => head.opcode = noise.opcode,
        2 => head.index ^= 1 << rng.below(16),
        3 => head.units = noise.units,
        4 => head.local = true,
        5 => head.tx_kernel = true,
        6 => head.inline = true,
        7 => head.length = head.length.wrapping_add(1),
        8 => head.sge_count = noise.sge_count,
        9 => head.remote ^= 1 << (16 + rng.below(8)),
        10 => head.remote ^= 1 << (48 + rng.below(8)),
        _ => *head = noise,
    }
}

/// Any job: WQEs of all kinds, one in `bad` of which is corrupt, up to a tail that may be cut off.
pub(super) fn random(rng: &mut SplitMix64, bad: u64) -> Case {
    let mut job: Job = noise(rng);
    (job.pushed, job.flush) = (rng.below(4) == 0, rng.below(8) == 0);
    let is_raw = rng.below(4) == 0;
    if is_raw {
        job.kind = (QueuePairKind::Raw as u64).into();
    } else if rng.below(12) == 0 {
        job.kind = (QueuePairKind::Datagram as u64).into();
    } else if rng.below(4) != 0 {
        job.kind = (QueuePairKind::Reliable as u64).into();
    }
    let index = u16::try_from(u64::from(job.index)).expect("sixteen bits");
    let longest = [1, 4, JOB_UNITS][small(rng, 3)];
    let wanted = if job.pushed { 1 + small(rng, PUSH_UNITS) } else { 1 + small(rng, longest) };
    let mut units: Vec<UnitBytes> = Vec::new();
    while units.len() < wanted {
        let most = [1, 2, UNITS_MAX][small(rng, 3)];
        let says = if job.pushed { wanted } else { 1 + small(rng, most) };
        let place = index.wrapping_add(u16::try_from(units.len()).expect("few units"));
        let mut head = good_head(rng, place, u8::try_from(says).expect("few units"));
        if is_raw && rng.below(8) != 0 {
            frame_head(rng, &mut head);
        }
        if rng.below(bad) == 0 {
            corrupt(rng, &mut head);
        }
        let first = units.len();
        units.extend(wqe(head, rng));
        // The result's entry mostly has room for the answer, often just so.
        let most = RpcTarget::from_address(head.remote).response_max;
        let room = most.saturating_add([0, 0, 1, 1 << 20][small(rng, 4)]);
        set_room(&mut units[first], room.saturating_sub(u32::from(rng.below(10) == 0)));
    }
    // Mostly the job ends with its last WQE, sometimes within.
    let is_cut = job.pushed || rng.below(3) == 0 || units.len() > JOB_UNITS;
    units.truncate(if is_cut { wanted } else { units.len() });
    job.units = (units.len() as u64).into();
    let cut = if rng.below(2) == 0 { units.len() } else { 1 + small(rng, units.len()) };
    let errs = std::array::from_fn(|_| rng.below(12) == 0);
    Case { job, units, cut, errs }
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) job: SourceId,
    pub(super) fetched: SourceId,
    pub(super) pushed: SourceId,
    pub(super) work: SinkId,
    pub(super) units: SinkId,
    rng: SplitMix64,
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("parse", Parse::default);
        let [job, fetched, pushed] =
            ["job", "fetched", "pushed"].map(|name| bench.source(name).expect("the stream exists"));
        let [work, units] = ["work", "units"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, job, fetched, pushed, work, units, rng: SplitMix64::new(77) }
    }

    /// Pauses of job, fetched, pushed, work, units.
    pub(super) fn pause(&mut self, [job, fetched, pushed, work, units]: [Pause; 5]) {
        self.bench[self.job].pause(job);
        self.bench[self.fetched].pause(fetched);
        self.bench[self.pushed].pause(pushed);
        self.bench[self.work].pause(work);
        self.bench[self.units].pause(units);
    }

    pub(super) fn send(&mut self, cases: &[Case]) {
        for case in cases {
            push(&mut self.bench, self.job, &[case.job]);
            if case.job.pushed {
                self.push_units(&case.units);
                continue;
            }
            for (at, unit) in (1..).zip(&case.units) {
                let data = unit_bits(unit);
                let last = at == case.cut || at == case.units.len();
                // Without `last`, `err` means nothing.
                let err = if last { case.errs[usize::from(at > case.cut)] } else { noise(&mut self.rng) };
                push(&mut self.bench, self.fetched, &[Unit { data, last, err }]);
            }
        }
    }

    pub(super) fn push_units(&mut self, units: &[UnitBytes]) {
        let units: Vec<Bits<512>> = units.iter().map(unit_bits).collect();
        push(&mut self.bench, self.pushed, &units);
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    /// Steps until nothing is inside or on its way.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "the parser is stuck");
            self.bench.step();
        }
    }

    /// Sends the jobs and holds what comes out against the model.
    pub(super) fn check(&mut self, cases: &[Case]) {
        self.send(cases);
        self.settle();
        self.compare(cases);
    }

    pub(super) fn compare(&mut self, cases: &[Case]) {
        let outcomes: Vec<Outcome> = cases.iter().map(Case::outcome).collect();
        let works: Vec<Work> = outcomes.iter().flat_map(|outcome| outcome.works.clone()).collect();
        let units: Vec<Bits<512>> =
            outcomes.iter().flat_map(|outcome| outcome.units.iter().map(unit_bits)).collect();
        let found: Vec<Work> = collect(&mut self.bench, self.work);
        for (at, (found, expected)) in found.iter().zip(&works).enumerate() {
            assert_eq!(found, expected, "work {at}");
        }
        assert_eq!(found.len(), works.len(), "works");
        assert!(collect::<Bits<512>>(&mut self.bench, self.units) == units, "units");
    }

    /// Steps until a stream offers a beat; how many cycles that took.
    pub(super) fn until_valid(&mut self, stream: &str) -> u64 {
        let start = self.bench.cycle();
        while !read::<bool>(&self.bench, &format!("{stream}$valid")) {
            assert!(self.bench.cycle() - start < LIMIT, "nothing comes");
            self.bench.step();
        }
        self.bench.cycle() - start
    }
}
