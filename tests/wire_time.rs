//! Cards on wires, to the cycle: however a world is run, the same frames leave and arrive at the same time.

use std::path::PathBuf;

use stroma_abi::wire::{Class, Mac};
use stroma_sim::Packet;
use stroma_sim::host::attach::Event;
use stroma_sim::link::pause::PauseFrame;
use stroma_sim::link::{Chance, Faults, Hold, LinkConfig, Verdict, nth};
use stroma_sim::pcap::{self, Direction};
use stroma_tests::packet;
use stroma_tests::wiring::{LIMIT, between, cabled, frames, scratch, settle, world};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

/// How a world is run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Ticking,
    Skipping,
    Threaded,
}

/// Everything that a story leaves behind: captures of each card, packets, final time; and the cycles skipped.
type Trace = (Vec<Vec<pcap::Captured>>, Vec<Vec<Packet>>, Vec<Vec<(u64, Event)>>, u64);

/// Traffic with pauses between, over faulty wires, with a switch or without.
fn story(profile: Profile, way: Way, seed: u64, cards: usize) -> (Trace, u64) {
    let mut world = world(profile, cards);
    if cards == 2 {
        world.cable(0, 1, LinkConfig { honours_pause: true, ..LinkConfig::cable(profile) });
    } else {
        let all: Vec<usize> = (0..cards).collect();
        world.switch(
            &all,
            LinkConfig {
                mark_bytes: Some(1000),
                delay_ns: 210,
                honours_pause: true,
                ..LinkConfig::cable(profile)
            },
        );
    }
    world.skip_quiet_time(way != Way::Ticking);
    world.threads(way == Way::Threaded);
    let chance = Chance::percent(10);
    let paths: Vec<PathBuf> = (0..cards).map(|card| scratch(&card.to_string())).collect();
    for (card, path) in paths.iter().enumerate() {
        let hold = Hold { frames: 1, ns: 3000 };
        let seed = seed * 16 + card as u64;
        let faults = Faults {
            seed,
            loss: chance,
            duplication: chance,
            reordering: chance,
            hold,
            corruption: chance,
            ..Faults::default()
        };
        world.line(card).set_faults(faults);
        world.card(card).start_trace();
        world.card(card).start_capture(pcap::Writer::create(path).expect("a file"));
    }
    settle(&mut world);
    let mut random = SplitMix64::new(11);
    let sent = frames(60);
    for burst in sent.chunks(6) {
        for bytes in burst {
            let card = u8::try_from(random.below(cards as u64)).expect("few");
            let to = (random.below(4) > 0).then(|| (card + 1) % u8::try_from(cards).expect("few"));
            world.card(usize::from(card)).transmit(&between(card, to, bytes, 1));
        }
        // Somebody on the wire asks for quiet: longer than the card takes to think that nothing happens.
        let (now, quiet) = (world.now(), PauseFrame { quanta: [Some(500); 8] });
        world.line(0).push(now, now, quiet.to_bytes(Mac([4; 6])), false);
        world.run(200 + random.below(4000));
    }
    world.run(20_000);
    assert!(world.is_idle());
    let captures = (0..cards).map(|card| {
        world.card(card).finish_capture().expect("all written");
        let capture = pcap::read(&paths[card]).expect("a capture");
        std::fs::remove_file(&paths[card]).expect("it was there");
        capture
    });
    let captures = captures.collect();
    let packets = (0..cards).map(|card| world.card(card).packets()).collect();
    let traces = (0..cards).map(|card| world.card(card).take_trace()).collect();
    ((captures, packets, traces, world.now()), world.skipped())
}

