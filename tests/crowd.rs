//! Many queue pairs, many requests at one doorbell, and a completion queue that runs over.

use std::collections::BTreeMap;

use stroma_sim::host::timing::Timing;
use stroma_sim::link::LinkConfig;
use stroma_tests::effort::share;
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{AsyncEvent, QueuePair, QueuePairState, Status};

fn set_timing(pair: &Pair, timing: Timing) {
    for card in 0..2 {
        pair.shared.world().card(card).set_timing(timing);
    }
}

/// A WRITE and a READ on each of so many queue pairs.
fn traffic_on(profile: Profile, count: usize) {
    let pair = Pair::with(profile, LinkConfig::cable(profile), 4 * count);
    let [near, far] = &pair.ends;
    // The story is about traffic: set-up need not take the time of a real bus.
    set_timing(
        &pair,
        Timing { name: "quick", store_ns: 10, store_cost_ns: 1, load_ns: 40, ..Timing::ALVEO_GEN3X16 },
    );
    let connections: Vec<[QueuePair; 2]> = (0..count).map(|_| pair.connect_with(16, |_, _| {})).collect();
    set_timing(&pair, Timing::ALVEO_GEN3X16);
    let size = 96;
    near.put(0, &pattern(1, count * size));
    far.put(500_000, &pattern(2, count * size));
    for (index, [sender, _]) in connections.iter().enumerate() {
        let at = index * size;
        let key = far.memory.rkey();
        let batch = sender.start().wr_id(2 * index as u64).signaled();
        let batch =
            batch.write(&[near.piece(at, size)], far.at(at), key).wr_id(2 * index as u64 + 1).signaled();
        batch.read(&[near.piece(500_000 + at, size)], far.at(500_000 + at), key).post().unwrap();
    }
    let mut last = BTreeMap::new();
    for _ in 0..2 * count {
        let found = near.complete();
        assert_eq!(found.status, Status::Success);
        let before = last.insert(found.queue_pair, found.wr_id);
        assert!(before.is_none_or(|before| before + 1 == found.wr_id), "in order, once");
    }
    assert_eq!(last.len(), count);
    assert!(far.bytes(0, count * size) == pattern(1, count * size), "{profile:?}: what was written");
    assert!(near.bytes(500_000, count * size) == pattern(2, count * size), "{profile:?}: what was read");
}

/// All that the card has; two belong to management.
fn queue_pairs(profile: Profile) -> usize {
    profile.capacity().queue_pairs() - 2
}

#[test]
fn every_queue_pair_of_the_card_has_its_traffic_10g() {
    traffic_on(Profile::TenGig, queue_pairs(Profile::TenGig));
}

#[test]
fn hundreds_of_queue_pairs_have_their_traffic_100g() {
    traffic_on(Profile::HundredGig, share(queue_pairs(Profile::HundredGig)));
}

#[test]
fn a_hundred_requests_at_one_doorbell_complete_in_order() {
    for profile in Profile::ALL {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        near.put(0, &pattern(1, 100 * 64));
        let mut batch = sender.start();
        for index in 0..100 {
            batch = batch.wr_id(index as u64).signaled();
            batch = batch.write(&[near.piece(index * 64, 64)], far.at(index * 64), far.memory.rkey());
        }
        batch.post().unwrap();
        for index in 0..100 {
            near.expect(index);
        }
        assert!(far.bytes(0, 100 * 64) == pattern(1, 100 * 64), "{profile:?}");
    }
}

#[test]
fn a_completion_queue_that_runs_over_loses_its_queue_pair_and_no_other() {
    for profile in Profile::ALL {
        let pair = Pair::with(profile, LinkConfig::cable(profile), 16);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        let other_queue = near.device.completion_queue(16).unwrap();
        let mut batch = sender.start();
        for index in 0..40 {
            batch = batch.wr_id(index).signaled().write(&[near.piece(0, 64)], far.at(0), far.memory.rkey());
        }
        batch.post().unwrap();
        pair.run(30_000);
        assert_eq!(sender.query().unwrap().state, QueuePairState::Error as u8, "{profile:?}");
        let events: Vec<AsyncEvent> = (0..2).map(|_| near.event()).collect();
        assert!(events.iter().any(|event| matches!(event, AsyncEvent::QueuePairError { .. })), "{events:?}");
        // Those that had room are there, in order and without a gap.
        let found: Vec<u64> = std::iter::from_fn(|| near.poll()).take(16).map(|found| found.wr_id).collect();
        assert_eq!(found, (0..16).collect::<Vec<_>>());
        drop(other_queue);
        // The card goes on.
        drop(sender);
        let [sender, _receiver] = pair.connect();
        while near.poll().is_some() {}
        sender
            .start()
            .wr_id(99)
            .signaled()
            .write(&[near.piece(0, 64)], far.at(0), far.memory.rkey())
            .post()
            .unwrap();
        near.expect(99);
    }
}
