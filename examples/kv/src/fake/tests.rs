//! Clients of every way, under many schedules.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stroma_kernel_client::get::{Table, hash};
use stroma_verilate::SplitMix64;

use super::{BASE, Fake, World};
use crate::bucket::Bucket;
use crate::history::{Bytes, Moment, Operation, Outcome, Recorder, check};
use crate::layout::LOCK;
use crate::mix::{Mix, play, record};
use crate::{Client, Error, Layout, Map, Memory, Result, Task, Way, run};

const SMALL: Layout = Layout { log_buckets: 1, log_buffers: 9, buffer_bytes: 128 };
const LIMIT: u64 = 10_000_000;

/// Keys of one bucket of a small store, so that each is in the way of the others.
fn neighbours(count: usize) -> Vec<Bytes> {
    let all = (0..100_u32).map(|number| format!("key {number}").into_bytes());
    all.filter(|key| hash(key) & 1 == 0).take(count).collect()
}

/// Does one thing, alone.
fn alone<T>(world: &World, work: impl Future<Output = Result<T>>) -> Result<T> {
    let result = RefCell::new(None);
    let task: Task<'_> = Box::pin(async {
        *result.borrow_mut() = Some(work.await?);
        Ok(())
    });
    run(&world.clock, &[], vec![task], Vec::new(), LIMIT)?;
    Ok(result.into_inner().expect("it is done"))
}

fn client(world: &World, way: Way, seed: u64) -> Client<Fake> {
    Client::new(world.reach(seed), world.store.borrow().directory(), way)
}

#[test]
fn each_way_does_what_a_map_does() {
    for way in Way::ALL {
        let world = World::new(Layout { log_buckets: 3, ..SMALL });
        let mut client = client(&world, way, 1);
        let mut map: BTreeMap<Bytes, Bytes> = BTreeMap::new();
        let mut random = SplitMix64::new(3);
        let keys = Mix::keys(12);
        for number in 0..300_u32 {
            let key = &keys[usize::try_from(random.below(12)).unwrap()];
            match random.below(4) {
                0 | 1 => {
                    let length = usize::try_from(random.below(80)).unwrap();
                    let value = [&number.to_le_bytes()[..], &vec![7; length]].concat();
                    match alone(&world, client.put(key, &value)) {
                        Ok(replaced) => {
                            assert_eq!(map.insert(key.clone(), value).is_some(), replaced, "{way:?}");
                        }
                        Err(Error::BucketFull { .. }) => assert!(!map.contains_key(key), "{way:?}"),
                        Err(error) => panic!("{way:?}: {error}"),
                    }
                }
                2 => assert_eq!(
                    alone(&world, client.delete(key)).unwrap(),
                    map.remove(key).is_some(),
                    "{way:?}"
                ),
                _ => assert_eq!(alone(&world, client.get(key)).unwrap(), map.get(key).cloned(), "{way:?}"),
            }
        }
        assert_eq!(world.store.borrow().contents().unwrap(), map, "{way:?}");
        assert_eq!(alone(&world, client.contents()).unwrap(), map, "{way:?}");
    }
}

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

#[test]
fn a_full_bucket_is_told_and_stays_as_it_is() {
    for way in Way::ALL {
        let world = World::new(SMALL);
        let mut client = client(&world, way, 1);
        let keys = neighbours(4);
        for key in &keys[..3] {
            assert!(!alone(&world, client.put(key, b"value")).unwrap());
        }
        let bucket = Bucket::of(&world.store.borrow().directory(), &keys[3]);
        let full = alone(&world, client.put(&keys[3], b"value")).unwrap_err();
        assert!(matches!(full, Error::BucketFull { bucket: found } if found == bucket), "{way:?}: {full}");
        assert!(alone(&world, client.put(&keys[1], b"other")).unwrap(), "{way:?}: a replacement has room");
        assert!(alone(&world, client.delete(&keys[0])).unwrap());
        assert!(
            !alone(&world, client.put(&keys[3], b"value")).unwrap(),
            "{way:?}: in the place of the one that went"
        );
        assert_eq!(world.store.borrow().contents().unwrap().len(), 3);
    }
}

#[test]
fn a_store_without_buffers_says_so_until_it_is_swept() {
    for way in Way::ALL {
        let world = World::new(Layout { log_buffers: 3, ..SMALL });
        let mut client = client(&world, way, 1);
        for number in 0..8_u8 {
            alone(&world, client.put(b"key", &[number])).unwrap();
        }
        let full = alone(&world, client.put(b"key", b"more")).unwrap_err();
        assert!(matches!(full, Error::OutOfSpace { buffers: 8 }), "{way:?}: {full}");
        assert_eq!(alone(&world, client.get(b"key")).unwrap(), Some(vec![7]), "{way:?}");
        client.rest();
        assert_eq!(world.store.borrow_mut().sweep().unwrap(), 7, "{way:?}: all but the one in use");
        assert!(alone(&world, client.put(b"key", b"more")).unwrap(), "{way:?}");
        assert_eq!(alone(&world, client.get(b"key")).unwrap(), Some(b"more".to_vec()), "{way:?}");
    }
}

