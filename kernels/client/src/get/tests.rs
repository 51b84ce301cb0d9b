//! Tables, and what the kernel's model finds in them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stroma_abi::desc::{Parameters, SlotCommand};
use stroma_abi::kernel::get::VALUE_MAX;
use stroma_kernel_models::{Failure, Invocation, Memory, Outcome, get};

use super::*;

const BASE: u64 = 0x7f00_0000_1000;

/// A table as the card sees it: nothing else may be read.
struct Seen<'a>(&'a [u8]);

impl Memory for Seen<'_> {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        assert_eq!(key, 5);
        let at = usize::try_from(va.checked_sub(BASE).ok_or(Failure::Refused)?).expect("small");
        self.0.get(at..at + len).map(<[u8]>::to_vec).ok_or(Failure::Refused)
    }

    fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
        unreachable!("get writes nothing")
    }
}

fn ask(table: &Table<'_>, key: &[u8]) -> Outcome {
    let hop_limit = u16::try_from(table.longest_chain()).expect("few buckets");
    let request = table.shape().request(key, hop_limit).expect("a key");
    let parameters = Parameters::new(&request.to_bytes()).expect("whole words");
    let command = SlotCommand { key: 5, response_max: VALUE_MAX, ..SlotCommand::default() };
    get::run(&Invocation::new(command, parameters, Vec::new()), &mut Seen(table.bytes()))
}

/// Test vectors of the FNV reference code.
#[test]
fn the_hash_is_fnv_1a() {
    assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    assert_eq!(fingerprint(hash(b"foobar")), 0x8594_4171);
    let shape = Shape { base: 0x1000, log_buckets: 4 };
    assert_eq!(shape.bucket(hash(b"foobar")), 0x1000 + 8 * 64);
    assert_eq!(Shape { base: 0, log_buckets: 32 }.bucket(u64::MAX), 0xffff_ffff * 64);
}

#[test]
fn a_request_names_bucket_fingerprint_and_key() {
    let shape = Shape { base: 0x1000, log_buckets: 4 };
    let request = shape.request(b"foobar", 9).expect("a key");
    let expected = Get {
        bucket: 0x1200,
        fingerprint: 0x8594_4171,
        hop_limit: 9,
        key_length: 6,
        key_low: 0x7261_626f_6f66,
        key_high: 0,
    };
    assert_eq!(request, expected);
    assert_eq!(shape.request(b"", 9), Err(Error::KeyLength { length: 0 }));
    assert_eq!(shape.request(&[1; 33], 9), Err(Error::KeyLength { length: 33 }));
}

#[test]
fn tables_need_an_address_and_room_for_their_buckets() {
    let mut bytes = vec![0xff; 64 * 5];
    for base in [0, 0x1004, u64::MAX - 7] {
        assert_eq!(Table::new(&mut bytes, base, 1, 1).err(), Some(Error::Base { base }));
    }
    for (log_buckets, overflow) in [(3, 0), (2, 2), (33, 0), (64, 0), (32, usize::MAX), (0, usize::MAX / 64)]
    {
        let error = Table::new(&mut bytes, BASE, log_buckets, overflow).err();
        assert_eq!(error, Some(Error::Buckets { log_buckets, overflow, have: 320 }));
    }
    let table = Table::new(&mut bytes, BASE, 2, 1).expect("just enough");
    assert!(table.is_empty() && table.bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn a_full_table_says_so_and_stays_as_it_is() {
    let mut bytes = vec![0; 64 * 2 + 7 * 24];
    let mut table = Table::new(&mut bytes, BASE, 0, 1).expect("room");
    for key in 0..6_u8 {
        assert_eq!(table.insert(&[key], &[key; 8]), Ok(false));
    }
    assert_eq!(table.insert(&[6], &[6; 8]), Err(Error::NoBucket));
    assert_eq!(table.insert(&[5], &[7; 9]), Err(Error::NoRoom { needed: 25 }));
    assert_eq!(table.insert(&[5], &[7; 8]), Ok(true), "room for one more, before the old one goes");
    assert_eq!((table.len(), table.longest_chain(), table.buckets().count()), (6, 2, 2));
    assert_eq!(table.insert(&[], &[]), Err(Error::KeyLength { length: 0 }));
    assert_eq!(table.insert(&[1; 33], &[]), Err(Error::KeyLength { length: 33 }));
    assert_eq!(table.insert(&[1], &vec![0; 65_537]), Err(Error::ValueLength { length: 65_537 }));
    assert!(table.remove(&[2]) && !table.remove(&[2]) && !table.remove(&[]));
    assert_eq!(table.insert(&[6], &[6; 8]), Ok(false), "in the place of the one that has gone");
    assert_eq!((ask(&table, &[6]).data, ask(&table, &[2]).status), (vec![6; 8], 0x100));
}

#[derive(Clone, Debug)]
enum Change {
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
}

/// Few keys, so that they meet again: one to 32 bytes, some of which begin alike.
fn key() -> impl Strategy<Value = Vec<u8>> {
    (0..6_u8, prop_oneof![1..=3_usize, 7..=9_usize, Just(32)]).prop_map(|(byte, length)| {
        let mut key = vec![byte / 3; length];
        key[length - 1] = byte;
        key
    })
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![4 => 0..40_usize, 1 => 4000..5000_usize];
    let value = (any::<u8>(), value).prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![
        3 => (key(), value).prop_map(|(key, value)| Change::Insert(key, value)),
        1 => key().prop_map(Change::Remove),
    ]
}

proptest! {
    #[test]
    fn the_model_finds_in_a_table_exactly_what_a_map_holds(
        changes in prop::collection::vec(change(), 0..80),
        log_buckets in 0..3_u32,
        overflow in 0..10_usize,
        asked in prop::collection::vec(key(), 20),
    ) {
        let mut bytes = vec![0; 20_000];
        let mut table = Table::new(&mut bytes, BASE, log_buckets, overflow).expect("room for buckets");
        let mut map = BTreeMap::new();
        for change in changes {
            match change {
                Change::Insert(key, value) => match table.insert(&key, &value) {
                    Ok(replaced) => prop_assert_eq!(map.insert(key, value).is_some(), replaced),
                    Err(Error::NoRoom { .. } | Error::NoBucket) => {}
                    Err(error) => prop_assert!(false, "{}", error),
                },
                Change::Remove(key) => prop_assert_eq!(table.remove(&key), map.remove(&key).is_some()),
            }
        }
        prop_assert_eq!(table.len(), map.len());
        let entries = table.buckets().flat_map(|bucket| bucket.entries);
        prop_assert_eq!(entries.filter(|entry| entry.address != 0).count(), map.len());
        for key in asked.iter().chain(map.keys()) {
            let expected = map.get(key);
            prop_assert_eq!(table.lookup(key), expected.map(Vec::as_slice));
            let found = ask(&table, key);
            prop_assert_eq!(found.status, if expected.is_some() { 0 } else { 0x100 });
            prop_assert_eq!(found.data, expected.cloned().unwrap_or_default());
        }
    }
}
