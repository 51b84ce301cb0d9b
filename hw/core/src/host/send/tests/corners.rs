use stroma_abi::desc::queue_pair::QueuePairState::{Drained, Error, ReadyToSend};
use stroma_verilate::Pause;

use super::{create, jobs, plain, ring, with_state};
use crate::host::send::rig::{Rig, row};
use crate::host::work::SendRow;
use crate::testing::read;

#[test]
fn a_doorbell_asks_for_its_wqes_after_3_cycles_and_paced_progress_for_more_after_10() {
    let mut rig = plain();
    // With a pace it has one job at a time.
    rig.store(2, SendRow { pace: 1.into(), ..rig.rows[2] });
    ring(&mut rig, 2, 40);
    // Offered in the first cycle, acted on in the third; the fourth sees the command.
    rig.run(2);
    assert_eq!(["read$valid", "job$valid"].map(|name| read::<bool>(&rig.bench, name)), [false; 2]);
    rig.step();
    assert_eq!(["read$valid", "job$valid"].map(|name| read::<bool>(&rig.bench, name)), [true; 2]);
    rig.run_until(|rig| read::<bool>(&rig.bench, "progress$valid"));
    // It has been on offer for one cycle; the pace takes two.
    rig.run(8);
    assert!(!read::<bool>(&rig.bench, "read$valid"));
    rig.step();
    assert!(read::<bool>(&rig.bench, "read$valid"));
    rig.settle();
    assert_eq!(jobs(&rig), [(2, 0, 32), (2, 32, 8)]);
}

#[test]
fn doorbells_take_3_cycles_each() {
    let mut rig = plain();
    for number in [0, 0, 1, 1, 1, 0] {
        ring(&mut rig, number, 3);
    }
    rig.is_stuck = true;
    rig.run(30);
    let gaps: Vec<_> = rig.rung.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [3; 5]);
    assert_eq!(jobs(&rig), [(0, 0, 3), (1, 0, 3)]);
}

#[test]
fn a_doorbell_again_or_an_old_one_changes_nothing() {
    let mut rig = plain();
    for ahead in [10, 10, 4, 0, 10] {
        ring(&mut rig, 1, ahead);
    }
    rig.settle();
    assert_eq!(jobs(&rig), [(1, 0, 10)]);
    // The place itself, when all is done; the one before it would be 65535 units ahead.
    ring(&mut rig, 1, 0);
    ring(&mut rig, 1, 0xffff);
    rig.settle();
    assert_eq!((rig.jobs.len(), rig.counts.bad), (1, 1));
}

#[test]
fn a_ring_may_be_full_and_no_fuller() {
    let mut rig = plain();
    for (log, units) in [(4, 16), (15, 1 << 15)] {
        rig.reset(0);
        rig.store(0, row(0, log, 0xf_ffff_0000));
        ring(&mut rig, 0, units + 1);
        rig.settle();
        assert_eq!((rig.counts.bad, rig.jobs.len()), (1, 0));
        ring(&mut rig, 0, units);
        rig.settle();
        assert_eq!(rig.counts.bad, 1);
        assert_eq!(rig.jobs.iter().map(|(_, job)| u64::from(job.units)).sum::<u64>(), units);
    }
}

#[test]
fn indices_wrap_at_16_bits_and_fetches_at_the_end_of_the_ring() {
    let mut rig = plain();
    rig.latency = 1;
    // 31 divides neither the ring nor 2^16, so that both ends are met at all places.
    while rig.jobs.len() < (1 << 16) / 31 + 50 {
        ring(&mut rig, 3, 31);
        rig.settle();
    }
    let over = rig.jobs.iter().filter(|(_, job)| u64::from(job.index) + u64::from(job.units) > 1 << 16);
    assert_eq!(over.count(), 1);
    assert!(rig.counts.wraps > 500, "{:?}", rig.counts);
}

#[test]
fn a_line_is_served_in_order_and_each_visit_is_one_job() {
    let mut rig = plain();
    rig.pause = true;
    for number in [3, 1, 4, 0, 2] {
        ring(&mut rig, number, 40);
    }
    rig.run(30);
    rig.pause = false;
    rig.settle();
    let order = [3, 1, 4, 0, 2];
    let expected: Vec<_> =
        order.map(|number| (number, 0, 32)).into_iter().chain(order.map(|number| (number, 32, 8))).collect();
    assert_eq!(jobs(&rig), expected);
}

#[test]
fn doorbells_and_the_line_take_turns() {
    let mut rig = plain();
    rig.pause = true;
    for number in 1..5 {
        ring(&mut rig, number, 5);
    }
    rig.run(20);
    // A flood for a queue pair that is not there.
    for _ in 0..30 {
        ring(&mut rig, 7, 5);
    }
    let rung = rig.rung.len();
    rig.pause = false;
    rig.is_stuck = true;
    rig.run(30);
    assert_eq!((rig.jobs.len(), rig.rung.len() - rung), (4, 6), "ten operations in 30 cycles");
    rig.is_stuck = false;
    rig.settle();
}

#[test]
fn doorbells_move_on_while_nothing_else_does() {
    let mut rig = Rig::default();
    create(&mut rig);
    for sink in [rig.job, rig.read, rig.pushed] {
        rig.bench[sink].pause(Pause::Script(vec![true]));
    }
    for _ in 0..200 {
        let doorbell = super::any_doorbell(&mut rig);
        rig.ring(doorbell);
    }
    let start = rig.bench.cycle();
    rig.run_until(|rig| rig.bench.is_sent());
    assert!(rig.bench.cycle() - start < 200 * 8);
    for sink in [rig.job, rig.read, rig.pushed] {
        rig.bench[sink].pause(Pause::None);
    }
    rig.settle();
}

