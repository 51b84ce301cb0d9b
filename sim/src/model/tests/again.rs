//! READs that are asked for again while their answer is under way.

use stroma_abi::Psn;
use stroma_abi::wire::opcode;

use super::responses::{ACK, Bench, GAP, fetch_add, only, read};
use crate::model::Packet;

const MTU: u32 = 256;
/// A READ of 20 packets: the PSN of its first, of the next when five have left, and of the one behind the last.
const BEGIN: u32 = 0xff_fffe;
const NEXT: u32 = 3;
const END: u32 = 18;

fn packets(begin: u32) -> u32 {
    Psn::new(END).distance(Psn::new(begin))
}

/// The READ from here to its end.
fn rest(begin: u32) -> Packet {
    let mut request = read(begin, packets(begin) * MTU);
    let place = u64::from((packets(BEGIN) - packets(begin)) * MTU);
    request.extended.reth.as_mut().unwrap().address += place;
    request
}

/// PSNs from here to the end of the READ.
fn psns(begin: u32) -> Vec<u32> {
    (0..packets(begin)).map(|index| Psn::new(begin).add(index).value()).collect()
}

/// A READ of 20 packets, of which five have left.
fn under_way() -> Bench {
    let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(BEGIN));
    bench.give(&rest(BEGIN)).unwrap();
    let first: Vec<_> = (0..5).map(|_| bench.responder.transmit().unwrap().psn.value()).collect();
    assert_eq!(first, psns(BEGIN)[..5]);
    bench
}

/// The answers to these requests and what was left before them.
fn behind(requests: &[Packet]) -> Vec<Packet> {
    let mut bench = under_way();
    for request in requests {
        bench.give(request).unwrap();
    }
    bench.answers()
}

fn numbers(answers: &[Packet]) -> Vec<u32> {
    answers.iter().map(|packet| packet.psn.value()).collect()
}

#[test]
fn a_read_from_behind_the_first_packet_sent_replaces_the_answer_under_way() {
    for begin in [0xff_ffff, 0, NEXT - 1, NEXT] {
        let answers = behind(&[rest(begin)]);
        assert_eq!(numbers(&answers), psns(begin), "from {begin:#x}");
        assert_eq!(answers[0].opcode, opcode::RC_READ_RESPONSE_FIRST);
    }
    let bytes: Vec<u8> = behind(&[rest(0)]).iter().flat_map(|packet| packet.payload.clone()).collect();
    assert_eq!(bytes, under_way().bytes(512, 18 * 256), "eighteen packets, from the third on");
}

#[test]
fn a_read_that_begins_where_the_one_under_way_began_or_beyond_its_next_packet_is_answered_in_its_turn() {
    for begin in [BEGIN, NEXT + 1, END - 1] {
        let expected = [psns(NEXT), psns(begin)].concat();
        assert_eq!(numbers(&behind(&[rest(begin)])), expected, "from {begin:#x}");
    }
}

#[test]
fn one_in_front_of_the_read_under_way_is_answered_in_its_turn() {
    let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(BEGIN));
    bench.give(&rest(BEGIN)).unwrap();
    bench.answers();
    bench.give(&read(END, 3 * MTU)).unwrap();
    bench.responder.transmit().unwrap();
    bench.give(&rest(0)).unwrap();
    assert_eq!(numbers(&bench.answers()), [vec![END + 1, END + 2], psns(0)].concat());
}

#[test]
fn a_read_of_which_nothing_has_left_or_that_has_left_whole_is_not_replaced() {
    let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(BEGIN));
    bench.give(&rest(BEGIN)).unwrap();
    bench.give(&rest(0)).unwrap();
    assert_eq!(numbers(&bench.answers()), [psns(BEGIN), psns(0)].concat());
    bench.give(&only(END, 8)).unwrap();
    bench.give(&rest(0)).unwrap();
    assert_eq!(numbers(&bench.answers()), [vec![END], psns(0)].concat());
}

#[test]
fn a_repeated_atomic_replaces_nothing() {
    let mut bench = Bench::with(|settings| settings.receive_psn = Psn::new(BEGIN));
    bench.give(&fetch_add(BEGIN, 0, 1)).unwrap();
    bench.give(&read(0xff_ffff, 4 * MTU)).unwrap();
    (0..3).for_each(|_| assert!(bench.responder.transmit().is_some()));
    bench.give(&fetch_add(BEGIN, 0, 1)).unwrap();
    assert_eq!(numbers(&bench.answers()), [1, 2, BEGIN]);
}

#[test]
fn what_waits_behind_is_dropped_and_asked_for_again_but_a_refusal_stays() {
    let late = [read(END, 10), only(END + 1, 8), fetch_add(END + 2, 0, 1), only(END + 3, 8)];
    // A gap: what comes behind it is missing.
    let gap = only(END + 5, 8);
    let mut bench = under_way();
    for request in late.iter().chain([&gap, &rest(0)]) {
        bench.give(request).unwrap();
    }
    let answers = bench.answers();
    assert_eq!(numbers(&answers), [psns(0), vec![END + 4]].concat());
    assert_eq!(answers[18].syndrome(), Some(GAP));
    for request in &late {
        bench.give(request).unwrap();
    }
    let answers = bench.answers();
    assert_eq!(numbers(&answers), [END, END + 3, END + 2, END + 3]);
    assert_eq!(answers[1].syndrome(), Some(ACK));
}

#[test]
fn reads_whose_place_is_taken_are_no_more_open() {
    let mut bench = under_way();
    (0..15).for_each(|index| bench.give(&read(END + index, 8)).unwrap());
    bench.give(&rest(0)).unwrap();
    bench.give(&read(END + 15, 8)).unwrap();
    assert!(!bench.responder.is_failed(), "sixteen would have been open");
    assert_eq!(numbers(&bench.answers()), [psns(0), vec![END + 15]].concat());
}
