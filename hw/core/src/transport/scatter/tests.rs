//! The block against its plain-Rust twin.

mod corners;
mod timing;

use std::collections::BTreeMap;

use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::UNIT;
use stroma_abi::desc::{Receive, Sge};
use stroma_verilate::{Pause, SplitMix64};

use super::Scatter;
use super::model::{World, find, lists, scatter};
use super::rig::{Poster, Rig, STREAMS};
use crate::testing::{noise, stalls_of};
use crate::transport::records::{Errand, List};
use crate::verilog::differential::{assert_agree, differential};

fn entry(rng: &mut SplitMix64, length: u64) -> Sge {
    Sge {
        address: rng.next_u64(),
        local_key: rng.next_u32(),
        length: u32::try_from(length).expect("an entry is short enough"),
    }
}

fn entries(rng: &mut SplitMix64, lengths: &[u64]) -> Vec<Sge> {
    lengths.iter().map(|length| entry(rng, *length)).collect()
}

/// Bytes of a list, from a byte on.
fn part(errand: &Errand, offset: u64, len: u64) -> Errand {
    Errand { offset: offset.into(), payload_len: len.into(), ..*errand }
}

/// An errand that nothing is done to, for one of many reasons.
fn passing(rng: &mut SplitMix64) -> Errand {
    let errand: Errand = noise(rng);
    match rng.below(4) {
        0 => Errand { list: (List::None as u64).into(), ..errand },
        1 => Errand { places: false, ..errand },
        2 => Errand { payload_len: 0.into(), ..errand },
        _ => Errand { has_value: true, ..errand },
    }
}

fn length(rng: &mut SplitMix64) -> u64 {
    match rng.below(12) {
        0..3 => 0,
        3 => 1,
        4 => 4096,
        5 => rng.below(1 << 32),
        6 => 4096 + rng.below(10_000),
        _ => 1 + rng.below(600),
    }
}

/// Posts any list, sound or not.
fn post(poster: &mut Poster, rng: &mut SplitMix64, risk: u64) -> (Errand, Vec<Sge>) {
    let count = if rng.below(3) == 0 { 1 } else { rng.below(SGE_MAX as u64 + 1) };
    let lengths: Vec<u64> = (0..count).map(|_| length(rng)).collect();
    let list = entries(rng, &lengths);
    let is_bad = rng.below(100) < risk;
    let kind = rng.below(3);
    let log = 1 + rng.below(15);
    let errand = if kind == 2 && count > 0 {
        let log = log.max(4);
        let index = match rng.below(3) {
            0 => rng.below(1 << 16),
            _ => (rng.below(1 << 16) & !((1 << log) - 1)).wrapping_sub(rng.below(7)) & 0xffff,
        };
        let said = if is_bad && rng.below(2) == 0 { index ^ 1 << rng.below(16) } else { index };
        poster.send(rng, (log, index), &list, said)
    } else {
        let least = u64::from(Receive::stride_log(list.len()));
        let stride = least + rng.below(8 - least) * rng.below(2);
        let said = if is_bad && rng.below(2) == 0 { rng.below(256) } else { count };
        let slot = (log, rng.below(1 << 16));
        poster.receive(rng, kind == 1, slot, stride, &list, u8::try_from(said).expect("a byte"))
    };
    if is_bad {
        let number = u64::from(errand.qpn);
        let found = find(&poster.world, &errand);
        match rng.below(6) {
            0 => _ = poster.world.rings.entry(number).and_modify(|row| row.exists = false),
            1 => _ = poster.world.shareds.entry(number).and_modify(|row| row.exists = false),
            2 => _ = poster.world.rings.entry(number).and_modify(|row| row.receive_log = 0.into()),
            _ => {
                let half = usize::from(rng.below(2) == 1).min(found.reads.len().saturating_sub(1));
                if let Some((iova, len)) = found.reads.get(half) {
                    poster.world.bad.insert(iova + rng.below(len / UNIT as u64) * UNIT as u64);
                }
            }
        }
    }
    (errand, list)
}

/// Any bytes of a list, or more than it has.
fn any_part(rng: &mut SplitMix64, errand: &Errand, list: &[Sge]) -> Errand {
    let total: u64 = list.iter().map(|entry| u64::from(entry.length)).sum();
    let len = [1 + rng.below(4136), 1 + rng.below(100)][usize::from(rng.below(2) == 0)];
    let bound = usize::try_from(rng.below(list.len() as u64 + 1)).expect("few");
    let before: u64 = list[..bound].iter().map(|entry| u64::from(entry.length)).sum();
    let offset = match rng.below(10) {
        0 => total.saturating_sub(len),
        1 => (total + 1).saturating_sub(len),
        2..5 => before,
        5 => before.saturating_sub(rng.below(len)),
        6 => rng.below(1 << 32),
        _ => rng.below(total.saturating_sub(len) + 1),
    };
    let noisy = Errand { offset: offset.min(u32::MAX.into()).into(), payload_len: len.into(), ..noise(rng) };
    Errand {
        list: errand.list,
        qpn: errand.qpn,
        srq: errand.srq,
        index: errand.index,
        places: true,
        has_value: false,
        ..noisy
    }
}

