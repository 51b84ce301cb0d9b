//! Frames on wires: what one station sends reaches the other, but for what the wire does to it, and that is what the wire's
//! model says.

use stroma_abi::wire::{Class, Ethernet, Frame, Ip, opcode};
use stroma_sim::link::{Chance, Counters, Faults, Hold, Link, LinkConfig, Verdict, nth};
use stroma_sim::pcap;
use stroma_tests::wiring::{LIMIT, arrived, between, cabled, frames, peer, scratch, settle, world};
use stroma_tests::{class_of, fronts, packet};
use stroma_top::Profile;

/// Frames, and whether their FCS is wrong.
type Arrivals = Vec<(Vec<u8>, bool)>;

fn unharmed(frames: &[Vec<u8>]) -> Arrivals {
    frames.iter().map(|bytes| (bytes.clone(), false)).collect()
}

/// Sends frames from station 0 over a cable with such faults; what arrives at station 1.
fn carry(profile: Profile, sent: &[Vec<u8>], faults: Faults) -> (Arrivals, Counters) {
    let mut world = cabled(profile, LinkConfig::cable(profile));
    world.line(0).set_faults(faults);
    for bytes in sent {
        peer(&mut world, 0).send(bytes.clone());
    }
    settle(&mut world);
    (arrived(&mut world, 1), world.line(0).counters())
}

#[test]
fn frames_arrive_unchanged_in_both_directions_at_once() {
    for profile in Profile::ALL {
        let mut world = cabled(profile, LinkConfig::cable(profile));
        let sent = frames(40);
        let (there, back) = sent.split_at(25);
        for (station, frames) in [(0, there), (1, back)] {
            for bytes in frames {
                peer(&mut world, station).send(bytes.clone());
            }
        }
        settle(&mut world);
        for (station, frames) in [(1, there), (0, back)] {
            assert_eq!(arrived(&mut world, station), unharmed(frames), "{profile:?}, into station {station}");
        }
    }
}

#[test]
fn a_card_is_given_what_the_wire_carries() {
    for profile in Profile::ALL {
        let mut world = world(profile, 1, 1);
        world.cable(0, 1, LinkConfig::cable(profile));
        let script = nth(3, |_| true, Verdict::Corrupt { bit: 500, is_caught: true });
        world.line(1).set_faults(Faults { script: Some(script), ..Faults::default() });
        for bytes in frames(20) {
            peer(&mut world, 1).send(bytes);
        }
        settle(&mut world);
        let card = world.card(0);
        assert_eq!((card.count(Class::Roce), card.count(Class::MacError)), (19, 1), "{profile:?}");
        assert_eq!(card.judged(), 20, "{profile:?}");
    }
}

#[test]
fn a_full_line_carries_its_rate_and_no_more() {
    for profile in Profile::ALL {
        let mut world = cabled(profile, LinkConfig::cable(profile));
        let longest = frames(1000).into_iter().max_by_key(Vec::len).expect("frames");
        let path = scratch(&format!("rate-{}", profile.name()));
        world.start_capture(1, pcap::Writer::create(&path).expect("a file"));
        (0..60).for_each(|_| peer(&mut world, 0).send(longest.clone()));
        settle(&mut world);
        world.finish_capture(1).expect("all written");
        let times: Vec<u128> =
            pcap::read(&path).expect("a capture").iter().map(|frame| frame.time.as_nanos()).collect();
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(times.len(), 60);
        let bits = (longest.len() as u128 + 4 + 20) * 8;
        let expected = 50 * bits * 1000 / u128::from(LinkConfig::cable(profile).megabits);
        let found = times[59] - times[9];
        // Both ends are seen in whole cycles, of which the longer has 6.4 ns.
        assert!(found.abs_diff(expected) <= 7, "{profile:?}: {found} ns for {expected}");
    }
}

#[test]
fn the_transmit_front_end_keeps_a_line_full() {
    for profile in Profile::ALL {
        let mut fronts = fronts(profile);
        let longest = frames(1000).into_iter().max_by_key(Vec::len).expect("frames");
        (0..60).for_each(|_| fronts.transmit(&packet(&longest)));
        fronts.run_until_idle(LIMIT).unwrap();
        let sent = fronts.take_sent();
        assert_eq!(sent.len(), 60);
        // From one frame's first beat to that of the 50th behind it, while nobody refuses; on the wire they take longer.
        let found = u128::from(sent[59].begun - sent[9].begun);
        let bits = 50 * (longest.len() as u128 + 4 + 20) * 8;
        let wire =
            bits * u128::from(profile.clock_khz()) / (1000 * u128::from(LinkConfig::cable(profile).megabits));
        assert!(found <= wire, "{profile:?}: {found} cycles, {wire} on the wire");
    }
}

/// What the model of the link makes of frames: those that arrive, in order, and whether marked bad. The times at which they
/// are pushed do not matter while no frame is held for a time.
fn modelled(profile: Profile, sent: &[Vec<u8>], faults: Faults) -> Arrivals {
    let mut link = Link::new(LinkConfig::cable(profile), profile.clock_khz(), faults);
    let mut arrived = Vec::new();
    for bytes in sent {
        link.push(0, bytes.clone(), false);
    }
    while let Some(due) = link.next_due() {
        arrived.extend(link.pop(due));
    }
    arrived
}

