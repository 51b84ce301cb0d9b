//! The block between one that admits messages and one that fetches their payload.

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::{BODY_AT, UNIT, UNITS_MAX};
use stroma_abi::desc::{Sge, SgeList};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Segment;
use super::model::{Outcome, mtu, segment};
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{Message, TxStep};

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 40_000;
/// Packets of a random message at most, so that many messages are met.
const PACKETS_MAX: u64 = 20;

/// A message and its WQE.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) message: Message,
    pub(super) wqe: Vec<u8>,
}

impl Case {
    /// A whole message with this body; what is not said is noise.
    fn new(rng: &mut SplitMix64, path_mtu: u64, length: u64, body: &[u8]) -> Self {
        let units = (BODY_AT + body.len()).div_ceil(UNIT);
        let mut wqe: Vec<u8> = (0..units * UNIT).map(|_| rng.next_u32().to_le_bytes()[0]).collect();
        wqe[BODY_AT..][..body.len()].copy_from_slice(body);
        let message = Message {
            path_mtu: path_mtu.into(),
            is_read: false,
            inline: false,
            units: (units as u64).into(),
            sge_count: 0_u64.into(),
            length: length.into(),
            skips: 0_u64.into(),
            ..noise(rng)
        };
        let mut case = Self { message, wqe };
        case.message.packets = case.packets().into();
        case
    }

    /// A WRITE of entries with these lengths.
    pub(super) fn write(rng: &mut SplitMix64, path_mtu: u64, lengths: &[u64]) -> Self {
        let entry = |length: &u64| Sge {
            address: rng.next_u64(),
            local_key: rng.next_u32(),
            length: u32::try_from(*length).expect("an entry is short enough"),
        };
        let list: Vec<Sge> = lengths.iter().map(entry).collect();
        let list = SgeList::new(&list).expect("there are not too many");
        let mut body = vec![0; list.encoded_len()];
        list.encode(&mut body);
        let mut case = Self::new(rng, path_mtu, list.total(), &body);
        case.message.sge_count = (lengths.len() as u64).into();
        case
    }

    /// A WRITE of so many bytes within the WQE.
    pub(super) fn inline(rng: &mut SplitMix64, path_mtu: u64, length: usize) -> Self {
        let body: Vec<u8> = (0..length).map(|_| rng.next_u32().to_le_bytes()[0]).collect();
        let case = Self::new(rng, path_mtu, length as u64, &body);
        Self { message: Message { inline: true, ..case.message }, ..case }
    }

    /// A READ of so many bytes, whose WQE has so many units.
    pub(super) fn read(rng: &mut SplitMix64, path_mtu: u64, length: u64, units: usize) -> Self {
        let body = vec![0xa5; units * UNIT - BODY_AT];
        let case = Self::new(rng, path_mtu, length, &body);
        let message =
            Message { is_read: true, sge_count: 1_u64.into(), packets: 1_u64.into(), ..case.message };
        Self { message, ..case }
    }

    /// Packets of the whole message.
    pub(super) fn packets(&self) -> u64 {
        u64::from(self.message.length).div_ceil(mtu(&self.message)).max(1)
    }

    /// The visit that begins with packet `first` and sends `count` of them.
    pub(super) fn visit(&self, first: u64, count: u64) -> Self {
        let mut message = self.message;
        message.skips = (first * mtu(&message)).into();
        message.psn = ((u64::from(message.psn) + first) & 0xff_ffff).into();
        message.packets = count.into();
        Self { message, ..self.clone() }
    }

    /// The visit ends before the message does.
    pub(super) fn stops_early(&self) -> bool {
        let sent = u64::from(self.message.packets) * mtu(&self.message);
        u64::from(self.message.skips) + sent < u64::from(self.message.length)
    }

    /// The same in so many units, or as many as it takes.
    pub(super) fn padded(mut self, rng: &mut SplitMix64, units: u64) -> Self {
        while (self.wqe.len() as u64) < units * UNIT as u64 {
            self.wqe.push(rng.next_u32().to_le_bytes()[0]);
        }
        self.message.units = (self.wqe.len() as u64 / UNIT as u64).into();
        self
    }

    pub(super) fn outcome(&self) -> Outcome {
        segment(&self.message, &self.wqe)
    }
}

/// A length around the ends of packets, or any.
fn random_length(rng: &mut SplitMix64, mtu: u64) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => 1,
        2 => mtu - 1,
        3 => mtu,
        4 => mtu + 1,
        5 => mtu * (2 + rng.below(8)),
        6 => 1 + rng.below(64),
        7 => 1 + rng.below(mtu * 20),
        8 => mtu * 64 - rng.below(3),
        _ => 1 + rng.below(1 << 31),
    }
}

