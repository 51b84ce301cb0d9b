//! What a queue pair is doing and what has happened to it, as the card shows it: after each story, to the last packet.

use std::sync::{Arc, Mutex};

use stroma_abi::Psn;
use stroma_abi::wire::Bth;
use stroma_sim::link::{Faults, Verdict};
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::widths;
use stroma_verbs::{QueuePair, QueuePairState, Statistics};

/// First PSN of the near end's requests, and of the far end's.
const NEAR_PSN: u32 = 0x10_0000;
const FAR_PSN: u32 = 0x20_0000;
/// Where the BTH begins: Ethernet without a tag, IPv4, UDP.
const BTH_AT: usize = 14 + 20 + 8;

/// Two ends whose packets have 256 bytes.
fn connect(pair: &Pair, timeout: u8) -> [QueuePair; 2] {
    pair.connect_with(256, |_, connection| {
        connection.path_mtu = 1;
        connection.timeout = timeout;
    })
}

/// Of both ends.
fn statistics(ends: &[QueuePair; 2]) -> [Statistics; 2] {
    ends.each_ref().map(|end| end.statistics().unwrap())
}

/// What the requester shows when all is answered, its packets apart.
fn requester(psns: u32, sent_pkts: u32) -> Statistics {
    Statistics { has_sent: true, next_psn: Psn::new(NEAR_PSN + psns), sent_pkts, ..Statistics::default() }
}

/// What the responder shows, what it was asked for apart.
fn responder(psns: u32, msn: u32, sent_pkts: u32) -> Statistics {
    let expected_psn = Psn::new(NEAR_PSN + psns);
    Statistics { has_received: true, expected_psn, msn, sent_pkts, ..Statistics::default() }
}

#[test]
fn every_request_is_counted_by_both_ends_and_psns_are_those_of_the_wire() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 14);
        let [sender, receiver] = &ends;
        assert_eq!(statistics(&ends), [Statistics::default(); 2]);
        let view = sender.query().unwrap();
        assert_eq!((view.next_psn().value(), view.expected_psn().value()), (NEAR_PSN, FAR_PSN));

        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let script = move |frame: &[u8]| {
            record.lock().unwrap().push(Bth::PSN.get::<Psn>(&frame[BTH_AT..]));
            Verdict::Pass
        };
        let faults = Faults { script: Some(Box::new(script)), ..Faults::default() };
        pair.shared.world().line(0).set_faults(faults);
        near.put(0, &pattern(1, 1000));
        let key = far.memory.rkey();
        sender.start().wr_id(1).signaled().write(&[near.piece(0, 1000)], far.at(0), key).post().unwrap();
        near.expect(1);
        let batch = receiver.receives().unwrap().receive(5, &[far.piece(2000, 10)]);
        batch.receive(6, &[far.piece(2000, 10)]).post().unwrap();
        sender.start().wr_id(2).signaled().send(&[near.piece(0, 10)]).post().unwrap();
        near.expect(2);
        far.received(5, 10);
        sender.start().wr_id(3).signaled().read(&[near.piece(2000, 600)], far.at(0), key).post().unwrap();
        near.expect(3);
        sender.start().wr_id(4).signaled().fetch_add(near.piece(0, 8), far.at(4096), key, 1).post().unwrap();
        near.expect(4);

        // The WRITE has four packets, the SEND one, the READ's answer three, the atomic one.
        let [at_sender, at_receiver] = statistics(&ends);
        assert_eq!(at_sender, requester(9, 4 + 1 + 1 + 1), "{profile:?}");
        let expected = Statistics {
            posted: 1,
            rx_write_requests: 1,
            rx_send_requests: 1,
            rx_read_requests: 1,
            rx_atomic_requests: 1,
            ..responder(9, 4, 1 + 1 + 3 + 1)
        };
        assert_eq!(at_receiver, expected, "{profile:?}");
        let psns: Vec<_> = seen.lock().unwrap().iter().map(|psn| psn.value() - NEAR_PSN).collect();
        assert_eq!(psns, [0, 1, 2, 3, 4, 5, 8]);
        let last = Psn::new(NEAR_PSN + psns[6]);
        assert_eq!((at_sender.next_psn, at_receiver.expected_psn), (last.next(), last.next()));
    }
}

#[test]
fn a_lost_packet_is_a_gap_a_nak_and_three_packets_again() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 14);
        pair.shared.world().line(0).set_script("drop the 2nd WRITE").unwrap();
        let batch = ends[0].start().wr_id(1).signaled();
        batch.write(&[near.piece(0, 1000)], far.at(0), far.memory.rkey()).post().unwrap();
        near.expect(1);
        let expected = [
            Statistics { retrans_pkts: 3, packet_seq_err: 1, ..requester(4, 7) },
            // The third and the fourth come from behind the gap; one NAK, one acknowledgement.
            Statistics { out_of_sequence: 2, rx_write_requests: 1, ..responder(4, 1, 2) },
        ];
        assert_eq!(statistics(&ends), expected, "{profile:?}");
    }
}

