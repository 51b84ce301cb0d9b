//! When Segment gives, what it holds, and that it starts afresh.

use stroma_abi::desc::WorkOp;
use stroma_verilate::{Pause, SplitMix64};

use super::{NEVER, cases};
use crate::stream::Beat;
use crate::testing::{collect, read};
use crate::transport::records::TxStep;
use crate::transport::segment::rig::{Case, Rig};

/// Cycles from a message and its first unit to what `stream` gives first.
fn latency<const D: usize>(case: &Case, stream: &str) -> u64 {
    let mut rig = Rig::<D>::new();
    rig.send(std::slice::from_ref(case));
    rig.bench.step();
    assert_eq!((rig.bench[rig.message].sent(), rig.bench[rig.units].sent()), (1, 1));
    // Both moved in the cycle that is over.
    1 + rig.until_valid(stream)
}

#[test]
fn the_first_step_comes_two_cycles_behind_its_message_and_four_with_a_piece() {
    let mut rng = SplitMix64::new(1);
    let write = Case::write(&mut rng, 1, &[64]);
    assert_eq!(latency::<512>(&write, "step"), 4, "a piece");
    assert_eq!(latency::<512>(&write.of(WorkOp::SendImm), "step"), 4, "a piece of a SEND");
    assert_eq!(latency::<512>(&Case::atomic(&mut rng, WorkOp::CmpSwap, 1), "step"), 2, "an atomic");
    assert_eq!(latency::<512>(&Case::read(&mut rng, 1, 64, 1), "step"), 2, "no piece");
    let inline = Case::inline(&mut rng, 1, 64);
    assert_eq!(latency::<512>(&inline, "step"), 2, "inline");
    assert_eq!(latency::<512>(&inline, "inline"), 3, "inline data");
    assert_eq!(latency::<64>(&inline, "inline"), 3, "inline data, narrow");
    let late = Case::write(&mut rng, 1, &[256, 256, 0, 256]).visit(2, 1);
    assert_eq!(latency::<512>(&late, "step"), 7, "behind three entries");
}

/// Cycles that one such message takes in a row of them.
fn cycles<const D: usize>(case: &Case) -> u64 {
    let mut rig = Rig::<D>::new();
    let mut take = |count: u64| {
        let row = vec![case.clone(); usize::try_from(count).expect("small")];
        let start = rig.bench.cycle();
        rig.check(&row);
        rig.bench.cycle() - start
    };
    let (few, many) = (take(40), take(80));
    assert_eq!((many - few) % 40, 0, "every one takes as long");
    (many - few) / 40
}

#[test]
fn a_small_message_takes_two_cycles_or_one() {
    let mut rng = SplitMix64::new(2);
    assert_eq!(cycles::<512>(&Case::write(&mut rng, 1, &[64])), 2, "WRITE");
    assert_eq!(cycles::<512>(&Case::write(&mut rng, 1, &[])), 1, "WRITE of nothing");
    assert_eq!(cycles::<512>(&Case::write(&mut rng, 1, &[64]).of(WorkOp::Send)), 2, "SEND");
    assert_eq!(cycles::<512>(&Case::read(&mut rng, 1, 64, 1)), 1, "READ");
    assert_eq!(cycles::<512>(&Case::atomic(&mut rng, WorkOp::FetchAdd, 1)), 1, "atomic");
    assert_eq!(cycles::<512>(&Case::inline(&mut rng, 1, 32)), 1, "32 bytes inline");
    assert_eq!(cycles::<512>(&Case::inline(&mut rng, 1, 64)), 2, "64 bytes inline");
    assert_eq!(cycles::<64>(&Case::inline(&mut rng, 1, 32)), 4, "32 bytes inline, narrow");
    assert_eq!(cycles::<64>(&Case::inline(&mut rng, 1, 64)), 9, "64 bytes inline, narrow");
}

