//! Cycles, as promised.

use stroma_verilate::SplitMix64;

use super::errands::{atomic, blank, bytes, call, place, value};
use crate::fabric::records::Calling;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::Rig;
use crate::transport::records::{Answer, Atomic, Errand};

const EVEN: u64 = 0x9_0000_2000;

fn acknowledged(va: u64, len: u64) -> Visit {
    let (errand, bytes) = place(&mut SplitMix64::new(4), va, len);
    Visit::Request(vec![(Errand { answer: (Answer::Acknowledge as u64).into(), ..errand }, bytes)])
}

/// The cycle in which the request moved.
fn sent<const D: usize>(rig: &mut Rig<D>, visit: Visit) -> u64 {
    rig.run(20);
    let before = rig.bench[rig.requests].sent();
    rig.send(&[visit]);
    while rig.bench[rig.requests].sent() == before {
        rig.step();
    }
    rig.bench.cycle()
}

fn latencies<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let start = sent(&mut rig, acknowledged(EVEN, 8));
    let answered = rig.bench[rig.answer].sent();
    while rig.bench[rig.answer].sent() == answered {
        rig.step();
    }
    let answer = rig.bench.cycle();
    rig.finish();
    assert_eq!(rig.xlat_cycles, [start + 2]);
    assert_eq!(rig.command_cycles, [answer + 2]);
    assert_eq!(rig.data_cycles, [answer + 6]);
    assert_eq!(rig.task_cycles, [answer + 9]);
    let plain = Errand { answer: (Answer::Acknowledge as u64).into(), ..blank(&mut SplitMix64::new(5)) };
    let start = sent(&mut rig, Visit::Request(vec![(plain, vec![])]));
    rig.finish();
    assert_eq!(rig.task_cycles, [start + 7]);
    let again = atomic(&mut SplitMix64::new(5), Atomic::Replay, EVEN);
    let start = sent(&mut rig, Visit::Request(vec![(again, vec![])]));
    rig.finish();
    assert_eq!(rig.operation_cycles, [start + 7]);
    let rpc = |len: u64, ends: bool| {
        let (errand, bytes) = call(&mut SplitMix64::new(5), Calling::Begins, 3, len);
        let answer = if ends { Answer::Result as u64 } else { 0 };
        Visit::Request(vec![(Errand { call_ends: ends, answer: answer.into(), ..errand }, bytes)])
    };
    let start = sent(&mut rig, rpc(0, false));
    rig.finish();
    assert_eq!(rig.call_cycles, [start + 7]);
    let start = sent(&mut rig, rpc(0, true));
    rig.finish();
    assert_eq!((&rig.task_cycles[..], &rig.call_cycles[..]), (&[start + 7][..], &[start + 8][..]));
    let start = sent(&mut rig, rpc(8, false));
    rig.finish();
    assert_eq!((&rig.feed_cycles[..], &rig.call_cycles[..]), (&[start + 5][..], &[start + 8][..]));
    let last = Errand { completes: true, last_receive: true, ..blank(&mut SplitMix64::new(5)) };
    let start = sent(&mut rig, Visit::Request(vec![(last, vec![])]));
    rig.finish();
    assert_eq!((&rig.done_cycles[..], &rig.event_cycles[..]), (&[start + 6][..], &[start + 7][..]));
}

#[test]
fn a_lone_errand_takes_as_long_as_promised() {
    latencies::<64>();
    latencies::<512>();
}

/// Cycles from one to the next, when many follow each other.
fn pace(cycles: &[u64]) -> u64 {
    let [first, last] = [cycles.len() - 41, cycles.len() - 1].map(|at| cycles[at]);
    assert!((last - first).is_multiple_of(40), "40 take {} cycles", last - first);
    (last - first) / 40
}

