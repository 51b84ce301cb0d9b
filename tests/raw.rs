//! The raw Ethernet queue: what is not RoCE reaches the host byte for byte, and frames of the host reach the wire.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stroma_abi::regs::map::counters;
use stroma_abi::wire::ipv4;
use stroma_sim::link::LinkConfig;
use stroma_sim::peer::Raw;
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::recorded_roce;
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Error, Neighbours, QueuePairState, RawQueue, Status, WorkOp};
use stroma_verilate::Options;

/// Where receives go, one every [`ROOM`] bytes.
const INBOX: usize = 1 << 18;
const ROOM: usize = 4352;
/// The station of the stranger, who speaks no RoCE.
const STRANGER: usize = 2;

/// Two cards and a stranger on a switch.
struct Street {
    pair: Pair,
}

impl Street {
    fn new(profile: Profile) -> Self {
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(profile, 2, &options).unwrap_or_else(|error| panic!("{error}"));
        world.add_peer(Box::new(Raw::default()));
        world.switch(&[0, 1, STRANGER], LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let ends = [0, 1].map(|index| End::open(&shared, index, 2048));
        Self { pair: Pair { shared, ends } }
    }

    fn send(&self, frames: &[Vec<u8>]) {
        let mut world = self.pair.shared.world();
        for frame in frames {
            world.peer_mut::<Raw>(STRANGER).send(frame.clone());
        }
    }

    /// What the stranger has heard.
    fn heard(&self) -> Vec<Vec<u8>> {
        let heard = self.pair.shared.world().peer_mut::<Raw>(STRANGER).take();
        heard.into_iter().map(|frame| frame.bytes).collect()
    }
}

fn open(end: &End, receives: usize) -> RawQueue {
    let builder = end.domain.queue_pair(&end.completions).send_units(2048).receive_entries(256);
    let queue = RawQueue::open(builder).expect("a raw queue");
    post(&queue, end, 0, receives);
    queue
}

/// Posts receives from this one on.
fn post(queue: &RawQueue, end: &End, first: usize, count: usize) {
    for at in first..first + count {
        let piece = end.piece(INBOX + at % 128 * ROOM, 4096);
        queue.queue_pair().receives().unwrap().receive(at as u64, &[piece]).post().unwrap();
    }
}

/// The next completion is of this receive; the frame.
fn frame(end: &End, at: usize) -> Vec<u8> {
    let found = end.complete();
    assert_eq!(
        (found.wr_id, found.status, found.op),
        (at as u64, Status::Success, WorkOp::Send),
        "{found:?}"
    );
    assert!(found.is_receive);
    end.bytes(INBOX + at % 128 * ROOM, found.length as usize)
}

/// To card 1 from the stranger: a type, and what follows it.
fn ethernet(kind: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9];
    frame.extend(kind.to_be_bytes());
    frame.extend(rest);
    frame
}

/// IPv4 of this protocol, with a right checksum, and so many bytes behind the header.
fn ip(protocol: u8, body: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + body.len()).unwrap().to_be_bytes();
    let mut header =
        vec![0x45, 0, total[0], total[1], 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 9, 10, 0, 0, 2];
    let sum = ipv4::checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header.extend(body);
    ethernet(0x0800, &header)
}

/// Frames that are for the raw queue.
fn welcome(seed: u64) -> Vec<Vec<u8>> {
    let mut echo = vec![8, 0, 0, 0];
    echo.extend(pattern(seed, 1000));
    let udp = [&[0, 1, 0, 53, 0, 40, 0, 0][..], &pattern(seed, 32)].concat();
    let six = [&[0x60, 0, 0, 0, 0, 32, 58, 255][..], &pattern(seed, 64)].concat();
    let fragment = {
        let mut frame = ip(17, &pattern(seed, 80));
        frame[20] = 0x20;
        frame[24..26].fill(0);
        let sum = ipv4::checksum(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame
    };
    let mut broadcast = ethernet(0x0806, &pattern(seed, 46));
    broadcast[..6].fill(0xff);
    vec![
        broadcast,
        ethernet(0x0806, &pattern(seed + 1, 28)),
        ethernet(0x86dd, &six),
        ip(1, &echo),
        ip(6, &pattern(seed, 1460)),
        ip(17, &udp),
        fragment,
        ethernet(0x8100, &[&[0, 5, 0x08, 0x06][..], &pattern(seed, 28)].concat()),
        ethernet(0x88cc, &pattern(seed, 1)),
        ethernet(0x9999, &[]),
        ethernet(0x9999, &pattern(seed, 4082)),
    ]
}

/// Frames that are not: defective ones, and RoCE from nobody. Those that are too long are counted as lost.
fn unwelcome() -> (Vec<Vec<u8>>, u64) {
    let mut bad_sum = ip(6, &pattern(3, 60));
    bad_sum[24] ^= 1;
    let mut version = ip(6, &pattern(3, 60));
    version[14] = 0x55;
    let roce = recorded_roce().remove(0).bytes;
    let mut spoilt = roce.clone();
    *spoilt.last_mut().unwrap() ^= 1;
    let long = [4083, 6000, 9000].map(|len| ethernet(0x9999, &pattern(4, len)));
    let to_card = |mut frame: Vec<u8>| {
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9]);
        frame
    };
    let short = ethernet(0x0800, &[0x45; 5]);
    let frames = [bad_sum, version, to_card(roce), to_card(spoilt), short];
    (frames.into_iter().chain(long).collect(), 3)
}

