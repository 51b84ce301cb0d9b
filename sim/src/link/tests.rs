use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::{Ethernet, Mac, Tag};
use stroma_verilate::SplitMix64;

use super::pause::PauseFrame;
use super::*;

mod congestion;
mod faulty;

/// 100 Gb/s under a clock of 250 MHz: 400 bits, 50 bytes a cycle. No delay, so that numbers are those of the wire.
pub(super) const BARE: LinkConfig = LinkConfig { delay_ns: 0, ..LinkConfig::cable(Profile::HundredGig) };
pub(super) const KHZ: u32 = 250_000;

/// A frame of some length that tells its number.
pub(super) fn frame(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x5a; length];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(super) fn number(frame: &[u8]) -> u64 {
    u64::from_be_bytes(frame[..8].try_into().expect("eight bytes"))
}

/// Everything that arrives, with its cycle, looked at in the cycles in which something is due.
pub(super) fn drain(link: &mut Link) -> Vec<(u64, Vec<u8>, bool)> {
    let mut arrived = Vec::new();
    while let Some(due) = link.next_due() {
        while let Some((bytes, bad)) = link.pop(due) {
            arrived.push((due, bytes, bad));
        }
    }
    arrived
}

fn dues(link: &mut Link) -> Vec<u64> {
    drain(link).into_iter().map(|(due, _, _)| due).collect()
}

#[test]
fn a_frame_takes_its_bits_on_the_wire_and_the_delay() {
    let config = LinkConfig { delay_ns: 350, ..BARE };
    // 8 preamble, 1000 frame, 4 FCS: 1012 bytes in 20.24 cycles; 350 ns are 87.5.
    let mut link = Link::new(config, KHZ, Faults::default());
    link.push(7, frame(0, 1000), false);
    assert_eq!(link.next_due(), Some(115), "7 + 20.24 + 87.5, rounded up");
    assert_eq!(link.pop(114), None);
    assert_eq!(link.pop(115), Some((frame(0, 1000), false)));
    assert_eq!((link.pop(1000), link.next_due()), (None, None));
}

#[test]
fn short_frames_count_as_the_shortest_ethernet_has() {
    // 8 + 64 bytes, and 12 of gap: 84 bytes, 1.68 cycles from one to the next.
    for length in [10, 60] {
        let mut link = Link::new(BARE, KHZ, Faults::default());
        (0..50).for_each(|count| link.push(0, frame(count, length), false));
        let expected: Vec<u64> = (0..50).map(|count: u64| (count * 84 + 72).div_ceil(50)).collect();
        assert_eq!(dues(&mut link), expected);
    }
}

#[test]
fn a_rate_that_fits_no_clock_is_exact_after_a_hundred_thousand_frames() {
    let config = LinkConfig { megabits: 25_781, queue_bytes: usize::MAX, ..BARE };
    let mut link = Link::new(config, 156_250, Faults::default());
    let cycle =
        |bits: u128| u64::try_from((bits * 156_250_000).div_ceil(25_781_000_000)).expect("some cycles");
    let mut bits = 0;
    for count in 0..100_000 {
        // Just before the line is free, so that it never rests.
        link.push(cycle(bits).saturating_sub(1), frame(count, 77), false);
        bits += (8 + 77 + 4 + 12) * 8;
    }
    let last = dues(&mut link).pop();
    // Bits over rate is seconds; times clock is cycles. The gap behind the last frame does not delay it.
    assert_eq!(last, Some(cycle(bits - 12 * 8)));
}

#[test]
fn a_mac_sends_while_it_is_given_bytes_but_not_before() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    // 1012 bytes take 20.24 cycles from the first byte on, given faster than that.
    link.line.push(100, 116, frame(0, 1000), false);
    // The second begins when the gap is over, at 120.48; it is given so slowly that its end is what counts.
    link.line.push(116, 400, frame(1, 1000), false);
    assert_eq!(dues(&mut link), [121, 400]);
}

#[test]
fn a_mac_takes_beats_when_the_wire_is_free_within_a_cycle() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    link.push(0, frame(0, 1000), false);
    // Frame and gap: 1024 bytes, 20.48 cycles.
    let takes: Vec<u64> = (0..30).filter(|now| link.line.takes(*now)).collect();
    assert_eq!(takes, (20..30).collect::<Vec<u64>>());
}

#[test]
fn a_line_knows_before_which_cycle_it_has_no_room() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    let (mut random, mut full, mut exact) = (SplitMix64::new(3), 0, 0);
    for now in 0..20_000 {
        let due = link.line.room_due();
        let takes = link.line.takes(now);
        assert!(!takes || due <= now, "room in cycle {now}, before {due}");
        full += u64::from(!takes);
        // With a frame still waiting it may be later than said: not much is lost, for somebody looks in vain.
        exact += u64::from(takes == (due <= now));
        match random.below(20) {
            0 if takes => {
                let length = usize::try_from(20 + random.below(1400)).expect("small");
                link.push(now, frame(now, length), false);
            }
            1 => link.line.pause(now, &PauseFrame { quanta: [Some(20); 8] }),
            _ => {}
        }
    }
    assert!(full > 5000 && exact > 19_000, "{full} cycles without room, {exact} foretold");
}

