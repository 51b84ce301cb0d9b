//! Queue pairs that are drained: what has begun is finished, the rest waits, and the end of it is told.

use std::time::Duration;

use stroma_abi::regs::map::counters;
use stroma_sim::link::{Chance, Faults};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_verbs::{AsyncEvent, Attributes, QueuePair, QueuePairKind, QueuePairState, Status};

/// Bytes of a message that takes many visits, and is under way for long.
const LONG: usize = 900_000;

/// Lets a message begin to arrive in the far end's memory.
fn begins(pair: &Pair) {
    let end = pair.now() + 100_000;
    while pair.ends[1].bytes(0, 1) == [0] {
        assert!(pair.now() < end, "nothing arrives");
        pair.run(20);
    }
}

fn write(near: &End, far: &End, queue_pair: &QueuePair, wr_id: u64, len: usize) {
    let batch = queue_pair.start().wr_id(wr_id).signaled();
    batch.write(&[near.piece(0, len)], far.at(0), far.memory.rkey()).post().unwrap();
}

fn drained(queue_pair: &QueuePair) -> AsyncEvent {
    AsyncEvent::SendQueueDrained { queue_pair: queue_pair.number() }
}

/// No event comes in a while.
fn is_silent(pair: &Pair, end: &End) -> bool {
    pair.run(20_000);
    let event = end.device.poll_async_event().unwrap();
    event.is_none()
}

fn is_draining(queue_pair: &QueuePair) -> bool {
    let found = queue_pair.query().unwrap();
    assert_eq!(found.state, QueuePairState::Drained as u8);
    found.draining
}

#[test]
fn what_has_begun_is_finished_and_told_and_the_rest_waits_until_it_may_go_on() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        near.put(0, &vec![1; LONG]);
        write(near, far, &sender, 0, LONG);
        (1..4).for_each(|wr_id| write(near, far, &sender, wr_id, 100));
        begins(&pair);
        sender.to_sqd(true).unwrap();
        assert!(is_draining(&sender), "{profile:?}: {LONG} bytes are not sent so soon");
        (4..6).for_each(|wr_id| write(near, far, &sender, wr_id, 100));
        // The other direction goes on.
        let back = receiver.start().wr_id(9).signaled();
        back.read(&[far.piece(950_000, 3000)], near.at(0), near.memory.rkey()).post().unwrap();
        far.expect(9);
        // Whoever hears of the end finds the last completion.
        assert_eq!(near.event(), drained(&sender));
        let found = near.poll().expect("its completion comes first");
        assert_eq!((found.wr_id, found.status), (0, Status::Success));
        assert!(far.bytes(0, LONG) == vec![1; LONG]);
        assert!(!is_draining(&sender));
        assert!(is_silent(&pair, near), "{profile:?}: once");
        assert_eq!(near.poll(), None, "{profile:?}: nothing else had begun");
        sender.to_rts(Attributes::default()).unwrap();
        for wr_id in 1..6 {
            near.expect(wr_id);
        }
        assert!(is_silent(&pair, near), "{profile:?}: once");
        assert_eq!(near.count(&counters::TIMEOUTS), 0);
    }
}

#[test]
fn what_is_lost_on_the_way_is_sent_again_while_it_drains() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| {
            // 262 us: longer than a visit takes on the wire.
            (connection.timeout, connection.retry) = (6, 7);
        });
        near.put(0, &pattern(1, LONG));
        for (line, seed, loss) in [(0, 1, 3), (1, 2, 40)] {
            write(near, far, &sender, 1, LONG);
            write(near, far, &sender, 2, 4);
            begins(&pair);
            let faults = Faults { seed, loss: Chance::percent(loss), ..Faults::default() };
            pair.shared.world().line(line).set_faults(faults);
            sender.to_sqd(true).unwrap();
            assert_eq!(near.event(), drained(&sender), "{profile:?}: line {line}");
            pair.shared.world().line(line).set_faults(Faults::default());
            assert!(!is_draining(&sender));
            near.expect(1);
            sender.to_rts(Attributes::default()).unwrap();
            near.expect(2);
            assert!(far.bytes(4, LONG - 4) == pattern(1, LONG)[4..]);
            far.put(0, &[0]);
        }
        assert!(near.count(&counters::RETRANSMITTED) > 0);
    }
}

#[test]
fn a_peer_that_is_not_ready_is_waited_for_while_it_drains() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.min_rnr = 1);
        sender.start().wr_id(1).signaled().inline_send(b"now").post().unwrap();
        pair.run(5000);
        sender.to_sqd(true).unwrap();
        sender.start().wr_id(2).signaled().inline_send(b"then").post().unwrap();
        assert!(is_silent(&pair, near) && is_draining(&sender) && near.poll().is_none());
        receiver
            .receives()
            .unwrap()
            .receive(3, &[far.piece(0, 9)])
            .receive(4, &[far.piece(0, 9)])
            .post()
            .unwrap();
        far.received(3, 3);
        near.expect(1);
        assert_eq!(near.event(), drained(&sender));
        assert!(is_silent(&pair, near) && far.poll().is_none());
        sender.to_rts(Attributes::default()).unwrap();
        far.received(4, 4);
        near.expect(2);
    }
}

