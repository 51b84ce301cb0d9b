//! Cards on wires: what one's transmit front end is given reaches the other's receive front end, but for what the wire does
//! to it, and that is what the wire's model says.

use stroma_abi::wire::{Class, Frame, opcode};
use stroma_sim::link::{Chance, Counters, Faults, Hold, Link, LinkConfig, Verdict, nth};
use stroma_sim::{Packet, Streams, pcap};
use stroma_tests::wiring::{between, cabled, frames, scratch, settle, world};
use stroma_tests::{class_of, packet};
use stroma_top::Profile;
use stroma_verilate::Pause;

/// Sends frames from card 0 over a cable with such faults; what card 1 made of it.
fn carry(profile: Profile, sent: &[Vec<u8>], faults: Faults) -> (Vec<Packet>, Vec<(Class, u64)>, Counters) {
    let mut world = cabled(profile, LinkConfig::cable(profile));
    world.line(0).set_faults(faults);
    for bytes in sent {
        world.card(0).transmit(&packet(bytes));
    }
    settle(&mut world);
    let counts = Class::ALL.into_iter().map(|class| (class, world.card(1).count(class)));
    let counts = counts.filter(|(_, count)| *count > 0).collect();
    (world.card(1).packets(), counts, world.line(0).counters())
}

#[test]
fn packets_arrive_with_the_same_fields_and_payload_in_both_directions_at_once() {
    for profile in Profile::ALL {
        for stall in [Pause::None, Pause::Random { seed: 3, percent: 30 }] {
            let mut world = cabled(profile, LinkConfig::cable(profile));
            let sent = frames(40);
            let (there, back) = sent.split_at(25);
            for (card, frames) in [(0, there), (1, back)] {
                world.card(card).pause(&Streams { idle: Pause::None, stall: stall.clone() });
                for bytes in frames {
                    world.card(card).transmit(&packet(bytes));
                }
            }
            settle(&mut world);
            for (card, frames) in [(1, there), (0, back)] {
                let expected: Vec<Packet> = frames.iter().map(|bytes| packet(bytes)).collect();
                assert_eq!(world.card(card).packets(), expected, "{profile:?}, into card {card}");
                assert_eq!(world.card(card).judged(), frames.len() as u64);
            }
        }
    }
}

#[test]
fn a_full_line_carries_its_rate_and_no_more() {
    for profile in Profile::ALL {
        let mut world = cabled(profile, LinkConfig::cable(profile));
        let longest = frames(1000).into_iter().max_by_key(Vec::len).expect("frames");
        let path = scratch(&format!("rate-{}", profile.name()));
        world.card(1).start_capture(pcap::Writer::create(&path).expect("a file"));
        (0..60).for_each(|_| world.card(0).transmit(&packet(&longest)));
        settle(&mut world);
        world.card(1).finish_capture().expect("all written");
        let times: Vec<u128> =
            pcap::read(&path).expect("a capture").iter().map(|frame| frame.time.as_nanos()).collect();
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(times.len(), 60);
        let bits = (longest.len() as u128 + 4 + 20) * 8;
        let expected = 50 * bits * 1000 / u128::from(LinkConfig::cable(profile).megabits);
        let found = times[59] - times[9];
        // Never faster, but for a cycle at both ends; the transmit front end keeps the line full to within a percent.
        assert!(
            found + 13 >= expected && found <= expected + expected / 100,
            "{profile:?}: {found} ns for {expected}"
        );
    }
}

