//! What a line with a script carries.

use stroma_abi::wire::Ipv4;
use stroma_top::Profile;

use super::*;
use crate::link::{Faults, Link, LinkConfig};

const KHZ: u32 = 250_000;
/// Cycles of 4 ns between frames: 2 us.
const APART: u64 = 500;

/// PSNs of six WRITEs, 2 us apart, as they arrive, and when; the line says first what it has counted.
fn arrivals(text: &str) -> (Link, Vec<(u64, Vec<u8>)>) {
    let config = LinkConfig { delay_ns: 0, ..LinkConfig::cable(Profile::HundredGig) };
    let mut link = Link::new(config, KHZ, Faults::default());
    link.line.set_script(text).unwrap_or_else(|error| panic!("{error}"));
    for psn in 0..6_u32 {
        link.push(u64::from(psn) * APART, packet(&opcode::RC_WRITE_ONLY, 1, psn, 64), false);
    }
    let mut arrived = Vec::new();
    while let Some(due) = link.next_due() {
        while let Some((bytes, bad)) = link.pop(due) {
            assert!(!bad, "nothing is corrupted");
            arrived.push((due, bytes));
        }
    }
    (link, arrived)
}

fn psns(text: &str) -> Vec<u32> {
    let psn = |(_, bytes): &(u64, Vec<u8>)| Frame::parse(bytes).expect("a packet").bth.psn.value();
    arrivals(text).1.iter().map(psn).collect()
}

#[test]
fn packets_arrive_in_the_order_that_the_script_asks_for() {
    for (text, expected) in [
        ("swap the 2nd and the 3rd WRITE", vec![0, 2, 1, 3, 4, 5]),
        ("reorder WRITEs 2 to 5", vec![0, 2, 3, 4, 1, 5]),
        ("reorder the next two WRITEs\nreorder WRITEs 3 to 5", vec![1, 0, 3, 4, 2, 5]),
        ("hold the 2nd WRITE until 3 others passed", vec![0, 2, 3, 4, 1, 5]),
        // Frames start 2 us apart: behind the third when 3 us are over, the fourth comes after 4.
        ("hold the 2nd WRITE for 3 us", vec![0, 2, 1, 3, 4, 5]),
        ("hold the 2nd WRITE for 3 us until 3 others passed", vec![0, 2, 1, 3, 4, 5]),
        ("drop packets 3 to 5", vec![0, 1, 5]),
        ("duplicate every 3rd WRITE", vec![0, 1, 2, 2, 3, 4, 5, 5]),
        ("drop all packets until 6 us", vec![3, 4, 5]),
        ("drop all packets after 6 us", vec![0, 1, 2]),
    ] {
        assert_eq!(psns(text), expected, "{text}");
    }
}

#[test]
fn one_that_waits_for_a_frame_that_is_lost_comes_when_its_patience_ends() {
    let (link, arrived) = arrivals("drop the 3rd WRITE\nswap the 2nd and the 3rd WRITE");
    let (due, last) = arrived.last().expect("five arrive");
    assert_eq!(Frame::parse(last).expect("a packet").bth.psn, Psn::new(1));
    // 138 bytes of frame, 12 of preamble and FCS: three cycles of 50 bytes; then a millisecond.
    assert_eq!(*due, APART + 3 + u64::from(PATIENCE_NS) / 4);
    let counters = link.line.counters();
    assert_eq!((arrived.len(), counters.lost, counters.held), (5, 1, 1));
}

#[test]
fn a_mark_is_set_and_counted_and_the_packet_stays_good() {
    let (link, arrived) = arrivals("mark the 2nd WRITE");
    let marks: Vec<u8> = arrived.iter().map(|(_, bytes)| Ipv4::ECN.at(14).get(bytes)).collect();
    assert_eq!(marks, [2, 3, 2, 2, 2, 2]);
    assert!(arrived.iter().all(|(_, bytes)| Frame::parse(bytes).is_ok()));
    assert_eq!(link.line.counters().marked, 1);
}

#[test]
fn a_script_that_is_none_changes_nothing() {
    let config = LinkConfig::cable(Profile::HundredGig);
    let mut link = Link::new(config, KHZ, Faults::default());
    link.line.set_script("drop everything").expect("a script");
    link.line.set_script("drop nothing").expect_err("no kind is called nothing");
    link.push(0, packet(&opcode::RC_WRITE_ONLY, 1, 0, 64), false);
    assert_eq!((link.pop(10_000), link.line.counters().lost), (None, 1));
}
