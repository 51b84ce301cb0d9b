use stroma_verilate::SplitMix64;

use super::rig::{Answer, PORTS, Rig};
use super::stages;
use crate::testing::stalls;
use crate::verilog::differential::{assert_agree, differential};

type Wide = Rig<512, 11>;
type Narrow = Rig<64, 14>;

fn any_bytes(rng: &mut SplitMix64, len: u64) -> Vec<u8> {
    (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect()
}

/// An answer of `port`'s own queue pairs, whose place is that of no other that is open.
fn any_answer(rng: &mut SplitMix64, port: usize, number: u64) -> Answer {
    let path_mtu = 1 + rng.below(5);
    let mtu = 128 << path_mtu;
    let length = match rng.below(6) {
        0 => 0,
        1 => mtu,
        2 => mtu - 1,
        3 => 1 + rng.below(mtu),
        4 => rng.below(4096),
        _ => mtu + rng.below(3),
    };
    let qpn = port as u64 + 8 * rng.below(4);
    let is_orphan = rng.below(10) == 0;
    let bytes = if is_orphan { Vec::new() } else { any_bytes(rng, length.min(4096)) };
    Answer { qpn, place: number % 16, status: rng.below(1 << 32), path_mtu, bytes, is_orphan }
}

fn live<const D: usize, const LOG: usize>(rig: &mut Rig<D, LOG>, count: u64) {
    for number in 0..count {
        let port = usize::try_from(rig.rng.below(PORTS as u64)).expect("small");
        let mut rng = SplitMix64::new(rig.rng.next_u64());
        let answer = any_answer(&mut rng, port, number);
        rig.answer(port, answer);
        for _ in 0..rng.below(60) {
            let stage = rig.staged.keys().next().copied();
            if let Some(stage) = stage.filter(|_| rng.below(8) == 0) {
                rig.tell(rng.below(3) != 0, stage);
            }
            rig.step();
        }
        if number % 12 == 11 {
            rig.settle();
        }
    }
    rig.settle();
}

#[test]
fn answers_are_kept_and_staged_under_stalls() {
    let mut wide = Wide::new();
    let mut narrow = Narrow::new();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        wide.rng = SplitMix64::new(seed);
        wide.latency = [5, 100, 1000][usize::try_from(seed % 3).expect("small")];
        for source in wide.chunks.into_iter().chain(wide.chunk_data) {
            wide.bench[source].pause(idle.clone());
        }
        for sink in wide.sinks() {
            wide.bench[sink].pause(pressure.clone());
        }
        live(&mut wide, 36);
        if seed % 4 == 0 {
            for sink in narrow.sinks() {
                narrow.bench[sink].pause(pressure.clone());
            }
            live(&mut narrow, 24);
        }
    }
    let staged = wide.ends.iter().filter(|(_, ended)| !ended.is_kept).count();
    let lost = wide.ends.iter().filter(|(_, ended)| ended.is_lost).count();
    assert!(staged > 100 && lost > 20 && wide.ends.len() > 3 * staged / 2, "{staged} staged, {lost} lost");
}

fn plain(qpn: u64, place: u64, bytes: Vec<u8>) -> Answer {
    Answer { qpn, place, status: 0, path_mtu: 5, bytes, is_orphan: false }
}

#[test]
fn an_answer_of_one_packet_is_told_before_it_is_visible() {
    let mut rig = Wide::new();
    rig.latency = 500;
    rig.answer(0, plain(0, 3, vec![7; 4096]));
    rig.settle();
    let kept: Vec<bool> = rig.ends.iter().map(|(_, ended)| ended.is_kept).collect();
    assert_eq!(kept, [false, true]);
    assert!(rig.ends[1].0 - rig.ends[0].0 >= 490);
}

#[test]
fn a_longer_one_is_told_when_all_of_it_is_visible() {
    let mut rig = Wide::new();
    rig.answer(0, Answer { path_mtu: 2, ..plain(8, 3, vec![7; 513]) });
    rig.settle();
    assert_eq!(rig.ends.len(), 1);
    assert!(rig.ends[0].1.is_kept && rig.staged.is_empty());
}

#[test]
fn without_a_free_stage_answers_are_told_when_they_are_kept() {
    let mut rig = Wide::new();
    for number in 0..40 {
        rig.answer(0, plain(2 * (number / 16), number % 16, vec![1; 64]));
    }
    rig.settle();
    assert_eq!(rig.staged.len(), 32, "all stages");
    assert_eq!(rig.ends.iter().filter(|(_, ended)| ended.is_kept).count(), 40);
    // Each that is freed or sent is there again.
    for stage in 0..32 {
        rig.tell(stage % 2 == 0, stage);
        rig.step();
    }
    rig.settle();
    for number in 0..32 {
        rig.answer(1, plain(2 * (number / 16), number % 16, vec![2; 64]));
    }
    rig.settle();
    assert_eq!(rig.staged.len(), 32);
}

#[test]
fn a_chunk_that_cannot_be_written_loses_the_answer_and_no_other() {
    let mut rig = Wide::new();
    // Two chunks of 256 bytes in the first page of place 0, then one in the second.
    let long = Answer { path_mtu: 1, ..plain(4, 0, vec![9; 4500]) };
    let other = Answer { path_mtu: 1, ..plain(4, 1, vec![8; 4500]) };
    let base = u64::from(super::rig::area(4).base);
    rig.bad_page = Some(base);
    rig.answer(0, long);
    rig.answer(1, other);
    rig.settle();
    let lost: Vec<(u64, bool)> =
        rig.ends.iter().map(|(_, ended)| (ended.place.into(), ended.is_lost)).collect();
    assert!(lost.contains(&(0, true)) && lost.contains(&(1, false)), "{lost:?}");
}

#[test]
fn latencies_are_those_of_the_contract() {
    let mut rig = Wide::new();
    let start = rig.bench.cycle();
    rig.answer(2, plain(0, 0, vec![3; 128]));
    rig.settle();
    assert_eq!(rig.moments["access"][0] - start, 3, "2 cycles behind the one in which it is taken");
    assert_eq!(rig.moments["data"][0] - start, 3);
    assert_eq!(rig.ends[0].0 - rig.moments["data"][1], 1);
    rig.tell(true, rig.ends[0].1.stage.into());
    let start = rig.bench.cycle();
    rig.settle();
    assert_eq!(rig.moments["results"][0] - start, 4);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![differential!(
        "deliver_stages",
        stages::Stages::<512, 11>::default,
        clock,
        [comes, beat, sends, frees, number, source.ready]
    )];
    assert_agree(cases, 300);
}
