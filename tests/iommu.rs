//! Faults of the host's IOMMU: reported to whom they concern, and to nobody else.

use stroma_abi::desc::{Body, Event, QueuePairState, Sge, Status, WorkOp, WqeHead};
use stroma_abi::regs::map::counters;
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_top::Profile;

const PD: u16 = 3;
const EVENT_LOG: u8 = 5;

fn payload(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(0, 8, 0);
    let (source, target) = (rig.buffer(8 * 4096), rig.buffer(8 * 4096));
    let contents: Vec<u8> = (0..8 * 4096_usize).map(|at| (at / 7).to_le_bytes()[0]).collect();
    source.write(0, &contents);
    let (from, to) =
        (rig.region(1, &Rig::direct(&source, 0, PD)), rig.region(2, &Rig::direct(&target, 0, PD)));
    let mut bystander = rig.queue(9, &completions, PD);
    let whole = [Sge { address: 0, local_key: from, length: 8 * 4096 }];

    // A page of the source is gone: the request fails, and what could not be read is not written.
    rig.world(|world| world.card(0).iommu().hide(source.iova() + 3 * 4096));
    let mut queue = rig.queue(5, &completions, PD);
    queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&whole));
    queue.put(head(WorkOp::Nop), Body::Nop);
    rig.doorbell(&queue);
    let cqe = rig.completion(&mut completions);
    assert_eq!((status(&cqe), cqe.queue_pair.value(), cqe.length), (Status::General, 5, 0));
    assert_eq!(status(&rig.completion(&mut completions)), Status::Flushed);
    assert_eq!(rig.state_of(5), QueuePairState::Error);
    rig.settle();
    assert_eq!(target.read(3 * 4096, 5 * 4096), vec![0; 5 * 4096], "neither the page nor what follows");
    assert_eq!(rig.count(&counters::DMA_ERRORS), 1);
    rig.world(|world| world.card(0).iommu().show(source.iova() + 3 * 4096));

    // A page of the target is gone: the write is posted, so an event tells.
    rig.world(|world| world.card(0).iommu().hide(target.iova() + 2 * 4096));
    let mut queue = rig.queue(6, &completions, PD);
    queue.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&whole));
    rig.doorbell(&queue);
    rig.completion(&mut completions);
    rig.settle();
    assert_eq!(rig.state_of(6), QueuePairState::Error);
    let events: Vec<_> = std::iter::from_fn(|| rig.event(EVENT_LOG)).collect();
    let told = |kind: Event| events.iter().find(|event| event.kind == kind as u8).copied();
    let card_error = told(Event::CardError).expect("the address is told");
    assert_eq!((card_error.data, card_error.object), (target.iova() + 2 * 4096, 6));
    assert_eq!(told(Event::QueuePairError).map(|event| event.object), Some(6));
    rig.world(|world| world.card(0).iommu().show(target.iova() + 2 * 4096));

    // Nobody else has noticed.
    bystander.put(WqeHead { remote: 0, key: to, ..head(WorkOp::Gather) }, pieces(&whole));
    rig.doorbell(&bystander);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    assert!(target.read(0, contents.len()) == contents);
}

#[test]
fn a_payload_that_faults_fails_its_queue_pair_alone() {
    Profile::ALL.into_iter().for_each(payload);
}

fn rings(profile: Profile) {
    let mut rig = Rig::new(profile);
    rig.enable_events(EVENT_LOG);
    let mut completions = rig.completions(0, 8, 0);
    let mut bystander = rig.queue(9, &completions, PD);

    // The send queue is gone.
    let mut queue = rig.queue(5, &completions, PD);
    queue.put(head(WorkOp::Nop), Body::Nop);
    let send_ring = queue.base();
    rig.world(|world| world.card(0).iommu().hide(send_ring));
    rig.doorbell(&queue);
    let cqe = rig.completion(&mut completions);
    assert_eq!((status(&cqe), cqe.queue_pair.value(), cqe.index), (Status::General, 5, 0));
    assert_eq!(rig.state_of(5), QueuePairState::Error);

    // A CQ is gone.
    let lost = rig.completions(1, 4, 0);
    let base = lost.base();
    rig.world(|world| world.card(0).iommu().hide(base));
    let mut queue = rig.queue(6, &lost, PD);
    queue.put(head(WorkOp::Nop), Body::Nop);
    rig.doorbell(&queue);
    rig.settle();
    let events: Vec<_> = std::iter::from_fn(|| rig.event(EVENT_LOG)).collect();
    assert!(
        events.iter().any(|event| (event.kind, event.data) == (Event::CardError as u8, base)),
        "{events:?}"
    );
    assert_eq!(rig.count(&counters::DMA_ERRORS), 2);

    bystander.put(head(WorkOp::Nop), Body::Nop);
    rig.doorbell(&bystander);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
}

#[test]
fn a_ring_that_faults_is_told_and_contained() {
    Profile::ALL.into_iter().for_each(rings);
}