/// Lengths of up to sixteen entries with `length` bytes together, empty ones among them.
fn random_split(rng: &mut SplitMix64, length: u64, mtu: u64) -> Vec<u64> {
    let count = if length == 0 && rng.below(2) == 0 { 0 } else { 1 + rng.below(SGE_MAX as u64) };
    let place = |rng: &mut SplitMix64| match rng.below(4) {
        0 => rng.below(length + 1),
        // Where packets end, where others cut, and near the beginning.
        1 => (mtu * rng.below(1 + length / mtu)).min(length),
        2 => [0, length][usize::from(rng.below(2) == 1)],
        _ => rng.below(length.min(mtu) + 1),
    };
    let mut cuts: Vec<u64> = (1..count).map(|_| place(rng)).collect();
    cuts.sort_unstable();
    if count > 0 {
        cuts.push(length);
    }
    let mut before = 0;
    cuts.iter().map(|cut| cut - std::mem::replace(&mut before, *cut)).collect()
}

/// Any message, or a visit of one.
pub(super) fn random(rng: &mut SplitMix64) -> Case {
    let path_mtu = 1 + rng.below(5);
    let mtu = 128 << path_mtu;
    let case = match rng.below(8) {
        0 => {
            let length = random_length(rng, mtu);
            let units = 1 + usize::try_from(rng.below(UNITS_MAX as u64)).expect("small");
            Case::read(rng, path_mtu, length, units)
        }
        1 | 2 => {
            let most = [33, 65, 481, 481][usize::try_from(rng.below(4)).expect("small")];
            let length = usize::try_from(rng.below(most)).expect("small");
            // Only the shortest path MTU cuts inline data.
            let path_mtu = if rng.below(4) == 0 { path_mtu } else { 1 };
            Case::inline(rng, path_mtu, length)
        }
        _ => {
            let length = random_length(rng, mtu);
            let split = random_split(rng, length, mtu);
            Case::write(rng, path_mtu, &split)
        }
    };
    let packets = case.packets();
    let first = match rng.below(4) {
        0 | 1 => 0,
        2 => packets - 1,
        _ => rng.below(packets),
    };
    let left = (packets - first).min(PACKETS_MAX);
    let count = if rng.below(2) == 0 { left } else { 1 + rng.below(left) };
    let count = if case.message.is_read { 1 } else { count };
    let case = case.visit(first, count);
    let units = if rng.below(4) == 0 { 1 + rng.below(UNITS_MAX as u64) } else { 0 };
    case.padded(rng, units)
}

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    pub(super) message: SourceId,
    pub(super) units: SourceId,
    pub(super) step: SinkId,
    pub(super) inline: SinkId,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated("segment", Segment::<D>::default);
        let [message, units] =
            ["message", "units"].map(|name| bench.source(name).expect("the stream exists"));
        let [step, inline] = ["step", "inline"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, message, units, step, inline }
    }

    /// Pauses of message, units, step, inline.
    pub(super) fn pause(&mut self, [message, units, step, inline]: [Pause; 4]) {
        self.bench[self.message].pause(message);
        self.bench[self.units].pause(units);
        self.bench[self.step].pause(step);
        self.bench[self.inline].pause(inline);
    }

    pub(super) fn send(&mut self, cases: &[Case]) {
        for case in cases {
            push(&mut self.bench, self.message, &[case.message]);
            for unit in case.wqe.chunks(UNIT) {
                push(&mut self.bench, self.units, &[Bits::<512>::from(BigUint::from_bytes_le(unit))]);
            }
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    /// Steps until nothing is inside or on its way.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.bench.step();
        }
    }

    /// Sends the messages and holds what comes out against the model.
    pub(super) fn check(&mut self, cases: &[Case]) {
        self.send(cases);
        self.settle();
        self.compare(cases);
    }

    pub(super) fn compare(&mut self, cases: &[Case]) {
        let outcomes: Vec<Outcome> = cases.iter().map(Case::outcome).collect();
        let steps: Vec<TxStep> = outcomes.iter().flat_map(|outcome| outcome.steps.clone()).collect();
        let inline: Vec<Beat<D>> = outcomes
            .iter()
            .flat_map(|outcome| outcome.inline.iter().flat_map(|bytes| beats(bytes)))
            .collect();
        let found: Vec<TxStep> = collect(&mut self.bench, self.step);
        for (at, (found, expected)) in found.iter().zip(&steps).enumerate() {
            assert_eq!(found, expected, "step {at}");
        }
        assert_eq!(found.len(), steps.len(), "steps");
        let found: Vec<Beat<D>> = collect(&mut self.bench, self.inline);
        for (at, (found, expected)) in found.iter().zip(&inline).enumerate() {
            assert_eq!(found, expected, "beat {at}");
        }
        assert_eq!(found.len(), inline.len(), "beats");
    }

    /// Sends the messages to a consumer that takes the inline data of a packet between its step and the next one.
    pub(super) fn check_in_turn(&mut self, cases: &[Case]) {
        self.send(cases);
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            let steps = self.bench[self.step].received().iter();
            let due = steps.filter(|step| TxStep::from_words(step).inline).count();
            let beats = self.bench[self.inline].received().iter();
            let is_due = due > beats.filter(|beat| Beat::<D>::from_words(beat).eop).count();
            self.bench[self.step].pause(if is_due { Pause::Always } else { Pause::None });
            self.bench[self.inline].pause(if is_due { Pause::None } else { Pause::Always });
            self.bench.step();
        }
        self.compare(cases);
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
