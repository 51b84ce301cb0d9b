//! Clients that race for the keys of one bucket, under many schedules.

use std::collections::BTreeMap;

use super::{Fake, LIMIT, SMALL, World, alone, client, neighbours};
use crate::history::{Bytes, Operation, Outcome, Recorder, check};
use crate::mix::{Mix, play, record};
use crate::{Client, Map, Result, Task, Way, run};

/// Four clients on three keys of one bucket: the history has an order, and ends with what the store holds.
fn race(way: Way, seed: u64) {
    let world = World::new(SMALL);
    let keys = neighbours(3);
    let mix =
        Mix { name: "race", puts: 40, deletes: 20, operations: 12, keys: keys.clone(), value_bytes: 8, seed };
    let recorder = Recorder::default();
    let mut clients: Vec<Client<Fake>> =
        (0..4).map(|number| client(&world, way, seed * 31 + number)).collect();
    let tasks = clients.iter_mut().enumerate().map(|(number, client)| -> Task<'_> {
        Box::pin(play(client, number, &mix, &world.clock, &recorder))
    });
    run(&world.clock, &[], tasks.collect(), Vec::new(), LIMIT)
        .unwrap_or_else(|error| panic!("{way:?} {seed}: {error}"));
    for key in keys {
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

/// Serves every GET but the first from what it saw first.
struct Stale(Client<Fake>, BTreeMap<Bytes, Option<Bytes>>);

impl Map for Stale {
    async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>> {
        if let Some(value) = self.1.get(key) {
            return Ok(value.clone());
        }
        let value = self.0.get(key).await?;
        self.1.insert(key.to_vec(), value.clone());
        Ok(value)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.0.put(key, value).await
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.0.delete(key).await
    }
}

#[test]
fn a_client_with_a_stale_cache_is_found() {
    let found = (0..20).filter(|seed| {
        let world = World::new(SMALL);
        let mix = Mix {
            name: "race",
            puts: 40,
            deletes: 20,
            operations: 12,
            keys: neighbours(3),
            value_bytes: 8,
            seed: *seed,
        };
        let recorder = Recorder::default();
        let stale = |number| Stale(client(&world, Way::Kernels, seed * 31 + number), BTreeMap::new());
        let mut clients: Vec<Stale> = (0..4).map(stale).collect();
        let tasks = clients.iter_mut().enumerate().map(|(number, client)| -> Task<'_> {
            Box::pin(play(client, number, &mix, &world.clock, &recorder))
        });
        run(&world.clock, &[], tasks.collect(), Vec::new(), LIMIT).unwrap();
        check(&BTreeMap::new(), &recorder.events()).is_err()
    });
    assert!(found.count() >= 10, "chance hides a stale value now and then, not mostly");
}
