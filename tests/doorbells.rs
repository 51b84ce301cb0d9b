//! Doorbells: one for many requests, indices that wrap, and stores that name what they should not.

use stroma_abi::desc::{
    Body, ObjectKind, QueuePair, QueuePairState, Sge, Status, Verb, WorkOp, WqeHead, queue_pair::attribute,
    wqe::UNIT,
};
use stroma_abi::regs::map::{counters, doorbells};
use stroma_device::{BarId, compose};
use stroma_sim::host::attach::Event;
use stroma_tests::rig::{Queue, Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;

fn nops(queue: &mut Queue, count: u16) -> Vec<u16> {
    (0..count)
        .map(|_| {
            let index = queue.producer;
            queue.put(head(WorkOp::Nop), Body::Nop);
            index
        })
        .collect()
}

fn one_for_many(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    rig.world(|world| world.card(0).start_trace());
    let expected = nops(&mut queue, 40);
    rig.doorbell(&queue);
    let found: Vec<u16> = expected
        .iter()
        .map(|_| rig.completion(&mut completions))
        .map(|cqe| {
            assert_eq!(
                (status(&cqe), cqe.queue_pair.value(), cqe.opcode),
                (Status::Success, 5, WorkOp::Nop as u8)
            );
            cqe.index
        })
        .collect();
    assert_eq!(found, expected);
    let trace = rig.world(|world| world.card(0).take_trace());
    let stores = trace.iter().filter(|(_, event)| matches!(event, Event::Bar(_))).count();
    assert_eq!(stores, 1, "40 requests, one doorbell");
}

#[test]
fn one_doorbell_announces_many_requests() {
    widths!().into_iter().for_each(one_for_many);
}

fn laps(profile: Profile) {
    const LOG: u8 = 12;
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 4, 0);
    let mut queue = rig.queue_of(5, &completions, 1, LOG);
    // Requests of three units, so that many begin at the ring's end and go on at its start; 17 laps make 16 bits wrap.
    let request = |index: u16, signaled: bool| {
        let mut bytes = [0; 3 * UNIT];
        WqeHead { index, units: 3, signaled, ..head(WorkOp::Nop) }.emit(&mut bytes);
        bytes
    };
    let (mut units, mut last, mut wraps) = (0, 0, 0);
    while units < 17 << LOG {
        let count = (1 << LOG) / 3;
        for at in 1..=count {
            let index = queue.producer;
            queue.put_bytes(&request(index, at == count));
        }
        rig.doorbell(&queue);
        let cqe = rig.completion(&mut completions);
        rig.arm(&completions, 0);
        assert_eq!((status(&cqe), cqe.index), (Status::Success, queue.producer.wrapping_sub(3)));
        wraps += u32::from(cqe.index < last);
        (units, last) = (units + 3 * count, cqe.index);
    }
    assert_eq!(wraps, 1, "the index came round");
}

#[test]
fn indices_wrap_and_the_ring_goes_on() {
    widths!().into_iter().for_each(laps);
}

fn brim(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 5, 0);
    let mut queue = rig.queue_of(5, &completions, 1, 4);
    for _ in 0..5 {
        let expected = nops(&mut queue, 16);
        rig.doorbell(&queue);
        let found: Vec<u16> = expected.iter().map(|_| rig.completion(&mut completions).index).collect();
        assert_eq!(found, expected);
        rig.arm(&completions, 0);
    }
}

#[test]
fn the_smallest_ring_may_be_full_to_the_brim() {
    widths!().into_iter().for_each(brim);
}

