use super::{FEW, NEVER, USUAL, always};
use crate::host::dma_write::rig::{Rig, bytes};
use crate::host::dma_write::{DmaWrite, WriteCommand};
use crate::testing::push;

#[test]
fn no_more_bursts_go_out_than_may_be_outstanding() {
    for outstanding in [FEW, USUAL] {
        let mut rig = Rig::<64, 8>::new(outstanding);
        rig.bench[rig.b].pause(always());
        rig.send(&vec![(0x1000, bytes(1, 8)); 100]);
        rig.run(200);
        assert_eq!(rig.addressed.len(), outstanding);
        rig.bench[rig.b].pause(NEVER);
        rig.step();
        rig.bench[rig.b].pause(always());
        // The response that was on offer has moved, and no other.
        rig.run(20);
        assert_eq!((rig.answered(), rig.addressed.len()), (1, outstanding + 1));
        rig.bench[rig.b].pause(NEVER);
        rig.finish();
    }
}

#[test]
fn a_command_with_one_bad_burst_fails_once_and_is_reported_when_it_is_done() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    rig.bench[rig.failed].pause(always());
    // Bursts: 0, then 1 and 2 up to the end of a page, then an empty command, then 3.
    rig.send(&[(0x1000, bytes(1, 9)), (0x2400, bytes(2, 0xc00)), (0x3000, vec![]), (0x4000, bytes(3, 1))]);
    rig.spoil(1);
    rig.spoil(2);
    while rig.done() < 2 {
        assert!(!rig.port::<bool>("failed$valid"), "reported before it is done");
        rig.step();
    }
    assert_eq!((rig.port::<bool>("failed$valid"), rig.count("failed$payload")), (true, 2));
    rig.run(10);
    assert_eq!((rig.done(), rig.port::<bool>("busy")), (4, true), "a failure not taken keeps it busy");
    rig.bench[rig.failed].pause(NEVER);
    rig.finish();
}

#[test]
fn failures_that_find_no_room_are_counted_and_hold_nothing_up() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    rig.bench[rig.failed].pause(always());
    rig.send(&vec![(0x1000, bytes(1, 8)); 40]);
    (0..20).for_each(|burst| rig.spoil(2 * burst));
    rig.run(100);
    assert_eq!((rig.done(), rig.count("missed")), (40, 4));
    rig.bench[rig.failed].pause(NEVER);
    rig.run(20);
    let tickets: Vec<u32> = rig.bench[rig.failed].take().concat();
    assert_eq!(tickets, (0..16).map(|index| 2 * index + 1).collect::<Vec<u32>>());
    assert!(!rig.port::<bool>("busy"));
}

#[test]
fn an_empty_command_is_done_in_its_turn() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    rig.send(&[(0x1000, vec![])]);
    rig.run(2);
    assert_eq!((rig.count("issued"), rig.done()), (1, 1));
    rig.bench[rig.b].pause(always());
    rig.send(&[(0x1000, vec![7]), (0x2000, vec![])]);
    rig.run(20);
    assert_eq!((rig.count("issued"), rig.done()), (3, 1), "not before the command ahead of it");
    rig.bench[rig.b].pause(NEVER);
    rig.finish();
}

#[test]
fn tickets_wrap() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    push(&mut rig.bench, rig.command, &vec![WriteCommand::default(); 0x1_0002]);
    for sink in [rig.aw, rig.w, rig.failed] {
        rig.bench[sink].check_independence(false);
    }
    rig.bench.run(0xffff);
    assert_eq!((rig.count("issued"), rig.done()), (0xffff, 0xfffe), "one command a cycle");
    rig.bench.run(3);
    assert_eq!((rig.count("issued"), rig.done()), (2, 1));
    assert!(rig.port::<bool>("busy"));
    rig.bench.run(1);
    assert_eq!((rig.done(), rig.port::<bool>("busy")), (2, false));
}

#[test]
#[should_panic(expected = "not 65")]
fn more_outstanding_bursts_than_it_can_wait_for_are_refused() {
    let _ = DmaWrite::<64, 8>::new(65);
}