/// What the model of the link makes of frames: those that arrive, in order, and whether marked bad. The times at which they
/// are pushed do not matter while no frame is held for a time.
fn modelled(profile: Profile, sent: &[Vec<u8>], faults: Faults) -> Vec<(Vec<u8>, bool)> {
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

/// A frame's class behind a MAC that says it is bad, or not.
fn judged(bytes: &[u8], bad: bool) -> Class {
    if bad { Class::MacError } else { class_of(bytes) }
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
            let (packets, counts, counters) = carry(profile, &sent, make(some));
            let arrived = modelled(profile, &sent, make(some));
            let struck = [counters.lost, counters.duplicated, counters.held, counters.corrupted];
            assert!(struck.iter().sum::<u64>() > 3, "{name} strikes: {counters:?}");
            let classes: Vec<Class> = arrived.iter().map(|(bytes, bad)| judged(bytes, *bad)).collect();
            for class in Class::ALL {
                let expected = classes.iter().filter(|found| **found == class).count() as u64;
                let found = counts.iter().find(|(of, _)| *of == class).map_or(0, |(_, count)| *count);
                assert_eq!(found, expected, "{name} at {profile:?}: {}", class.name());
            }
            let good = arrived.iter().zip(&classes).filter(|(_, class)| **class == Class::Roce);
            let good: Vec<Packet> = good.map(|((bytes, _), _)| packet(bytes)).collect();
            assert_eq!(packets, good, "{name} at {profile:?}");
            let icrc = classes.contains(&Class::Icrc);
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
    let sent = frames(60);
    let third = sent.iter().enumerate().filter(|(_, bytes)| is_acknowledge(bytes)).nth(2).expect("three").0;
    let script = nth(3, is_acknowledge, Verdict::Drop);
    let (packets, _, counters) = carry(profile, &sent, Faults { script: Some(script), ..Faults::default() });
    let kept = sent.iter().enumerate().filter(|(at, _)| *at != third).map(|(_, bytes)| packet(bytes));
    assert_eq!(packets, kept.collect::<Vec<_>>());
    assert_eq!(counters.lost, 1);
}

#[test]
fn four_cards_on_a_switch_reach_each_other_and_a_crowd_is_marked() {
    for profile in Profile::ALL {
        let mut world = world(profile, 4);
        world.switch(&[0, 1, 2, 3], LinkConfig { mark_bytes: Some(1500), ..LinkConfig::cable(profile) });
        let frame =
            frames(100).into_iter().find(|bytes| bytes.len() > 300 && bytes[12] == 8).expect("an IPv4 frame");
        for card in 0..4 {
            world.card(usize::from(card)).transmit(&between(card, None, &frame, 2));
        }
        settle(&mut world);
        for card in 0..4 {
            let senders: Vec<u64> =
                world.card(card).packets().iter().map(|found| found.head.smac.to_u64() & 0xff).collect();
            let others: Vec<u64> = (0..4).filter(|other| *other != card as u64).collect();
            assert_eq!(senders, others, "{profile:?}: the broadcasts of the others, by port");
        }
        // Everybody is known now. Three send to card 3 at once: its queue grows, and says so.
        for _ in 0..8 {
            (0..3)
                .for_each(|card| world.card(usize::from(card)).transmit(&between(card, Some(3), &frame, 2)));
        }
        world.card(3).transmit(&between(3, Some(0), &frame, 2));
        settle(&mut world);
        let marks = |packets: &[Packet]| {
            packets.iter().filter(|found| found.head.tclass.to_u64() & 3 == 3).count() as u64
        };
        let crowd = world.card(3).packets();
        assert_eq!(crowd.len(), 24, "{profile:?}");
        let switch = world.switch_mut().expect("it is there");
        let marked = switch.line(3).counters().marked;
        assert!(marked > 5 && marked < 24, "{marked} of 24");
        assert_eq!(marks(&crowd), marked);
        let alone = world.card(0).packets();
        assert_eq!((alone.len(), marks(&alone)), (1, 0), "{profile:?}: nobody else's traffic comes by");
        assert!(world.card(1).packets().is_empty() && world.card(2).packets().is_empty());
        let judged: u64 = (0..4).map(|card| world.card(card).count(Class::Roce)).sum();
        assert_eq!(judged, 12 + 25, "no mark spoils a checksum");
    }
}
