use stroma_abi::desc::Status;

use super::super::model::{answers, is_broken, question};
use super::*;
use crate::state::access::Cause;
use crate::state::mmu::XlatResponse;

const GOOD: Piece = (1, 0x7000_0010, 100);

/// A piece whose answers are as wanted.
fn find(key: u32, offset: u64, bytes: u64, is_wanted: impl Fn(&[XlatResponse]) -> bool) -> Piece {
    let mut rng = SplitMix64::new(0);
    let mut pieces = (1..).map(|page| (key, page * PAGE + offset, bytes));
    let is_right = |piece: &Piece| {
        let step = packet(&mut rng, false, &[*piece]).steps[0];
        is_wanted(&answers(&question(&step).expect("it has bytes")))
    };
    pieces.find(is_right).expect("there are many pages")
}

fn refused(cause: u64) -> Piece {
    let key = if cause == Cause::PageList as u64 { LISTLESS } else { REFUSED };
    find(key, 0, 100, |answers| answers[0].cause == cause)
}

fn broken() -> Piece {
    find(BROKEN, 0, 100, |answers| is_broken(answers[0].iova.into()))
}

/// Status and vendor code of the packets that failed.
fn told<const D: usize, const LOG: usize>(rig: &mut Rig<D, LOG>, packets: &[Packet]) -> Vec<(u64, u64)> {
    rig.failures.clear();
    rig.send(packets);
    rig.finish();
    rig.failures.iter().map(|told| (u64::from(told.status), u64::from(told.vendor))).collect()
}

fn fail<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    let mut rng = SplitMix64::new(1);
    let (protection, general) = (Status::LocalProtection as u64, Status::General as u64);
    let kinds = [
        (refused(1), (protection, 1)),
        (refused(2), (protection, 2)),
        (refused(3), (protection, 3)),
        (refused(4), (protection, 4)),
        (refused(5), (general, 5)),
        (broken(), (general, 0)),
    ];
    for (bad, expected) in kinds {
        for pieces in
            [vec![bad], vec![bad, GOOD], vec![GOOD, bad], vec![GOOD, bad, GOOD, refused(2), broken()]]
        {
            let packets = [
                packet(&mut rng, false, &[GOOD, GOOD]),
                packet(&mut rng, true, &pieces),
                packet(&mut rng, false, &[GOOD]),
                inline(&mut rng, false, 70),
                inline(&mut rng, true, 70),
                packet(&mut rng, false, &pieces),
                packet(&mut rng, true, &[GOOD]),
            ];
            assert_eq!(told(&mut rig, &packets), [expected; 2], "{pieces:?}");
        }
    }
}

#[test]
fn a_packet_that_fails_anywhere_is_told_and_its_neighbours_are_sent() {
    fail::<64, NARROW>();
    fail::<512, WIDE>();
}

#[test]
fn one_of_two_pages_may_fail() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(2);
    let general = Status::General as u64;
    for bad in [[true, false], [false, true], [true, true]] {
        let lists = |answers: &[XlatResponse]| answers.iter().map(|answer| !answer.ok).eq(bad);
        let reads =
            |answers: &[XlatResponse]| answers.iter().map(|answer| is_broken(answer.iova.into())).eq(bad);
        for (piece, vendor) in [(find(LISTLESS, 4000, 300, lists), 5), (find(BROKEN, 4000, 300, reads), 0)] {
            let packets = [packet(&mut rng, false, &[piece]), packet(&mut rng, false, &[GOOD, piece, GOOD])];
            assert_eq!(told(&mut rig, &packets), [(general, vendor); 2]);
        }
    }
}

