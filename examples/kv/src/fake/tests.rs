//! What clients of every way do, refuse and survive.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stroma_kernel_client::get::{Table, hash};
use stroma_verilate::SplitMix64;

use super::{BASE, LIMIT, SMALL, Shared, World, alone, client, neighbours};
use crate::bucket::Bucket;
use crate::history::{Bytes, Moment, Operation, Outcome, Recorder, check};
use crate::layout::LOCK;
use crate::mix::{Mix, record};
use crate::{Error, Layout, Map, Memory, Result, Task, Way, run};

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
        let at = Shared::place(bucket) + 56;
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
