use stroma_verilate::Pause;

use super::{BASE, always};
use crate::host::dma_write::Failed;
use crate::host::work::{EventRecord, QpError};
use crate::host::writer::failures::Failures;
use crate::host::writer::model::Write;
use crate::host::writer::rig::{Rig, entry, payload};
use crate::testing::{collect, push, read, verilated};

#[test]
fn a_failure_is_told_to_those_it_concerns() {
    let mut rig = Rig::<512, 64>::new();
    let all = [
        payload(BASE + 4000, 0xab_cdef, 200),
        Write::Completion(entry(BASE + 0x2000, true)),
        Write::Event(entry(BASE + 0x3010, false)),
        payload(BASE + 0x4000, 2, 64),
    ];
    for at in 0..4 {
        rig.send(&all);
        // The payload has two bursts, the second of which fails; its second round fails at the first.
        rig.bad.insert(1 + at);
        rig.finish();
        let told = rig.ledger.failed(&rig.bad);
        let first = [0, 1, 2, 0][usize::try_from(at).expect("small")];
        assert_eq!(rig.order[..3], [0, 1, 2]);
        let nth = usize::from(at == 3) * 3;
        assert_eq!(told, [&rig.ledger.accepted[first + nth]]);
        rig.reset();
    }
}

#[test]
fn failures_nobody_listens_to_hold_nothing_up_and_are_counted() {
    let mut rig = Rig::<512, 64>::new();
    rig.bench[rig.event].pause(always());
    rig.bench[rig.error].pause(always());
    let all: Vec<Write> = (0..300).map(|at| payload(BASE + at * 64, at, 64)).collect();
    rig.bad.extend(0..300);
    rig.send(&all);
    for _ in 0..2000 {
        rig.step();
    }
    assert_eq!((rig.count("done"), rig.failed), (300, 300));
    rig.pause_sinks(&Pause::None);
    rig.settle_down();
    // The first 64 of each are told, as they were.
    let kept: Vec<_> = all[..64].iter().map(Write::news).collect();
    let events: Vec<EventRecord> = collect(&mut rig.bench, rig.event);
    let errors: Vec<QpError> = collect(&mut rig.bench, rig.error);
    assert_eq!(events, kept.iter().filter_map(|news| news.0).collect::<Vec<_>>());
    assert_eq!(errors, kept.iter().filter_map(|news| news.1).collect::<Vec<_>>());
}

#[test]
fn owners_outlive_the_longest_wait() {
    let mut rig = Rig::<512, 64>::new();
    // As many commands as the writer takes wait for their responses; each of them fails.
    rig.bench[rig.b].pause(Pause::Burst { go: 200, pause: 300 });
    rig.send(&(0..400).map(|at| payload(BASE + at * 64, at, 64)).collect::<Vec<_>>());
    rig.bad.extend((0..400).filter(|at| at % 7 < 4));
    rig.finish();
}

#[test]
fn failures_that_the_engine_missed_are_counted_with_the_others() {
    let mut bench = verilated("failures", Failures::default);
    let sink = bench.source("sink").expect("the stream exists");
    bench.reset(2);
    let missed = bench.model().port("missed").expect("the port exists");
    push(&mut bench, sink, &[Failed::default(); 10]);
    let mut count = 0;
    for cycle in 0..60 {
        // Eight of them, in the same cycles as failures that are given.
        bench.model_mut().set(missed, u64::min(cycle, 8));
        bench.step();
        count += u32::from(read::<bool>(&bench, "failed"));
    }
    assert_eq!(count, 18);
}
