//! Stations on wires, to the cycle: however a world is run, the same frames leave and arrive at the same time.

use std::path::PathBuf;

use stroma_abi::wire::{Class, Mac};
use stroma_sim::World;
use stroma_sim::host::attach::Event;
use stroma_sim::link::pause::PauseFrame;
use stroma_sim::link::{Chance, Faults, Hold, LinkConfig, Verdict, nth};
use stroma_sim::pcap::{self, Direction};
use stroma_sim::peer::Arrived;
use stroma_tests::wiring::{LIMIT, between, cabled, frames, peer, scratch, settle, world};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

/// How a world is run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Ticking,
    Skipping,
    Threaded,
}

/// What a story leaves behind: captures of each station, what arrived at the peers, what the cards counted and did towards
/// their hosts, final time.
#[derive(PartialEq)]
struct Trace {
    captures: Vec<Vec<pcap::Captured>>,
    arrived: Vec<Vec<Arrived>>,
    counts: Vec<Vec<u64>>,
    events: Vec<Vec<(u64, Event)>>,
    end: u64,
}

/// A capture of each station, in files of their own.
fn start_captures(world: &mut World, stations: usize) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..stations).map(|station| scratch(&station.to_string())).collect();
    for (station, path) in paths.iter().enumerate() {
        world.start_capture(station, pcap::Writer::create(path).expect("a file"));
    }
    paths
}

fn finish_captures(world: &mut World, paths: &[PathBuf]) -> Vec<Vec<pcap::Captured>> {
    let capture = |(station, path): (usize, &PathBuf)| {
        world.finish_capture(station).expect("all written");
        let capture = pcap::read(path).expect("a capture");
        std::fs::remove_file(path).expect("it was there");
        capture
    };
    paths.iter().enumerate().map(capture).collect()
}

/// Traffic with pauses between, over faulty wires, with a switch or without; also the cycles skipped.
fn story(profile: Profile, way: Way, seed: u64, cards: usize, peers: usize) -> (Trace, u64) {
    let stations = cards + peers;
    let mut world = world(profile, cards, peers);
    let config = LinkConfig { honours_pause: true, ..LinkConfig::cable(profile) };
    if stations == 2 {
        world.cable(0, 1, config);
    } else {
        let all: Vec<usize> = (0..stations).collect();
        world.switch(&all, LinkConfig { mark_bytes: Some(1000), delay_ns: 210, ..config });
    }
    world.skip_quiet_time(way != Way::Ticking);
    world.threads(way == Way::Threaded);
    let chance = Chance::percent(10);
    for station in 0..stations {
        world.line(station).set_faults(Faults {
            seed: seed * 16 + station as u64,
            loss: chance,
            duplication: chance,
            reordering: chance,
            hold: Hold { frames: 1, ns: 3000 },
            corruption: chance,
            ..Faults::default()
        });
    }
    (0..cards).for_each(|card| world.card(card).start_trace());
    let paths = start_captures(&mut world, stations);
    settle(&mut world);
    let mut random = SplitMix64::new(11);
    let number = |station: usize| u8::try_from(station).expect("few");
    for burst in frames(60).chunks(6) {
        for bytes in burst {
            let from = cards + usize::try_from(random.below(peers as u64)).expect("few");
            let to = (random.below(4) > 0).then(|| number((from + 1) % stations));
            peer(&mut world, from).send(between(number(from), to, bytes, 1));
        }
        // Somebody on the wire asks for quiet.
        let (now, quiet) = (world.now(), PauseFrame { quanta: [Some(500); 8] });
        world.line(0).push(now, now, quiet.to_bytes(Mac([4; 6])), false);
        world.run(200 + random.below(4000));
    }
    world.run(20_000);
    assert!(world.is_idle());
    let trace = Trace {
        captures: finish_captures(&mut world, &paths),
        arrived: (cards..stations).map(|station| peer(&mut world, station).take()).collect(),
        counts: (0..cards)
            .map(|card| Class::ALL.map(|class| world.card(card).count(class)).to_vec())
            .collect(),
        events: (0..cards).map(|card| world.card(card).take_trace()).collect(),
        end: world.now(),
    };
    (trace, world.skipped())
}

