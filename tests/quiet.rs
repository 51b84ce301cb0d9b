//! Quiet time is skipped, and nobody can tell: the same events in the same cycles.

use stroma_abi::desc::completion_queue::MODERATION_ATTRIBUTE;
use stroma_abi::desc::{CompletionQueue, ObjectKind, Sge, Status, Verb, WorkOp, WqeHead};
use stroma_abi::regs::map::moderation;
use stroma_device::compose;
use stroma_sim::World;
use stroma_sim::host::attach::Event;
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_top::Profile;
use stroma_verilate::{Options, SplitMix64};

/// Copies with pauses between them, commands, events, a moderated queue, a moderated interrupt; everything that happened, and when.
fn story(profile: Profile, skips: bool) -> (Vec<(u64, Event)>, Vec<u64>, u64, u64) {
    let mut world = World::new(profile, 1, &Options { seed: 7, ..Options::default() }).expect("a card");
    world.skip_quiet_time(skips);
    world.card(0).start_trace();
    let mut rig = Rig::with_world(world);
    rig.enable_events(6);
    let parts = [("period_us", 20), ("count", 50), ("mask", 0)];
    rig.set(&moderation::BLOCK, &moderation::VECTOR, compose(&moderation::VECTOR, parts));
    let mut completions = rig.completions(0, 6, 0);
    let moderated = CompletionQueue { count: 9, period: 3, ..CompletionQueue::default() }.to_bytes();
    rig.done(Verb::Modify, ObjectKind::CompletionQueue, 0, MODERATION_ATTRIBUTE, &moderated);
    let mut queue = rig.queue(5, &completions, 1);
    let buffer = rig.buffer(1 << 16);
    let key = rig.region(1, &Rig::direct(&buffer, 0, 1));
    let (mut random, mut stamps) = (SplitMix64::new(4), Vec::new());
    for _ in 0..12 {
        let length = u32::try_from(1 + random.below(9000)).expect("small");
        let list = [Sge { address: random.below(1 << 14), local_key: key, length }];
        queue.put(
            WqeHead { remote: 32_768 + random.below(1 << 14), key, ..head(WorkOp::Gather) },
            pieces(&list),
        );
        rig.arm(&completions, 1);
        rig.doorbell(&queue);
        let cqe = rig.completion(&mut completions);
        assert_eq!(status(&cqe), Status::Success);
        stamps.push(cqe.timestamp);
        rig.run(random.below(9000));
    }
    rig.world(|world| (world.card(0).take_trace(), stamps, world.now(), world.skipped()))
}

fn both_ways(profile: Profile) {
    let (trace, stamps, now, skipped) = story(profile, true);
    let (ticked_trace, ticked_stamps, ticked_now, none) = story(profile, false);
    assert_eq!(none, 0);
    assert!(skipped > now / 2, "{skipped} of {now} cycles were skipped");
    assert_eq!((stamps, now), (ticked_stamps, ticked_now));
    let first = trace.iter().zip(&ticked_trace).position(|(one, other)| one != other);
    assert_eq!(first.map(|at| (trace[at], ticked_trace[at])), None);
    assert_eq!(trace.len(), ticked_trace.len());
    assert!(
        trace.iter().any(|(_, event)| matches!(event, Event::Interrupt { .. })),
        "the story has an interrupt"
    );
}

#[test]
fn skipping_quiet_time_changes_no_cycle() {
    Profile::ALL.into_iter().for_each(both_ways);
}

#[test]
fn cards_on_one_clock_do_what_each_does_alone() {
    let alone = |count| {
        let mut world =
            World::new(Profile::TenGig, count, &Options { seed: 7, ..Options::default() }).expect("cards");
        for card in 0..count {
            world.card(card).start_trace();
        }
        let mut rig = Rig::with_world(world);
        let mut completions = rig.completions(0, 6, 0);
        let mut queue = rig.queue(5, &completions, 1);
        queue.put(head(WorkOp::Nop), stroma_abi::desc::Body::Nop);
        rig.doorbell(&queue);
        assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
        rig.world(|world| {
            (world.now(), (0..count).map(|card| world.card(card).take_trace()).collect::<Vec<_>>())
        })
    };
    let (one, three) = (alone(1), alone(3));
    assert_eq!(one.0, three.0);
    assert_eq!(one.1[0], three.1[0]);
    assert!(three.1[1].is_empty() && three.1[2].is_empty(), "nobody spoke to the others");
    assert_eq!(alone(3), three, "and again");
}
