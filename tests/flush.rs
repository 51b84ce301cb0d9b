//! How everything that is outstanding comes back: each request and each receive once, in order, with the right status.

use stroma_tests::effort::moments;
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{
    Access, AsyncEvent, Attributes, Error, QueuePair, QueuePairKind, QueuePairState, Status, WorkCompletion,
};

/// Bytes of a message that is still under way when a command is carried out.
const LONG: usize = 400_000;
/// Requests of a queue pair.
const REQUESTS: u64 = 60;

fn error(queue_pair: &QueuePair) {
    queue_pair.modify(&Attributes::default().state(QueuePairState::Error)).unwrap();
}

/// Requests of every kind, more than may be unacknowledged at once, with receives for those that need them.
fn busy(near: &End, far: &End, sender: &QueuePair, receiver: &QueuePair) {
    let key = far.memory.rkey();
    for wr_id in 0..40 {
        receiver.receives().unwrap().receive(1000 + wr_id, &[far.piece(600_000, 3000)]).post().unwrap();
    }
    let mut batch = sender.start();
    for wr_id in 0..REQUESTS {
        batch = batch.wr_id(wr_id).signaled();
        batch = match wr_id % 4 {
            0 => batch.send(&[near.piece(0, 3000)]),
            1 => batch.write(&[near.piece(0, 9000)], far.at(0), key),
            2 => batch.read(&[near.piece(100_000, 5000)], far.at(0), key),
            _ => batch.fetch_add(near.piece(200_000, 8), far.at(700_000), key, 1),
        };
    }
    batch.post().unwrap();
}

/// All completions of an end, until none comes any more; receives and requests apart.
fn all(pair: &Pair, end: &End) -> [Vec<WorkCompletion>; 2] {
    let mut found = Vec::new();
    for _ in 0..20 {
        while let Some(one) = end.poll() {
            found.push(one);
        }
        pair.run(2000);
    }
    let (taken, requests) = found.into_iter().partition(|one| one.is_receive);
    [taken, requests]
}

/// Successes, then perhaps a failure, then flushed ones; each once and in order. How many succeeded.
fn in_order(
    found: &[WorkCompletion],
    ids: std::ops::Range<u64>,
    failure: Option<&[Status]>,
    what: &str,
) -> usize {
    assert!(
        found.iter().map(|one| one.wr_id).eq(ids),
        "{what}: {:?}",
        found.iter().map(|one| one.wr_id).collect::<Vec<_>>()
    );
    let good = found.iter().take_while(|one| one.status == Status::Success).count();
    for (at, one) in found[good..].iter().enumerate() {
        let is_right = match failure {
            Some(statuses) if at == 0 => statuses.contains(&one.status),
            _ => one.status == Status::Flushed,
        };
        assert!(is_right, "{what}: {one:?}");
    }
    good
}

#[test]
fn requests_and_receives_come_back_when_a_queue_pair_is_taken_to_error() {
    for profile in Profile::ALL {
        let mut good = Vec::new();
        for wait in moments(profile, &[0, 300, 900, 2000, 5000]) {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, receiver] = pair.connect_with(256, |_, connection| {
                (connection.timeout, connection.retry) = (3, 1);
            });
            let what = format!("{profile:?}, {wait} cycles");
            busy(near, far, &sender, &receiver);
            pair.run(wait);
            error(&sender);
            error(&receiver);
            // Posted in error, they come back behind the others.
            sender.start().wr_id(REQUESTS).send(&[]).post().unwrap();
            receiver.receives().unwrap().receive(1040, &[]).post().unwrap();
            let [_, requests] = all(&pair, near);
            good.push(in_order(&requests, 0..REQUESTS + 1, None, &what));
            let [taken, requests] = all(&pair, far);
            in_order(&taken, 1000..1041, None, &what);
            assert!(requests.is_empty());
        }
        assert!(good.first() < good.last() && good.is_sorted(), "{profile:?}: {good:?}");
    }
}

