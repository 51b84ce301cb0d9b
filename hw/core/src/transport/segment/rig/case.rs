//! Messages with their WQEs, made to order or at random.

use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::{BODY_AT, UNIT, UNITS_MAX};
use stroma_abi::desc::{Sge, SgeList, WorkOp};
use stroma_verilate::SplitMix64;

use crate::testing::noise;
use crate::transport::records::Message;
use crate::transport::segment::model::{Outcome, mtu, operation, segment};

/// Packets of a random message at most, so that many messages are met.
const PACKETS_MAX: u64 = 20;

/// What carries data.
pub(in crate::transport::segment) const CARRYING: [WorkOp; 5] =
    [WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv, WorkOp::Write, WorkOp::WriteImm];
const CALLS: [WorkOp; 2] = [WorkOp::Rpc, WorkOp::RpcWrite];
pub(in crate::transport::segment) const ATOMICS: [WorkOp; 2] = [WorkOp::CmpSwap, WorkOp::FetchAdd];

/// A message and its WQE.
#[derive(Clone, Debug)]
pub(in crate::transport::segment) struct Case {
    pub(in crate::transport::segment) message: Message,
    pub(in crate::transport::segment) wqe: Vec<u8>,
}

impl Case {
    /// A whole WRITE with this body; what is not said is noise.
    fn new(rng: &mut SplitMix64, path_mtu: u64, length: u64, body: &[u8]) -> Self {
        let units = (BODY_AT + body.len()).div_ceil(UNIT);
        let mut wqe: Vec<u8> = (0..units * UNIT).map(|_| rng.next_u32().to_le_bytes()[0]).collect();
        wqe[BODY_AT..][..body.len()].copy_from_slice(body);
        let message = Message {
            path_mtu: path_mtu.into(),
            opcode: (WorkOp::Write as u64).into(),
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
    pub(in crate::transport::segment) fn write(rng: &mut SplitMix64, path_mtu: u64, lengths: &[u64]) -> Self {
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
    pub(in crate::transport::segment) fn inline(rng: &mut SplitMix64, path_mtu: u64, length: usize) -> Self {
        let body: Vec<u8> = (0..length).map(|_| rng.next_u32().to_le_bytes()[0]).collect();
        let case = Self::new(rng, path_mtu, length as u64, &body);
        Self { message: Message { inline: true, ..case.message }, ..case }
    }

    /// An RPC with so many bytes of parameters; without any it may also ask for the rest of an answer.
    pub(in crate::transport::segment) fn rpc(rng: &mut SplitMix64, path_mtu: u64, length: usize) -> Self {
        let case = Self::inline(rng, path_mtu, Sge::LEN + length).of(WorkOp::Rpc);
        let message = Message { inline: length > 0, length: (length as u64).into(), ..case.message };
        Self { message: Message { packets: 1_u64.into(), ..message }, ..case }
    }

    /// An RPC with a stream of entries with these lengths.
    pub(in crate::transport::segment) fn stream(
        rng: &mut SplitMix64,
        path_mtu: u64,
        lengths: &[u64],
    ) -> Self {
        let mut entries = vec![0];
        entries.extend(lengths);
        let mut case = Self::write(rng, path_mtu, &entries).of(WorkOp::RpcWrite);
        // The first is the result's, and none of what is sent.
        for byte in &mut case.wqe[BODY_AT..][..Sge::LEN] {
            *byte = rng.next_u32().to_le_bytes()[0];
        }
        case.message.sge_count = (lengths.len() as u64).into();
        case
    }

    /// A READ of so many bytes, whose WQE has so many units.
    pub(in crate::transport::segment) fn read(
        rng: &mut SplitMix64,
        path_mtu: u64,
        length: u64,
        units: usize,
    ) -> Self {
        let body = vec![0xa5; units * UNIT - BODY_AT];
        let case = Self::new(rng, path_mtu, length, &body);
        let message = Message { sge_count: 1_u64.into(), packets: 1_u64.into(), ..case.message };
        Self { message, ..case }.of(WorkOp::Read)
    }

    /// An atomic, whose WQE has so many units.
    pub(in crate::transport::segment) fn atomic(rng: &mut SplitMix64, op: WorkOp, units: usize) -> Self {
        Self::read(rng, 1, 8, units).of(op)
    }

    /// The same with another operation.
    pub(in crate::transport::segment) fn of(mut self, op: WorkOp) -> Self {
        self.message.opcode = (op as u64).into();
        self
    }

    pub(in crate::transport::segment) fn operation(&self) -> WorkOp {
        operation(&self.message)
    }

    /// Does it carry data?
    pub(in crate::transport::segment) fn carries(&self) -> bool {
        CARRYING.contains(&self.operation()) || CALLS.contains(&self.operation())
    }

    /// Packets of the whole message.
    pub(in crate::transport::segment) fn packets(&self) -> u64 {
        u64::from(self.message.length).div_ceil(mtu(&self.message)).max(1)
    }

    /// The visit that begins with packet `first` and sends `count` of them.
    pub(in crate::transport::segment) fn visit(&self, first: u64, count: u64) -> Self {
        let mut message = self.message;
        message.skips = (first * mtu(&message)).into();
        message.psn = ((u64::from(message.psn) + first) & 0xff_ffff).into();
        message.packets = count.into();
        Self { message, ..self.clone() }
    }

    /// The visit ends before the message does.
    pub(in crate::transport::segment) fn stops_early(&self) -> bool {
        let sent = u64::from(self.message.packets) * mtu(&self.message);
        u64::from(self.message.skips) + sent < u64::from(self.message.length)
    }

    /// The same in so many units, or as many as it takes.
    pub(in crate::transport::segment) fn padded(mut self, rng: &mut SplitMix64, units: u64) -> Self {
        while (self.wqe.len() as u64) < units * UNIT as u64 {
            self.wqe.push(rng.next_u32().to_le_bytes()[0]);
        }
        self.message.units = (self.wqe.len() as u64 / UNIT as u64).into();
        self
    }

    pub(in crate::transport::segment) fn outcome(&self) -> Outcome {
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
pub(in crate::transport::segment) fn random(rng: &mut SplitMix64) -> Case {
    let path_mtu = 1 + rng.below(5);
    let mtu = 128 << path_mtu;
    let carrying = CARRYING[usize::try_from(rng.below(5)).expect("small")];
    let case = match rng.below(11) {
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
            Case::inline(rng, path_mtu, length).of(carrying)
        }
        3 => {
            let op = ATOMICS[usize::from(rng.below(2) == 1)];
            let units = 1 + usize::try_from(rng.below(UNITS_MAX as u64)).expect("small");
            Case::atomic(rng, op, units)
        }
        4 => {
            let length = 4 * usize::try_from(rng.below(17)).expect("small");
            Case::rpc(rng, path_mtu, length)
        }
        5 => {
            let length = random_length(rng, mtu);
            let mut split = random_split(rng, length, mtu);
            // The entry of the result needs a place, too.
            while split.len() >= SGE_MAX {
                let last = split.pop().expect("there are some");
                *split.last_mut().expect("there are more") += last;
            }
            Case::stream(rng, path_mtu, &split)
        }
        _ => {
            let length = random_length(rng, mtu);
            let split = random_split(rng, length, mtu);
            Case::write(rng, path_mtu, &split).of(carrying)
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
    let count = if case.carries() { count } else { 1 };
    let case = case.visit(first, count);
    let units = if rng.below(4) == 0 { 1 + rng.below(UNITS_MAX as u64) } else { 0 };
    case.padded(rng, units)
}
