//! The key-value store of `examples/kv` on two cards: what its clients see can be explained by a plain map, whatever the wire does.

use std::collections::BTreeMap;

use stroma_kv::flawed::{Forgetful, Stale};
use stroma_kv::history::{Bytes, Outcome};
use stroma_kv::mix::Mix;
use stroma_kv::rig::{Plan, Played, Rig};
use stroma_kv::{Layout, Way};
use stroma_sim::link::Counters;
use stroma_tests::faulty::faults;
use stroma_top::Profile;

/// Two buckets, which six keys can fill.
const LAYOUT: Layout = Layout { log_buckets: 1, log_buffers: 9, buffer_bytes: 256 };
const KEYS: u64 = 6;
const CLIENTS: usize = 4;

fn rig(profile: Profile, percent: u32, seed: u64) -> Rig {
    // Small packets, so that there are many to be lost, and little patience.
    let plan = Plan { path_mtu: 1, timeout: 6, ..Plan::new(profile, LAYOUT) };
    let rig = Rig::new(plan).unwrap_or_else(|error| panic!("{error}"));
    rig.spoil([0, 1].map(|end| faults(seed + end, percent)));
    rig
}

fn mix(operations: usize, seed: u64) -> Mix {
    let keys = Mix::keys(KEYS);
    Mix { name: "race", puts: 35, deletes: 15, operations, keys, value_bytes: 100, seed }
}

/// Last values of a history, by the GETs at its end.
fn last(played: &Played) -> BTreeMap<Bytes, Bytes> {
    let reads = played.events[played.operations..].iter();
    reads.filter_map(|event| Some((event.key.clone(), value(&event.outcome)?))).collect()
}

fn value(outcome: &Outcome) -> Option<Bytes> {
    match outcome {
        Outcome::Value(value) => value.clone(),
        other => panic!("{other:?} of a GET"),
    }
}

/// Clients race for six keys; all succeed, and there is an order.
fn race(profile: Profile, way: Way, percent: u32, operations: usize, seed: u64) {
    let rig = rig(profile, percent, seed);
    let played = rig.play(way, CLIENTS, &mix(operations, seed)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.operations, CLIENTS * operations);
    played.check().unwrap_or_else(|violation| panic!("{violation}"));
    let contents = last(&played);
    assert_eq!(rig.audit().expect("whole objects"), contents, "each key once, and its object whole");
    assert_eq!(rig.store.borrow().contents().expect("whole objects"), contents);
    let lost = rig.lines().map(|Counters { lost, .. }| lost);
    assert_eq!(lost != [0; 2], percent > 0, "frames lost: {lost:?}");
}

#[test]
fn kernels_are_linearizable_on_a_perfect_wire() {
    race(Profile::HundredGig, Way::Kernels, 0, 6, 21);
}

#[test]
fn kernels_are_linearizable_on_a_bad_wire() {
    race(Profile::TenGig, Way::Kernels, 5, 12, 22);
}

#[test]
fn reads_and_writes_are_linearizable_on_a_bad_wire() {
    race(Profile::TenGig, Way::Reads, 5, 8, 23);
}

#[test]
fn messages_are_linearizable_on_a_bad_wire() {
    race(Profile::TenGig, Way::Messages, 5, 10, 24);
}

#[test]
fn broken_clients_are_found() {
    let rig = rig(Profile::TenGig, 0, 25);
    let stale = rig.play_as(Way::Kernels, 3, &mix(8, 25), Stale::new);
    let violation = stale.expect("all succeed").check().expect_err("stale values");
    assert!(violation.ordered < violation.total, "{violation}");
    let forgetful = rig.play_as(Way::Kernels, 3, &mix(8, 26), Forgetful::new);
    let violation = forgetful.expect("all succeed").check().expect_err("lost updates");
    assert!(violation.ordered < violation.total, "{violation}");
}