#[test]
fn what_cannot_be_stored_is_refused_alike() {
    for way in Way::ALL {
        let world = World::new(SMALL);
        let mut client = client(&world, way, 1);
        let long = alone(&world, client.put(b"key", &[1; 105])).unwrap_err();
        assert!(matches!(long, Error::Value { length: 105, key: 3, max: 104 }), "{way:?}: {long}");
        assert!(!alone(&world, client.put(b"key", &[1; 104])).unwrap());
        assert_eq!(alone(&world, client.get(b"key")).unwrap(), Some(vec![1; 104]), "{way:?}");
        for key in [&b""[..], &[7; 33]] {
            let length = key.len();
            let refused = [
                alone(&world, client.get(key)).unwrap_err(),
                alone(&world, client.put(key, b"")).unwrap_err(),
                alone(&world, client.delete(key)).unwrap_err(),
            ];
            for error in refused {
                assert!(matches!(error, Error::Key { length: found } if found == length), "{way:?}: {error}");
            }
        }
    }
}

/// An object is spoiled, and perhaps whole again some time later.
fn torn(way: Way, repaired_after: Option<u64>) -> Result<Option<Bytes>> {
    let world = World::new(SMALL);
    let mut client = client(&world, way, 1);
    alone(&world, client.put(b"key", b"value")).unwrap();
    let memory = world.store.borrow().memory().clone();
    let at = SMALL.buffers_at() + 17;
    let flip = || {
        let mut byte = [0];
        memory.read(at, &mut byte).unwrap();
        memory.write(at, &[byte[0] ^ 1]).unwrap();
    };
    flip();
    let repair: Task<'_> = Box::pin(async {
        world.clock.sleep(repaired_after.unwrap_or(LIMIT)).await;
        flip();
        Ok(())
    });
    let found = RefCell::new(None);
    let look: Task<'_> = Box::pin(async {
        *found.borrow_mut() = client.get(b"key").await?;
        Ok(())
    });
    run(&world.clock, &[], vec![look], vec![repair], LIMIT)?;
    Ok(found.into_inner())
}

#[test]
fn an_object_that_is_torn_is_never_answered() {
    for way in [Way::Kernels, Way::Reads] {
        let error = torn(way, None).unwrap_err();
        let address = BASE + SMALL.buffers_at() as u64;
        assert!(
            matches!(error, Error::Torn { address: found, length: 29 } if found == address),
            "{way:?}: {error}"
        );
        assert_eq!(
            torn(way, Some(60)).unwrap(),
            Some(b"value".to_vec()),
            "{way:?}: whole at the second look"
        );
    }
    let refused = torn(Way::Messages, None).unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}

#[test]
fn a_lock_whose_owner_has_died_is_told_and_swept() {
    for way in [Way::Kernels, Way::Reads] {
        let world = World::new(SMALL);
        let mut client = client(&world, way, 1);
        let bucket = Bucket::of(&world.store.borrow().directory(), b"key");
        let at = super::Shared::place(bucket) + 56;
        world.store.borrow().memory().write(at, &(LOCK | 4).to_le_bytes()).unwrap();
        let error = alone(&world, client.put(b"key", b"value")).unwrap_err();
        assert!(matches!(error, Error::Contended { attempts: 64, .. }), "{way:?}: {error}");
        client.rest();
        world.store.borrow_mut().sweep().unwrap();
        assert!(!alone(&world, client.put(b"key", b"value")).unwrap(), "{way:?}");
    }
}

/// What the host-side builder of tables lays out is what clients find, and the other way round: both speak of the same buckets.
#[test]
fn buckets_are_those_of_the_kernels_client() {
    let world = World::new(SMALL);
    let shape = world.store.borrow().directory().shape;
    let mut bytes = vec![0; 1024];
    let table = Table::new(&mut bytes, shape.base, shape.log_buckets, 0).unwrap();
    let numbers: Vec<u64> = table.buckets().map(|bucket| bucket.address).collect();
    assert_eq!(numbers, [shape.base, shape.base + 64]);
    assert!(Mix::keys(20).iter().all(|key| numbers.contains(&table.shape().bucket(hash(key)))));
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

#[test]
fn an_operation_that_fails_stands_in_the_history_without_an_outcome() {
    let world = World::new(Layout { log_buffers: 0, ..SMALL });
    let mut client = client(&world, Way::Kernels, 1);
    let recorder = Recorder::default();
    let clock = Rc::clone(&world.clock);
    for (value, expected) in [(b"a", Outcome::WasThere(false)), (b"b", Outcome::Unknown)] {
        let put = Operation::Put(value.to_vec());
        let ended = alone(&world, record(&mut client, 0, b"key".to_vec(), put, &clock, &recorder));
        assert_eq!(ended.is_ok(), expected != Outcome::Unknown);
        assert_eq!(recorder.events().last().unwrap().outcome, expected);
    }
    let events = recorder.events();
    let [first, second] = &events[..] else { panic!("two events") };
    assert!(first.returned < second.invoked && first.invoked == Moment { cycle: 0, number: 0 });
    check(&BTreeMap::new(), &events).unwrap();
}
