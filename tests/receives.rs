//! Receives: a peer that is not ready, queues that are shared, and what becomes of buffers when a queue pair ends.

use std::time::Duration;

use stroma_abi::regs::map::counters;
use stroma_abi::{Psn, Qpn};
use stroma_tests::pair::{End, Pair, RECEIVES, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{
    AsyncEvent, Attributes, Connection, Error, QueuePair, QueuePairKind, QueuePairState, Status,
};

fn error(queue_pair: &QueuePair) {
    queue_pair.modify(&Attributes::default().state(QueuePairState::Error)).unwrap();
}

/// Bytes of a message that is still under way when a command is carried out.
const LONG: usize = 800_000;

/// Lets a message begin to arrive in the far end's memory.
fn begins(pair: &Pair) {
    let far = &pair.ends[1];
    let end = pair.now() + 100_000;
    while far.bytes(0, 1) == [0] {
        assert!(pair.now() < end, "nothing arrives");
        pair.run(20);
    }
}

#[test]
fn a_sender_waits_until_its_peer_is_ready() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        // 10 us is the shortest wait there is.
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.min_rnr = 1);
        near.put(0, &pattern(1, 10_000));
        let batch = sender.start().wr_id(1).signaled().send(&[near.piece(0, 10_000)]);
        batch.wr_id(2).signaled().send(&[near.piece(0, 5)]).post().unwrap();
        pair.run(20_000);
        assert!(near.poll().is_none());
        let naks = far.count(&counters::RNR_NAKS);
        assert!((2..40).contains(&naks), "{profile:?}: {naks} refusals in 20,000 cycles");
        receiver.receives().unwrap().receive(3, &[far.piece(0, 10_000)]).post().unwrap();
        far.received(3, 10_000);
        near.expect(1);
        assert!(near.poll().is_none());
        receiver.receives().unwrap().receive(4, &[far.piece(0, 5)]).post().unwrap();
        far.received(4, 5);
        near.expect(2);
        assert_eq!(far.bytes(5, 9995), pattern(1, 10_000)[5..]);
        assert_eq!(near.count(&counters::TIMEOUTS), 0);
    }
}

#[test]
fn a_sender_gives_up_after_as_many_refusals_as_agreed() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect_with(256, |_, connection| {
            (connection.min_rnr, connection.rnr_retry) = (1, 3);
        });
        let batch = sender.start().wr_id(1).send(&[near.piece(0, 10)]);
        batch.wr_id(2).write(&[near.piece(0, 10)], far.at(0), far.memory.rkey()).post().unwrap();
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (1, Status::RnrRetryExceeded));
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (2, Status::Flushed));
        assert_eq!(far.count(&counters::RNR_NAKS), 4);
        assert_eq!(receiver.query().unwrap().state, QueuePairState::ReadyToSend as u8);
    }
}

#[test]
fn what_is_posted_to_a_queue_pair_in_error_is_flushed_once_and_in_order() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
        // One receive is done, one is half full, some wait.
        near.put(0, &vec![1; LONG]);
        for wr_id in 0..6 {
            receiver.receives().unwrap().receive(wr_id, &[far.piece(0, LONG)]).post().unwrap();
        }
        sender.start().wr_id(100).signaled().send(&[near.piece(0, 100)]).post().unwrap();
        far.received(0, 100);
        near.expect(100);
        far.put(0, &[0]);
        sender.start().wr_id(101).send(&[near.piece(0, LONG)]).post().unwrap();
        begins(&pair);
        error(&receiver);
        for wr_id in 6..9 {
            receiver.receives().unwrap().receive(wr_id, &[far.piece(0, 8)]).post().unwrap();
        }
        receiver.start().wr_id(50).send(&[]).post().unwrap();
        let found: Vec<_> = (0..9).map(|_| far.complete()).collect();
        let given_up: Vec<u64> = found.iter().filter(|one| one.is_receive).map(|one| one.wr_id).collect();
        assert_eq!(given_up, (1..9).collect::<Vec<u64>>(), "{profile:?}");
        assert!(found.iter().all(|one| one.status == Status::Flushed));
        assert_eq!(found.iter().find(|one| !one.is_receive).map(|one| one.wr_id), Some(50));
        pair.run(5000);
        assert!(far.poll().is_none(), "once");
    }
}