fn paced(profile: Profile) {
    /// A KiB takes as many at least.
    const CYCLES: u64 = 10_000;
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let buffer = rig.buffer(8192);
    let key = rig.region(1, &Rig::direct(&buffer, 0, 1));
    let mut queue = rig.queue_of(5, &completions, 1, 8);
    let cycles = |rig: &Rig, completions: &mut _, queue: &mut Queue| {
        let mut stamps = Vec::new();
        for _ in 0..8 {
            let list = [Sge { address: 0, local_key: key, length: 4096 }];
            queue.put(WqeHead { remote: 4096, key, ..head(WorkOp::Gather) }, pieces(&list));
            rig.doorbell(queue);
            stamps.push(rig.completion(completions).timestamp);
        }
        stamps[7] - stamps[0]
    };
    let free = cycles(&rig, &mut completions, &mut queue);
    let pace = QueuePair { pace: 256 * u32::try_from(CYCLES).expect("small"), ..QueuePair::default() };
    rig.done(Verb::Modify, ObjectKind::QueuePair, 5, attribute::PACE, &pace.to_bytes());
    let slow = cycles(&rig, &mut completions, &mut queue);
    // 28 KiB between the first and the last start. Seen are their ends, and a copy may take a few cycles more or less than another.
    let least = 28 * CYCLES;
    assert!(
        (least - 8..least + 3000).contains(&slow),
        "{slow} cycles where {least} are told; {free} without a pace"
    );
    assert!(free < least / 4);
}

#[test]
fn a_paced_queue_pair_keeps_its_pace() {
    widths!().into_iter().for_each(paced);
}

fn foreign_and_dead(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 2);
    let mut queue = rig.queue(5, &completions, 1);
    nops(&mut queue, 1);
    let send = |page, qpn: u64, producer: u64| {
        rig.ring(
            page,
            &doorbells::SEND,
            compose(&doorbells::SEND, [("queue_pair", qpn), ("producer", producer)]),
        );
    };
    send(3, 5, 1);
    rig.settle();
    assert_eq!((rig.count(&counters::WRONG_PAGE), rig.count(&counters::BAD_DOORBELLS)), (1, 0));
    // No such queue pair, one beyond the card, more than the ring holds, and behind what was fetched.
    for (qpn, producer) in [(6, 1), (0xff_ffff, 1), (5, 65), (5, 0xffff)] {
        send(2, qpn, producer);
    }
    rig.settle();
    assert_eq!(rig.count(&counters::BAD_DOORBELLS), 4);
    // Half a doorbell, and places where there is none.
    rig.backend().write32(BarId::Bar2, 2 * 4096, 5).unwrap();
    rig.backend().write64(BarId::Bar2, 2 * 4096 + 0x40, 5).unwrap();
    rig.backend().write64(BarId::Bar2, 2 * 4096 + 0xff8, 5).unwrap();
    rig.settle();
    assert_eq!(rig.count(&counters::BAD_DOORBELLS), 7);
    assert_eq!(rig.poll(&mut completions), None, "nothing of this started anything");

    // The same for CQs.
    completions.page = 3;
    rig.arm(&completions, 1);
    rig.settle();
    assert_eq!(rig.count(&counters::WRONG_PAGE), 2);
    completions.page = 2;
    completions.taken = 1;
    rig.arm(&completions, 1);
    completions.taken = 0;
    rig.settle();
    assert_eq!(rig.count(&counters::BAD_DOORBELLS), 8, "an entry was taken that was never written");

    rig.doorbell(&queue);
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    rig.settle();
    assert_eq!(rig.poll(&mut completions), None, "a doorbell names a place, not an amount");
    assert_eq!((rig.count(&counters::WRONG_PAGE), rig.count(&counters::BAD_DOORBELLS)), (2, 8));

    rig.done(Verb::Destroy, ObjectKind::QueuePair, 5, 0, &[]);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    rig.settle();
    assert_eq!((rig.poll(&mut completions), rig.count(&counters::BAD_DOORBELLS)), (None, 9));
}

#[test]
fn a_store_that_names_what_it_should_not_changes_a_counter_alone() {
    widths!().into_iter().for_each(foreign_and_dead);
}

