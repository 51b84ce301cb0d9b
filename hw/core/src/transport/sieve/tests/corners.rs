//! Corners, cycle counts, and reset.

use stroma_verilate::Pause;

use super::rig::{QPS, Rig};
use crate::transport::records::TxStep;

const PLAIN: fn() -> TxStep = TxStep::default;

fn freeing(colour: bool) -> TxStep {
    TxStep { frees: true, colour, ..PLAIN() }
}

#[test]
fn a_quantum_of_stale_packets_is_gone_in_as_many_cycles_and_the_next_goes_on() {
    let mut rig = Rig::new();
    for at in 1..=256 {
        rig.send_like(1, 1, &if at == 256 { freeing(true) } else { PLAIN() });
    }
    rig.rewind(1, true);
    rig.send_like(1, 1, &PLAIN());
    // The first goes with the old epoch, for it is taken in the cycle in which the new one is told.
    rig.run(256);
    assert_eq!((rig.met.passed, rig.met.dropped, rig.waiting()), (1, 255, 1));
    rig.run(1);
    assert_eq!((rig.met.drops, rig.waiting()), (1, 1), "one cycle more for the packet that frees");
    rig.run(1);
    assert_eq!(rig.waiting(), 0);
    assert!(rig.finish()[1].again, "it is the first once more");
}

#[test]
fn a_step_takes_one_cycle_and_steps_follow_each_other() {
    let mut rig = Rig::new();
    for _ in 0..50 {
        rig.send_like(2, 2, &PLAIN());
    }
    rig.run(1);
    assert!(rig.get("source$valid"), "a cycle later");
    rig.run(100);
    assert!(!rig.get("busy") && rig.met.passed == 100);
    rig.finish();
}

#[test]
fn a_packet_that_has_begun_goes_on_and_one_that_is_out_stays_out() {
    let mut rig = Rig::new();
    rig.send_like(0, 3, &freeing(false));
    rig.run(1);
    rig.rewind(0, true);
    assert_eq!(rig.finish().len(), 3, "its epoch ends behind its first step");
    // The next is stale with its first step; then its epoch comes round.
    rig.send_like(0, 3, &freeing(true));
    (0..15).for_each(|_| rig.rewind(0, true));
    rig.bench[rig.step].pause(Pause::Always);
    rig.run(15);
    rig.bench[rig.step].pause(Pause::None);
    rig.run(1);
    rig.rewind(0, true);
    assert_eq!((rig.finish().len(), rig.met.drops), (0, 1));
}

#[test]
fn stale_packets_with_data_of_their_own_go_on() {
    let mut rig = Rig::new();
    rig.send_like(3, 1, &PLAIN());
    rig.send_like(3, 1, &TxStep { inline: true, ..freeing(true) });
    rig.send_like(3, 1, &freeing(false));
    rig.bench[rig.step].pause(Pause::Always);
    rig.rewind(3, true);
    rig.run(1);
    rig.bench[rig.step].pause(Pause::None);
    let found = rig.finish();
    assert!(found.len() == 1 && found[0].inline);
    assert_eq!(rig.met.drops, 1, "it is told of elsewhere when it has left");
}

#[test]
fn other_queue_pairs_are_not_stale() {
    let mut rig = Rig::new();
    rig.bench[rig.step].pause(Pause::Always);
    (0..4).for_each(|qpn| rig.send_like(qpn, 1, &PLAIN()));
    rig.rewind(1, true);
    rig.run(1);
    rig.bench[rig.step].pause(Pause::None);
    let passed: Vec<u64> = rig.finish().iter().map(|step| step.qpn.into()).collect();
    assert_eq!(passed, [0, 2, 3]);
}

#[test]
fn what_is_thrown_away_is_told_when_nobody_else_tells() {
    let mut rig = Rig::new();
    rig.bench[rig.step].pause(Pause::Always);
    (0..2).for_each(|at| rig.send_like(1, 1, &freeing(at == 1)));
    rig.rewind(1, true);
    rig.leaves = true;
    rig.run(1);
    rig.bench[rig.step].pause(Pause::None);
    rig.run(30);
    assert_eq!((rig.met.drops, rig.waiting()), (0, 1), "the second waits for the first to be told");
    rig.leaves = false;
    rig.run(3);
    assert_eq!((rig.met.drops, rig.waiting()), (2, 0));
    rig.finish();
}

#[test]
fn what_was_sent_and_comes_again_is_sent_again_and_what_was_thrown_away_is_not() {
    let mut rig = Rig::new();
    rig.send_like(1, 1, &PLAIN());
    rig.finish();
    rig.bench[rig.step].pause(Pause::Always);
    (0..2).for_each(|_| rig.send_like(1, 1, &PLAIN()));
    rig.rewind(1, true);
    rig.run(1);
    rig.bench[rig.step].pause(Pause::None);
    assert_eq!(rig.finish(), []);
    // All that was admitted is asked for once more, and something new.
    rig.begin_at_first(1);
    (0..4).for_each(|_| rig.send_like(1, 1, &PLAIN()));
    let again: Vec<bool> = rig.finish().iter().map(|step| step.again).collect();
    assert_eq!(again, [true, false, false, false]);
    rig.begin_at_first(1);
    (0..4).for_each(|_| rig.send_like(1, 1, &PLAIN()));
    assert!(rig.finish().iter().all(|step| step.again), "now all were sent");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.bench[rig.source].pause(Pause::Always);
    rig.rewind(2, true);
    rig.run(1);
    rig.send_like(2, 2, &PLAIN());
    rig.run(2);
    assert!(rig.get("busy"));
    // Reset comes in the middle of a packet, in another epoch than the first, and while a pulse waits.
    rig.bench[rig.source].pause(Pause::None);
    rig.leaves = true;
    rig.send_like(1, 1, &freeing(true));
    rig.rewind(1, true);
    rig.bench[rig.step].pause(Pause::Always);
    rig.run(3);
    rig.bench[rig.step].pause(Pause::None);
    rig.run(3);
    assert!(rig.get("busy"));
    rig.reset();
    rig.leaves = false;
    assert!(!rig.get("busy") && !rig.get("ready"));
    (0..4).for_each(|qpn| rig.send_like(qpn, 1, &PLAIN()));
    rig.run(1 << QPS);
    assert!(rig.get("ready") && rig.waiting() == 4, "nothing is taken before the rows are cleared");
    assert_eq!(rig.finish().len(), 4);
}
