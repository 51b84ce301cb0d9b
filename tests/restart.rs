//! Restarting the card: everything is forgotten, nothing is left half done.

use std::time::Duration;

use stroma_abi::desc::{Body, CommandStatus, ObjectKind, Sge, Status, Verb, WorkOp, WqeHead};
use stroma_abi::regs::map::{doorbells, identity};
use stroma_device::compose;
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;

fn restart(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue_of(5, &completions, 1, 8);
    let buffer = rig.buffer(1 << 18);
    let key = rig.region(1, &Rig::direct(&buffer, 0, 1));
    for at in 0..16_u64 {
        let list = [Sge { address: at * 4096, local_key: key, length: 65_536 }];
        queue.put(WqeHead { remote: 0x2_0000, key, ..head(WorkOp::Gather) }, pieces(&list));
    }
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);

    // In the middle of it.
    rig.set(&identity::BLOCK, &identity::CONTROL, compose(&identity::CONTROL, [("reset", 1)]));
    rig.card.wait_ready(Duration::from_mins(1)).unwrap();
    for (kind, number) in
        [(ObjectKind::QueuePair, 5), (ObjectKind::CompletionQueue, 0), (ObjectKind::Region, 1)]
    {
        let (reply, _) = rig.command(Verb::Query as u8, kind as u8, number, 0, &[]);
        assert_eq!(reply.status, CommandStatus::NoObject as u16, "{kind:?}");
    }
    rig.settle();

    // The same numbers serve again.
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue(5, &completions, 1);
    queue.put(head(WorkOp::Nop), Body::Nop);
    rig.doorbell(&queue);
    let cqe = rig.completion(&mut completions);
    assert_eq!((status(&cqe), cqe.index), (Status::Success, 0));
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0);

    // And after a reset of the whole function.
    rig.card.reset_function(Duration::from_mins(1)).unwrap();
    let (reply, _) = rig.command(Verb::Query as u8, ObjectKind::QueuePair as u8, 5, 0, &[]);
    assert_eq!(reply.status, CommandStatus::NoObject as u16);
}

#[test]
fn a_restart_under_traffic_forgets_everything_and_finishes_what_the_host_saw() {
    widths!().into_iter().for_each(restart);
}

fn flooded(profile: Profile) {
    let rig = Rig::new(profile);
    rig.set(&identity::BLOCK, &identity::CONTROL, compose(&identity::CONTROL, [("reset", 1)]));
    // Whoever has a page may store to it at any time; here more often than every 64 cycles, for as long as a restart takes.
    for _ in 0..400 {
        rig.ring(1, &doorbells::SEND, u64::MAX);
        rig.run(30);
    }
    assert_eq!(
        rig.get(&identity::BLOCK, &identity::STATUS) & 1,
        1,
        "the card is ready in the midst of the flood"
    );
}

#[test]
fn stores_to_a_page_do_not_hold_a_restart_up() {
    widths!().into_iter().for_each(flooded);
}
