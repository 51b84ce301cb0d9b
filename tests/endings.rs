//! How queue pairs end, in a host whose writes take so long that a card in a hurry would be found out.

use stroma_abi::desc::{Body, Cqe, Event, ObjectKind, QueuePairState, Sge, Status, Verb, WorkOp, WqeHead};
use stroma_sim::{World, host::timing::Timing};
use stroma_tests::rig::{Completions, Queue, Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verilate::Options;

const PD: u16 = 3;
const EVENT_LOG: u8 = 5;
/// Requests of a queue pair before it ends: several jobs.
const REQUESTS: usize = 128;
/// A write is visible after ten commands of the mailbox.
const SLOW: Timing = Timing { name: "slow-writes", write_ns: 20_000, ..Timing::ALVEO_GEN3X16 };

fn slow(profile: Profile) -> Rig {
    let mut world = World::new(profile, 1, &Options { seed: 7, ..Options::default() }).expect("a card");
    world.card(0).set_timing(SLOW);
    Rig::with_world(world)
}

fn nops(queue: &mut Queue, count: usize) {
    for _ in 0..count {
        queue.put(head(WorkOp::Nop), Body::Nop);
    }
}

/// All entries that are there.
fn polled(rig: &Rig, completions: &mut Completions) -> Vec<Cqe> {
    std::iter::from_fn(|| rig.poll(completions)).collect()
}

fn destroyed(profile: Profile) {
    let mut rig = slow(profile);
    let mut completions = rig.completions(0, 8, 0);
    let (source, target) = (rig.buffer(1 << 15), rig.buffer(1 << 15));
    source.write(0, &vec![0x5a; 1 << 15]);
    let from = rig.region(1, &Rig::direct(&source, 0, PD));
    let to = rig.region(2, &Rig::direct(&target, 0, PD));
    let mut bystander = rig.queue(9, &completions, PD);
    let mut queue = rig.queue_of(5, &completions, PD, 8);
    let mut ended_with = Vec::new();
    // Microseconds of work before the end: from none to all of it.
    for time in [0, 41, 83, 150, 300, 1000] {
        target.write(0, &vec![0; 1 << 15]);
        for at in (0..8).cycle().take(REQUESTS / 2) {
            let piece = [Sge { address: at * 4096, local_key: from, length: 4096 }];
            queue.put(WqeHead { remote: at * 4096, key: to, ..head(WorkOp::Gather) }, pieces(&piece));
            nops(&mut queue, 1);
        }
        nops(&mut bystander, 8);
        rig.doorbell(&queue);
        rig.doorbell(&bystander);
        rig.run(time * u64::from(profile.clock_khz()) / 1000);
        rig.done(Verb::Destroy, ObjectKind::QueuePair, 5, 0, &[]);

        // What it has left is there, and stays as it is from now on.
        let of_5 = |cqe: &Cqe| cqe.queue_pair.value() == 5;
        let told = polled(&rig, &mut completions);
        let (last, others): (Vec<Cqe>, Vec<Cqe>) = told.into_iter().partition(of_5);
        assert!(last.iter().all(|cqe| matches!(status(cqe), Status::Success | Status::Flushed)));
        let is_copied = |cqe: &&Cqe| cqe.opcode == WorkOp::Gather as u8 && status(cqe) == Status::Success;
        let copies = last.iter().filter(is_copied).count();
        assert!(target.read(0, copies.min(8) * 4096).iter().all(|byte| *byte == 0x5a), "told, so done");
        target.write(0, &vec![0xee; 1 << 15]);

        // Its number serves at once.
        queue = rig.queue_of(5, &completions, PD, 8);
        nops(&mut queue, 1);
        rig.doorbell(&queue);
        rig.settle();
        let (anew, more): (Vec<Cqe>, Vec<Cqe>) = polled(&rig, &mut completions).into_iter().partition(of_5);
        let anew: Vec<_> = anew.iter().map(|cqe| (status(cqe), cqe.opcode, cqe.index)).collect();
        assert_eq!(anew, [(Status::Success, WorkOp::Nop as u8, 0)], "after {time} us");
        assert_eq!(target.read(0, 1 << 15), vec![0xee; 1 << 15], "after {time} us");
        assert!(others.len() + more.len() == 8, "the neighbour has all of his");
        rig.arm(&completions, 0);
        ended_with.push(last.len());
    }
    // Two jobs may be under way, and are finished.
    assert!(ended_with.is_sorted() && ended_with[0] <= REQUESTS / 2, "{ended_with:?}");
    assert_eq!(ended_with.last(), Some(&REQUESTS), "{ended_with:?}");
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0);
}

#[test]
fn nothing_of_a_destroyed_queue_pair_appears_and_its_number_serves_at_once() {
    widths!().into_iter().for_each(destroyed);
}

fn drained(profile: Profile) {
    let mut rig = slow(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(0, 8, 0);
    let (source, target) = (rig.buffer(4096), rig.buffer(4096));
    let from = rig.region(1, &Rig::direct(&source, 0, PD));
    let to = rig.region(2, &Rig::direct(&target, 0, PD));
    rig.world(|world| world.card(0).iommu().hide(target.iova()));
    let mut queue = rig.queue(5, &completions, PD);
    let piece = [Sge { address: 0, local_key: from, length: 64 }];
    queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&piece));
    rig.doorbell(&queue);
    rig.run(1000);
    // The write that will fail is on its way when these are posted, and they wait.
    rig.state(5, QueuePairState::Drained);
    nops(&mut queue, 3);
    rig.doorbell(&queue);
    rig.run(1000);
    assert_eq!(rig.state_of(5), QueuePairState::Drained);
    let begun = polled(&rig, &mut completions);
    assert!(begun.len() <= 1, "the copy had begun, the others wait: {begun:?}");

    rig.settle();
    assert_eq!(rig.state_of(5), QueuePairState::Error);
    let ended = polled(&rig, &mut completions);
    let told: Vec<_> = begun.iter().chain(&ended).map(|cqe| (status(cqe), cqe.index)).collect();
    let flushed = |index| (Status::Flushed, index);
    assert_eq!(told, [(Status::Success, 0), flushed(1), flushed(2), flushed(3)]);
    let events: Vec<_> = std::iter::from_fn(|| rig.event(EVENT_LOG)).map(|event| event.kind).collect();
    assert!(events.contains(&(Event::QueuePairError as u8)), "{events:?}");
}

#[test]
fn requests_that_wait_in_a_drained_queue_pair_are_flushed_when_it_fails() {
    widths!().into_iter().for_each(drained);
}