/// Errands of all kinds, and the world they need.
fn errands(seed: u64, count: usize, risk: u64) -> (World, Vec<(Errand, bool)>) {
    let mut rng = SplitMix64::new(seed);
    let mut poster = Poster::default();
    let mut known: Vec<(Errand, Vec<Sge>)> = Vec::new();
    let mut all = Vec::new();
    for _ in 0..count {
        if rng.below(4) == 0 {
            all.push((passing(&mut rng), rng.below(2) == 1));
            continue;
        }
        if known.is_empty() || rng.below(3) > 0 {
            let list = post(&mut poster, &mut rng, risk);
            known.push(list);
        }
        // Often one of the last few, as the packets of a message are.
        let back = usize::try_from(rng.below(4)).expect("few").min(known.len() - 1);
        let (errand, list) = known[known.len() - 1 - back].clone();
        let is_request = u64::from(errand.list) != List::Send as u64;
        all.push((any_part(&mut rng, &errand, &list), is_request ^ (rng.below(8) == 0)));
    }
    (poster.world, all)
}

fn risk(seed: u64) -> u64 {
    [0, 10, 40][usize::try_from(seed % 3).expect("small")]
}

fn send(rig: &mut Rig, (world, all): (World, Vec<(Errand, bool)>)) {
    rig.world = world;
    rig.send(&all);
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new();
    for seed in 0..60 {
        rig.latency = [(20, 21), (1, 2), (1, 90)][usize::try_from(seed % 3).expect("small")];
        send(&mut rig, errands(seed, 100, risk(seed / 3)));
        rig.finish();
    }
}

#[test]
fn the_random_errands_meet_every_end() {
    let mut met = BTreeMap::<(u64, bool, u64), usize>::new();
    let (mut passed, mut splits, mut long, mut spent) = (0, 0, 0, 0);
    for seed in 0..60 {
        let (world, all) = errands(seed, 100, risk(seed / 3));
        for (errand, is_request) in all {
            let (pieces, reads) = scatter(&world, &errand, is_request);
            passed += usize::from(!lists(&errand));
            splits += usize::from(reads.len() == 2);
            long += usize::from(pieces.len() > 4);
            let last = pieces.last().expect("there is one");
            let thrown = lists(&errand) && !last.places;
            spent += usize::from(thrown && pieces.len() > 1);
            let status = if thrown { u64::from(last.status) } else { 0 };
            if lists(&errand) {
                *met.entry((errand.list.into(), is_request, status)).or_default() += 1;
            }
        }
    }
    for list in [List::Receive, List::Shared, List::Send] {
        let statuses = if list == List::Send { [0, 2, 2, 21] } else { [0, 1, 2, 21] };
        for status in statuses {
            let end = (list as u64, list != List::Send, status);
            assert!(met.get(&end).is_some_and(|count| *count >= 10), "{end:?} in {met:?}");
        }
    }
    assert!(passed > 500 && splits > 100 && long > 50 && spent > 50, "{passed} {splits} {long} {spent}");
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (seed, stall) in (100..).zip(stalls_of::<STREAMS>()) {
        rig.latency = [(6, 7), (1, 60), (1, 300)][usize::try_from(seed % 3).expect("small")];
        rig.pause(stall);
        send(&mut rig, errands(seed, 120, 15));
        rig.finish();
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.latency = (1, 30);
    for seed in 0..20 {
        send(&mut rig, errands(seed, 100, 30));
        rig.pause([(); STREAMS].map(|()| Pause::Random { seed, percent: 30 }));
        rig.run(30 + 7 * seed);
        assert!(rig.is_busy(), "nothing was inside when reset came");
        rig.reset();
        assert!(!rig.is_busy(), "something is left after reset");
        rig.pause([(); STREAMS].map(|()| Pause::None));
        send(&mut rig, errands(seed + 50, 60, 5));
        rig.finish();
    }
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "scatter",
        Scatter::default,
        clock,
        [
            errand.payload,
            errand.valid,
            is_request,
            ring,
            shared,
            read.ready,
            units.payload,
            units.valid,
            piece.ready
        ]
    );
    assert_agree([case], 100);
}