#[test]
fn requests_come_back_when_one_of_them_fails_or_the_peer_is_gone() {
    for profile in widths!() {
        for is_gone in [false, true] {
            for wait in moments(profile, &[200, 1200, 2500]) {
                let pair = Pair::new(profile);
                let [near, far] = &pair.ends;
                let [sender, receiver] = pair.connect_with(256, |_, connection| {
                    (connection.timeout, connection.retry) = (3, 1);
                });
                let what = format!("{profile:?}, {wait} cycles, gone: {is_gone}");
                if !is_gone {
                    // Behind it nothing takes effect.
                    let bad = sender.start().wr_id(0).signaled();
                    bad.write(&[near.piece(0, 10)], far.at(0), far.memory.rkey() ^ 1).post().unwrap();
                    let found = near.complete();
                    assert_eq!((found.wr_id, found.status), (0, Status::RemoteAccess));
                    busy(near, far, &sender, &receiver);
                    let [_, requests] = all(&pair, near);
                    assert_eq!(in_order(&requests, 0..REQUESTS, None, &what), 0);
                    continue;
                }
                busy(near, far, &sender, &receiver);
                pair.run(wait);
                drop(receiver);
                assert!(far.poll().is_none(), "{what}: nothing of a queue pair that is gone");
                let [taken, requests] = all(&pair, near);
                in_order(&requests, 0..REQUESTS, Some(&[Status::RetryExceeded]), &what);
                let [of_the_dead, more] = all(&pair, far);
                assert!(taken.is_empty() && of_the_dead.is_empty() && more.is_empty(), "{what}");
            }
        }
    }
}

#[test]
fn a_queue_pair_destroyed_while_traffic_runs_both_ways_touches_nothing_any_more() {
    for profile in Profile::ALL {
        for wait in moments(profile, &[300, 800, 1700, 3500]) {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, receiver] = pair.connect_with(256, |_, connection| {
                (connection.timeout, connection.retry) = (3, 1);
            });
            let [other, _other_receiver] = pair.connect();
            // What is to be freed: the target of the peer's WRITEs, of own READs, and of messages.
            let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
            let region = far.domain.allocate(1 << 16, rights).unwrap();
            let piece = |offset, len| region.piece(offset, len).unwrap();
            for wr_id in 0..30 {
                receiver.receives().unwrap().receive(wr_id, &[piece(0, 9000)]).post().unwrap();
            }
            let (mut there, mut back) = (sender.start(), receiver.start());
            for wr_id in 0..24 {
                there = there.wr_id(wr_id).signaled();
                there = match wr_id % 2 {
                    0 => there.send(&[near.piece(0, 9000)]),
                    _ => there.write(&[near.piece(0, 9000)], region.address(0).unwrap(), region.rkey()),
                };
                back = back.wr_id(100 + wr_id).signaled();
                back = back.read(&[piece(20_000, 9000)], near.at(300_000), near.memory.rkey());
            }
            there.post().unwrap();
            back.post().unwrap();
            other
                .start()
                .wr_id(77)
                .signaled()
                .write(&[near.piece(0, 90_000)], far.at(0), far.memory.rkey())
                .post()
                .unwrap();
            pair.run(wait);
            let number = receiver.number();
            drop(receiver);
            let memory = region.deregister().unwrap();
            memory.write(0, &vec![0xee; 1 << 16]).unwrap();
            let mut statuses = Vec::new();
            let mut has_other = false;
            while statuses.len() < 24 || !has_other {
                let found = near.complete();
                if found.queue_pair == sender.number() {
                    assert_eq!(found.wr_id, statuses.len() as u64);
                    statuses.push(found.status);
                } else {
                    assert_eq!((found.wr_id, found.status), (77, Status::Success));
                    has_other = true;
                }
            }
            let good = statuses.iter().take_while(|status| **status == Status::Success).count();
            let rest = &statuses[good..];
            assert!(
                rest.iter()
                    .enumerate()
                    .all(|(at, status)| *status
                        == if at == 0 { Status::RetryExceeded } else { Status::Flushed }),
                "{profile:?}, {wait} cycles: {statuses:?}"
            );
            let [taken, requests] = all(&pair, far);
            assert!(taken.iter().chain(&requests).all(|one| one.queue_pair != number));
            let mut bytes = vec![0; 1 << 16];
            memory.read(0, &mut bytes).unwrap();
            assert!(bytes == vec![0xee; 1 << 16], "{profile:?}, {wait} cycles: something was written");
            // The card works on.
            let [again, _receiver] = pair.connect();
            near.put(0, &pattern(wait, 3000));
            again
                .start()
                .wr_id(5)
                .signaled()
                .write(&[near.piece(0, 3000)], far.at(0), far.memory.rkey())
                .post()
                .unwrap();
            near.expect(5);
            assert!(far.bytes(0, 3000) == pattern(wait, 3000));
        }
    }
}