#[test]
fn a_lost_acknowledgement_is_a_timeout_and_a_request_twice() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 2);
        pair.shared.world().line(1).set_script("drop the 1st ACK").unwrap();
        let batch = ends[0].start().wr_id(1).signaled();
        batch.write(&[near.piece(0, 100)], far.at(0), far.memory.rkey()).post().unwrap();
        near.expect(1);
        let expected = [
            Statistics { retrans_pkts: 1, local_ack_timeout_err: 1, ..requester(1, 2) },
            Statistics { duplicate_request: 1, rx_write_requests: 1, ..responder(1, 1, 2) },
        ];
        assert_eq!(statistics(&ends), expected, "{profile:?}");
    }
}

#[test]
fn a_lost_answer_is_noticed_by_the_one_behind_it() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 14);
        pair.shared.world().line(1).set_script("drop the 3rd READ response").unwrap();
        let batch = ends[0].start().wr_id(1).signaled();
        batch.read(&[near.piece(0, 1000)], far.at(0), far.memory.rkey()).post().unwrap();
        near.expect(1);
        let expected = [
            Statistics { retrans_pkts: 1, implied_nak_seq_err: 1, ..requester(4, 2) },
            // Four packets of the answer, and the last two again.
            Statistics { duplicate_request: 1, rx_read_requests: 1, ..responder(4, 1, 6) },
        ];
        assert_eq!(statistics(&ends), expected, "{profile:?}");
    }
}

#[test]
fn a_sender_whose_peer_is_not_ready_rests_and_is_shown_so() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 14);
        let [sender, receiver] = &ends;
        sender.start().wr_id(1).signaled().send(&[near.piece(0, 10)]).post().unwrap();
        let end = pair.now() + 100_000;
        while !sender.statistics().unwrap().resting {
            assert!(pair.now() < end, "it does not rest");
        }
        let rests = Statistics { resting: true, outstanding: 1, rnr_nak_retry_err: 1, ..requester(1, 1) };
        let refused = Statistics { in_gap: true, out_of_buffer: 1, ..responder(0, 0, 1) };
        assert_eq!(statistics(&ends), [rests, refused], "{profile:?}");
        assert!(sender.query().unwrap().to_string().contains(" unacked 1 reads 0 posted 0 flags resting "));

        receiver.receives().unwrap().receive(5, &[far.piece(0, 10)]).post().unwrap();
        assert_eq!(receiver.statistics().unwrap().posted, 1);
        far.received(5, 10);
        near.expect(1);
        let expected = [
            Statistics { retrans_pkts: 1, rnr_nak_retry_err: 1, ..requester(1, 2) },
            Statistics { out_of_buffer: 1, rx_send_requests: 1, ..responder(1, 1, 2) },
        ];
        assert_eq!(statistics(&ends), expected, "{profile:?}");
    }
}

#[test]
fn a_dump_shows_all_that_is_on_the_card_and_a_reset_begins_at_zero() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let ends = connect(&pair, 14);
        let [sender, _] = &ends;
        let other = near.queue_pair(64);
        let batch = sender.start().wr_id(1).signaled();
        batch.write(&[near.piece(0, 1000)], far.at(0), far.memory.rkey()).post().unwrap();
        near.expect(1);

        let dump = near.device.dump().unwrap();
        assert_eq!(dump.queue_pairs.len(), 2);
        assert_eq!(dump.queue_pairs[0], sender.query().unwrap());
        let text = dump.to_string();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        let [lqpn, rqpn] = ends.each_ref().map(|end| end.number().to_string());
        let (psn, expected) = ((NEAR_PSN + 4).to_string(), FAR_PSN.to_string());
        let shown = [&*lqpn, &rqpn, "RC", "RTS", &psn, &expected, "0", "0", "0", "0", "-"];
        assert!(lines.iter().any(|line| line == &shown), "{text}");
        let idle = other.number().to_string();
        assert!(lines.iter().any(|line| line.starts_with(&[idle.clone(), "0".to_owned(), "RC".to_owned()])));
        assert!(lines.contains(&vec!["lqpn".to_owned(), "sent_pkts".to_owned()]), "{text}");
        assert!(lines.contains(&vec![lqpn, "4".to_owned()]), "{text}");
        assert!(lines.contains(&vec!["tx_frames".to_owned(), "4".to_owned()]), "{text}");
        assert!(text.contains(&format!("{:#x}", near.memory.rkey())), "{text}");

        sender.reset().unwrap();
        let view = sender.query().unwrap();
        assert_eq!((view.state, view.live), (QueuePairState::Reset as u8, Statistics::default()));
    }
}
