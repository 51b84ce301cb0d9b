use std::path::PathBuf;

use super::*;
use crate::link::LinkConfig;
use crate::peer::{Arrived, Datagram, Raw};

/// 100 Gb/s under a clock of 250 MHz: 50 bytes a cycle; 350 ns of delay are 87.5 cycles.
const PROFILE: Profile = Profile::HundredGig;

/// A peer that sends the shortest frame, with its time in it, every so many cycles until some cycle.
struct Beacon {
    period: u64,
    last: u64,
    due: u64,
    is_late: bool,
}

impl Beacon {
    fn every(period: u64, last: u64) -> Self {
        Self { period, last, due: period, is_late: false }
    }
}

impl Peer for Beacon {
    fn receive(&mut self, _now: u64, _frame: &[u8], _bad: bool) {}

    fn transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        let mut frame = vec![0x5a; 60];
        frame[..8].copy_from_slice(&now.to_be_bytes());
        std::mem::take(&mut self.is_late).then_some(frame)
    }

    fn tick(&mut self, now: u64) {
        if now >= self.due {
            self.is_late = true;
            self.due += self.period;
        }
    }

    fn next_due(&self, now: u64) -> Option<u64> {
        if self.is_late { Some(now) } else { (self.due <= self.last).then_some(self.due.max(now)) }
    }
}

fn world(peers: Vec<Box<dyn Peer>>) -> World {
    let mut world = World::new(PROFILE, 0, &Options::default()).expect("a world of peers");
    for peer in peers {
        world.add_peer(peer);
    }
    world
}

fn arrived(world: &mut World, station: usize) -> Vec<Arrived> {
    world.peer_mut::<Raw>(station).take()
}

/// The cycles that frames of a [`Beacon`] tell, with those in which they arrived.
fn beats(frames: &[Arrived]) -> Vec<(u64, u64)> {
    let sent = |frame: &Arrived| u64::from_be_bytes(frame.bytes[..8].try_into().expect("eight bytes"));
    frames.iter().map(|frame| (sent(frame), frame.cycle)).collect()
}

#[test]
fn peers_alone_keep_the_time() {
    let mut world = world(vec![Box::new(Raw::default()), Box::new(Raw::default())]);
    world.cable(0, 1, LinkConfig::cable(PROFILE));
    assert!(world.is_idle() && world.now() == 0);
    world.run(10_000_000_000);
    assert_eq!(world.now(), 10_000_000_000);
    assert!(world.skipped() > 9_999_999_900, "with a few jumps");
    // Whoever comes later finds the time it is.
    let late = world.add_peer(Box::new(Raw::default()));
    assert_eq!((late, world.stations[late].now()), (2, world.now()));
}

#[test]
fn frames_leave_a_peer_as_fast_as_its_line_carries_them() {
    let mut world = world(vec![Box::new(Raw::default()), Box::new(Raw::default())]);
    world.cable(0, 1, LinkConfig::cable(PROFILE));
    world.run(10);
    (0..100).for_each(|_| world.peer_mut::<Raw>(0).send(vec![0x11; 989]));
    world.run(3000);
    let cycles: Vec<u64> = arrived(&mut world, 1).iter().map(|frame| frame.cycle).collect();
    // 8 preamble, 989, 4 FCS: 1001 bytes; with the gap 1013, so 20.26 cycles from one to the next.
    let expected = |count: u64| (10 * 100 + count * 2026 + 2002 + 8750_u64).div_ceil(100);
    assert_eq!(cycles, (0..100).map(expected).collect::<Vec<_>>());
    assert!(world.is_idle());
}

#[test]
fn a_timer_of_a_peer_is_kept_to_the_cycle_however_the_world_is_run() {
    let story = |set: fn(&mut World)| {
        let mut world = world(vec![
            Box::new(Beacon::every(100, 5000)),
            Box::new(Raw::default()),
            Box::new(Beacon::every(77, 5000)),
        ]);
        world.switch(&[0, 1, 2], LinkConfig::cable(PROFILE));
        set(&mut world);
        (0..40).for_each(|_| world.run(150));
        assert!(world.is_idle());
        (beats(&arrived(&mut world, 1)), world.skipped())
    };
    let (skipping, skipped) = story(|_| {});
    assert!(skipped > 4000, "{skipped} cycles are skipped");
    let sent: Vec<u64> = skipping.iter().map(|(sent, _)| *sent).filter(|sent| sent % 77 != 0).collect();
    assert_eq!(sent, (1..=50).map(|count| 100 * count).collect::<Vec<u64>>());
    assert_eq!(skipping.len(), 50 + 5000 / 77);
    // 1.44 cycles on the wire and 87.5 of delay, twice: to the switch and from it.
    assert!(skipping.iter().all(|(sent, arrived)| (178..=181).contains(&(arrived - sent))), "{skipping:?}");
    assert_eq!(story(|world| world.skip_quiet_time(false)).0, skipping, "ticking");
    assert_eq!(story(|world| world.threads(true)).0, skipping, "threads");
}

