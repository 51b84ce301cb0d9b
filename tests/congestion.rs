//! What the network says about congestion: marks are answered, notifications counted, and a pause is kept.

use std::sync::Arc;

use stroma_abi::regs::map::counters;
use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};
use stroma_sim::link::LinkConfig;
use stroma_sim::link::pause::PauseFrame;
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
