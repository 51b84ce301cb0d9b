mod corners;
mod limits;
mod recalls;
mod rig;

use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_verilate::{Pause, SplitMix64};

use super::model::Queue;
use super::{choose, desk, judge, line, shelf};
use crate::testing::stalls_of;
use crate::transport::records::ReceiveDoorbell;
use crate::verilog::differential::{assert_agree, differential};
use rig::{QPS, Rig, SRQS, ring, share};

fn any_number(rng: &mut SplitMix64, below: u64) -> usize {
    usize::try_from(rng.below(below)).expect("small")
}

fn any_queue(rng: &mut SplitMix64) -> Queue {
    let shared = rng.below(2) == 1;
    Queue { shared, number: any_number(rng, if shared { 1 << SRQS } else { 1 << QPS }) }
}

/// A doorbell that is mostly right.
fn post(rig: &mut Rig) {
    let mut queue = any_queue(&mut rig.rng);
    let indices = rig.model.queue(queue);
    let log = if queue.shared { rig.shares[queue.number].log } else { rig.rings[queue.number].receive_log };
    let room = (1_u64 << log.index()).saturating_sub(indices.count().into());
    let more = match rig.rng.below(12) {
        0 => rig.rng.next_u64() & 0xffff,
        1 => room + 1,
        2 => 0xffff - rig.rng.below(3),
        3 => room,
        _ => rig.rng.below(room + 1),
    };
    let producer = indices.producer.wrapping_add(u16::try_from(more & 0xffff).expect("16 bits"));
    let page = if queue.shared { rig.shares[queue.number].page } else { rig.rings[queue.number].page };
    let odd = rig.rng.below(20);
    if odd == 0 {
        queue.number = any_number(&mut rig.rng, 1 << 24);
    }
    let page = if odd == 1 { rig.rng.below(1 << 12).into() } else { page };
    rig.ring_raw(ReceiveDoorbell {
        shared: queue.shared,
        number: (queue.number as u64).into(),
        page,
        producer: u64::from(producer).into(),
    });
}

/// Rows change, with what has to be told of it.
fn command(rig: &mut Rig) {
    let number = any_number(&mut rig.rng, 1 << QPS);
    let srq = any_number(&mut rig.rng, 1 << SRQS);
    match rig.rng.below(9) {
        0 | 1 => rig.fail(number),
        2 | 3 => {
            let log = rig.rng.below(5);
            let state = [QueuePairState::Reset, QueuePairState::Init, QueuePairState::ReadyToReceive];
            rig.rings[number] = ring(number, log);
            rig.rings[number].has_srq = rig.rng.below(6) == 0;
            rig.rings[number].exists = rig.rng.below(6) != 0;
            if rig.rng.below(3) == 0 {
                rig.rings[number].state = (state[any_number(&mut rig.rng, 3)] as u64).into();
            }
            rig.change(number, true, false);
        }
        4 => {
            let (resets, stops) = (rig.rng.below(2) == 1, rig.rng.below(2) == 1);
            rig.change(number, resets, stops);
        }
        5 => {
            rig.shares[srq] = share(srq, 1 + rig.rng.below(4), rig.rng.below(6));
            rig.shares[srq].exists = rig.rng.below(6) != 0;
            rig.renew(srq);
        }
        _ => {
            let round = rig.shares[srq].round;
            rig.shares[srq].limit = rig.rng.below(10).into();
            rig.shares[srq].round = round + 1;
        }
    }
}

/// A driver that posts and commands in so many of 1000 cycles, and a card that looks and takes whenever it may.
fn live(rig: &mut Rig, cycles: u64, posts: u64, commands: u64) {
    for _ in 0..cycles {
        if rig.rng.below(1000) < posts && rig.bench[rig.doorbell].is_empty() {
            post(rig);
        }
        if rig.rng.below(1000) < commands && rig.bench[rig.change].is_empty() {
            command(rig);
        }
        if rig.rng.below(8) != 0 {
            rig.look = Some(any_queue(&mut rig.rng)).filter(|_| rig.rng.below(8) != 0);
            rig.take = rig.shown() > 0 && rig.rng.below(8) != 0;
        }
        rig.step();
    }
}

