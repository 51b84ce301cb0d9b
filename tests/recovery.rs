//! A peer that does not answer, or answers late, and PSNs that come round.

use stroma_abi::Psn;
use stroma_abi::regs::map::counters;
use stroma_sim::link::{Chance, Faults, Verdict, nth};
use stroma_tests::pair::{MEMORY, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{QueuePairState, Status};

fn deaf() -> Faults {
    Faults { loss: Chance::ALWAYS, ..Faults::default() }
}

#[test]
fn a_peer_that_never_answers_is_given_up_after_all_retries_and_the_rest_is_flushed() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| {
            connection.timeout = 2;
            connection.retry = 3;
        });
        pair.shared.world().line(0).set_faults(deaf());
        let start = pair.now();
        let key = far.memory.rkey();
        let batch = sender.start().wr_id(1).signaled().write(&[near.piece(0, 100)], far.at(0), key);
        let batch = batch.wr_id(2).write(&[near.piece(0, 100)], far.at(0), key);
        batch.wr_id(3).signaled().read(&[near.piece(0, 100)], far.at(0), key).post().unwrap();
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (1, Status::RetryExceeded));
        // Four waits of 16.4 us, each late by a sweep of the timers at most.
        let waited = pair.now() - start;
        let wait = u64::from(profile.clock_khz()) * 16_384 / 1_000_000;
        assert!(
            (4 * wait..6 * wait + 20_000).contains(&waited),
            "{profile:?}: {waited} cycles, a wait is {wait}"
        );
        for wr_id in [2, 3] {
            let found = near.complete();
            assert_eq!((found.wr_id, found.status), (wr_id, Status::Flushed));
        }
        assert_eq!(sender.query().unwrap().state, QueuePairState::Error as u8);
        assert_eq!(near.count(&counters::TIMEOUTS), 4);
        // What is posted from now on is flushed, too.
        sender.start().wr_id(4).signaled().write(&[near.piece(0, 1)], far.at(0), key).post().unwrap();
        let found = near.complete();
        assert_eq!((found.wr_id, found.status), (4, Status::Flushed));
        assert!(far.bytes(0, 100) == [0; 100]);
    }
}

#[test]
fn a_peer_that_answers_late_is_waited_for() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| {
            connection.timeout = 2;
            connection.retry = 7;
        });
        // The first two answers are lost.
        let mut left = 3;
        let script = move |_: &[u8]| {
            left -= i32::from(left > 0);
            if left > 0 { Verdict::Drop } else { Verdict::Pass }
        };
        pair.shared
            .world()
            .line(1)
            .set_faults(Faults { script: Some(Box::new(script)), ..Faults::default() });
        near.put(0, &pattern(1, 100));
        sender.start().signaled().write(&[near.piece(0, 100)], far.at(0), far.memory.rkey()).post().unwrap();
        near.expect(0);
        assert!(far.bytes(0, 100) == pattern(1, 100));
        assert!(near.count(&counters::TIMEOUTS) >= 2 && far.count(&counters::DUPLICATES) >= 2);
        assert_eq!(sender.query().unwrap().state, QueuePairState::ReadyToSend as u8);
    }
}

#[test]
fn sequence_numbers_come_round() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| {
            (connection.send_psn, connection.receive_psn) = (Psn::new(0xff_fffd), Psn::new(0xff_fffd));
            connection.path_mtu = 1;
            connection.timeout = 3;
        });
        let key = far.memory.rkey();
        for round in 0..6_u64 {
            // The second round loses a frame on the way.
            let faults = if round == 1 { Chance::percent(20) } else { Chance::NEVER };
            pair.shared.world().line(0).set_faults(Faults { seed: 3, loss: faults, ..Faults::default() });
            near.put(0, &pattern(round, 2000));
            let batch = sender.start().wr_id(1).signaled().write(&[near.piece(0, 2000)], far.at(0), key);
            batch.wr_id(2).signaled().read(&[near.piece(4096, 2000)], far.at(0), key).post().unwrap();
            near.expect(1);
            near.expect(2);
            assert!(
                far.bytes(0, 2000) == pattern(round, 2000) && near.bytes(4096, 2000) == pattern(round, 2000)
            );
        }
    }
}

#[test]
fn a_long_write_that_loses_a_packet_sends_a_round_trip_of_packets_again_and_not_all_that_was_admitted() {
    const LOST: u64 = 100;
    const MTU: usize = 256;
    // A packet takes 0.27 us of the wire. Under 5 us pass from the loss to the rewind: less than 20 packets. Fetch holds 32, the
    // stages around it and the sender's queue some more. All that was admitted would be 1700.
    const AGAIN_MAX: u64 = 100;
    let pair = Pair::new(Profile::TenGig);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 1);
    near.put(0, &pattern(1, MEMORY));
    let pushed = || pair.shared.world().line(0).counters().pushed;
    let before = pushed();
    let script = nth(LOST, |_| true, Verdict::Drop);
    pair.shared.world().line(0).set_faults(Faults { script: Some(script), ..Faults::default() });
    let key = far.memory.rkey();
    sender.start().signaled().write(&[near.piece(0, MEMORY)], far.at(0), key).post().unwrap();
    near.expect(0);
    assert!(far.bytes(0, MEMORY) == pattern(1, MEMORY));
    let (sent, again) = (pushed() - before, near.count(&counters::RETRANSMITTED));
    let more = sent - (MEMORY / MTU) as u64;
    assert!((1..AGAIN_MAX).contains(&more), "{more} frames more than the message has packets");
    assert_eq!(again, more, "packets counted as sent again");
    assert_eq!(near.count(&counters::TIMEOUTS), 0);
}
