//! What ends while traffic runs: regions, queue pairs, the whole card. The rest goes on, and nothing touches what is gone.

use std::time::Duration;

use stroma_tests::effort::moments;
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{Access, QueuePair, QueuePairState, Status};

/// WRITEs and READs of some KiB, without an end in sight.
fn busy(pair: &Pair, sender: &QueuePair, key: u32, address: u64) {
    let [near, _] = &pair.ends;
    let mut batch = sender.start();
    for index in 0..24 {
        batch = batch.wr_id(index).signaled();
        batch = if index % 3 == 2 {
            batch.read(&[near.piece(200_000, 6000)], address, key)
        } else {
            batch.write(&[near.piece(0, 6000)], address, key)
        };
    }
    batch.post().unwrap();
}

#[test]
fn a_region_that_is_deregistered_under_a_peers_requests_is_not_touched_any_more() {
    for profile in Profile::ALL {
        for wait in moments(profile, &[500, 900, 1300, 2100, 3400]) {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, _receiver] = pair.connect();
            let [other, _other_receiver] = pair.connect();
            let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
            let region = far.domain.allocate(1 << 16, rights).unwrap();
            let (key, address) = (region.rkey(), region.address(5).unwrap());
            near.put(0, &pattern(3, 6000));
            busy(&pair, &sender, key, address);
            busy(&pair, &other, far.memory.rkey(), far.at(9));
            pair.run(wait);
            let memory = region.deregister().unwrap();
            // From here on the memory is the application's again.
            let len = 1 << 16;
            memory.write(0, &vec![0xee; len]).unwrap();
            let mut statuses = Vec::new();
            for _ in 0..48 {
                let found = near.complete();
                if found.queue_pair == sender.number() {
                    statuses.push(found.status);
                } else {
                    assert_eq!(found.status, Status::Success, "{profile:?}: the other queue pair goes on");
                }
            }
            let good = statuses.iter().take_while(|status| **status == Status::Success).count();
            assert!(
                statuses[good..].iter().enumerate().all(|(at, status)| match at {
                    0 => matches!(status, Status::RemoteAccess | Status::RemoteOperation),
                    _ => *status == Status::Flushed,
                }),
                "{profile:?}, {wait} cycles: {statuses:?}"
            );
            pair.run(20_000);
            let mut bytes = vec![0; len];
            memory.read(0, &mut bytes).unwrap();
            assert!(bytes == vec![0xee; len], "{profile:?}, {wait} cycles: something was written");
        }
    }
}

#[test]
fn a_queue_pair_that_ends_under_traffic_is_made_anew_and_works() {
    for profile in Profile::ALL {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        near.put(0, &pattern(3, 6000));
        for wait in [300, 700, 1100, 1700, 2600, 4000] {
            for ends_near in [true, false] {
                let [sender, receiver] = pair.connect_with(64, |_, connection| {
                    connection.timeout = 2;
                    connection.retry = 1;
                });
                let [other, _other_receiver] = pair.connect();
                busy(&pair, &sender, far.memory.rkey(), far.at(0));
                busy(&pair, &other, far.memory.rkey(), far.at(100_000));
                pair.run(wait);
                if ends_near {
                    drop(sender);
                } else {
                    drop(receiver);
                    // Nobody answers any more.
                    let is_over = |status: Status| matches!(status, Status::RetryExceeded | Status::Flushed);
                    let (mut mine, mut others) = (0, 0);
                    while mine + others < 48 {
                        let found = near.complete();
                        let is_mine = found.queue_pair == sender.number();
                        let is_good = found.status == Status::Success;
                        assert!(is_good || is_mine && is_over(found.status), "{profile:?}: {found:?}");
                        (mine, others) = (mine + u32::from(is_mine), others + u32::from(!is_mine));
                    }
                    assert!(far.bytes(100_000, 6000) == pattern(3, 6000));
                }
                while near.poll().is_some() {}
                pair.run(20_000);
                while near.poll().is_some() {}
                let [again, _receiver] = pair.connect();
                let data = pattern(wait, 3000);
                near.put(300_000, &data);
                again
                    .start()
                    .wr_id(77)
                    .signaled()
                    .write(&[near.piece(300_000, 3000)], far.at(7), far.memory.rkey())
                    .post()
                    .unwrap();
                while near.complete().wr_id != 77 {}
                assert!(far.bytes(7, 3000) == data, "{profile:?}, {wait} cycles");
            }
        }
    }
}

#[test]
fn a_queue_pair_taken_to_reset_under_traffic_begins_anew() {
    for profile in Profile::ALL {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        for wait in [400, 900, 1500, 2500] {
            busy(&pair, &sender, far.memory.rkey(), far.at(0));
            pair.run(wait);
            sender.reset().unwrap();
            receiver.reset().unwrap();
            assert_eq!(sender.query().unwrap().state, QueuePairState::Reset as u8);
            pair.run(3000);
            while near.poll().is_some() {}
            pair.reconnect([&sender, &receiver]);
            near.put(0, &pattern(wait, 3000));
            sender
                .start()
                .wr_id(9)
                .signaled()
                .write(&[near.piece(0, 3000)], far.at(1), far.memory.rkey())
                .post()
                .unwrap();
            near.expect(9);
            assert!(far.bytes(1, 3000) == pattern(wait, 3000), "{profile:?}, {wait} cycles");
        }
    }
}

#[test]
fn a_card_with_traffic_both_ways_can_be_restarted() {
    for profile in Profile::ALL {
        for wait in moments(profile, &[600, 1100, 1900, 3100]) {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, receiver] = pair.connect_with(256, |_, connection| {
                connection.timeout = 2;
                connection.retry = 1;
            });
            busy(&pair, &sender, far.memory.rkey(), far.at(0));
            // Both ways: the card that restarts has answers to give and answers to wait for.
            let back =
                receiver.start().write(&[far.piece(300_000, 60_000)], near.at(300_000), near.memory.rkey());
            back.post().unwrap();
            pair.run(wait);
            far.device
                .card()
                .reset(Duration::from_mins(1))
                .unwrap_or_else(|error| panic!("{profile:?}: {error}"));
            // Nobody answers the other end any more, and it says so.
            let last = (0..24).map(|_| near.complete().status).last().expect("completions");
            assert!(matches!(last, Status::Flushed | Status::RetryExceeded), "{profile:?}: {last:?}");
            // What the old driver had is gone with the restart; it must not end it a second time.
            std::mem::forget(pair.ends);
            std::mem::forget([sender, receiver]);
        }
    }
}