/// Nothing in the run was missing.
fn assert_lively(rig: &Rig, least: u64) {
    let counts = &rig.counts;
    let (nudges, events) = (rig.nudged.len() as u64, rig.told.len() as u64);
    let all = [counts.good, counts.bad, counts.taken, nudges];
    assert!(all.into_iter().all(|count| count > least), "{counts:?}, {nudges} nudges");
    let few = [counts.wrong_page, counts.silent, events];
    assert!(few.into_iter().all(|count| count > least / 10), "{counts:?}, {events} events");
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for (seed, posts, commands) in [(1, 1000, 3), (2, 300, 20), (3, 100, 100), (4, 1000, 30)] {
        rig.reset(seed);
        live(&mut rig, 12_000, posts, commands);
        rig.settle();
        assert_lively(&rig, 50);
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, [doorbell, change, renewal, nudge, event]) in (0..).zip(stalls_of::<5>()) {
        rig.reset(seed);
        for (source, pause) in [(rig.doorbell, doorbell), (rig.change, change), (rig.shared_change, renewal)]
        {
            rig.bench[source].pause(pause);
        }
        for (sink, pause) in [(rig.nudge, nudge), (rig.event, event)] {
            rig.bench[sink].pause(pause);
        }
        live(&mut rig, 3000, 300, 20);
        rig.settle();
        assert_lively(&rig, 10);
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    for sink in [rig.nudge, rig.event] {
        rig.bench[sink].pause(Pause::Always);
    }
    live(&mut rig, 2000, 500, 50);
    assert!(rig.flag("nudge$valid") && rig.flag("event$valid") && rig.flag("busy"));
    for sink in [rig.nudge, rig.event] {
        rig.bench[sink].pause(Pause::None);
    }
    rig.reset(1);
    for number in 0..1 << QPS {
        rig.look = Some(Queue { shared: false, number });
        rig.step();
        rig.look = Some(Queue { shared: true, number: number % (1 << SRQS) });
        rig.step();
    }
    rig.run(50);
    assert!(rig.nudged.is_empty() && rig.told.is_empty() && !rig.flag("busy"), "nothing is left");
    live(&mut rig, 4000, 300, 20);
    rig.settle();
    assert_lively(&rig, 10);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!(
            "receives_choose",
            choose::Choose::<2, 3>::default,
            clock,
            [
                change,
                change_number,
                renewal,
                renewal_number,
                doorbell,
                doorbell_rung,
                recall,
                recall_number,
                limit,
                limit_number
            ]
        ),
        differential!(
            "receives_judge",
            judge::Judge::default,
            clock,
            [looks, operation, ring, shared, posted, taken, owes, told]
        ),
        differential!(
            "receives_line",
            line::Line::<2>::default,
            clock,
            [reset, joins, number, source.ready, scrubs, scrub_index]
        ),
        differential!(
            "receives_shelf",
            shelf::Shelf::<2>::default,
            clock,
            [
                look_enable,
                look_index,
                take,
                read_enable,
                read_index,
                count_enable,
                count_index,
                write_enable,
                write_index,
                written,
                scrubs
            ]
        ),
        differential!(
            "receives_desk",
            desk::Desk::<2, 2>::default,
            clock,
            [
                doorbell.payload,
                doorbell.valid,
                change.payload,
                change.valid,
                shared_change.payload,
                shared_change.valid,
                recall.payload,
                recall.valid,
                limit.payload,
                limit.valid,
                nudge_room,
                event_room,
                ring,
                shared,
                own_posted,
                own_taken,
                shared_posted,
                shared_taken
            ]
        ),
    ];
    assert_agree(cases, 400);
}