#[test]
fn a_queue_pair_that_fails_while_it_drains_flushes_what_waits_and_is_not_drained() {
    for profile in widths!() {
        for fails in [true, false] {
            let pair = Pair::new(profile);
            let [near, far] = &pair.ends;
            let [sender, _receiver] = pair.connect_with(256, |_, connection| {
                // Long enough for the commands below, if it is they that end it.
                (connection.timeout, connection.retry) = (if fails { 2 } else { 12 }, 1);
            });
            pair.shared.world().line(0).set_faults(Faults { loss: Chance::ALWAYS, ..Faults::default() });
            (0..40).for_each(|wr_id| write(near, far, &sender, wr_id, 10));
            pair.run(500);
            sender.to_sqd(true).unwrap();
            (40..43).for_each(|wr_id| write(near, far, &sender, wr_id, 10));
            assert!(is_draining(&sender));
            if !fails {
                sender.modify(&Attributes::default().state(QueuePairState::Error)).unwrap();
            }
            let first = if fails { Status::RetryExceeded } else { Status::Flushed };
            for wr_id in 0..43 {
                let found = near.complete();
                let expected = if wr_id == 0 { first } else { Status::Flushed };
                assert_eq!((found.wr_id, found.status), (wr_id, expected), "{profile:?}");
            }
            assert_eq!(sender.query().unwrap().state, QueuePairState::Error as u8);
            assert!(is_silent(&pair, near) && near.poll().is_none());
            assert!(!sender.query().unwrap().draining);
        }
    }
}

#[test]
fn a_queue_pair_that_resets_while_it_drains_begins_anew_and_tells_nothing() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, receiver] = pair.connect();
        let mut has_ended = false;
        for wait in [100, 400, 1000, 3000] {
            write(near, far, &sender, 1, 100_000);
            write(near, far, &sender, 2, 10);
            pair.run(wait);
            sender.to_sqd(true).unwrap();
            pair.run(wait);
            // Until it resets it may come to the end of its drain.
            for queue_pair in [&sender, &receiver] {
                queue_pair.reset().unwrap();
            }
            pair.run(20_000);
            let told: Vec<_> = std::iter::from_fn(|| near.device.poll_async_event().unwrap()).collect();
            assert!(told.is_empty() || told == [drained(&sender)], "{profile:?}, {wait} cycles: {told:?}");
            has_ended |= told.is_empty();
            assert!(near.poll().is_none());
            pair.reconnect([&sender, &receiver]);
            write(near, far, &sender, 3, 10);
            near.expect(3);
        }
        assert!(has_ended, "{profile:?}: none of them was draining");
    }
}

#[test]
fn attributes_changed_in_the_drained_state_take_effect() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        // Waits of seconds.
        let [sender, _receiver] = pair.connect_with(256, |_, connection| {
            (connection.timeout, connection.retry) = (20, 7);
        });
        write(near, far, &sender, 1, 10);
        near.expect(1);
        sender.to_sqd(true).unwrap();
        assert_eq!(near.event(), drained(&sender));
        let address = stroma_verbs::Address { source_port: 0xd123, ..far.address };
        let soon = Attributes::default().timeout(2).retry(1).reads_out(3).address(&address);
        sender.modify(&soon).unwrap();
        let found = sender.query().unwrap();
        assert_eq!((found.timeout, found.retry, found.reads_out, found.source_port), (2, 1, 3, 0xd123));
        assert!(is_silent(&pair, near), "{profile:?}: it was drained before");
        sender.to_rts(Attributes::default()).unwrap();
        write(near, far, &sender, 2, 10);
        near.expect(2);
        pair.shared.world().line(0).set_faults(Faults { loss: Chance::ALWAYS, ..Faults::default() });
        write(near, far, &sender, 3, 10);
        assert_eq!(near.complete().status, Status::RetryExceeded, "{profile:?}");
    }
}

#[test]
fn an_idle_queue_pair_is_drained_at_once_and_tells_only_who_asked() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, _] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        let local = near.domain.queue_pair(&near.completions).kind(QueuePairKind::Local).build().unwrap();
        local.activate().unwrap();
        for queue_pair in [&sender, &local] {
            for notify in [true, false, true] {
                queue_pair.to_sqd(notify).unwrap();
                if notify {
                    assert_eq!(near.event(), drained(queue_pair));
                }
                assert!(is_silent(&pair, near) && !is_draining(queue_pair));
                queue_pair.to_rts(Attributes::default()).unwrap();
            }
        }
        // Copies that have begun are finished first.
        near.put(0, &pattern(7, 200_000));
        let batch = local.start().wr_id(1).signaled();
        batch.gather(&[near.piece(0, 200_000)], near.at(300_000), near.memory.lkey()).post().unwrap();
        pair.run(300);
        local.to_sqd(true).unwrap();
        assert_eq!(near.event(), drained(&local));
        assert_eq!(near.poll().map(|found| found.wr_id), Some(1), "{profile:?}");
        assert!(near.bytes(300_000, 200_000) == pattern(7, 200_000));
    }
}

#[test]
fn a_rest_ends_with_the_life_of_its_queue_pair() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        // The longest rest there is but one: 491 ms.
        let [sender, receiver] = pair.connect_with(256, |_, connection| connection.min_rnr = 31);
        sender.start().inline_send(b"too early").post().unwrap();
        pair.run(5000);
        assert_eq!(far.count(&counters::RNR_NAKS), 1);
        for queue_pair in [&sender, &receiver] {
            queue_pair.reset().unwrap();
        }
        pair.join([&sender, &receiver], |_, connection| {
            (connection.timeout, connection.retry) = (2, 1);
        });
        pair.shared.world().line(0).set_faults(Faults { loss: Chance::ALWAYS, ..Faults::default() });
        let start = pair.now();
        write(near, far, &sender, 1, 10);
        assert_eq!(near.complete().status, Status::RetryExceeded, "{profile:?}");
        // Two waits of 16.4 us, each late by a sweep of the timers at most.
        let wait = u64::from(profile.clock_khz()) * 16_384 / 1_000_000;
        assert!(pair.now() - start < 3 * wait + 20_000, "{profile:?}");
        assert_eq!(near.device.wait_async_event(Duration::from_millis(1)).unwrap(), None);
    }
}