/// Faults that strike with a chance.
type Make = fn(Chance) -> Faults;

/// Two others, and a last one that waits in vain is still in time.
const HOLD: Hold = Hold { frames: 2, ns: 400_000 };

#[test]
fn what_arrives_under_faults_is_what_the_model_of_the_link_says() {
    let some = Chance::percent(25);
    let faults: [(&str, Make); 6] = [
        ("loss", |some| Faults { seed: 1, loss: some, ..Faults::default() }),
        ("duplication", |some| Faults { seed: 2, duplication: some, ..Faults::default() }),
        ("reordering", |some| Faults { seed: 3, reordering: some, hold: HOLD, ..Faults::default() }),
        ("corruption", |some| Faults { seed: 4, corruption: some, ..Faults::default() }),
        ("undetected", |some| Faults {
            seed: 5,
            corruption: some,
            undetected: Chance::ALWAYS,
            ..Faults::default()
        }),
        ("all", |some| Faults {
            seed: 6,
            loss: some,
            duplication: some,
            reordering: some,
            hold: HOLD,
            corruption: some,
            undetected: Chance::percent(50),
            ..Faults::default()
        }),
    ];
    for profile in Profile::ALL {
        let sent = frames(60);
        for (name, make) in faults {
            let (found, counters) = carry(profile, &sent, make(some));
            let struck = [counters.lost, counters.duplicated, counters.held, counters.corrupted];
            assert!(struck.iter().sum::<u64>() > 3, "{name} strikes: {counters:?}");
            assert_ne!(found, unharmed(&sent), "{name} at {profile:?} shows");
            assert_eq!(found, modelled(profile, &sent, make(some)), "{name} at {profile:?}");
            let icrc = found.iter().any(|(bytes, bad)| !bad && class_of(bytes) == Class::Icrc);
            assert_eq!(
                icrc,
                matches!(name, "undetected" | "all"),
                "{name}: the ICRC catches what the FCS does not"
            );
        }
    }
}

#[test]
fn a_script_drops_the_third_acknowledge_and_nothing_else() {
    let profile = Profile::HundredGig;
    let is_acknowledge =
        |bytes: &[u8]| Frame::parse(bytes).is_ok_and(|frame| frame.bth.opcode == opcode::RC_ACKNOWLEDGE.code);
    let mut sent = frames(60);
    let third = sent.iter().enumerate().filter(|(_, bytes)| is_acknowledge(bytes)).nth(2).expect("three").0;
    let script = nth(3, is_acknowledge, Verdict::Drop);
    let (found, counters) = carry(profile, &sent, Faults { script: Some(script), ..Faults::default() });
    sent.remove(third);
    assert_eq!(found, unharmed(&sent));
    assert_eq!(counters.lost, 1);
}

/// A frame's ECN bits.
fn ecn(bytes: &[u8]) -> u8 {
    match Frame::parse(bytes).expect("no mark spoils a checksum").ip {
        Ip::V4(ip) => ip.ecn,
        Ip::V6(ip) => ip.traffic_class & 3,
    }
}

#[test]
fn four_stations_on_a_switch_reach_each_other_and_a_crowd_is_marked() {
    for profile in Profile::ALL {
        let mut world = world(profile, 0, 4);
        world.switch(&[0, 1, 2, 3], LinkConfig { mark_bytes: Some(1500), ..LinkConfig::cable(profile) });
        let frame =
            frames(100).into_iter().find(|bytes| bytes.len() > 300 && bytes[12] == 8).expect("an IPv4 frame");
        for station in 0..4 {
            peer(&mut world, usize::from(station)).send(between(station, None, &frame, 2));
        }
        settle(&mut world);
        for station in 0..4 {
            let source = |(bytes, _): &(Vec<u8>, bool)| Ethernet::parse(bytes).expect("whole").source.0[5];
            let senders: Vec<u8> = arrived(&mut world, usize::from(station)).iter().map(source).collect();
            let others: Vec<u8> = (0..4).filter(|other| *other != station).collect();
            assert_eq!(senders, others, "{profile:?}: the broadcasts of the others, by port");
        }
        // Everybody is known now. Three send to station 3 at once: its queue grows, and says so.
        for _ in 0..8 {
            for station in 0..3 {
                peer(&mut world, usize::from(station)).send(between(station, Some(3), &frame, 2));
            }
        }
        peer(&mut world, 3).send(between(3, Some(0), &frame, 2));
        settle(&mut world);
        let marks = |found: &Arrivals| found.iter().filter(|(bytes, _)| ecn(bytes) == 3).count() as u64;
        let crowd = arrived(&mut world, 3);
        assert_eq!(crowd.len(), 24, "{profile:?}");
        let switch = world.switch_mut().expect("it is there");
        let marked = switch.line(3).counters().marked;
        assert!(marked > 5 && marked < 24, "{marked} of 24");
        assert_eq!(marks(&crowd), marked);
        let alone = arrived(&mut world, 0);
        assert_eq!((alone.len(), marks(&alone)), (1, 0), "{profile:?}: nobody else's traffic comes by");
        assert!(arrived(&mut world, 1).is_empty() && arrived(&mut world, 2).is_empty());
    }
}