#[test]
fn sides_with_packets_on_offer_alternate_and_each_packet_is_taken_whole() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(3);
    let mut packets = Vec::new();
    for _ in 0..10 {
        packets.push(packet(&mut rng, false, &[GOOD, GOOD, GOOD]));
        packets.push(packet(&mut rng, true, &[GOOD, GOOD]));
    }
    packets.push(packet(&mut rng, true, &[GOOD]));
    packets.push(packet(&mut rng, true, &[GOOD]));
    rig.send(&packets);
    rig.finish();
    let expected: Vec<usize> = (0..20).map(|at| at % 2).chain([1, 1]).collect();
    assert_eq!(rig.order, expected);
    assert_eq!(*rig.at.step.last().expect("steps") - rig.at.step[0] + 1, 10 * 5 + 2, "a turn costs nothing");
}

#[test]
fn a_side_that_pauses_within_a_packet_keeps_its_turn() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(4);
    rig.bench[rig.steps[0]].pause(Pause::Burst { go: 1, pause: 10 });
    let mut send = |count, is_response| {
        let packets: Vec<_> =
            (0..count).map(|_| packet(&mut rng, is_response, &[GOOD, GOOD, GOOD])).collect();
        rig.send(&packets);
    };
    send(3, false);
    send(60, true);
    rig.finish();
    let requests: Vec<_> = (0..).zip(&rig.order).filter(|(_, side)| **side == 0).map(|(at, _)| at).collect();
    assert!(requests.len() == 3 && requests[2] < 60, "the other side had nothing to offer: {requests:?}");
}

#[test]
fn steps_without_bytes_may_stand_anywhere() {
    let mut rig = Rig::<64, NARROW>::new();
    let mut rng = SplitMix64::new(5);
    let nothing = (3, 3, 0);
    let whole = (1, 0x7000_0000, 64);
    for pieces in [
        &[nothing, GOOD][..],
        &[GOOD, nothing],
        &[whole, nothing],
        &[whole, nothing, nothing, whole],
        &[nothing, nothing],
        &[nothing, GOOD, nothing, whole, nothing],
    ] {
        let packets = [
            packet(&mut rng, false, pieces),
            packet(&mut rng, true, pieces),
            inline(&mut rng, false, 0),
            inline(&mut rng, true, 0),
        ];
        rig.send(&packets);
        rig.finish();
    }
    assert_eq!(rig.sent, 24);
}

#[test]
fn a_failure_that_nobody_takes_holds_back_the_packets_behind_it_and_none_before() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(6);
    rig.bench[rig.failed].pause(Pause::Script(vec![true]));
    rig.send(&[
        packet(&mut rng, false, &[GOOD]),
        packet(&mut rng, false, &[refused(1)]),
        packet(&mut rng, false, &[GOOD]),
    ]);
    rig.run(200);
    assert_eq!((rig.sent, rig.port("busy")), (1, true));
    rig.bench[rig.failed].pause(Pause::None);
    rig.finish();
    assert_eq!(rig.sent, 2);
}

/// Neither the packets' port nor the wire moves: all that is inside stops, and nothing is lost.
fn fill<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    let mut rng = SplitMix64::new(7);
    let stop = Pause::Script(vec![true]);
    rig.bench[rig.packet].pause(stop.clone());
    rig.bench[rig.payload].pause(stop);
    let packets: Vec<_> = (0..12).map(|at| packet(&mut rng, at % 2 == 1, &[(1, 0x1000, 4096)])).collect();
    rig.send(&packets);
    rig.run(8000);
    // One is in the store, and the second almost.
    assert_eq!((rig.sent, rig.at.read.len()), (0, 1));
    rig.bench[rig.packet].pause(Pause::None);
    rig.run(200);
    assert_eq!(rig.sent, 1);
    rig.bench[rig.payload].pause(Pause::None);
    rig.finish();
    assert_eq!(rig.sent, 12);
}

#[test]
fn a_full_store_stalls_and_loses_nothing() {
    fill::<64, NARROW>();
    fill::<512, WIDE>();
}

#[test]
#[should_panic(expected = "do not hold a payload and eight beats")]
fn a_store_that_holds_four_kibibytes_only_is_refused() {
    let _ = Fetch::<512, 6>::default();
}