#[test]
fn what_is_not_roce_arrives_byte_for_byte_among_roce_that_loses_nothing() {
    for profile in widths!() {
        let street = Street::new(profile);
        let [near, far] = &street.pair.ends;
        let [sender, _receiver] = street.pair.connect();
        let queue = open(far, 60);
        let data = pattern(1, 100_000);
        near.put(0, &data);
        let key = far.memory.rkey();
        let batch = sender.start().wr_id(7).signaled();
        batch.write(&[near.piece(0, data.len())], far.at(0), key).post().unwrap();

        let (bad, too_long) = unwelcome();
        let mut expected = Vec::new();
        for round in 0..4 {
            let good = welcome(round);
            for (at, frame) in good.iter().enumerate() {
                street.send(std::slice::from_ref(frame));
                street.send(&bad[at % bad.len()..=at % bad.len()]);
            }
            expected.extend(good);
        }
        for (at, wanted) in expected.iter().enumerate() {
            assert!(frame(far, at) == *wanted, "{profile:?}: frame {at} of {} bytes", wanted.len());
        }
        near.expect(7);
        assert!(far.bytes(0, data.len()) == data, "{profile:?}: RoCE");
        street.pair.run(20_000);
        assert_eq!(far.poll(), None, "{profile:?}: nothing else was for it");
        let long = (0..4 * 11)
            .filter(|at| at % 11 % bad.len() >= bad.len() - usize::try_from(too_long).unwrap())
            .count();
        assert_eq!(far.count(&counters::RAW_FRAMES), expected.len() as u64, "{profile:?}");
        assert_eq!(far.count(&counters::RAW_DROPPED), long as u64, "{profile:?}");
        assert_eq!(near.count(&counters::RETRANSMITTED), 0, "{profile:?}");
        assert_eq!(near.count(&counters::RAW_DROPPED), 0, "{profile:?}: nobody wanted any there");
        drop(queue);
        street.send(&welcome(9));
        street.pair.run(20_000);
        let counts = [&counters::RAW_FRAMES, &counters::RAW_DROPPED].map(|counter| far.count(counter));
        assert_eq!(counts, [expected.len() as u64, long as u64], "{profile:?}: they are not wanted any more");
    }
}

#[test]
fn frames_of_the_host_reach_the_wire_byte_for_byte_and_complete_in_order() {
    for profile in widths!() {
        let street = Street::new(profile);
        let near = &street.pair.ends[0];
        let queue = open(near, 0);
        let frames: Vec<Vec<u8>> = [14, 15, 60, 63, 64, 65, 128, 480, 1000, 1514, 4095, 4096]
            .iter()
            .enumerate()
            .map(|(at, len)| {
                let mut bytes = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x99, 0x99];
                bytes.extend(pattern(at as u64, len - 14));
                bytes
            })
            .collect();
        let mut batch = queue.queue_pair().start();
        for (at, frame) in frames.iter().enumerate() {
            near.put(at * 8192 + at, frame);
            batch = batch.wr_id(at as u64);
            // The last one tells of all before it; some are in pieces, some in the request itself.
            batch = if at % 3 == 2 || at + 1 == frames.len() { batch.signaled() } else { batch };
            batch = match at % 2 {
                0 if frame.len() <= 480 => batch.inline_send(frame),
                _ => {
                    let cut = frame.len() / 3;
                    let base = at * 8192 + at;
                    batch.send(&[near.piece(base, cut), near.piece(base + cut, frame.len() - cut)])
                }
            };
        }
        batch.post().unwrap();
        for at in [2, 5, 8, 11] {
            near.expect(at);
        }
        street.pair.run(20_000);
        assert!(street.heard() == frames, "{profile:?}");
        assert_eq!(near.count(&counters::RAW_SENT), frames.len() as u64);
        assert_eq!(near.count(&counters::TX_FRAMES), frames.len() as u64);

        // What is no frame ends the queue pair, and nothing of it is heard.
        let batch = queue.queue_pair().start().wr_id(1).signaled().send(&[near.piece(0, 60)]);
        let batch = batch.wr_id(2).send(&[near.piece(0, 13)]);
        batch.wr_id(3).send(&[near.piece(0, 60)]).post().unwrap();
        near.expect(1);
        for (wr_id, status) in [(2, Status::LocalLength), (3, Status::Flushed)] {
            let found = near.complete();
            assert_eq!((found.wr_id, found.status), (wr_id, status), "{profile:?}");
        }
        street.pair.run(20_000);
        assert_eq!(street.heard().len(), 1, "{profile:?}");
    }
}

