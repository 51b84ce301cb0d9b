//! From literal tables to literal answers.

use stroma_abi::desc::{Parameters, SlotCommand};

use super::*;

/// 128 KiB from here on, zeros unless stored; 64 KiB behind them cannot be read, and what is elsewhere is refused.
const BASE: u64 = 0x1000;
const SIZE: usize = 0x20000;

struct Ram {
    bytes: Vec<u8>,
    /// Every read: where, and of how many bytes.
    reads: Vec<(u64, usize)>,
}

impl Memory for Ram {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        self.reads.push((va, len));
        let at = usize::try_from(va.wrapping_sub(BASE)).map_err(|_| Failure::Refused)?;
        let end =
            at.checked_add(len).filter(|end| key == 7 && *end <= SIZE + 0x10000).ok_or(Failure::Refused)?;
        self.bytes.get(at..end).map(<[u8]>::to_vec).ok_or(Failure::Host)
    }

    fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
        unreachable!("get writes nothing")
    }
}

impl Ram {
    fn new() -> Self {
        Self { bytes: vec![0; SIZE], reads: Vec::new() }
    }

    fn put(&mut self, va: u64, bytes: &[u8]) {
        let at = usize::try_from(va - BASE).expect("inside");
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn entry(&mut self, bucket: u64, at: u64, fingerprint: u32, length: u32, address: u64) {
        self.put(bucket + 16 * at, &BucketEntry { fingerprint, length, address }.to_bytes());
    }

    fn link(&mut self, bucket: u64, next: u64) {
        self.put(bucket + 48, &BucketLink { next, spare: u64::MAX }.to_bytes());
    }

    /// Stores an object; its length.
    fn object(&mut self, va: u64, key: &[u8], value: &[u8]) -> u32 {
        let head = ObjectHead {
            value_length: u32::try_from(value.len()).expect("short"),
            key_length: u16::try_from(key.len()).expect("short"),
            flags: 0,
        };
        self.put(va, &head.to_bytes());
        self.put(va + 8, key);
        self.put(va + u64::from(ObjectHead::value_at(head.key_length)), value);
        u32::try_from(head.object_length()).expect("short")
    }

    fn ask(&mut self, task: &Get, response_max: u32) -> Outcome {
        let command = SlotCommand { key: 7, response_max, ..SlotCommand::default() };
        let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
        run(&Invocation::new(command, parameters, Vec::new()), self)
    }

    fn status(&mut self, task: &Get) -> u32 {
        self.ask(task, VALUE_MAX).status
    }
}

fn task(key: &[u8]) -> Get {
    Get::new(0x1000, 0xf1f2, 3, key).expect("a key")
}

fn found(value: &[u8]) -> Outcome {
    Outcome { status: 0, data: value.to_vec() }
}

/// A chain of two buckets: "alpha" and "beta" share a fingerprint, "gamma" is in the second, at odd addresses.
fn table() -> Ram {
    let mut ram = Ram::new();
    let alpha = ram.object(0x2001, b"alpha", b"first");
    let beta = ram.object(0x3000, b"beta", b"");
    let gamma = ram.object(0x4ff9, b"gamma", &[8; 100]);
    assert_eq!((alpha, beta, gamma), (21, 16, 116));
    ram.entry(0x1000, 0, 0xf1f2, alpha, 0x2001);
    ram.entry(0x1000, 1, 0x7777, 3, 0xdead);
    ram.entry(0x1000, 2, 0xf1f2, beta, 0x3000);
    ram.link(0x1000, 0x1103);
    ram.entry(0x1103, 1, 0xf1f2, 0, 0);
    ram.entry(0x1103, 2, 0xf1f2, gamma, 0x4ff9);
    ram
}

#[test]
fn a_key_has_its_value_wherever_it_is_in_the_chain() {
    let mut ram = table();
    assert_eq!(ram.ask(&task(b"alpha"), 5), found(b"first"));
    assert_eq!(ram.ask(&task(b"beta"), 0), found(b""));
    assert_eq!(ram.ask(&task(b"gamma"), 100), found(&[8; 100]));
    ram.reads.clear();
    ram.ask(&task(b"gamma"), 100);
    let expected = [(0x1000, 64), (0x2001, 21), (0x3000, 16), (0x1103, 64), (0x4ff9, 116)];
    assert_eq!(ram.reads, expected, "what was read");
}

#[test]
fn every_length_of_key_is_compared_whole() {
    let longest: Vec<u8> = (1..=32).collect();
    for length in 1..=32 {
        let mut ram = Ram::new();
        let key = &longest[..length];
        let object = ram.object(0x2000, key, b"value");
        ram.entry(0x1000, 0, 0xf1f2, object, 0x2000);
        assert_eq!(ram.ask(&task(key), 5), found(b"value"), "{length}");
        for at in 0..length {
            let mut other = key.to_vec();
            other[at] ^= 0x80;
            assert_eq!(ram.status(&task(&other)), 0x100, "{length} bytes, byte {at}");
        }
        if length > 1 {
            assert_eq!(ram.status(&task(&key[..length - 1])), 0x100, "a shorter key");
        }
        if !length.is_multiple_of(8) {
            ram.put(0x2008 + length as u64, &[1]);
            assert_eq!(ram.status(&task(key)), 0x100, "something behind the key");
        }
    }
}

#[test]
fn an_end_is_told_apart_from_a_limit() {
    let mut ram = table();
    assert_eq!(ram.status(&task(b"delta")), 0x100);
    assert_eq!(ram.status(&Get { hop_limit: 2, ..task(b"delta") }), 0x100);
    assert_eq!(ram.status(&Get { hop_limit: 1, ..task(b"delta") }), 3);
    assert_eq!(ram.status(&Get { hop_limit: 1, ..task(b"gamma") }), 3);
    assert_eq!(ram.status(&Get { fingerprint: 0xf1f3, ..task(b"alpha") }), 0x100);
    assert_eq!(ram.status(&Get { bucket: 0, ..task(b"alpha") }), 0x100);
    ram.link(0x1103, 0x1000);
    assert_eq!(ram.status(&Get { hop_limit: u16::MAX, ..task(b"delta") }), 3, "a circle");
}

#[test]
fn lengths_that_do_not_agree_end_the_search() {
    for (length, expected) in [
        (0, 0x102),
        (7, 0x102),
        (8, 0x102),
        (15, 0x102),
        (20, 0x102),
        (21, 0),
        (22, 0x102),
        (u32::MAX, 0x102),
    ] {
        let mut ram = table();
        ram.entry(0x1000, 0, 0xf1f2, length, 0x2001);
        assert_eq!(ram.status(&task(b"alpha")), expected, "{length}");
        let other = if expected == 0 { 0 } else { 0x102 };
        assert_eq!(ram.status(&task(b"beta")), other, "{length}: so it does for another key");
    }
    let mut ram = table();
    ram.put(0x2007, &[1]);
    assert_eq!(ram.status(&task(b"alpha")), 0x102, "flags");
    ram.put(0x2007, &[0, 0]);
    // An object of a key of another length may be as short as its head.
    ram.put(0x2001, &[0; 8]);
    ram.entry(0x1000, 0, 0xf1f2, 8, 0x2001);
    assert_eq!(ram.status(&task(b"beta")), 0);
    ram.put(0x2001, &ObjectHead { value_length: 0xffff_fff8, key_length: 0, flags: 0 }.to_bytes());
    assert_eq!(ram.status(&task(b"beta")), 0x102, "lengths are summed with all their bits");
}

#[test]
fn a_value_longer_than_allowed_is_told_and_not_read() {
    let mut ram = table();
    assert_eq!(ram.ask(&task(b"alpha"), 4).status, 0x103);
    let value: Vec<u8> = (0..=VALUE_MAX).map(|at| at.to_le_bytes()[0]).collect();
    let most = ram.object(0x6000, b"alpha", &value[1..]);
    ram.entry(0x1000, 0, 0xf1f2, most, 0x6000);
    assert_eq!(ram.ask(&task(b"alpha"), VALUE_MAX), found(&value[1..]));
    let beyond = ram.object(0x6000, b"alpha", &value);
    ram.entry(0x1000, 0, 0xf1f2, beyond, 0x6000);
    ram.reads.clear();
    assert_eq!(ram.ask(&task(b"alpha"), u32::MAX).status, 0x103);
    assert_eq!(ram.reads, [(0x1000, 64), (0x6000, 16)]);
    assert_eq!(ram.status(&task(b"beta")), 0, "another key's may be of any length");
}

#[test]
fn failures_of_buckets_and_objects_have_their_statuses() {
    let mut ram = table();
    assert_eq!(ram.status(&Get { bucket: 0x2_0fff, ..task(b"alpha") }), 6);
    assert_eq!(ram.status(&Get { bucket: 0x3_0fc1, ..task(b"alpha") }), 2);
    ram.entry(0x1000, 0, 0xf1f2, 21, u64::MAX);
    assert_eq!(ram.status(&task(b"alpha")), 2);
    let start = 0x2_1000 - 8192;
    let object = ram.object(start, b"alpha", &[3; 8192 - 16]);
    ram.entry(0x1000, 0, 0xf1f2, object, start);
    assert_eq!(ram.status(&task(b"alpha")), 0);
    ram.put(start, &ObjectHead { value_length: 8192 - 15, key_length: 5, flags: 0 }.to_bytes());
    ram.entry(0x1000, 0, 0xf1f2, object + 1, start);
    assert_eq!(ram.status(&task(b"alpha")), 6, "its third piece");
    assert_eq!(ram.status(&task(b"beta")), 0, "the first piece tells that it is another key's");
}

#[test]
fn each_parameter_out_of_range_is_refused() {
    let mut ram = table();
    let bad = [
        Get { hop_limit: 0, ..task(b"alpha") },
        Get { key_length: 0, key_low: 0, ..task(b"alpha") },
        Get { key_length: 33, ..task(b"alpha") },
        Get { key_length: 4, ..task(b"alpha") },
        Get { key_high: 1 << 127, ..task(b"alpha") },
    ];
    for task in bad {
        assert_eq!(ram.status(&task), 0x101, "{task:?}");
    }
    assert!(ram.reads.is_empty());
}

#[test]
fn commands_with_other_lengths_or_flags_are_refused() {
    let bytes = task(b"alpha").to_bytes();
    let parameters = Parameters::new(&bytes).expect("whole words");
    let command = SlotCommand { key: 7, ..SlotCommand::default() };
    let good = Invocation::new(command, parameters, Vec::new());
    assert!(accepted(&good).is_some());
    let shorter = Parameters::new(&bytes[..44]).expect("whole words");
    let head = good.command;
    let cases = [
        Invocation::new(command, shorter, Vec::new()),
        Invocation::new(command, parameters, vec![0; 4]),
        Invocation {
            command: SlotCommand { parameter_words: 13, request_length: 52, ..head },
            ..good.clone()
        },
        Invocation { command: SlotCommand { flags: 1, ..head }, ..good.clone() },
    ];
    for invocation in cases {
        assert_eq!(accepted(&invocation), None, "{invocation:?}");
    }
}