#[test]
fn a_queue_pair_begins_anew_with_an_empty_receive_queue() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        for round in 0..3 {
            receiver.receives().unwrap().receive(1, &[far.piece(0, 4)]).receive(2, &[]).post().unwrap();
            sender.start().wr_id(3).signaled().inline_send(b"some").post().unwrap();
            far.received(1, 4);
            near.expect(3);
            for queue_pair in [&sender, &receiver] {
                queue_pair.reset().unwrap();
            }
            assert!(
                matches!(receiver.receives(), Err(Error::WrongState { .. })),
                "{profile:?}, round {round}"
            );
            pair.reconnect([&sender, &receiver]);
        }
        assert!(far.poll().is_none());
        assert_eq!(far.count(&counters::BAD_DOORBELLS), 0);
    }
}

#[test]
fn a_full_receive_queue_takes_no_more() {
    let pair = Pair::new(Profile::TenGig);
    let [near, far] = &pair.ends;
    let [sender, receiver] = pair.connect();
    let one = |wr_id: u64| receiver.receives().unwrap().receive(wr_id, &[far.piece(0, 8)]).post();
    (0..RECEIVES as u64).for_each(|wr_id| one(wr_id).unwrap());
    assert!(matches!(one(99), Err(Error::ReceiveQueueFull { room: 0, .. })));
    // Around the ring, and around again.
    for wr_id in 0..200_u64 {
        sender.start().wr_id(wr_id).signaled().inline_send(&wr_id.to_le_bytes()).post().unwrap();
        far.received(wr_id, 8);
        near.expect(wr_id);
        one(wr_id + RECEIVES as u64).unwrap();
    }
    let too_many = vec![far.piece(0, 1); 17];
    let refused = receiver.receives().unwrap().receive(0, &too_many).post();
    assert!(matches!(refused, Err(Error::TooManyPieces { count: 17, max: 16, .. })));
}

fn shared(
    pair: &Pair,
    count: usize,
) -> (std::sync::Arc<stroma_verbs::SharedReceiveQueue>, Vec<[QueuePair; 2]>) {
    let [near, far] = &pair.ends;
    let queue = far.domain.shared_receive_queue(32, 2).unwrap();
    let far_end = |end: &End| {
        let builder = end.domain.queue_pair(&end.completions).kind(QueuePairKind::Reliable);
        builder.shared_receive_queue(&queue).build().unwrap()
    };
    let pairs = (0..count).map(|_| {
        let ends = [near.queue_pair(64), far_end(far)];
        pair.join(ends.each_ref(), |_, connection| connection.min_rnr = 1);
        ends
    });
    let pairs = pairs.collect();
    (queue, pairs)
}

#[test]
fn queue_pairs_share_receives_and_hear_when_few_are_left() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let (queue, pairs) = shared(&pair, 3);
        queue.arm_limit(3).unwrap();
        let inbox = |wr_id: u64| 4096 * (1 + usize::try_from(wr_id).expect("few"));
        for wr_id in 0..6 {
            let pieces = [far.piece(inbox(wr_id), 10), far.piece(inbox(wr_id) + 100, 3000)];
            queue.receives().receive(wr_id, &pieces).post().unwrap();
        }
        // Each is taken by whoever needs it next.
        for wr_id in 0..6_u64 {
            let [sender, receiver] = &pairs[usize::try_from(wr_id).expect("few") % 3];
            near.put(0, &pattern(wr_id, 1000));
            sender.start().wr_id(wr_id).signaled().send(&[near.piece(0, 1000)]).post().unwrap();
            let found = far.received(wr_id, 1000);
            assert_eq!(found.queue_pair, receiver.number());
            near.expect(wr_id);
            let bytes = [far.bytes(inbox(wr_id), 10), far.bytes(inbox(wr_id) + 100, 990)].concat();
            assert!(bytes == pattern(wr_id, 1000), "{profile:?}: message {wr_id}");
        }
        assert_eq!(far.event(), AsyncEvent::SrqLimit { shared_receive_queue: queue.number() });
        // What was told counts no more, until it is asked for again.
        assert_eq!(queue.query().unwrap().limit, 0, "{profile:?}");
        queue.arm_limit(3).unwrap();
        assert_eq!(queue.query().unwrap().limit, 3, "{profile:?}");
        queue.arm_limit(0).unwrap();
        // Empty, all wait; one receive serves one of them.
        for (index, [sender, _]) in pairs.iter().enumerate() {
            sender.start().wr_id(index as u64).signaled().inline_send(b"x").post().unwrap();
        }
        pair.run(10_000);
        assert!(far.poll().is_none() && near.poll().is_none());
        for wr_id in 10..13 {
            queue.receives().receive(wr_id, &[far.piece(0, 1)]).post().unwrap();
            far.received(wr_id, 1);
        }
        assert_eq!(
            (0..3).map(|_| near.complete().status).filter(|status| *status == Status::Success).count(),
            3
        );
        assert!(matches!(pairs[0][1].receives(), Err(Error::NoReceiveQueue { .. })));
    }
}