#[test]
fn a_timer_that_runs_out_on_a_busy_line_waits_for_it() {
    for skips in [true, false] {
        let mut world = world(vec![Box::new(Beacon::every(50, 50)), Box::new(Raw::default())]);
        world.skip_quiet_time(skips);
        world.cable(0, 1, LinkConfig::cable(PROFILE));
        world.run(40);
        // 1024 bytes with its gap, so 20.48 cycles: the line has room within cycle 60.
        world.line(0).push(40, 40, vec![0x22; 1000], false);
        world.run(1000);
        let beat = beats(&arrived(&mut world, 1)[1..]);
        assert_eq!(beat, [(60, 150)], "from 60.48 on 1.44 cycles on the wire, and 87.5 of delay");
    }
}

#[test]
fn who_has_a_loopback_module_hears_what_he_sends() {
    for skips in [true, false] {
        let mut world = world(vec![Box::new(Raw::default()), Box::new(Raw::default())]);
        world.skip_quiet_time(skips);
        world.loopback(0, LinkConfig::cable(PROFILE));
        world.peer_mut::<Raw>(0).send(vec![0x44; 988]);
        world.run(1000);
        let heard = arrived(&mut world, 0);
        assert_eq!(heard.len(), 1);
        // 8 preamble, 988, 4 FCS: 20 cycles, and 87.5 of delay.
        assert_eq!((heard[0].cycle, &heard[0].bytes), (108, &vec![0x44; 988]));
        assert!(arrived(&mut world, 1).is_empty() && world.is_idle(), "nobody else hears it");
    }
}

#[test]
fn a_peer_on_no_wire_rests() {
    let mut world = world(vec![Box::new(Beacon::every(50, 5000)), Box::new(Raw::default())]);
    world.peer_mut::<Raw>(1).send(vec![0x33; 60]);
    assert!(world.is_idle());
    world.run(100);
    world.cable(0, 1, LinkConfig::cable(PROFILE));
    world.run(200);
    assert_eq!(beats(&arrived(&mut world, 1))[0].0, 100, "overdue, and sent at once");
}

#[test]
fn a_peers_port_is_recorded_both_ways() {
    let path: PathBuf = std::env::temp_dir().join(format!("stroma-world-{}.pcapng", std::process::id()));
    let mut world = world(vec![Box::new(Raw::default()), Box::new(Raw::default())]);
    world.cable(0, 1, LinkConfig::cable(PROFILE));
    world.start_capture(0, pcap::Writer::create(&path).expect("a file"));
    world.run(5);
    world.peer_mut::<Raw>(0).send(vec![1; 60]);
    world.peer_mut::<Raw>(1).send(vec![2; 60]);
    world.run(500);
    world.finish_capture(0).expect("all written");
    let found = pcap::read(&path).expect("a capture");
    std::fs::remove_file(&path).expect("it was there");
    let found: Vec<_> =
        found.iter().map(|frame| (frame.time.as_nanos(), frame.direction, frame.bytes[0])).collect();
    // Cycles of 4 ns: out in cycle 5, in after 1.44 + 87.5, in cycle 94.
    let expected = [(20, Some(pcap::Direction::Out), 1), (376, Some(pcap::Direction::In), 2)];
    assert_eq!(found, expected);
}

#[test]
#[should_panic(expected = "station 0 is no ")]
fn a_peer_of_another_kind_is_not_given_out() {
    world(vec![Box::new(Raw::default())]).peer_mut::<Beacon>(0);
}

#[test]
#[should_panic(expected = "station 0 is no card")]
fn a_peer_is_no_card() {
    world(vec![Box::new(Raw::default())]).card(0);
}

#[test]
fn with_somebody_outside_frames_cross_and_time_keeps_behind_the_wall_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let [near, far] = ["near", "far"].map(|name| folder.path().join(name));
    let outside = std::os::unix::net::UnixDatagram::bind(&far).expect("a socket");
    let mut world = world(vec![Box::new(Raw::default())]);
    assert!(world.is_idle());
    let station = world.add_peer(Box::new(Datagram::bind(&near, &far).expect("a socket")));
    world.cable(0, station, LinkConfig::cable(PROFILE));
    assert!(!world.is_idle(), "who is outside may send at any time");

    world.peer_mut::<Raw>(0).send(vec![1; 100]);
    outside.send_to(&[2; 80], &near).expect("the peer's socket");
    let started = std::time::Instant::now();
    world.run(1_250_000);
    assert!(started.elapsed() >= Duration::from_millis(5), "250 MHz: {:?}", started.elapsed());
    let mut room = [0; 200];
    assert_eq!(outside.recv(&mut room).expect("a frame"), 100);
    let found = arrived(&mut world, 0);
    assert_eq!((found.len(), &found[0].bytes), (1, &vec![2; 80]));
}