#[test]
fn without_a_receive_frames_are_lost_and_counted_and_the_next_receive_gets_the_next_frame() {
    for profile in widths!() {
        let street = Street::new(profile);
        let far = &street.pair.ends[1];
        let queue = open(far, 0);
        street.send(&welcome(1));
        street.pair.run(30_000);
        assert_eq!(far.poll(), None);
        assert_eq!(
            (far.count(&counters::RAW_FRAMES), far.count(&counters::RAW_DROPPED)),
            (0, 11),
            "{profile:?}"
        );
        assert_eq!(far.count(&counters::RNR_NAKS), 0);
        post(&queue, far, 0, 2);
        let frames = welcome(2);
        street.send(&frames[..3]);
        assert!(frame(far, 0) == frames[0] && frame(far, 1) == frames[1], "{profile:?}");
        street.pair.run(30_000);
        assert_eq!(
            (far.count(&counters::RAW_FRAMES), far.count(&counters::RAW_DROPPED)),
            (2, 12),
            "{profile:?}"
        );
    }
}

#[test]
fn a_receive_that_is_too_short_ends_the_queue_pair_and_the_stranger_hears_nothing() {
    for profile in widths!() {
        let street = Street::new(profile);
        let far = &street.pair.ends[1];
        let queue = open(far, 0);
        let receives = queue.queue_pair().receives().unwrap().receive(1, &[far.piece(INBOX, 59)]);
        receives.receive(2, &[far.piece(INBOX, 4096)]).post().unwrap();
        street.send(&[ethernet(0x0806, &pattern(1, 46))]);
        for (wr_id, status) in [(1, Status::LocalLength), (2, Status::Flushed)] {
            let found = far.complete();
            assert_eq!((found.wr_id, found.status, found.is_receive), (wr_id, status, true), "{profile:?}");
        }
        street.send(&welcome(3)[..2]);
        street.pair.run(30_000);
        assert_eq!(street.heard(), Vec::<Vec<u8>>::new(), "{profile:?}");
        assert_eq!(far.count(&counters::RAW_DROPPED), 2, "{profile:?}: not while it is in error");
        // It begins anew.
        assert_eq!(queue.queue_pair().query().unwrap().state, QueuePairState::Error as u8);
        queue.queue_pair().reset().unwrap();
        queue.begin().unwrap();
        post(&queue, far, 5, 1);
        let again = &welcome(4)[1];
        street.send(std::slice::from_ref(again));
        assert!(frame(far, 5) == *again, "{profile:?}");
    }
}

/// Cycles for a megabyte from card 1 to card 0, and frames lost, while card 0 sends raw frames or not.
fn under_storm(profile: Profile, storm: bool, receives: usize) -> (u64, u64) {
    let pair = Pair::with(profile, LinkConfig::cable(profile), 4096);
    let [near, far] = &pair.ends;
    let [_receiver, sender] = pair.connect();
    let queue = open(near, 0);
    let listener = open(far, receives);
    let data = pattern(5, 1 << 17);
    far.put(0, &data);
    if storm {
        let mut batch = queue.queue_pair().start();
        let frame = ethernet(0x9999, &pattern(1, 46));
        for _ in 0..1000 {
            batch = batch.inline_send(&frame);
        }
        batch.post().unwrap();
    }
    let start = pair.now();
    for wr_id in 0..8_u64 {
        let batch = sender.start().wr_id(1000 + wr_id).signaled();
        batch.write(&[far.piece(0, data.len())], near.at(0), near.memory.rkey()).post().unwrap();
    }
    let mut left = 8;
    while left > 0 {
        let found = far.complete();
        assert_eq!(found.status, Status::Success, "{found:?}");
        left -= u64::from(!found.is_receive);
    }
    let cycles = pair.now() - start;
    assert!(near.bytes(0, data.len()) == data);
    assert_eq!(far.count(&counters::RETRANSMITTED), 0, "{profile:?}");
    pair.run(50_000);
    let (taken, lost) = (far.count(&counters::RAW_FRAMES), far.count(&counters::RAW_DROPPED));
    assert_eq!(taken + lost, if storm { 1000 } else { 0 }, "{profile:?}");
    drop(listener);
    (cycles, lost)
}

