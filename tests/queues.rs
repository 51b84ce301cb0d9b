//! Completion queues, the event queue and interrupts: full ones, armed ones, moderated ones.

use std::time::Duration;

use stroma_abi::desc::completion_queue::MODERATION_ATTRIBUTE;
use stroma_abi::desc::{Body, CompletionQueue, Event, ObjectKind, QueuePairState, Status, Verb, WorkOp};
use stroma_abi::regs::map::{counters, events, moderation};
use stroma_device::{Wake, compose};
use stroma_tests::rig::{Queue, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;

const EVENT_LOG: u8 = 4;

fn nops(queue: &mut Queue, count: usize) {
    for _ in 0..count {
        queue.put(head(WorkOp::Nop), Body::Nop);
    }
}

fn full_cq(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(3, 4, 0);
    let mut queue = rig.queue(5, &completions, 1);
    nops(&mut queue, 20);
    rig.doorbell(&queue);
    rig.settle();
    assert!(rig.count(&counters::CQ_OVERFLOWS) >= 1);
    for index in 0..16 {
        let cqe = rig.poll(&mut completions).expect("those that found room are there");
        assert_eq!((status(&cqe), cqe.index), (Status::Success, index));
    }
    assert_eq!(rig.poll(&mut completions), None);
    assert_eq!(rig.state_of(5), QueuePairState::Error);
    let events: Vec<_> = std::iter::from_fn(|| rig.event(EVENT_LOG)).collect();
    let of = |kind: Event| events.iter().filter(move |event| event.kind == kind as u8).collect::<Vec<_>>();
    assert_eq!(of(Event::CqOverflow).iter().map(|event| event.object).collect::<Vec<_>>(), [3], "told once");
    assert!(of(Event::QueuePairError).iter().all(|event| event.object == 5));
    assert!(!of(Event::QueuePairError).is_empty());
    let shown =
        CompletionQueue::parse(&rig.done(Verb::Query, ObjectKind::CompletionQueue, 3, 0, &[])).unwrap();
    assert!(shown.overflowed && shown.producer == 16);

    // Room again: another queue pair of the same CQ goes on.
    rig.arm(&completions, 0);
    let mut queue = rig.queue(6, &completions, 1);
    nops(&mut queue, 2);
    rig.doorbell(&queue);
    assert_eq!([(); 2].map(|()| status(&rig.completion(&mut completions))), [Status::Success; 2]);
}

#[test]
fn a_full_cq_loses_completions_says_so_and_lives_on() {
    widths!().into_iter().for_each(full_cq);
}

fn full_eq(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(3, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    // Each armed completion is an event; nobody takes them.
    for _ in 0..20 {
        rig.arm(&completions, 1);
        nops(&mut queue, 1);
        rig.doorbell(&queue);
        assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    }
    rig.settle();
    let overflow = |rig: &Rig| rig.get(&events::BLOCK, &events::OVERFLOW);
    assert_eq!((overflow(&rig), rig.get(&events::BLOCK, &events::PRODUCER)), (1, 16));
    assert_eq!(std::iter::from_fn(|| rig.event(EVENT_LOG)).count(), 16);
    rig.set(&events::BLOCK, &events::OVERFLOW, 1);
    rig.acknowledge_events();
    assert_eq!(overflow(&rig), 0);
    rig.arm(&completions, 1);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    rig.settle();
    let event = rig.event(EVENT_LOG).expect("there is room again");
    assert_eq!((event.kind, event.object), (Event::Completion as u8, 3));
    assert_eq!(overflow(&rig), 0);
}

#[test]
fn a_full_event_queue_loses_events_says_so_and_lives_on() {
    widths!().into_iter().for_each(full_eq);
}

fn arming(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(3, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    let wait = |rig: &Rig| rig.backend().wait(0, Duration::from_millis(1)).unwrap();
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    rig.settle();
    assert_eq!((rig.event(EVENT_LOG), wait(&rig)), (None, Wake::TimedOut), "not armed, no event");
    // Armed with an entry nobody has taken: told at once, for it would never be told otherwise.
    rig.arm(&completions, 1);
    assert_eq!(wait(&rig), Wake::Fired);
    assert_eq!(
        rig.event(EVENT_LOG).map(|event| (event.kind, event.object)),
        Some((Event::Completion as u8, 3))
    );
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    rig.acknowledge_events();
    rig.arm(&completions, 1);
    rig.settle();
    assert_eq!((rig.event(EVENT_LOG), wait(&rig)), (None, Wake::TimedOut), "nothing new");
    nops(&mut queue, 3);
    rig.doorbell(&queue);
    assert_eq!(wait(&rig), Wake::Fired);
    rig.settle();
    assert_eq!(std::iter::from_fn(|| rig.event(EVENT_LOG)).count(), 1, "one arming, one event");
    for _ in 0..3 {
        rig.completion(&mut completions);
    }
    rig.acknowledge_events();

    // Armed for what failed: success is silent.
    rig.arm(&completions, 2);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    rig.completion(&mut completions);
    rig.settle();
    assert_eq!(rig.event(EVENT_LOG), None);
    rig.state(5, QueuePairState::Error);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Flushed);
    rig.settle();
    assert_eq!(rig.event(EVENT_LOG).map(|event| event.object), Some(3));
}

#[test]
fn an_armed_cq_tells_once_and_none_is_forgotten() {
    widths!().into_iter().for_each(arming);
}

fn moderated(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(3, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    let moderate = |rig: &Rig, period: u64, count: u64, mask: u64| {
        let parts = [("period_us", period), ("count", count), ("mask", mask)];
        rig.set(&moderation::BLOCK, &moderation::VECTOR, compose(&moderation::VECTOR, parts));
    };
    // An event, and the microseconds until its interrupt; none within 200.
    let event = |rig: &mut Rig, queue: &mut Queue, completions: &mut _| {
        rig.arm(completions, 1);
        nops(queue, 1);
        rig.doorbell(queue);
        rig.completion(completions);
    };
    let fires = |rig: &Rig| {
        let start = rig.world(|world| world.now());
        let fired = rig.backend().wait(0, Duration::from_micros(200)).unwrap() == Wake::Fired;
        fired.then(|| (rig.world(|world| world.now()) - start) * 1000 / u64::from(profile.clock_khz()))
    };
    moderate(&rig, 50, 3, 0);
    event(&mut rig, &mut queue, &mut completions);
    let waited = fires(&rig).expect("by time");
    assert!((48..=52).contains(&waited), "{waited} us");
    std::iter::from_fn(|| rig.event(EVENT_LOG)).for_each(drop);
    rig.acknowledge_events();
    for _ in 0..3 {
        event(&mut rig, &mut queue, &mut completions);
    }
    let waited = fires(&rig).expect("by count");
    assert!(waited < 20, "{waited} us");
    std::iter::from_fn(|| rig.event(EVENT_LOG)).for_each(drop);
    rig.acknowledge_events();

    // Masked events are kept.
    moderate(&rig, 0, 0, 1);
    event(&mut rig, &mut queue, &mut completions);
    assert_eq!(fires(&rig), None);
    moderate(&rig, 0, 0, 0);
    assert!(fires(&rig).is_some());
}

#[test]
fn interrupts_wait_for_company_or_for_their_time() {
    widths!().into_iter().for_each(moderated);
}

/// Changes a CQ's moderation.
fn moderate(rig: &Rig, cq: u32, count: u16, period: u16) {
    let body = CompletionQueue { count, period, ..CompletionQueue::default() }.to_bytes();
    rig.done(Verb::Modify, ObjectKind::CompletionQueue, cq, MODERATION_ATTRIBUTE, &body);
}

/// The CQs that events tell of, until nothing happens any more.
fn told(rig: &mut Rig) -> Vec<u32> {
    rig.settle();
    let told = std::iter::from_fn(|| rig.event(EVENT_LOG)).map(|event| event.object).collect();
    rig.acknowledge_events();
    told
}

fn counted(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(3, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    let mut run = |rig: &mut Rig, completions: &mut _, count| {
        nops(&mut queue, count);
        rig.doorbell(&queue);
        for _ in 0..count {
            assert_eq!(status(&rig.completion(completions)), Status::Success);
        }
        told(rig)
    };
    moderate(&rig, 3, 4, 0);
    let shown =
        CompletionQueue::parse(&rig.done(Verb::Query, ObjectKind::CompletionQueue, 3, 0, &[])).unwrap();
    assert_eq!((shown.count, shown.period), (4, 0));
    for _ in 0..2 {
        rig.arm(&completions, 1);
        assert_eq!(run(&mut rig, &mut completions, 3), [0; 0], "the card rests, and waits for the fourth");
        assert_eq!(run(&mut rig, &mut completions, 1), [3]);
        assert_eq!(run(&mut rig, &mut completions, 5), [0; 0], "one arming, one event");
    }
    // Entries that wait when it is armed count: three of four, then four.
    rig.arm(&completions, 0);
    nops(&mut queue, 3);
    rig.doorbell(&queue);
    rig.settle();
    rig.arm(&completions, 1);
    assert_eq!(told(&mut rig), [0; 0]);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    assert_eq!(told(&mut rig), [3]);
    rig.arm(&completions, 1);
    assert_eq!(told(&mut rig), [3], "at once");

    // A queue that waits is told by the new rule; so are later ones.
    while rig.poll(&mut completions).is_some() {}
    rig.arm(&completions, 1);
    nops(&mut queue, 2);
    rig.doorbell(&queue);
    assert_eq!(told(&mut rig), [0; 0]);
    moderate(&rig, 3, 2, 0);
    assert_eq!(told(&mut rig), [3]);
    moderate(&rig, 3, 0, 0);
    while rig.poll(&mut completions).is_some() {}
    rig.arm(&completions, 1);
    nops(&mut queue, 1);
    rig.doorbell(&queue);
    assert_eq!(told(&mut rig), [3], "not moderated");
}

#[test]
fn a_moderated_cq_tells_of_the_last_of_its_count() {
    widths!().into_iter().for_each(counted);
}

fn timed(profile: Profile) {
    /// Cycles for visits, for the way of the event, and between two looks at it.
    const SLACK: u64 = 600;
    let cycles = |microseconds: u64| (microseconds * u64::from(profile.clock_khz())).div_ceil(1000);
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let now = |rig: &Rig| rig.world(|world| world.now());
    let mut slow = rig.completions(3, 8, 0);
    let mut slow_queue = rig.queue(5, &slow, 1);
    let mut fast = rig.completions(4, 8, 0);
    let mut fast_queue = rig.queue(6, &fast, 1);
    moderate(&rig, 3, 100, 120);
    moderate(&rig, 4, 100, 40);
    for _ in 0..2 {
        let start = now(&rig);
        for (completions, queue) in [(&mut slow, &mut slow_queue), (&mut fast, &mut fast_queue)] {
            rig.arm(completions, 1);
            nops(queue, 1);
            rig.doorbell(queue);
            assert_eq!(status(&rig.completion(completions)), Status::Success);
        }
        let made = now(&rig);
        for (cq, period) in [(4, 40), (3, 120)] {
            let event = loop {
                if let Some(event) = rig.event(EVENT_LOG) {
                    break event;
                }
                assert!(now(&rig) < made + cycles(period) + SLACK, "CQ {cq}: late");
                rig.run(20);
            };
            assert_eq!((event.kind, event.object), (Event::Completion as u8, cq));
            assert!(now(&rig) >= start + cycles(period), "CQ {cq}: early");
        }
        rig.acknowledge_events();
        // Nobody waits any more, and nobody is armed.
        rig.settle();
        nops(&mut fast_queue, 3);
        rig.doorbell(&fast_queue);
        for _ in 0..3 {
            rig.completion(&mut fast);
        }
        assert_eq!(told(&mut rig), [0; 0]);
    }

    // A shorter time for one that waits.
    moderate(&rig, 3, 100, 65_535);
    rig.arm(&slow, 1);
    nops(&mut slow_queue, 1);
    rig.doorbell(&slow_queue);
    rig.completion(&mut slow);
    rig.run(cycles(120));
    assert_eq!(rig.event(EVENT_LOG), None);
    moderate(&rig, 3, 100, 20);
    rig.run(SLACK);
    assert_eq!(told(&mut rig), [3]);

    // A restart waits for no period.
    moderate(&rig, 3, 100, 65_535);
    rig.arm(&slow, 1);
    nops(&mut slow_queue, 1);
    rig.doorbell(&slow_queue);
    rig.completion(&mut slow);
    let start = now(&rig);
    rig.card.reset(Duration::from_mins(1)).expect("the card begins anew");
    assert!(now(&rig) - start < cycles(1000), "{} cycles", now(&rig) - start);
}

#[test]
fn a_moderated_cq_tells_when_its_time_is_over_and_not_before() {
    widths!().into_iter().for_each(timed);
}
