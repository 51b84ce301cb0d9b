//! The block against its plain-Rust twin.

mod atomics;
mod calls;
mod corners;
mod errands;
mod receives;
mod timing;
mod unreliable;

use stroma_abi::desc::Status;
use stroma_verilate::{Pause, SplitMix64};

use self::errands::{place, visits};
use super::model::Visit;
use super::rig::{QPS, Rig, STREAMS};
use super::straight::Straight;
use crate::testing::stalls_of;
use crate::verilog::differential::{assert_agree, differential};

fn agree<const D: usize>(rounds: u64) {
    let mut rig = Rig::<D>::new();
    for seed in 0..rounds {
        rig.send(&visits(seed, 66, [0, 5, 20, 60][usize::try_from(seed % 4).expect("small")], 7));
        // A queue pair of which nothing is inside may reset whenever it likes.
        for cycle in 0..seed * 4 {
            rig.run(cycle % 3);
            rig.change(7, true);
            rig.change(cycle % 7, false);
        }
        rig.finish();
        (0..7).filter(|qpn| (qpn + seed) % 3 != 0).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn agrees_with_the_model() {
    agree::<64>(24);
    agree::<512>(48);
}

#[test]
fn the_random_errands_meet_every_end() {
    let mut rig = super::model::Twin::default();
    let mut met = std::collections::BTreeMap::<(u64, u64), usize>::new();
    let (mut crossings, mut refused, mut untold, mut told) = (0, 0, 0, 0);
    let (mut operations, mut events, mut words) = (0, 0, 0);
    let (mut feeds, mut given_up, mut called) = (0, 0, 0);
    let (mut accepted, mut overtaken, mut lost) = (0, 0, 0);
    for seed in 0..72 {
        let found = rig.run(&visits(seed, 66, [0, 5, 20, 60][usize::try_from(seed % 4).expect("small")], 7));
        for (done, _) in found.dones {
            *met.entry((done.status.into(), done.vendor.into())).or_default() += 1;
        }
        crossings += found
            .questions
            .iter()
            .filter(|question| super::model::memory::translate(question).len() > 1)
            .count();
        operations += found.operations.len();
        events += found.events.len();
        feeds += found.feeds.len();
        given_up += found.calls.iter().filter(|(call, _)| call.gives_up).count();
        called += found.calls.iter().filter(|(call, _)| !call.gives_up).count();
        words += found.writes.iter().filter(|write| write.bytes.len() < 8).count();
        refused += found.refused;
        accepted += found.accepted;
        overtaken += found.overtaken;
        lost += found.lost;
        untold += found.errors.iter().filter(|(error, _)| error.untold).count();
        told += found.errors.iter().filter(|(error, _)| !error.untold).count();
        rig.failed.clear();
        rig.spoiled.clear();
    }
    assert!(accepted > 100 && overtaken > 100 && lost > 10, "{accepted} {overtaken} {lost}");
    assert!(operations > 100 && events > 20 && words > 100, "{operations} {events} {words}");
    assert!(feeds > 40 && given_up > 20 && called > 100, "{feeds} {given_up} {called}");
    let too_long = met.iter().filter(|((status, _), _)| *status == u64::from(Status::LocalLength as u8));
    assert!(too_long.map(|(_, count)| count).sum::<usize>() >= 4, "{met:?}");
    let local = (1..=4).map(|cause| (u64::from(Status::LocalProtection as u8), cause));
    for end in local.chain([(u64::from(Status::Flushed as u8), 0), (u64::from(Status::General as u8), 5)]) {
        assert!(met.get(&end).is_some_and(|count| *count >= 2), "{end:?} in {met:?}");
    }
    assert!(
        crossings > 100 && refused > 20 && untold > 30 && told > 30,
        "{crossings} {refused} {untold} {told}"
    );
}

fn survive<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (seed, stall) in (100..).zip(stalls_of::<STREAMS>()) {
        rig.latency = [(6, 7), (1, 60), (1, 300)][usize::try_from(seed % 3).expect("small")];
        rig.pause(stall);
        rig.send(&visits(seed, 40, 8, 1 << QPS));
        rig.finish();
        (0..1 << QPS).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn survives_stalls() {
    survive::<64>();
    survive::<512>();
}

/// Every place in a beat at which a page may end, and every length around it.
fn every_cut<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = SplitMix64::new(3);
    let beat = D as u64 / 8;
    for before in 1..=2 * beat {
        let lengths = [1, 2, beat - 1, beat, beat + 1, 2 * beat, 2 * beat + 3, 600];
        let one = |rng: &mut SplitMix64, behind: u64| {
            Visit::Request(vec![place(rng, 0x9_0000_1000 - before, before + behind)])
        };
        let mut all: Vec<Visit> = lengths.iter().map(|behind| one(&mut rng, *behind)).collect();
        all.push(Visit::Request(vec![place(&mut rng, 0x9_0000_1000 - before, before)]));
        rig.send(&all);
        rig.finish();
    }
}

#[test]
fn every_byte_may_begin_a_page() {
    every_cut::<64>();
    every_cut::<512>();
}

fn recover<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.latency = (1, 30);
    for seed in 0..12 {
        rig.send(&visits(seed, 60, 30, 1 << QPS));
        rig.pause([(); STREAMS].map(|()| Pause::Random { seed, percent: 30 }));
        rig.run(20 + 37 * seed);
        assert!(rig.port("busy"), "nothing was inside when reset came");
        rig.reset();
        rig.pause([(); STREAMS].map(|()| Pause::None));
        // What failed before is forgotten.
        rig.send(&visits(seed + 50, 60, 5, 1 << QPS));
        rig.finish();
    }
}

#[test]
fn recovers_from_reset() {
    recover::<64>();
    recover::<512>();
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "place",
        Straight::<64, 2>::default,
        clock,
        [
            order.payload,
            order.valid,
            requests.payload,
            requests.valid,
            responses.payload,
            responses.valid,
            payload.payload,
            payload.valid,
            xlat.ready,
            answer.payload,
            answer.valid,
            write.ready,
            write_data.ready,
            call_data.ready,
            call.ready,
            issued,
            task.ready,
            done.ready,
            error.ready,
            kick.ready,
            operation.ready,
            operation_colour,
            applies,
            event.ready,
            change.payload,
            change.valid
        ]
    );
    assert_agree([case], 100);
}
