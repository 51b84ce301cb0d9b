mod corners;
mod timing;

use stroma_verilate::{Pause, SplitMix64};

use super::rig::{BASE, PLACES, QPS, Rig, STREAMS, word};
use super::{apply, conclude, enter, reads, rows, words};
use crate::testing::stalls_of;
use crate::transport::records::Atomic;
use crate::verilog::differential::{assert_agree, differential};

/// Few words most of the time, all of them sometimes.
fn any_word(rng: &mut SplitMix64) -> u64 {
    match rng.below(8) {
        0..4 => 5,
        4..6 => rng.below(4),
        _ => rng.below(PLACES),
    }
}

/// An atomic of a queue pair, or one that came again.
fn any_operation<const D: usize>(rig: &mut Rig<D>, number: u64, known: &mut Vec<u64>) {
    let iova = word(any_word(&mut rig.rng));
    let value = rig.rng.next_u64();
    match rig.rng.below(10) {
        0..2 => {
            let back = usize::try_from(rig.rng.below(20)).expect("small");
            let psn = known.iter().rev().nth(back).copied().unwrap_or(value & 0xff_ffff);
            rig.replay(number, psn);
        }
        2..6 => {
            let hits = rig.rng.below(3) > 0;
            let compare = if hits { rig.twin.memory.word(iova) } else { value ^ 1 };
            known.push(rig.send(number, Atomic::Swap, iova, value, compare).psn.into());
        }
        _ => known.push(rig.send(number, Atomic::Add, iova, value, value).psn.into()),
    }
}

/// A write of somebody else, where no atomic is under way.
fn any_write<const D: usize>(rig: &mut Rig<D>) {
    let (at, len) = (rig.rng.below(PLACES * 8 - 24), 1 + rig.rng.below(24));
    if !rig.is_open(BASE + at, len) {
        let bytes: Vec<u8> = (0..len).map(|_| rig.rng.next_u64().to_le_bytes()[0]).collect();
        rig.write_by_another(BASE + at, &bytes);
    }
}

/// Everything at random: `often` of 100 cycles bring an operation, `others` of 1000 a write of somebody else.
fn live<const D: usize>(rig: &mut Rig<D>, cycles: u64, often: u64, others: u64) {
    let mut psns = vec![Vec::new(); 1 << QPS];
    // The queue pair that is about to begin anew: nothing new of it comes.
    let mut ending = None;
    for _ in 0..cycles {
        let number = rig.rng.below(1 << QPS);
        let is_free = rig.bench[rig.operation].is_empty() && rig.bench[rig.change].is_empty();
        if is_free && ending != Some(number) && rig.rng.below(100) < often {
            any_operation(rig, number, &mut psns[usize::try_from(number).expect("small")]);
        }
        if rig.rng.below(1000) < others {
            any_write(rig);
        }
        if rig.rng.below(1000) < others {
            rig.write_elsewhere();
        }
        if rig.rng.below(100) == 0 {
            ending = ending.or(Some(number));
        }
        let is_inside = |number| rig.open.iter().any(|(operation, _)| u64::from(operation.qpn) == number);
        if let Some(number) = ending.filter(|number| !is_inside(*number)) {
            rig.change(number, true);
            ending = None;
        } else if rig.bench[rig.change].is_empty() && rig.rng.below(200) == 0 {
            rig.change(number, false);
        }
        rig.step();
    }
    rig.settle();
}

fn agrees<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut errors = 0;
    for (seed, (often, others, time)) in
        (0..).zip([(100, 0, 30), (100, 30, 200), (30, 200, 60), (5, 50, 40), (60, 100, 5), (100, 10, 400)])
    {
        rig.reset(seed);
        rig.read_time = (1, 1 + time);
        rig.write_time = (1, 1 + time);
        rig.twin.poison = vec![word(7)];
        live(&mut rig, 6000, often, others);
        let counts = [rig.told.len(), rig.read_cycles.len()];
        assert!(counts[0] > 100 && counts[1] > 30, "seed {seed}: {counts:?}");
        errors += rig.error_count;
    }
    assert!(errors > 5, "{errors} errors");
}

#[test]
fn agrees_with_the_model() {
    agrees::<64>();
    agrees::<512>();
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::<64>::new();
    for (seed, pauses) in (10..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.read_time = (1, 40);
        rig.write_time = (1, 40);
        rig.twin.poison = vec![word(11)];
        rig.pause(pauses);
        live(&mut rig, 3000, 80, 40);
        assert!(rig.told.len() > 40, "{} tasks", rig.told.len());
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64>::new();
    for sink in [rig.write, rig.task, rig.error] {
        rig.bench[sink].pause(Pause::Always);
    }
    rig.twin.poison = vec![word(30)];
    for count in 0..30 {
        rig.add(count % 4, 30 - count % 20, 1);
    }
    rig.run(200);
    assert!(rig.port("write$valid") && rig.port("task$valid") && rig.port("error$valid"));
    for sink in [rig.write, rig.task, rig.error] {
        rig.bench[sink].pause(Pause::None);
    }
    rig.reset(1);
    assert!(!rig.port("busy"), "nothing is left");
    for psn in 0xff_fff0..0xff_fff8 {
        rig.replay(1, psn);
    }
    rig.settle();
    assert!(rig.told.is_empty(), "no result is kept");
    live(&mut rig, 3000, 50, 30);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!(
            "atomics_slot",
            words::slot::Slot::default,
            clock,
            [
                reset,
                iova,
                joins,
                begins,
                arrives,
                arrives_err,
                leaves,
                leaves_writes,
                issued,
                visible,
                writes,
                first,
                reach
            ]
        ),
        differential!(
            "atomics_words",
            words::Words::default,
            clock,
            [
                reset,
                iova,
                looks,
                asks,
                arrives,
                arrived_word,
                arrived_err,
                goes,
                gone_word,
                gone_writes,
                issued,
                visible,
                foreign,
                foreign_write
            ]
        ),
        differential!(
            "atomics_enter",
            enter::Enter::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready, open, granted, number]
        ),
        differential!(
            "atomics_reads",
            reads::Reads::default,
            clock,
            [reset, begins, iova, word, issued, visible, read.ready]
        ),
        differential!(
            "atomics_apply",
            apply::Apply::<64>::default,
            clock,
            [
                reset,
                operation.payload,
                operation.valid,
                word,
                known,
                bad,
                read_data.payload,
                read_data.valid,
                row,
                seen,
                outcome.ready
            ]
        ),
        differential!(
            "atomics_rows",
            rows::Rows::<2, 6>::default,
            clock,
            [reset, index, changes, changed, slot, keeps, kept, change.payload, change.valid]
        ),
        differential!(
            "atomics_conclude",
            conclude::Conclude::<64>::default,
            clock,
            [
                reset,
                outcome.payload,
                outcome.valid,
                done,
                row,
                write.ready,
                write_data.ready,
                task.ready,
                error.ready
            ]
        ),
    ];
    assert_agree(cases, 300);
}