#[test]
fn a_storm_of_raw_frames_neither_slows_roce_nor_loses_any() {
    for profile in widths!() {
        let (calm, _) = under_storm(profile, false, 0);
        for receives in [0, 100] {
            let (stormy, lost) = under_storm(profile, true, receives);
            assert_eq!(lost, 1000 - receives as u64, "{profile:?}: nothing but receives was missing");
            assert!(stormy <= calm + calm / 50, "{profile:?}: {stormy} cycles instead of {calm}");
        }
    }
}

#[test]
fn a_raw_queue_that_is_opened_anew_sends_and_gets_its_own_frames_alone() {
    let street = Street::new(Profile::HundredGig);
    let far = &street.pair.ends[1];
    for life in 0..6_u64 {
        let queue = open(far, 0);
        let port = far.device.port();
        assert_eq!(port.raw_queue_pair().unwrap(), Some(queue.queue_pair().number()));
        let mut batch = queue.queue_pair().start();
        let mut sent = Vec::new();
        for at in 0..20 {
            let mut frame = ethernet(0x9999, &pattern(100 * life + at, 986));
            frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 2]);
            let place = usize::try_from(at).unwrap() * 1024;
            far.put(place, &frame);
            batch = batch.wr_id(100 * life + at).signaled().send(&[far.piece(place, 1000)]);
            sent.push(frame);
        }
        batch.post().unwrap();
        // It ends with some frames under way.
        let heard = usize::try_from(life).unwrap() * 4;
        for at in 0..heard {
            far.expect(100 * life + at as u64);
        }
        drop(queue);
        assert_eq!(port.raw_queue_pair().unwrap(), None);
        street.pair.run(20_000);
        let found = street.heard();
        assert!(found.len() >= heard && sent.starts_with(&found), "{} frames in life {life}", found.len());
        while far.poll().is_some() {}
    }
}

fn mac(end: &End) -> [u8; 6] {
    end.device.port().mac().expect("a register")
}

/// Serves one card's neighbours while the other asks.
#[test]
fn two_cards_find_each_other_and_echo_in_both_versions_of_ip() {
    const PATIENCE: Duration = Duration::from_mins(1);
    for profile in widths!() {
        let street = Street::new(profile);
        let [near, far] = street.pair.ends.each_ref().map(|end| {
            let [.., last] = mac(end);
            let second = [0xfe80, 0, 0, 0, 0, 0, 0, last.into()];
            let port = end.device.port();
            port.set_address(3, second.into()).expect("a register");
            let mapped = Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets();
            let gids = port.gids().expect("registers");
            assert_eq!(gids, [(0, mapped), (3, Ipv6Addr::from(second).octets())]);
            assert_eq!(port.path_mtu(), 5, "4096 bytes");
            Neighbours::open(&end.device).expect("the raw queue")
        });
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    far.serve().expect("frames");
                    street.pair.run(100);
                }
            });
            for to in [IpAddr::from([10, 0, 0, 2]), [0xfe80, 0, 0, 0, 0, 0, 0, 2].into()] {
                assert_eq!(near.known(to), None);
                for bytes in [0, 1, 1000, Neighbours::ECHO_MAX] {
                    near.ping(to, bytes, PATIENCE).unwrap_or_else(|error| panic!("{to}, {bytes}: {error}"));
                }
                assert_eq!(near.known(to), Some(mac(&street.pair.ends[1])));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        // Who was asked knows who asked.
        assert_eq!(far.known([10, 0, 0, 1].into()), Some(mac(&street.pair.ends[0])));
        let nobody = near.resolve([10, 0, 0, 77].into(), Duration::from_millis(10));
        assert!(matches!(nobody, Err(Error::NoNeighbour { .. })), "{nobody:?}");
    }
}