#[test]
fn a_pause_holds_jobs_back_and_notes_doorbells() {
    let mut rig = plain();
    ring(&mut rig, 0, 40);
    rig.run(4);
    rig.pause = true;
    ring(&mut rig, 1, 5);
    // What is in line does not count as busy: a card that pauses can come to rest.
    rig.run_until(|rig| rig.bench.is_sent() && !read::<bool>(&rig.bench, "busy"));
    rig.run(50);
    assert_eq!((jobs(&rig), rig.model.line.len()), (vec![(0, 0, 32)], 2));
    rig.pause = false;
    rig.step();
    rig.settle();
    assert_eq!(jobs(&rig), [(0, 0, 32), (0, 32, 8), (1, 0, 5)]);
}

#[test]
fn jobs_of_a_drained_queue_pair_say_so_and_are_paced() {
    let mut rig = plain();
    let sends = SendRow { pace: (1000 << 8).into(), ..rig.rows[2] };
    rig.store(2, with_state(&sends, Drained));
    rig.block_after = Some(0);
    ring(&mut rig, 2, 5);
    rig.rest();
    assert_eq!((jobs(&rig), rig.counts.bad), (vec![(2, 0, 5)], 0));
    assert!(rig.jobs[0].1.drains && !rig.jobs[0].1.flush);
    // What waits is looked at again when it may go on.
    rig.store(2, sends);
    rig.run(10);
    rig.tell(2, false);
    rig.settle();
    assert_eq!(jobs(&rig), [(2, 0, 5), (2, 0, 5)]);
    assert!(!rig.jobs[1].1.drains);
    // A job of 320 bytes, and one that comes no sooner than its bytes allow.
    rig.store(2, with_state(&sends, Drained));
    ring(&mut rig, 2, 6);
    rig.settle();
    assert!(rig.jobs[2].1.drains && rig.jobs[2].0 - rig.jobs[1].0 >= 312);
}

#[test]
fn a_queue_pair_in_error_is_flushed_without_pace() {
    let mut rig = plain();
    rig.store(2, SendRow { pace: 0xff_ffff.into(), ..rig.rows[2] });
    (rig.unit_bytes, rig.latency) = (1 << 20, 1);
    ring(&mut rig, 2, 5);
    rig.run(50);
    ring(&mut rig, 2, 6);
    rig.run(50);
    assert_eq!(jobs(&rig), [(2, 0, 5)]);
    let row = with_state(&rig.rows[2], Error);
    rig.store(2, row);
    rig.settle();
    assert_eq!((jobs(&rig), rig.counts.flushes), (vec![(2, 0, 5), (2, 5, 6)], 1));
}

#[test]
fn a_queue_that_begins_anew_begins_with_index_0_and_without_delay() {
    let mut rig = plain();
    rig.store(2, SendRow { pace: 0xff_ffff.into(), ..rig.rows[2] });
    rig.unit_bytes = 1 << 20;
    ring(&mut rig, 2, 5);
    rig.settle();
    assert!(rig.model.queues[2].not_before > 1 << 28);
    rig.tell(2, true);
    rig.settle();
    ring(&mut rig, 2, 7);
    rig.settle();
    assert_eq!(jobs(&rig), [(2, 0, 5), (2, 0, 7)]);
}

#[test]
fn jobs_start_as_far_apart_as_their_bytes_take() {
    let mut rig = plain();
    // A unit of 64 bytes in 10 cycles: 160 a KiB.
    rig.store(2, SendRow { pace: (160 << 8).into(), ..rig.rows[2] });
    // A clock that a narrower row would not have told from the start.
    rig.clock_ahead = 3 << 41;
    rig.latency = 40;
    for _ in 0..5 {
        ring(&mut rig, 2, 64);
        rig.settle();
    }
    for pair in rig.jobs.windows(2) {
        let apart = pair[1].0 - pair[0].0;
        let least = u64::from(pair[0].1.units) * 10;
        assert!((least..least + 8).contains(&apart), "{apart} cycles for {least}");
    }
}

#[test]
fn a_drain_waits_for_what_was_begun_before_and_not_for_what_comes_after() {
    let mut rig = plain();
    rig.drain = true;
    rig.step();
    assert!(!rig.is_draining, "nothing to wait for");
    rig.is_stuck = true;
    ring(&mut rig, 0, 5);
    rig.run(10);
    rig.drain = true;
    rig.step();
    ring(&mut rig, 1, 5);
    rig.run(50);
    assert!(rig.is_draining && rig.jobs.len() == 2);
    assert_ne!(rig.jobs[0].1.colour, rig.jobs[1].1.colour);
    rig.is_stuck = false;
    // Ends come in order: the first of them is enough.
    rig.latency = 200;
    ring(&mut rig, 2, 5);
    rig.run_until(|rig| !rig.is_draining);
    assert!(read::<bool>(&rig.bench, "busy"), "the others have not ended");
    rig.settle();
}

#[test]
fn a_drain_at_any_time_of_a_doorbell_waits_for_its_job() {
    // The rig holds `drained` against the model in every cycle.
    for after in 0..12 {
        let mut rig = plain();
        ring(&mut rig, 0, 5);
        rig.run(after);
        let row = with_state(&rig.rows[0], ReadyToSend);
        rig.drain = true;
        rig.store(0, row);
        rig.run_until(|rig| !rig.is_draining);
        rig.settle();
        assert_eq!(rig.jobs.len(), 1);
    }
}