/// A queue pair with receives of a shared queue, and its peer.
fn shared(pair: &Pair, queue: &std::sync::Arc<stroma_verbs::SharedReceiveQueue>) -> [QueuePair; 2] {
    let [near, far] = &pair.ends;
    let builder = far.domain.queue_pair(&far.completions).kind(QueuePairKind::Reliable);
    let ends = [near.queue_pair(64), builder.shared_receive_queue(queue).build().unwrap()];
    pair.join(ends.each_ref(), |_, connection| (connection.min_rnr, connection.path_mtu) = (1, 1));
    ends
}

#[test]
fn the_last_receive_of_a_shared_queue_is_told_once_and_behind_its_completion() {
    for profile in Profile::ALL {
        for fills in [true, false] {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let queue = far.domain.shared_receive_queue(16, 1).unwrap();
            let [sender, receiver] = shared(&pair, &queue);
            for wr_id in 0..3 {
                queue.receives().receive(wr_id, &[far.piece(0, LONG)]).post().unwrap();
            }
            sender.start().wr_id(1).signaled().inline_send(b"whole").post().unwrap();
            near.expect(1);
            far.received(0, 5);
            if fills {
                far.put(0, &[0]);
                near.put(0, &[1]);
                sender.start().send(&[near.piece(0, LONG)]).post().unwrap();
                while far.bytes(0, 1) == [0] {
                    pair.run(20);
                }
            }
            error(&receiver);
            assert_eq!(far.event(), AsyncEvent::LastReceive { queue_pair: receiver.number() });
            // It is there: nobody has to wait for it.
            let found = far.poll().map(|found| (found.wr_id, found.status));
            assert_eq!(found, fills.then_some((1, Status::Flushed)), "{profile:?}");
            error(&receiver);
            pair.run(20_000);
            assert_eq!(far.device.poll_async_event().unwrap(), None, "{profile:?}: once");
            assert!(far.poll().is_none());
        }
    }
}

#[test]
fn a_shared_queue_loses_no_entry_to_queue_pairs_that_reset_or_end_in_mid_message() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let queue = far.domain.shared_receive_queue(16, 1).unwrap();
        let size = queue.size() as u64;
        for round in 0..size + 4 {
            let [sender, receiver] = shared(&pair, &queue);
            far.put(0, &[0]);
            near.put(0, &[1]);
            queue.receives().receive(round, &[far.piece(0, LONG)]).post().unwrap();
            sender.start().send(&[near.piece(0, LONG)]).post().unwrap();
            while far.bytes(0, 1) == [0] {
                pair.run(20);
            }
            if round % 2 == 0 {
                receiver.reset().unwrap();
            }
            drop(receiver);
            assert!(far.poll().is_none(), "{profile:?}: nothing of a queue pair that is gone");
        }
        // All of it may be filled again, and serves.
        let inbox = [far.piece(0, 8)];
        let batch = (0..size).fold(queue.receives(), |batch, wr_id| batch.receive(wr_id, &inbox));
        batch.post().unwrap();
        assert!(matches!(queue.receives().receive(0, &[]).post(), Err(Error::ReceiveQueueFull { .. })));
        let [sender, _receiver] = shared(&pair, &queue);
        for wr_id in 0..size {
            sender.start().wr_id(wr_id).signaled().inline_send(b"at last").post().unwrap();
            far.received(wr_id, 7);
            near.expect(wr_id);
        }
        assert_eq!(far.device.poll_async_event().unwrap(), None);
    }
}