#[test]
fn ticking_skipping_and_threads_give_the_same_frames_in_the_same_nanoseconds() {
    for (profile, cards) in [(Profile::TenGig, 2), (Profile::HundredGig, 2), (Profile::TenGig, 4)] {
        let (ticked, none) = story(profile, Way::Ticking, 1, cards);
        assert!(ticked.1.iter().all(|packets| packets.len() > 5), "there is traffic into every card");
        assert_eq!(none, 0);
        let (skipped, cycles) = story(profile, Way::Skipping, 1, cards);
        assert!(cycles > ticked.3 / 4, "{cycles} of {} cycles are skipped", ticked.3);
        assert!(skipped == ticked, "{profile:?}, {cards} cards: skipping shows");
        let (threaded, _) = story(profile, Way::Threaded, 1, cards);
        assert!(threaded == ticked, "{profile:?}, {cards} cards: threads show");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_gives_another() {
    let run = |seed| story(Profile::TenGig, Way::Skipping, seed, 2).0;
    let (first, again, other) = (run(1), run(1), run(2));
    assert!(first == again, "the same seed");
    assert!(first != other, "another seed");
}

#[test]
fn a_capture_holds_both_ways_with_times_and_bad_frames() {
    let profile = Profile::HundredGig;
    let mut world = cabled(profile, LinkConfig::cable(profile));
    let script = nth(2, |_| true, Verdict::Corrupt { bit: 400, is_caught: true });
    world.line(0).set_faults(Faults { script: Some(script), ..Faults::default() });
    let paths = [scratch("a"), scratch("b")];
    for (card, path) in paths.iter().enumerate() {
        world.card(card).start_capture(pcap::Writer::create(path).expect("a file"));
    }
    let sent = frames(3);
    for bytes in &sent {
        world.card(0).transmit(&packet(bytes));
    }
    settle(&mut world);
    world.card(1).transmit(&packet(&sent[0]));
    settle(&mut world);
    let [near, far] = [0, 1].map(|card: usize| {
        world.card(card).finish_capture().expect("all written");
        let capture = pcap::read(&paths[card]).expect("a capture");
        std::fs::remove_file(&paths[card]).expect("it was there");
        capture
    });
    let ways = |capture: &[pcap::Captured]| capture.iter().map(|frame| frame.direction).collect::<Vec<_>>();
    let (inwards, outwards) = (Some(Direction::In), Some(Direction::Out));
    assert_eq!(ways(&near), [outwards, outwards, outwards, inwards]);
    assert_eq!(ways(&far), [inwards, inwards, inwards, outwards]);
    assert_eq!(far.iter().map(|frame| frame.bad).collect::<Vec<_>>(), [false, true, false, false]);
    for (at, bytes) in sent.iter().enumerate() {
        assert_eq!(near[at].bytes, *bytes);
        assert_eq!(far[at].bytes == *bytes, at != 1);
        // 350 ns of delay and at least what the last beat holds; beats are faster than the wire, so a little more.
        let taken = far[at].time.as_nanos() - near[at].time.as_nanos();
        let wire = (bytes.len() as u128 + 24) * 8 / 100;
        assert!((350..=360 + 3 * wire).contains(&taken), "frame {at}: {taken} ns, {wire} on the wire");
    }
    assert_eq!(near[3].bytes, sent[0]);
}

#[test]
fn a_card_that_honours_pause_frames_falls_silent_and_one_that_does_not_goes_on() {
    let profile = Profile::HundredGig;
    // The frame that pauses comes from outside: the cards of these stories send RoCE alone.
    let pause = PauseFrame { quanta: [Some(1000); 8] }.to_bytes(Mac([2; 6]));
    let acknowledge = frames(60).into_iter().find(|bytes| packet(bytes).payload.is_empty()).expect("one");
    let arrival = |honours_pause, skips| {
        let mut world = cabled(profile, LinkConfig { honours_pause, ..LinkConfig::cable(profile) });
        world.skip_quiet_time(skips);
        // A card clears its tables first, and is not quiet meanwhile.
        settle(&mut world);
        let start = world.now();
        world.line(1).push(start, start, pause.clone(), false);
        world.run(100);
        // The MAC has room for one; the other waits in the card, which can do nothing about it and calls itself quiet.
        (0..2).for_each(|_| world.card(0).transmit(&packet(&acknowledge)));
        assert!(world.run_until(LIMIT, |world| world.card(1).judged() == 2));
        let passed = world.now() - start;
        settle(&mut world);
        (passed, world.card(0).count(Class::NotIp), world.line(0).counters().paused)
    };
    let (plain, as_frame, none) = arrival(false, true);
    assert_eq!((as_frame, none), (1, 0), "the card is given the frame, and finds it is not IP");
    let (paused, not_ip, obeyed) = arrival(true, true);
    assert_eq!((not_ip, obeyed), (0, 1));
    // The pause arrives after 1.44 cycles on the wire and 87.5 of delay; its 1000 quanta of 512 bits are 1280 cycles.
    let end = 89 + 1280;
    assert!((end + 88..end + plain).contains(&paused), "{plain} cycles, {paused} with a pause");
    assert_eq!(arrival(true, false).0, paused, "skipping does not show");
}

#[test]
fn a_card_reset_among_others_keeps_their_clock() {
    let profile = Profile::TenGig;
    let mut world = cabled(profile, LinkConfig::cable(profile));
    let bytes = &frames(1)[0];
    for reset in [0, 1] {
        settle(&mut world);
        world.reset(reset);
        assert_eq!(world.card(0).cycle(), world.card(1).cycle());
        settle(&mut world);
        world.card(0).transmit(&packet(bytes));
        settle(&mut world);
        assert_eq!(world.card(1).packets(), [packet(bytes)], "after a reset of card {reset}");
        assert_eq!(world.card(0).cycle(), world.card(1).cycle());
    }
}
