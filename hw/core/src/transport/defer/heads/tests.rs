//! The store of requests against a list.

use stroma_verilate::Pause;

use super::DeferHeads;
use super::rig::{PAIRS, Rig};
use crate::testing::{read, stalls_of};
use crate::transport::records::Arrival;
use crate::verilog::differential::{assert_agree, differential};

const LIMIT: u64 = 200_000;

#[test]
fn agrees_with_the_model() {
    for (places, seed) in [(32, 1), (64, 2)] {
        let mut rig = Rig::new(places, seed);
        for shares in [(50, 50), (90, 90), (5, 95), (100, 0)] {
            rig.shares = shares;
            rig.requests(400);
            rig.settle(LIMIT);
        }
        assert!(rig.questions > 1000);
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new(32, 3);
    for stall in stalls_of::<3>() {
        rig.pause(stall);
        rig.requests(60);
        rig.settle(LIMIT);
    }
}

#[test]
fn requests_of_a_queue_pair_go_in_the_order_in_which_they_came() {
    let mut rig = Rig::new(64, 4);
    rig.requests(300);
    let sent: Vec<Arrival> = rig.waiting.iter().copied().collect();
    rig.settle(LIMIT);
    for qpn in 0..PAIRS {
        let of = |those: &[Arrival]| -> Vec<_> {
            let those = those.iter().filter(|arrival| u64::from(arrival.qpn) == qpn);
            those.map(|arrival| (arrival.psn, arrival.va)).collect()
        };
        let (mut sent, gone) = (of(&sent).into_iter(), of(&rig.gone));
        // Some were lost on the way back.
        assert!(
            gone.len() > 40 && gone.iter().all(|one| sent.any(|other| other == *one)),
            "queue pair {qpn}"
        );
    }
}

#[test]
fn when_the_store_is_full_no_packet_begins_and_it_empties_by_itself() {
    let mut rig = Rig::new(32, 5);
    rig.shares = (100, 100);
    rig.requests(200);
    for _ in 0..2000 {
        rig.step();
    }
    assert!(!read::<bool>(&rig.bench, "admits"));
    assert!(!read::<bool>(&rig.bench, "roomy"));
    // Those that were lost have left their places, which are free when all before them are.
    let level = rig.store.level();
    assert!((19..=32).contains(&level), "{level} places are in use");
    rig.shares = (0, 0);
    rig.settle(LIMIT);
}

#[test]
fn a_queue_pair_that_resets_has_nothing_left_and_others_keep_theirs() {
    let mut rig = Rig::new(64, 6);
    for _ in 0..10 {
        rig.shares = (100, 100);
        rig.requests(30);
        while !rig.is_drained() || rig.store.kept.len() < 12 {
            rig.step();
        }
        rig.change(1, false);
        rig.change(2, true);
        rig.change(3, false);
        while !rig.bench.is_sent() {
            rig.step();
        }
        assert!(rig.store.kept.iter().all(|kept| u64::from(kept.arrival.qpn) != 2));
        assert!(!rig.store.kept.is_empty());
        rig.shares = (0, 0);
        rig.settle(LIMIT);
    }
    assert!(rig.purged > 20);
}

#[test]
fn changes_wait_for_nobody_when_nothing_is_kept() {
    let mut rig = Rig::new(64, 7);
    let start = rig.bench.cycle();
    for qpn in 0..PAIRS {
        rig.change(qpn, true);
    }
    while !rig.bench.is_sent() {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, PAIRS);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new(32, 8);
    rig.shares = (100, 100);
    rig.requests(20);
    for _ in 0..200 {
        rig.step();
    }
    assert!(read::<bool>(&rig.bench, "busy"));
    rig.bench.clear();
    rig.bench.reset(2);
    assert!(!read::<bool>(&rig.bench, "busy"));
    rig.bench.run(100);
    assert!(!read::<bool>(&rig.bench, "busy"), "nothing is kept, and nothing asked for");
}

#[test]
fn nobody_is_asked_while_the_lookup_is_busy() {
    let mut rig = Rig::new(32, 9);
    rig.pause([Pause::None, Pause::None, Pause::Always]);
    rig.shares = (100, 0);
    rig.requests(5);
    for _ in 0..300 {
        rig.step();
    }
    assert_eq!((rig.questions, rig.store.kept.len()), (0, 5));
    rig.pause([const { Pause::None }; 3]);
    rig.settle(LIMIT);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [differential!(
        "defer_heads",
        DeferHeads::default,
        clock,
        [
            places,
            arrival.payload,
            arrival.valid,
            source.ready,
            acts,
            acted,
            deferral,
            nudge.ready,
            lost,
            change.payload,
            change.valid
        ]
    )];
    assert_agree(cases, 300);
}
