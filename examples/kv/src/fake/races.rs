//! Clients that race for the keys of one bucket, under many schedules.

use std::collections::BTreeMap;

use super::{Fake, LIMIT, SMALL, World, alone, client, neighbours};
use crate::flawed::Stale;
use crate::history::{Operation, Outcome, Recorder, check};
use crate::mix::{Mix, play, record};
use crate::{Client, Map, Task, Way, run};

/// Four clients play on three keys of one bucket, which are in each other's way.
fn play_all<M: Map>(
    world: &World,
    way: Way,
    seed: u64,
    recorder: &Recorder,
    change: impl Fn(Client<Fake>) -> M,
) -> Vec<M> {
    let keys = neighbours(3);
    let mix = Mix { name: "race", puts: 40, deletes: 20, operations: 12, keys, value_bytes: 8, seed };
    let mut clients: Vec<M> = (0..4).map(|number| change(client(world, way, seed * 31 + number))).collect();
    let tasks = clients
        .iter_mut()
        .enumerate()
        .map(|(number, client)| -> Task<'_> { Box::pin(play(client, number, &mix, &world.clock, recorder)) });
    run(&world.clock, &[], tasks.collect(), Vec::new(), LIMIT)
        .unwrap_or_else(|error| panic!("{way:?} {seed}: {error}"));
    clients
}

/// The history of a race has an order, and ends with what the store holds.
fn race(way: Way, seed: u64) {
    let world = World::new(SMALL);
    let recorder = Recorder::default();
    let mut clients = play_all(&world, way, seed, &recorder, |client| client);
    for key in neighbours(3) {
        alone(&world, record(&mut clients[0], 9, key, Operation::Get, &world.clock, &recorder)).unwrap();
    }
    let events = recorder.events();
    assert_eq!(events.len(), 4 * 12 + 3);
    check(&BTreeMap::new(), &events).unwrap_or_else(|violation| panic!("{way:?} {seed}: {violation}"));
    let contents = world.store.borrow().contents().unwrap();
    let last = events[48..].iter().filter_map(|event| match &event.outcome {
        Outcome::Value(Some(value)) => Some((event.key.clone(), value.clone())),
        _ => None,
    });
    assert_eq!(contents, last.collect::<BTreeMap<_, _>>(), "{way:?} {seed}: a key is in its bucket once");
}

#[test]
fn kernels_are_linearizable_under_a_thousand_schedules() {
    (0..1000).for_each(|seed| race(Way::Kernels, seed));
}

#[test]
fn reads_are_linearizable_under_a_thousand_schedules() {
    (0..1000).for_each(|seed| race(Way::Reads, seed));
}

#[test]
fn messages_are_linearizable_under_a_hundred_schedules() {
    (0..100).for_each(|seed| race(Way::Messages, seed));
}

#[test]
fn a_client_with_a_stale_cache_is_found() {
    let found = (0..20).filter(|seed| {
        let (world, recorder) = (World::new(SMALL), Recorder::default());
        play_all(&world, Way::Kernels, *seed, &recorder, Stale::new);
        check(&BTreeMap::new(), &recorder.events()).is_err()
    });
    assert!(found.count() >= 10, "chance hides a stale value now and then, not mostly");
}