#[test]
fn what_does_not_fit_the_queue_is_dropped_and_counted() {
    let mut link = Link::new(LinkConfig { queue_bytes: 3000, ..BARE }, KHZ, Faults::default());
    // The first is on the wire at once, three wait; the fifth finds no room, and 20 cycles later there is some.
    (0..5).for_each(|count| link.push(0, frame(count, 1000), false));
    link.push(30, frame(5, 1000), false);
    let arrived: Vec<u64> = drain(&mut link).iter().map(|(_, bytes, _)| number(bytes)).collect();
    assert_eq!(arrived, [0, 1, 2, 3, 5]);
    let counters = link.line.counters();
    assert_eq!((counters.pushed, counters.overflowed, counters.departed), (6, 1, 5));
}

fn tagged(class: u8, count: u64) -> Vec<u8> {
    let mut bytes = frame(count, 1000);
    let ethernet = Ethernet { ethertype: ethertype::TAG, ..Ethernet::parse(&bytes).expect("long enough") };
    ethernet.emit(&mut bytes);
    Tag { priority: class, drop_eligible: false, vlan: 1, ethertype: ethertype::ARP }.emit(&mut bytes[14..]);
    bytes[..8].copy_from_slice(&count.to_be_bytes());
    bytes
}

#[test]
fn a_pause_stops_the_line_behind_the_frame_on_the_wire() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    (0..3).for_each(|count| link.push(0, frame(count, 1000), false));
    // 100 quanta of 512 bits are 128 cycles.
    link.line.pause(10, &PauseFrame { quanta: [Some(100); 8] });
    assert!(!link.line.takes(60), "one waits");
    assert_eq!(dues(&mut link), [21, 10 + 128 + 21, 10 + 128 + 41]);
    assert_eq!(link.line.counters().paused, 1);
}

#[test]
fn a_pause_of_no_time_ends_one() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    (0..2).for_each(|count| link.push(0, frame(count, 1000), false));
    link.line.pause(10, &PauseFrame { quanta: [Some(u16::MAX); 8] });
    link.line.pause(50, &PauseFrame { quanta: [Some(0); 8] });
    assert_eq!(dues(&mut link), [21, 50 + 21]);
}

#[test]
fn a_paused_class_is_passed_by_the_others() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    let mut quanta = [None; 8];
    quanta[3] = Some(1000);
    link.line.pause(0, &PauseFrame { quanta });
    for (count, class) in [3, 5, 3, 0].into_iter().enumerate() {
        link.push(0, tagged(class, count as u64), false);
    }
    let order: Vec<u64> = drain(&mut link).iter().map(|(_, bytes, _)| number(bytes)).collect();
    assert_eq!(order, [1, 3, 0, 2]);
}

#[test]
fn pause_frames_read_as_they_were_written() {
    let mut some = [None; 8];
    (some[0], some[3], some[7]) = (Some(0), Some(0x1234), Some(u16::MAX));
    for (quanta, opcode) in [([Some(5); 8], [0x00, 0x01]), (some, [0x01, 0x01])] {
        let bytes = PauseFrame { quanta }.to_bytes(Mac([2; 6]));
        assert_eq!(bytes[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!((bytes.len(), &bytes[12..14], &bytes[14..16]), (60, &[0x88, 0x08][..], &opcode[..]));
        assert_eq!(PauseFrame::parse(&bytes), Some(PauseFrame { quanta }));
    }
    // Vector of classes 0, 3 and 7, low byte last; class 3's time behind those of 0 to 2.
    let bytes = PauseFrame { quanta: some }.to_bytes(Mac([2; 6]));
    assert_eq!((&bytes[16..18], &bytes[24..26]), (&[0x00, 0x89][..], &[0x12, 0x34][..]));
    assert_eq!(PauseFrame::parse(&[0x88; 60]), None);
    assert_eq!(PauseFrame::parse(&bytes[..20]), None);
}

/// Frames pushed and pauses taken at random times; what arrives when, looked at in every cycle or when something is due.
fn story(seed: u64, looks_always: bool) -> Vec<(u64, Vec<u8>, bool)> {
    let chance = Chance::percent(10);
    let faults = Faults {
        seed,
        loss: chance,
        duplication: chance,
        reordering: Chance::percent(20),
        hold: Hold { frames: 2, ns: 600 },
        corruption: chance,
        ..Faults::default()
    };
    let config = LinkConfig { delay_ns: 100, mark_bytes: Some(1000), ..BARE };
    let mut link = Link::new(config, KHZ, faults);
    let (mut random, mut arrived, mut count) = (SplitMix64::new(seed), Vec::new(), 0);
    let mut next = random.below(40);
    for now in 0..5000 {
        if looks_always || link.next_due().is_some_and(|due| due <= now) {
            while let Some((bytes, bad)) = link.pop(now) {
                arrived.push((now, bytes, bad));
            }
        }
        if now == next {
            next += 1 + random.below(40);
            let length = usize::try_from(20 + random.below(1400)).expect("small");
            match random.below(30) {
                0 => link.line.pause(now, &PauseFrame { quanta: [Some(20); 8] }),
                _ => link.push(now, frame(count, length), false),
            }
            count += 1;
        }
    }
    arrived.extend(drain(&mut link));
    arrived
}

#[test]
fn how_often_somebody_looks_changes_nothing() {
    for seed in 0..20 {
        let seldom = story(seed, false);
        assert!(seldom.len() > 100);
        assert_eq!(seldom, story(seed, true), "seed {seed}");
    }
    assert_ne!(story(1, false), story(2, false));
}
