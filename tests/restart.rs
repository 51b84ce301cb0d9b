//! Restarting the card: everything is forgotten, nothing is left half done.

use std::time::Duration;

use stroma_abi::desc::{Body, CommandStatus, ObjectKind, Sge, Status, Verb, WorkOp, WqeHead};
use stroma_abi::regs::map::{counters, doorbells, identity, rx_classes};
use stroma_abi::wire::Class;
use stroma_device::compose;
use stroma_tests::effort::moments;
use stroma_tests::pair::{End, LIMIT, Pair, pattern};
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::QueuePair;

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

/// Cycles that a restart may take, whatever arrives: what is under way, 64 of rest, a row of the largest table a cycle, and the
/// driver's looks at it.
const BOUND: u64 = 7000;
/// Bytes of each WRITE, and WRITEs of the one who does not pause: enough for several restarts at the wider profile.
const LONG: usize = 65_536;
const WRITES: u64 = 12;

/// Frames that have come in at this end, in whatever counter.
fn arrived(end: &End) -> u64 {
    let of = |class| end.device.card().read_element(&rx_classes::BLOCK, &rx_classes::FRAMES, class).unwrap();
    (0..Class::COUNT).map(of).sum::<u64>() + end.count(&counters::RX_CLOSED)
}

/// Two cards, and so many WRITEs on their way from the first to the second that it does not pause.
fn flood(profile: Profile) -> (Pair, [QueuePair; 2]) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let pairs = pair.connect_with(256, |_, connection| {
        (connection.path_mtu, connection.timeout, connection.retry) = (3, 5, 1);
    });
    for wr_id in 0..WRITES {
        let batch = pairs[0].start().wr_id(wr_id).signaled();
        batch.write(&[near.piece(0, LONG)], far.at(0), far.memory.rkey()).post().unwrap();
    }
    (pair, pairs)
}

fn under_fire(profile: Profile) {
    for wait in moments(profile, &[0, 1, 37, 93]) {
        let (pair, pairs) = flood(profile);
        let [near, far] = &pair.ends;
        pair.run(3000 + wait);
        let (begin, early) = (pair.now(), near.count(&counters::TX_FRAMES));
        far.device.card().reset(Duration::from_mins(1)).unwrap();
        let (took, frames) = (pair.now() - begin, near.count(&counters::TX_FRAMES) - early);
        assert!(took < BOUND, "{profile:?}, {wait}: {took} cycles");
        assert!(frames > 5, "{profile:?}, {wait}: {frames} frames meanwhile");
        // Nobody answers any more.
        let last = (0..WRITES).map(|_| near.complete().status).last();
        assert_eq!(last, Some(Status::Flushed), "{profile:?}, {wait}");
        assert!(
            pair.shared.world().run_until(LIMIT, |world| world.is_idle()),
            "{profile:?}, {wait}: the rest leaves"
        );
        assert!(far.count(&counters::RX_CLOSED) > 0, "{profile:?}, {wait}");
        let sent = near.count(&counters::TX_FRAMES);
        assert_eq!(arrived(far), sent, "{profile:?}, {wait}: every frame is in a counter");
        // What the old driver had is gone with the restart; it must not end it a second time.
        std::mem::forget((pair.ends, pairs));
    }
}

#[test]
fn a_peer_that_writes_without_pause_does_not_hold_a_restart_up() {
    widths!().into_iter().for_each(under_fire);
}

fn handed_on(profile: Profile) {
    let (Pair { shared, ends: [near, far] }, [sender, receiver]) = flood(profile);
    shared.world().run(3000);
    let begin = shared.world().now();
    // Whoever has a card ends it, and whoever opens one lets it begin anew.
    drop((receiver, far));
    let far = End::open(&shared, 1, 256);
    let took = shared.world().now() - begin;
    assert!(took < 5 * BOUND, "{profile:?}: {took} cycles");
    let pair = Pair { shared, ends: [near, far] };
    let pairs = pair.connect();
    let [near, far] = &pair.ends;
    near.put(100_000, &pattern(1, 50_000));
    let batch = pairs[0].start().wr_id(99).signaled();
    batch.write(&[near.piece(100_000, 50_000)], far.at(7), far.memory.rkey()).post().unwrap();
    while near.complete().wr_id != 99 {}
    assert!(far.bytes(7, 50_000) == pattern(1, 50_000), "{profile:?}: what is written arrives whole");
    assert!(far.count(&counters::RX_CLOSED) > 0, "{profile:?}");
    drop(sender);
}

#[test]
fn whoever_opens_a_card_that_is_written_to_finds_it_as_new() {
    widths!().into_iter().for_each(handed_on);
}
