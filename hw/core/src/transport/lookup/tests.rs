//! The lookup against its plain-Rust twin.

mod corners;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::{QueuePairKind, QueuePairState};
use stroma_abi::wire::opcode::{self, TABLE};
use stroma_verilate::SplitMix64;

use super::Lookup;
use super::describe::Describe;
use super::judge::Judge;
use super::model::Outcome;
use super::rig::{ADDRESSES, MAC, ROWS, Rig};
use crate::head::Head;
use crate::testing::{noise, noises, stalls_of};
use crate::transport::records::{Nudge, Occasion, PeerRow};
use crate::verilog::differential::{assert_agree, differential};

/// The row of a queue pair for datagrams.
const DATAGRAM: usize = 9;

/// The number with one bit turned.
fn flip<const N: usize>(bits: Bits<N>, at: u64) -> Bits<N> {
    bits ^ Bits::<N>::from(BigUint::from(1_u8) << at)
}

fn small(rng: &mut SplitMix64, below: usize) -> usize {
    usize::try_from(rng.below(below as u64)).expect("small")
}

/// Rows of queue pairs of every kind, those of connections in every state; a few of them are not what they seem.
fn rows(rng: &mut SplitMix64) -> Vec<PeerRow> {
    let row = |at: usize| {
        let mut row: PeerRow = noise(rng);
        row.exists = at != 5;
        let kind = match at {
            6 => QueuePairKind::Unreliable,
            DATAGRAM => QueuePairKind::Datagram,
            4 | 7 => QueuePairKind::Raw,
            _ => QueuePairKind::Reliable,
        };
        row.kind = (kind as u64).into();
        let states = [
            QueuePairState::ReadyToSend,
            QueuePairState::ReadyToReceive,
            QueuePairState::Drained,
            QueuePairState::Error,
        ];
        let mut state = states.get(at).map_or(rng.below(7), |state| *state as u64);
        if kind == QueuePairKind::Datagram {
            state = QueuePairState::ReadyToSend as u64;
        } else if kind != QueuePairKind::Reliable {
            state = states[small(rng, states.len())] as u64;
        }
        row.state = state.into();
        row
    };
    (0..ROWS).map(row).collect()
}

fn rig(seed: u64) -> Rig {
    let mut rig = Rig::new(rows(&mut SplitMix64::new(seed)), noises(seed, ADDRESSES));
    let groups = noises(seed + 100, 4);
    rig.groups = groups.into_iter().zip([DATAGRAM as u64, DATAGRAM as u64, 0, 0xff_ffff]).collect();
    rig.store();
    rig
}

/// A packet that its queue pair takes, if its state and the op-code allow it.
fn good(rig: &Rig, rng: &mut SplitMix64, at: usize) -> Head {
    let row = rig.rows[at];
    Head {
        raw: false,
        dmac: MAC.into(),
        dqpn: (at as u64).into(),
        src_ip: row.peer_ip,
        dst_ip: rig.addresses[row.source_address.index()],
        pkey: row.p_key | Bits::from(0x8000_u64),
        op: u64::from(TABLE[small(rng, TABLE.len())].code).into(),
        ..noise(rng)
    }
}

/// A datagram for its queue pair: to one of the port's addresses, or to a group.
fn datagram(rig: &Rig, rng: &mut SplitMix64) -> Head {
    let mut head = Head {
        op: (0x64 + rng.below(2)).into(),
        qkey: rig.rows[DATAGRAM].q_key,
        src_ip: noise(rng),
        dst_ip: rig.addresses[small(rng, ADDRESSES)],
        ..good(rig, rng, DATAGRAM)
    };
    if rng.below(2) == 0 {
        head.dqpn = 0xff_ffff_u64.into();
        head.dst_ip = rig.groups[small(rng, rig.groups.len())].0;
    }
    head
}

/// Most packets are for some queue pair; the others differ in one thing.
fn head(rig: &Rig, rng: &mut SplitMix64) -> Head {
    let at = if rng.below(6) == 0 { DATAGRAM } else { small(rng, ROWS) };
    let mut head = if at == DATAGRAM { datagram(rig, rng) } else { good(rig, rng, at) };
    match rng.below(16) {
        0 => head.src_ip = flip(head.src_ip, rng.below(128)),
        1 => head.dst_ip = flip(head.dst_ip, rng.below(128)),
        2 => head.pkey = flip(head.pkey, rng.below(16)),
        3 => head.dqpn = flip(head.dqpn, rng.below(24)),
        4 => head.op = noise(rng),
        5 => head.dmac = flip(head.dmac, rng.below(48)),
        6..8 => head.op = u64::from(opcode::CNP.code).into(),
        8..10 if at == DATAGRAM => head.qkey = flip(head.qkey, rng.below(32)),
        8..11 if at == 6 => head.op = (0x20 + rng.below(0x0c)).into(),
        8..11 => head.op = rng.below(0x15).into(),
        11..14 => head.raw = true,
        _ => {}
    }
    if rng.below(3) == 0 {
        head.payload_len = 0_u64.into();
    }
    head
}