fn states(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    rig.state(5, QueuePairState::Drained);
    let expected = nops(&mut queue, 3);
    rig.doorbell(&queue);
    rig.settle();
    assert_eq!(rig.poll(&mut completions), None, "a drained queue pair begins nothing");
    rig.state(5, QueuePairState::ReadyToSend);
    let found: Vec<u16> = expected.iter().map(|_| rig.completion(&mut completions).index).collect();
    assert_eq!(found, expected, "and goes on where it stopped");

    rig.state(5, QueuePairState::Error);
    let expected = nops(&mut queue, 3);
    rig.doorbell(&queue);
    for index in expected {
        let cqe = rig.completion(&mut completions);
        assert_eq!((status(&cqe), cqe.index), (Status::Flushed, index));
    }
    rig.state(5, QueuePairState::Reset);
    rig.doorbell(&queue);
    rig.settle();
    assert_eq!((rig.poll(&mut completions), rig.count(&counters::BAD_DOORBELLS)), (None, 1));
    for (state, refused) in [(QueuePairState::Init, 2), (QueuePairState::ReadyToReceive, 3)] {
        rig.state(5, state);
        rig.doorbell(&queue);
        rig.settle();
        assert_eq!((rig.poll(&mut completions), rig.count(&counters::BAD_DOORBELLS)), (None, refused));
    }
    rig.state(5, QueuePairState::ReadyToSend);
    queue.producer = 0;
    nops(&mut queue, 2);
    rig.doorbell(&queue);
    assert_eq!([(); 2].map(|()| rig.completion(&mut completions).index), [0, 1], "its queues began anew");
}

#[test]
fn what_a_doorbell_starts_depends_on_the_state() {
    widths!().into_iter().for_each(states);
}

fn malformed(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    // A stale slot: the index is that of another lap.
    let mut stale = head(WorkOp::Nop);
    stale.index = 0x1234;
    stale.units = 1;
    let mut bytes = [0; 64];
    stale.emit(&mut bytes);
    queue.put_bytes(&bytes);
    let behind = nops(&mut queue, 2);
    rig.doorbell(&queue);
    let cqe = rig.completion(&mut completions);
    assert_eq!((status(&cqe), cqe.index), (Status::LocalQueuePair, 0));
    for index in behind {
        let cqe = rig.completion(&mut completions);
        assert_eq!((status(&cqe), cqe.index), (Status::Flushed, index));
    }
    assert_eq!(rig.state_of(5), QueuePairState::Error);

    // Zeroed memory, an op-code without a transport, and sizes that cannot be: each on a queue pair of its own.
    let zero = [0; 64];
    let unit = |change: &dyn Fn(&mut stroma_abi::desc::WqeHead)| {
        let mut head = head(WorkOp::Nop);
        head.units = 1;
        change(&mut head);
        let mut bytes = [0; 64];
        head.emit(&mut bytes);
        bytes
    };
    let cases = [
        zero,
        unit(&|head| head.opcode = WorkOp::Write as u8),
        unit(&|head| head.opcode = 0xee),
        unit(&|head| head.units = 0),
        unit(&|head| head.units = 9),
        unit(&|head| head.units = 2),
        unit(&|head| head.local = true),
        unit(&|head| head.inline = true),
        unit(&|head| (head.opcode, head.inline, head.length) = (WorkOp::Gather as u8, true, 33)),
        unit(&|head| (head.opcode, head.sge_count, head.length) = (WorkOp::Gather as u8, 3, 8)),
    ];
    for (number, bytes) in (6..).zip(cases) {
        let mut queue = rig.queue(number, &completions, 1);
        queue.put_bytes(&bytes);
        rig.doorbell(&queue);
        let cqe = rig.completion(&mut completions);
        assert_eq!(
            (status(&cqe), cqe.queue_pair.value(), cqe.index),
            (Status::LocalQueuePair, number, 0),
            "case {}",
            number - 6
        );
        assert_eq!(rig.state_of(number), QueuePairState::Error);
    }
}

#[test]
fn what_is_no_request_fails_and_flushes_what_stands_behind() {
    widths!().into_iter().for_each(malformed);
}
