//! The block in plain Rust: an errand, the rings, and host memory.

use std::collections::{BTreeMap, BTreeSet};

use stroma_abi::desc::region::rights;
use stroma_abi::desc::wqe::{BODY_AT, UNIT};
use stroma_abi::desc::{Receive, Sge, SgeList, Status, WqeHead};
use stroma_abi::wire::{NakCode, Syndrome};
use stroma_verilate::SplitMix64;

use crate::host::dma_read::ReadCommand;
use crate::testing::noise;
use crate::transport::records::{Answer, Errand, List, RingRow, SharedRow};

/// Bytes that the longest list needs, in whole units.
pub(super) const LIST_BYTES: u64 = 320;

/// Why a list is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    TooShort,
    Unreadable,
    Wrong,
}

/// What the host has written.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) rings: BTreeMap<u64, RingRow>,
    pub(super) shareds: BTreeMap<u64, SharedRow>,
    lines: BTreeMap<u64, [u8; UNIT]>,
    /// Lines that cannot be read.
    pub(super) bad: BTreeSet<u64>,
}

impl World {
    /// A row; of a queue pair that does not exist, it is noise.
    pub(super) fn ring(&self, qpn: u64) -> RingRow {
        let none = || RingRow { exists: false, ..noise(&mut SplitMix64::new(qpn)) };
        self.rings.get(&qpn).copied().unwrap_or_else(none)
    }

    pub(super) fn shared(&self, srq: u64) -> SharedRow {
        let none = || SharedRow { exists: false, ..noise(&mut SplitMix64::new(srq)) };
        self.shareds.get(&srq).copied().unwrap_or_else(none)
    }

    /// A line; what was never written is noise.
    pub(super) fn line(&self, iova: u64) -> [u8; UNIT] {
        assert_eq!(iova % UNIT as u64, 0, "units lie on multiples of their size");
        self.lines.get(&iova).copied().unwrap_or_else(|| {
            let mut rng = SplitMix64::new(iova);
            std::array::from_fn(|_| rng.next_u32().to_le_bytes()[0])
        })
    }

    pub(super) fn write(&mut self, iova: u64, bytes: &[u8]) {
        for (at, byte) in (iova..).zip(bytes) {
            let start = at & !(UNIT as u64 - 1);
            let mut line = self.line(start);
            line[usize::try_from(at - start).expect("small")] = *byte;
            self.lines.insert(start, line);
        }
    }
}

/// A list as it is found: the ranges that are read for it, and its entries.
pub(super) struct Found {
    pub(super) reads: Vec<(u64, u64)>,
    pub(super) entries: Result<SgeList, Flaw>,
}

fn fetch(world: &World, reads: &[(u64, u64)]) -> Result<Vec<u8>, Flaw> {
    let lines = || reads.iter().flat_map(|(iova, len)| (*iova..iova + len).step_by(UNIT));
    if lines().any(|line| world.bad.contains(&line)) {
        return Err(Flaw::Unreadable);
    }
    Ok(lines().flat_map(|line| world.line(line)).collect())
}

fn receive(world: &World, base: u64, log: u64, stride: u64, index: u64) -> Found {
    let size = 16_u64 << stride;
    let iova = (base << 12) + (index % (1 << log)) * size;
    let line = iova / UNIT as u64 * UNIT as u64;
    let reads = vec![(line, size.clamp(UNIT as u64, LIST_BYTES))];
    let entries = fetch(world, &reads).and_then(|bytes| {
        let [from, len] = [iova - line, size.min(LIST_BYTES)].map(|at| usize::try_from(at).expect("small"));
        Receive::decode(&bytes[from..][..len]).map(|receive| receive.0).ok_or(Flaw::Wrong)
    });
    Found { reads, entries }
}

fn send(world: &World, row: &RingRow, index: u64) -> Found {
    let (base, capacity) = (u64::from(row.send_base) << 12, 1_u64 << u64::from(row.send_log));
    let at = index % capacity;
    let before = (capacity - at).min(LIST_BYTES / UNIT as u64) * UNIT as u64;
    let iova = base + at * UNIT as u64;
    let mut reads = vec![(iova, before)];
    if before < LIST_BYTES {
        reads.push((base, LIST_BYTES - before));
    }
    let entries = fetch(world, &reads).and_then(|bytes| {
        let head = WqeHead::parse(&bytes).expect("there are enough");
        if u64::from(head.index) != index {
            return Err(Flaw::Wrong);
        }
        let count = if head.sge_count == 0 { 16 } else { usize::from(head.sge_count) };
        Ok(SgeList::decode(count, &bytes[BODY_AT..]).expect("they fit"))
    });
    Found { reads, entries }
}