#[test]
fn a_queue_pair_in_error_gives_back_what_it_took_and_says_when_that_was_all() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let (queue, pairs) = shared(&pair, 2);
        for wr_id in 0..4 {
            queue.receives().receive(wr_id, &[far.piece(0, LONG)]).post().unwrap();
        }
        let [sender, receiver] = &pairs[0];
        near.put(0, &vec![1; LONG]);
        sender.start().wr_id(1).send(&[near.piece(0, LONG)]).post().unwrap();
        begins(&pair);
        error(receiver);
        let found = far.complete();
        assert_eq!((found.wr_id, found.status, found.queue_pair), (0, Status::Flushed, receiver.number()));
        assert_eq!(far.event(), AsyncEvent::LastReceive { queue_pair: receiver.number() });
        // The others are still there for the other queue pair.
        let [sender, receiver] = &pairs[1];
        for wr_id in 1..4 {
            sender.start().wr_id(wr_id).signaled().inline_send(b"next").post().unwrap();
            assert_eq!(far.received(wr_id, 4).queue_pair, receiver.number());
        }
    }
}

#[test]
fn a_connection_that_only_receives_tells_once_of_its_first_packet() {
    for profile in widths!() {
        for kind in [QueuePairKind::Reliable, QueuePairKind::Unreliable] {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, receiver] = [near, far].map(|end| end.queue_pair_of(kind, 64));
            let psn = Psn::new(5);
            let to =
                |end: &End, peer: &QueuePair| Connection::new(end.address, Qpn::new(peer.number()), psn, psn);
            sender.connect(&to(far, &receiver)).unwrap();
            let Connection { address, peer, rights, p_key, path_mtu, reads_in, min_rnr, .. } =
                to(near, &sender);
            receiver.to_init(Attributes::default().rights(rights).p_key(p_key)).unwrap();
            let hears =
                Attributes::default().address(&address).path_mtu(path_mtu).peer(peer).receive_psn(psn);
            let is_reliable = kind == QueuePairKind::Reliable;
            let hears = if is_reliable { hears.reads_in(reads_in).min_rnr(min_rnr) } else { hears };
            receiver.to_rtr(hears).unwrap();
            pair.run(5_000);
            assert_eq!(far.device.wait_async_event(Duration::ZERO).unwrap(), None, "nothing has come yet");
            for wr_id in 0..3 {
                receiver.receives().unwrap().receive(wr_id, &[far.piece(0, 8)]).post().unwrap();
                sender.start().wr_id(wr_id).signaled().inline_send(b"hello").post().unwrap();
                near.expect(wr_id);
                far.received(wr_id, 5);
            }
            let queue_pair = receiver.number();
            assert_eq!(far.event(), AsyncEvent::CommunicationUp { queue_pair }, "{profile:?} {kind:?}");
            let send = Attributes::default().send_psn(psn);
            let send = if is_reliable { send.timeout(14).retry(7).rnr_retry(7).reads_out(1) } else { send };
            receiver.to_rts(send).unwrap();
            sender
                .start()
                .wr_id(9)
                .signaled()
                .write(&[near.piece(0, 8)], far.at(64), far.memory.rkey())
                .post()
                .unwrap();
            near.expect(9);
            pair.run(5_000);
            assert_eq!(far.device.wait_async_event(Duration::ZERO).unwrap(), None, "it was told once");
        }
    }
}