#[test]
fn ticking_skipping_and_threads_give_the_same_frames_in_the_same_nanoseconds() {
    for (profile, cards, peers) in [
        (Profile::TenGig, 0, 2),
        (Profile::HundredGig, 0, 2),
        (Profile::TenGig, 1, 1),
        (Profile::HundredGig, 0, 4),
        (Profile::TenGig, 1, 3),
    ] {
        let (ticked, none) = story(profile, Way::Ticking, 1, cards, peers);
        let inwards = |frame: &&pcap::Captured| frame.direction == Some(Direction::In);
        let busy = |capture: &Vec<pcap::Captured>| capture.iter().filter(inwards).count() > 5;
        // A card sends nothing in this story, so a peer that has only a card for company gets nothing.
        let busy_count = ticked.captures.iter().filter(|capture| busy(capture)).count();
        assert_eq!(busy_count, if (cards, peers) == (1, 1) { 1 } else { cards + peers }, "there is traffic");
        assert_eq!(none, 0);
        let (skipped, cycles) = story(profile, Way::Skipping, 1, cards, peers);
        assert!(cycles > ticked.end / 4, "{cycles} of {} cycles are skipped", ticked.end);
        assert!(skipped == ticked, "{profile:?}, {cards} cards, {peers} peers: skipping shows");
        let (threaded, _) = story(profile, Way::Threaded, 1, cards, peers);
        assert!(threaded == ticked, "{profile:?}, {cards} cards, {peers} peers: threads show");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_gives_another() {
    let run = |seed| story(Profile::TenGig, Way::Skipping, seed, 0, 2).0;
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
    let paths = start_captures(&mut world, 2);
    let sent = frames(3);
    for bytes in &sent {
        peer(&mut world, 0).send(bytes.clone());
    }
    settle(&mut world);
    peer(&mut world, 1).send(sent[0].clone());
    settle(&mut world);
    let captures = finish_captures(&mut world, &paths);
    let [near, far] = captures.as_slice() else { panic!("two captures") };
    let ways = |capture: &[pcap::Captured]| capture.iter().map(|frame| frame.direction).collect::<Vec<_>>();
    let (inwards, outwards) = (Some(Direction::In), Some(Direction::Out));
    assert_eq!(ways(near), [outwards, outwards, outwards, inwards]);
    assert_eq!(ways(far), [inwards, inwards, inwards, outwards]);
    assert_eq!(far.iter().map(|frame| frame.bad).collect::<Vec<_>>(), [false, true, false, false]);
    for (at, bytes) in sent.iter().enumerate() {
        assert_eq!(near[at].bytes, *bytes);
        assert_eq!(far[at].bytes == *bytes, at != 1);
        // 350 ns of delay and the wire's time, from the cycle in which the line has room, in cycles of 4 ns at both ends.
        let taken = far[at].time.as_nanos() - near[at].time.as_nanos();
        let wire = (bytes.len() as u128).max(60) + 12;
        let least = 350 + wire * 8 / 100;
        assert!((least..=least + 8).contains(&taken), "frame {at}: {taken} ns, {least} at least");
    }
    assert_eq!(near[3].bytes, sent[0]);
}

#[test]
fn a_station_that_honours_pause_frames_falls_silent_and_one_that_does_not_goes_on() {
    let profile = Profile::HundredGig;
    let pause = PauseFrame { quanta: [Some(1000); 8] }.to_bytes(Mac([2; 6]));
    let shortest = vec![0x55; 60];
    let story = |honours_pause, skips| {
        let mut world = cabled(profile, LinkConfig { honours_pause, ..LinkConfig::cable(profile) });
        world.skip_quiet_time(skips);
        peer(&mut world, 1).send(pause.clone());
        world.run(100);
        let start = world.now();
        (0..2).for_each(|_| peer(&mut world, 0).send(shortest.clone()));
        assert!(world.run_until(LIMIT, |world| peer(world, 1).arrived().len() == 2));
        settle(&mut world);
        let arrivals: Vec<u64> =
            peer(&mut world, 1).arrived().iter().map(|frame| frame.cycle - start).collect();
        (arrivals, peer(&mut world, 0).take().len(), world.line(0).counters().paused)
    };
    // 8 + 64 bytes are 1.44 cycles, 12 of gap 0.24; 350 ns are 87.5.
    assert_eq!(story(false, true), (vec![89, 91], 1, 0), "the station is given the frame");
    // The pause arrives after 1.44 cycles on the wire and 87.5 of delay, so in cycle 89; its 1000 quanta of 512 bits are
    // 1280 cycles.
    let end = 89 + 1280 - 100;
    assert_eq!(story(true, true), (vec![end + 89, end + 91], 0, 1), "the MAC keeps the frame to itself");
    assert_eq!(story(true, false), story(true, true), "skipping does not show");
}

#[test]
fn a_card_reset_among_others_keeps_their_clock() {
    let profile = Profile::TenGig;
    let mut world = world(profile, 2, 1);
    world.switch(&[0, 1, 2], LinkConfig::cable(profile));
    let bytes = between(2, None, &frames(1)[0], 0);
    for reset in [0, 1] {
        settle(&mut world);
        world.reset(reset);
        assert_eq!(world.card(0).cycle(), world.card(1).cycle());
        settle(&mut world);
        let before = [0, 1].map(|card| world.card(card).judged());
        assert_eq!(before[reset], 0, "it has forgotten");
        peer(&mut world, 2).send(bytes.clone());
        settle(&mut world);
        let after = [0, 1].map(|card| world.card(card).judged());
        assert_eq!(after, before.map(|count| count + 1), "after a reset of card {reset}");
        assert_eq!(world.card(0).cycle(), world.card(1).cycle());
    }
}
