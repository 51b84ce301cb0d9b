//! What the network says about congestion: marks are answered, notifications counted, and a pause is kept.

use std::sync::Arc;
use std::time::Duration;

use stroma_abi::regs::map::{CNP_INTERVAL_US, counters};
use stroma_abi::wire::opcode::{CNP, RC_ACKNOWLEDGE, RC_WRITE_ONLY};
use stroma_abi::wire::{Extended, Frame, Ip, Mac, Reth};
use stroma_abi::{Psn, Qpn};
use stroma_sim::link::LinkConfig;
use stroma_sim::link::pause::PauseFrame;
use stroma_sim::model::{Addresses, Packet, Path};
use stroma_sim::peer::{Arrived, Raw};
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, Pair, address, pattern};
use stroma_top::Profile;
use stroma_verbs::Connection;
use stroma_verilate::Options;

#[test]
fn a_marked_request_is_answered_by_a_notification_which_the_sender_counts() {
    for profile in Profile::ALL {
        // A line that marks every frame that may be.
        let pair = Pair::with(profile, LinkConfig { mark_bytes: Some(0), ..LinkConfig::cable(profile) }, 256);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect_with(256, |_, connection| connection.path_mtu = 2);
        near.put(0, &pattern(1, 60_000));
        sender
            .start()
            .signaled()
            .write(&[near.piece(0, 60_000)], far.at(0), far.memory.rkey())
            .post()
            .unwrap();
        near.expect(0);
        pair.run(5000);
        let marked = pair.shared.world().line(0).counters().marked;
        let (sent, received) = (far.count(&counters::CNPS_SENT), near.count(&counters::CNPS_RECEIVED));
        assert!(
            marked > 0 && sent > 0 && sent <= marked,
            "{profile:?}: {marked} marked, {sent} notifications"
        );
        assert_eq!(received, sent, "{profile:?}");
        // Notifications go the one way only, and nobody took them for anything else.
        assert_eq!((near.count(&counters::CNPS_SENT), far.count(&counters::CNPS_RECEIVED)), (0, 0));
        assert!(far.bytes(0, 60_000) == pattern(1, 60_000));
        assert_eq!(near.count(&counters::RETRANSMITTED), 0);
    }
}

#[test]
fn marked_data_of_a_read_are_answered_by_notifications_too() {
    for profile in Profile::ALL {
        let pair = Pair::with(profile, LinkConfig { mark_bytes: Some(0), ..LinkConfig::cable(profile) }, 256);
        let [near, far] = &pair.ends;
        let [reader, _owner] = pair.connect_with(256, |_, connection| connection.path_mtu = 2);
        far.put(0, &pattern(1, 60_000));
        reader
            .start()
            .signaled()
            .read(&[near.piece(0, 60_000)], far.at(0), far.memory.rkey())
            .post()
            .unwrap();
        near.expect(0);
        pair.run(5000);
        let (sent, received) = (near.count(&counters::CNPS_SENT), far.count(&counters::CNPS_RECEIVED));
        // The data take 5.5 us at 100 Gb/s and 55 us at 10, and a notification is sent every 4 us at most.
        let most = if profile == Profile::TenGig { 16 } else { 3 };
        assert!(sent > most / 2 && sent <= most, "{profile:?}: {sent} notifications");
        assert_eq!(received, sent, "{profile:?}");
        assert_eq!(far.count(&counters::CNPS_SENT), 1, "{profile:?}: of the request");
        assert!(near.bytes(0, 60_000) == pattern(1, 60_000));
    }
}

/// Class of service of the card's packets, and the bits of ECN that say that they may be marked.
const CLASS: u8 = 26;
const MARKABLE: u8 = 2;

/// WRITEs that arrive marked, one each microsecond; what the card answers, by the cycle in which it arrives.
fn answers_to_marked(profile: Profile, interval: Option<Duration>, count: u32) -> Vec<Arrived> {
    let (shared, end) = listened(profile);
    assert_eq!(end.device.port().cnp_interval().unwrap(), Duration::from_micros(CNP_INTERVAL_US.into()));
    if let Some(interval) = interval {
        end.device.port().set_cnp_interval(interval).unwrap();
    }
    let queue_pair = end.queue_pair(64);
    let way = stroma_verbs::Address { traffic_class: CLASS << 2 | MARKABLE, ..address(1) };
    queue_pair.connect(&Connection::new(way, Qpn::new(5), Psn::new(1), Psn::new(1))).unwrap();
    let path = Path {
        local: Mac(address(1).mac),
        remote: Mac(address(0).mac),
        tag: None,
        addresses: Addresses::V4 { local: [10, 0, 0, 2].into(), remote: [10, 0, 0, 1].into() },
        source_port: 0xc001,
        traffic_class: 3,
        hop_limit: 64,
    };
    let reth = Reth { address: end.at(0), remote_key: end.memory.rkey(), length: 8 };
    for number in 0..count {
        let packet = Packet {
            ack_request: true,
            extended: Extended { reth: Some(reth), ..Extended::default() },
            payload: vec![7; 8],
            ..Packet::new(RC_WRITE_ONLY, Psn::new(1 + number))
        };
        let frame = path.frame(&packet, Qpn::new(queue_pair.number()), 0xffff);
        shared.world().peer_mut::<Raw>(1).send(frame);
        shared.world().run(u64::from(profile.clock_khz() / 1000));
    }
    shared.world().run(2000);
    let arrived = shared.world().peer_mut::<Raw>(1).take();
    let sent = end.count(&counters::CNPS_SENT);
    let is_notice = |frame: &&Arrived| Frame::parse(&frame.bytes).unwrap().bth.opcode == CNP.code;
    assert_eq!(arrived.iter().filter(is_notice).count() as u64, sent);
    arrived
}