fn heads(rig: &Rig, seed: u64, count: usize) -> Vec<Head> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| head(rig, &mut rng)).collect()
}

/// Nudges, a few of them for queue pairs beyond the table, and many of them recalls or departures.
fn nudges(seed: u64, count: usize) -> Vec<Nudge> {
    let mut rng = SplitMix64::new(seed);
    let nudge = |rng: &mut SplitMix64| {
        let mut nudge = Nudge { qpn: rng.below(ROWS as u64 + 2).into(), ..noise(rng) };
        match rng.below(8) {
            0 | 1 => nudge.occasion = (Occasion::Recall as u64).into(),
            2 => nudge.occasion = (Occasion::Parted as u64).into(),
            3 | 4 => nudge.occasion = (Occasion::Departed as u64).into(),
            5 => nudge.occasion = (Occasion::Astray as u64).into(),
            _ => {}
        }
        nudge.again = rng.below(6) == 0;
        if nudge.again {
            nudge.occasion = (Occasion::Packet as u64).into();
        }
        nudge
    };
    (0..count).map(|_| nudge(&mut rng)).collect()
}

#[test]
fn agrees_with_the_model() {
    let mut rig = rig(1);
    rig.turns = (40, 300);
    let mut met = Vec::new();
    for seed in 10..14 {
        rig.rows = rows(&mut SplitMix64::new(seed));
        rig.store();
        let heads = heads(&rig, seed, 900);
        rig.send_heads(&heads);
        rig.send_nudges(&nudges(seed, 500));
        rig.settle();
        met.extend(rig.outcomes.clone());
        let (found, due) = rig.compare();
        assert_eq!(found, due, "notices");
    }
    assert!(rig.pending > 20, "the colour turned under way {} times", rig.pending);
    let passed = |outcome: &Outcome, occasion: Occasion| {
        outcome.request.is_some_and(|arrival| arrival.occasion.index() == occasion as usize)
    };
    let is_departure = |outcome: &Outcome| {
        outcome
            .response
            .is_some_and(|arrival| arrival.occasion.index() == 0 && arrival.aeth.index() == 0x1f00_0000)
    };
    let count = |what: &dyn Fn(&Outcome) -> bool| met.iter().filter(|(_, outcome)| what(outcome)).count();
    for (what, count) in [
        ("requests", count(&|outcome| outcome.request.is_some())),
        ("recalls", count(&|outcome| passed(outcome, Occasion::Recall))),
        ("raw frames", count(&|outcome| outcome.request.is_some_and(|arrival| arrival.raw))),
        ("raw frames for nobody", count(&|outcome| outcome.raw_dropped)),
        ("departures", count(&is_departure)),
        ("datagrams", count(&|outcome| outcome.request.is_some_and(|arrival| arrival.datagram))),
        ("ends of keys", count(&|outcome| passed(outcome, Occasion::Parted))),
        ("answers and nudges", count(&|outcome| outcome.response.is_some())),
        ("payload thrown away", count(&|outcome| outcome.order.is_some_and(|order| order.drops))),
        ("packets without trace", count(&|outcome| outcome.dropped && outcome.order.is_none())),
        ("notices", count(&|outcome| outcome.notice.is_some())),
        ("first requests", count(&|outcome| outcome.first.is_some())),
        ("notifications", count(&|outcome| outcome.notified)),
        ("deferred requests", count(&|outcome| outcome.request.is_some_and(|arrival| arrival.again))),
        ("deferred requests that nobody takes", count(&|outcome| outcome.lost)),
        ("nudges swallowed", count(&|outcome| *outcome == Outcome::default())),
    ] {
        assert!(count >= 20, "{what}: {count}");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = rig(2);
    rig.turns = (30, 200);
    for (seed, stall) in (20..).zip(stalls_of::<7>()) {
        rig.pauses(stall);
        let heads = heads(&rig, seed, 60);
        rig.send_heads(&heads);
        rig.send_nudges(&nudges(seed, 30));
        rig.settle();
        // Notices may be forgotten, and keep their order.
        let (found, due) = rig.compare();
        let mut due = due.into_iter();
        assert!(found.iter().all(|notice| due.any(|other| other == *notice)), "notices");
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!("judge", Judge::default, [head, nudge, is_nudge, row, address, mac, station, pause]),
        differential!("describe", Describe::default, [head, nudge, is_nudge, qpn, row, colour]),
        differential!(
            "lookup",
            Lookup::default,
            clock,
            [
                head.payload,
                head.valid,
                nudge.payload,
                nudge.valid,
                raw_queue_pair,
                pause,
                admits,
                row,
                address,
                mac,
                station,
                colour,
                request.ready,
                response.ready,
                order.ready,
                notice.ready,
                first.ready
            ]
        ),
    ];
    assert_agree(cases, 300);
}