#[test]
fn a_step_and_an_entry_take_one_cycle_each() {
    let mut rng = SplitMix64::new(3);
    assert_eq!(cycles::<512>(&Case::write(&mut rng, 1, &[4096])), 16, "packets of one piece");
    assert_eq!(cycles::<512>(&Case::write(&mut rng, 1, &[16; 16])), 17, "pieces of one packet");
    let list = Case::write(&mut rng, 1, &[256; 16]);
    assert_eq!(cycles::<512>(&list.visit(15, 1)), 17, "fifteen entries before");
    assert_eq!(cycles::<512>(&list.visit(0, 1)), 17, "fifteen entries behind");
    assert_eq!(cycles::<512>(&Case::read(&mut rng, 1, 64, 8)), 8, "units of a READ");
    let inline = Case::inline(&mut rng, 1, 480);
    assert_eq!(cycles::<512>(&inline), 8, "inline");
    assert_eq!(cycles::<512>(&inline.visit(1, 1)), 8, "inline, the second packet");
    assert_eq!(cycles::<64>(&inline), 60, "inline, narrow");
}

#[test]
fn a_whole_wqe_may_come_before_its_message_and_four_messages_before_their_units() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(4);
    let row = vec![Case::write(&mut rng, 1, &[1; 16]); 10];
    rig.pause([Pause::Always, NEVER, NEVER, NEVER]);
    rig.send(&row);
    rig.bench.run(50);
    assert_eq!(rig.bench[rig.units].sent(), 8);
    assert!(rig.is_busy() && !read::<bool>(&rig.bench, "step$valid"));
    rig.pause([NEVER; 4]);
    rig.settle();
    rig.compare(&row);

    rig.pause([NEVER, Pause::Always, NEVER, NEVER]);
    let sent = rig.bench[rig.message].sent();
    rig.send(&row);
    rig.bench.run(50);
    assert_eq!(rig.bench[rig.message].sent() - sent, 4);
    rig.pause([NEVER; 4]);
    rig.settle();
    rig.compare(&row);
}

#[test]
fn it_is_busy_until_the_last_entry_is_passed_over() {
    let mut rig = Rig::<512>::new();
    rig.send(&[Case::write(&mut SplitMix64::new(7), 1, &[256; 16]).visit(0, 1)]);
    assert!(!rig.is_busy());
    let start = rig.bench.cycle();
    rig.settle();
    // The first entry follows the message by 2 cycles, the others by 1 each; then it is 1 cycle to the end.
    assert_eq!(rig.bench.cycle() - start, 2 + 15 + 1);
}

/// After reset nothing of the past is left, and the next run is as good as the first.
fn starts_afresh<const D: usize>(rig: &mut Rig<D>) {
    assert!(rig.is_busy(), "something should be inside when reset comes");
    rig.pause([NEVER; 4]);
    rig.bench.clear();
    rig.bench.reset(1);
    for port in ["busy", "step$valid", "inline$valid"] {
        assert!(!read::<bool>(&rig.bench, port), "{port}");
    }
    collect::<TxStep>(&mut rig.bench, rig.step);
    collect::<Beat<D>>(&mut rig.bench, rig.inline);
    rig.check(&cases(40, 20));
}

fn recovers<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = SplitMix64::new(5);
    let kinds = [
        Case::write(&mut rng, 1, &[300; 16]),
        Case::write(&mut rng, 1, &[10; 16]),
        Case::inline(&mut rng, 1, 480),
        Case::inline(&mut rng, 1, 480).visit(1, 1),
        Case::inline(&mut rng, 1, 8).padded(&mut rng, 8),
        Case::write(&mut rng, 1, &[300; 16]).of(WorkOp::SendImm),
        Case::read(&mut rng, 1, 64, 8),
        Case::atomic(&mut rng, WorkOp::CmpSwap, 8),
    ];
    // In every cycle of each kind, with and without back-pressure.
    for kind in &kinds {
        for cycle in 2..12 {
            for stall in [NEVER, Pause::Always] {
                rig.pause([NEVER, NEVER, stall.clone(), stall]);
                rig.send(&vec![kind.clone(); 8]);
                rig.bench.run(cycle);
                starts_afresh(&mut rig);
            }
        }
    }
    rig.pause([NEVER, NEVER, Pause::Always, Pause::Always]);
    rig.send(&cases(6, 40));
    rig.bench.run(300);
    starts_afresh(&mut rig);
}

#[test]
fn recovers_from_reset() {
    recovers::<64>();
    recovers::<512>();
}