#[test]
fn notifications_of_a_queue_pair_are_an_interval_apart_and_nobody_may_mark_them_nor_acknowledgements() {
    for profile in Profile::ALL {
        for (micros, most) in [(None, 13), (Some(20), 3), (Some(0), 50)] {
            let arrived = answers_to_marked(profile, micros.map(Duration::from_micros), 50);
            let mut notified = Vec::new();
            for Arrived { cycle, bytes, .. } in &arrived {
                let frame = Frame::parse(bytes).unwrap();
                let Ip::V4(ip) = frame.ip else { panic!("{profile:?}: no IPv4") };
                assert_eq!((ip.dscp, ip.ecn), (CLASS, 0), "{profile:?}: op-code {:#x}", frame.bth.opcode);
                let is_notice = frame.bth.opcode == CNP.code;
                assert!(is_notice || frame.bth.opcode == RC_ACKNOWLEDGE.code);
                assert_eq!((frame.bth.migration, frame.bth.becn), (!is_notice, is_notice), "{profile:?}");
                if is_notice {
                    assert_eq!((frame.bth.psn, frame.bth.destination_qp), (Psn::new(0), Qpn::new(5)));
                    notified.push(*cycle);
                }
            }
            let micros = micros.unwrap_or(CNP_INTERVAL_US.into());
            // A frame before them on the wire may delay one more than the next.
            let least = (micros * u64::from(profile.clock_khz()) / 1000).saturating_sub(60);
            let gap = notified.windows(2).map(|pair| pair[1] - pair[0]).min().expect("several");
            assert!(gap >= least, "{profile:?}, {micros} us: {gap} cycles");
            let found = notified.len();
            assert!(found <= most && found * 5 > most * 3, "{profile:?}, {micros} us: {found} of {most}");
        }
    }
}

/// A card on a cable to somebody who only listens, and says pause when he is told to.
fn listened(profile: Profile) -> (Arc<Shared>, End) {
    let options = Options { seed: 7, ..Options::default() };
    let mut world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
    world.add_peer(Box::new(Raw::default()));
    world.cable(0, 1, LinkConfig { honours_pause: true, ..LinkConfig::cable(profile) });
    let shared = Shared::new(world);
    let end = End::open(&shared, 0, 64);
    (shared, end)
}

#[test]
fn a_card_that_is_asked_to_pause_begins_no_frame_until_the_time_is_over() {
    for profile in Profile::ALL {
        let (shared, end) = listened(profile);
        let sender = end.queue_pair(64);
        let mut connection = Connection::new(address(1), Qpn::new(5), Psn::new(1), Psn::new(1));
        (connection.timeout, connection.path_mtu) = (0, 3);
        sender.connect(&connection).unwrap();
        sender.start().write(&[end.piece(0, 60_000)], 0, 0).post().unwrap();
        let arrived = |count: usize| {
            let is_there = |world: &mut World| world.peer_mut::<Raw>(1).arrived().len() >= count;
            assert!(shared.world().run_until(200_000, is_there), "{profile:?}: {count} frames do not come");
        };
        arrived(5);
        let quanta = 2000_u16;
        let pause = PauseFrame { quanta: [Some(quanta); 8] };
        let asked = shared.world().now();
        shared.world().peer_mut::<Raw>(1).send(pause.to_bytes(Mac([2, 0, 0, 0, 0, 2])));
        arrived(59);
        let frames: Vec<Arrived> = shared.world().peer_mut::<Raw>(1).take();
        assert_eq!(frames.len(), 59, "{profile:?}: all packets of the message, once");
        // 512 bit times each: 5.12 ns at 100 Gb/s, 51.2 ns at 10.
        let bit_ps = if profile == Profile::TenGig { 100 } else { 10 };
        let pause_ps = u64::from(quanta) * 512 * bit_ps;
        let cycles = pause_ps * u64::from(profile.clock_khz()) / 1_000_000_000;
        let gap = frames.windows(2).map(|pair| pair[1].cycle - pair[0].cycle).max().expect("frames");
        assert!(
            gap >= cycles && gap < cycles + 1000,
            "{profile:?}: the longest gap is {gap}, the pause {cycles}"
        );
        assert!(frames.iter().filter(|frame| frame.cycle < asked + cycles).count() < 30, "{profile:?}");
    }
}