#[test]
fn small_errands_follow_each_other_closely() {
    let mut rig = Rig::<512>::new();
    let mut many = |visit: Visit| {
        rig.send(&vec![visit; 100]);
        rig.finish();
        let many = [&rig.task_cycles, &rig.done_cycles, &rig.kick_cycles, &rig.operation_cycles];
        many.map(Clone::clone)
    };
    assert_eq!(pace(&many(acknowledged(EVEN, 64))[0]), 1, "a WRITE of one beat");
    assert_eq!(pace(&many(acknowledged(EVEN + 0xfe0, 64))[0]), 2, "cut in two");
    let mut rng = SplitMix64::new(6);
    let answer = (Answer::Acknowledge as u64).into();
    let plain = Errand { answer, ..blank(&mut rng) };
    assert_eq!(pace(&many(Visit::Request(vec![(plain, vec![])]))[0]), 1, "an answer alone");
    let read = Errand { answer, va: EVEN.into(), span: 100.into(), ..plain };
    assert_eq!(pace(&many(Visit::Request(vec![(read, vec![])]))[0]), 2, "a READ");
    let fresh = atomic(&mut rng, Atomic::Add, EVEN);
    assert_eq!(pace(&many(Visit::Request(vec![(fresh, vec![])]))[3]), 1, "an atomic");
    let (data, payload) = call(&mut rng, Calling::GoesOn, 3, 64);
    let goes_on = Errand { call_ends: false, answer: 0.into(), ..data };
    many(Visit::Request(vec![(goes_on, payload.clone())]));
    assert_eq!((pace(&rig.feed_cycles), pace(&rig.call_cycles)), (1, 1), "a packet of a stream");
    let ends = Errand { call_ends: true, answer: (Answer::Result as u64).into(), ..data };
    rig.send(&vec![Visit::Request(vec![(ends, payload)]); 100]);
    rig.finish();
    assert_eq!((pace(&rig.task_cycles), pace(&rig.call_cycles)), (2, 2), "an RPC");
    let mut many = |visit: Visit| {
        rig.send(&vec![visit; 100]);
        rig.finish();
        let many = [&rig.task_cycles, &rig.done_cycles, &rig.kick_cycles, &rig.operation_cycles];
        many.map(Clone::clone)
    };
    let word = Errand { completes: true, retires: true, ..value(&mut rng, EVEN) };
    assert_eq!(pace(&many(Visit::Response(vec![(word, vec![])]))[1]), 1, "a value");
    let over = Errand { completes: true, retires: true, ..blank(&mut rng) };
    let [_, dones, kicks, _] = many(Visit::Response(vec![(over, vec![])]));
    assert_eq!((pace(&dones), pace(&kicks)), (1, 1), "a completion");
}

fn stream<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.send(&vec![acknowledged(EVEN, 4096); 12]);
    rig.finish();
    let beats = 4096 * 8 / D as u64;
    assert_eq!(rig.data_cycles[rig.data_cycles.len() - 1] - rig.data_cycles[0] + 1, 12 * beats);
    let (data, bytes) = call(&mut SplitMix64::new(8), Calling::GoesOn, 3, 4096);
    rig.send(&vec![Visit::Request(vec![(data, bytes)]); 12]);
    rig.finish();
    assert_eq!(rig.feed_cycles[rig.feed_cycles.len() - 1] - rig.feed_cycles[0] + 1, 12 * beats);
    // Each is cut within a beat: its first half takes one more beat, and so does the second.
    rig.send(&vec![acknowledged(EVEN + 99, 4096); 12]);
    rig.finish();
    assert_eq!(rig.data_cycles[rig.data_cycles.len() - 1] - rig.data_cycles[0] + 1, 12 * (beats + 1));
}

#[test]
fn packets_follow_each_other_without_a_gap() {
    stream::<64>();
    stream::<512>();
}

#[test]
fn payload_is_thrown_away_a_beat_a_cycle() {
    let mut rig = Rig::<64>::new();
    let mut rng = SplitMix64::new(7);
    let mut all = vec![Visit::Drop(bytes(&mut rng, 4096), true); 4];
    all.push(Visit::Request(vec![(Errand { answer: 1.into(), ..blank(&mut rng) }, vec![])]));
    rig.send(&all);
    let start = rig.bench.cycle();
    rig.finish();
    let cycles = rig.task_cycles[0] - start;
    assert!((4 * 512..4 * 512 + 16).contains(&cycles), "{cycles} cycles");
}