/// The list of an errand.
pub(super) fn find(world: &World, errand: &Errand) -> Found {
    let nothing = Found { reads: Vec::new(), entries: Err(Flaw::Wrong) };
    let (list, index) = (u64::from(errand.list), u64::from(errand.index));
    let (ring, shared) = (world.ring(errand.qpn.into()), world.shared(errand.srq.into()));
    if list == List::Shared as u64 && shared.exists {
        receive(world, shared.base.into(), shared.log.into(), shared.stride.into(), index)
    } else if list == List::Send as u64 && ring.exists {
        send(world, &ring, index)
    } else if list == List::Receive as u64 && ring.exists && u64::from(ring.receive_log) > 0 {
        receive(world, ring.receive_base.into(), ring.receive_log.into(), ring.receive_stride.into(), index)
    } else {
        nothing
    }
}

pub(super) fn lists(errand: &Errand) -> bool {
    u64::from(errand.list) != List::None as u64
        && errand.places
        && u64::from(errand.payload_len) > 0
        && !errand.has_value
}

/// What throws the rest away.
fn spoiled(errand: &Errand, is_request: bool, rest: u64, flaw: Flaw) -> Errand {
    let (status, nak) = match flaw {
        Flaw::TooShort if is_request => (Status::LocalLength, NakCode::InvalidRequest),
        Flaw::TooShort => (Status::LocalQueuePair, NakCode::InvalidRequest),
        Flaw::Unreadable => (Status::General, NakCode::RemoteOperational),
        Flaw::Wrong => (Status::LocalQueuePair, NakCode::RemoteOperational),
    };
    let thrown = Errand {
        payload_len: rest.into(),
        places: false,
        span: 0.into(),
        answer: (Answer::None as u64).into(),
        fails: true,
        status: u64::from(status as u8).into(),
        length: 0.into(),
        completes: errand.completes || errand.retires,
        ..*errand
    };
    if !is_request {
        return thrown;
    }
    let counted = u64::from(errand.msn).wrapping_sub(errand.counts.into()) & 0xff_ffff;
    Errand {
        answer: (Answer::Acknowledge as u64).into(),
        syndrome: u64::from(Syndrome::Nak(nak).encode()).into(),
        msn: counted.into(),
        counts: false,
        ..thrown
    }
}

/// What comes of an errand, and what is read for it.
pub(super) fn scatter(world: &World, errand: &Errand, is_request: bool) -> (Vec<Errand>, Vec<ReadCommand>) {
    if !lists(errand) {
        return (vec![*errand], Vec::new());
    }
    let found = find(world, errand);
    let (mut ahead, mut left) = (u64::from(errand.offset), u64::from(errand.payload_len));
    let mut pieces = Vec::new();
    let entries: &[Sge] = found.entries.as_ref().map_or(&[], SgeList::as_slice);
    for entry in entries {
        let before = ahead.min(entry.length.into());
        ahead -= before;
        let mut at = before;
        while left > 0 && at < u64::from(entry.length) {
            let bytes = (u64::from(entry.length) - at).min(left).min(4096);
            left -= bytes;
            let mut piece = Errand {
                payload_len: bytes.into(),
                va: entry.address.wrapping_add(at).into(),
                key: u64::from(entry.local_key).into(),
                need: u64::from(rights::LOCAL_WRITE).into(),
                span: bytes.into(),
                ..*errand
            };
            at += bytes;
            if u64::from(errand.list) == List::Shared as u64 {
                piece.pd = world.shared(errand.srq.into()).pd;
            }
            if left > 0 {
                (piece.ends, piece.completes, piece.fails) = (false, false, false);
                (piece.retires, piece.last_receive) = (false, false);
                piece.answer = (Answer::None as u64).into();
            }
            pieces.push(piece);
        }
    }
    if left > 0 {
        let flaw = found.entries.err().unwrap_or(Flaw::TooShort);
        pieces.push(spoiled(errand, is_request, left, flaw));
    }
    let command =
        |(iova, len): &(u64, u64)| ReadCommand { iova: (*iova).into(), len: (*len).into(), tag: 0.into() };
    (pieces, found.reads.iter().map(command).collect())
}
