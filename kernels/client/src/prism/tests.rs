//! Chains as they are built, carried out by the model.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stroma_abi::desc::{Parameters as Block, SlotCommand};
use stroma_abi::kernel::prism::FreeList;
use stroma_kernel_models::{Failure, Invocation, Memory, prism};

use super::*;

/// Memory from 0 on; its first page is refused.
struct Ram(Vec<u8>);

const TABLE: u32 = 7;
const HEAP: u32 = 8;
const LIST: u64 = 0x1000;
const RING: u64 = 0x1100;
const ENTRIES: u64 = 0x2000;
const SCRATCH: u64 = 0x3000;
const BUFFERS: u64 = 0x8000;

impl Ram {
    fn range(&self, key: u32, va: u64, len: usize) -> Result<std::ops::Range<usize>, Failure> {
        let at = usize::try_from(va).map_err(|_| Failure::Refused)?;
        let is_heap = va >= BUFFERS;
        let is_good = at >= 0x1000 && at + len <= self.0.len() && key == if is_heap { HEAP } else { TABLE };
        if is_good { Ok(at..at + len) } else { Err(Failure::Refused) }
    }

    fn put(&mut self, va: u64, bytes: &[u8]) {
        let at = usize::try_from(va).expect("small");
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&self, va: u64) -> u64 {
        let at = usize::try_from(va).expect("small");
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    fn store(&mut self, stores: [Store; 2]) {
        for store in stores {
            self.put(store.address, &store.word.to_le_bytes());
        }
    }

    fn call(&mut self, chain: &Chain) -> Answer {
        let request = chain.request().expect("a good chain");
        let command = SlotCommand { response_max: request.response_max, ..SlotCommand::default() };
        let parameters = Block::new(&request.parameters).expect("a word");
        let outcome = prism::run(&Invocation::new(command, parameters, request.payload), self);
        assert_eq!(outcome.status, 0);
        assert!(outcome.data.len() <= request.response_max as usize);
        Answer::parse(&outcome.data).expect("an answer")
    }
}

impl Memory for Ram {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        Ok(self.0[self.range(key, va, len)?].to_vec())
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let range = self.range(key, va, bytes.len())?;
        self.0[range].copy_from_slice(bytes);
        Ok(())
    }
}

fn table(address: u64) -> Place {
    Place::new(address, TABLE)
}

/// A list with four places, and the buffers 0 to 2 in it.
fn stocked() -> (Ram, Giver) {
    let mut ram = Ram(vec![0; 0x1_0000]);
    let (mut giver, bytes) = Giver::new(LIST, RING, 2, 256);
    ram.put(LIST, &bytes);
    for buffer in 0..3 {
        let stores = giver.give(BUFFERS + 256 * buffer, 0).expect("there is room");
        ram.store(stores);
    }
    (ram, giver)
}

#[test]
fn a_chain_reads_through_pointers() {
    let (mut ram, _) = stocked();
    ram.put(ENTRIES, &[BUFFERS.to_le_bytes(), 5_u64.to_le_bytes()].concat());
    ram.put(BUFFERS, b"hello, world");
    let copy = Step::copy(table(SCRATCH), Place::new(ENTRIES, TABLE), 16);
    let answer = ram.call(
        &Chain::new()
            .always(Step::read(table(ENTRIES), 16))
            .then(copy)
            .then(Step::read(table(ENTRIES + 8), 8).with_result_to(table(SCRATCH + 16)))
            .always(Step::read(Place::new(ENTRIES, TABLE), 100).through_bounded_pointer()),
    );
    assert_eq!(answer.data(0)[8..], 5_u64.to_le_bytes());
    assert_eq!((answer.data(1), answer.data(2)), (&[][..], &[][..]));
    assert_eq!((ram.word(SCRATCH + 8), ram.word(SCRATCH + 16)), (5, 5));
    let report = answer.report(3).expect("a fourth");
    assert_eq!(
        (report.outcome, report.stage),
        (Outcome::Refused as u8, Stage::Target as u8),
        "the heap has another key"
    );
    ram.put(ENTRIES, &[(SCRATCH).to_le_bytes(), 5_u64.to_le_bytes()].concat());
    let answer = ram.call(&Chain::new().always(Step::read(table(ENTRIES), 100).through_bounded_pointer()));
    assert_eq!(answer.data(0).len(), 5);
    assert!(answer.is_done(1) && !answer.is_done(2));
}

#[test]
fn buffers_go_round() {
    let (mut ram, mut giver) = stocked();
    assert_eq!(giver.ring_length(), 32);
    let allocate = |ram: &mut Ram| {
        let answer = ram.call(&Chain::new().always(Step::allocate(table(LIST), HEAP, &[1; 200])));
        (answer.outcome(0), answer.report(0).map_or(0, |report| report.address))
    };
    for round in 0..20_u64 {
        assert_eq!(giver.free(ram.word(LIST)), 3);
        let (outcome, buffer) = allocate(&mut ram);
        assert_eq!((outcome, buffer), (Outcome::Done, BUFFERS + 256 * (round % 3)));
        let stores = giver.give(buffer, ram.word(LIST)).expect("there is room");
        assert_eq!(stores[0].address, RING + 8 * ((round + 3) % 4), "the entry first");
        assert_eq!(stores[1].address, LIST + 8);
        ram.store(stores);
    }
    let head = ram.word(LIST);
    assert!(giver.give(BUFFERS, head).is_ok());
    assert_eq!(giver.give(BUFFERS, head), Err(Full { places: 4 }));
    for _ in 0..3 {
        assert_eq!(allocate(&mut ram).0, Outcome::Done);
    }
    assert_eq!(allocate(&mut ram).0, Outcome::NoBuffer, "the tail of the fourth was not stored");
    assert_eq!(FreeList::TAIL.byte, 8);
}

#[test]
fn bad_chains_are_not_sent() {
    let read = || Step::read(table(ENTRIES), 8);
    let of = |step: Step| Chain::new().always(read()).then(step).request().unwrap_err();
    assert_eq!(Chain::new().request().unwrap_err(), BadChain::Steps(0));
    let five = (0..5).fold(Chain::new(), |chain, _| chain.always(read()));
    assert_eq!(five.request().unwrap_err(), BadChain::Steps(5));
    for length in [0, 4097, 1 << 33] {
        assert_eq!(of(Step::read(table(ENTRIES), length)), BadChain::Length { step: 1, length });
    }
    let swap = |words: &[u64]| Step::swap(table(ENTRIES), &Swap::new(Comparison::Less, &[], words));
    assert_eq!(of(swap(&[])), BadChain::Length { step: 1, length: 0 });
    assert_eq!(of(swap(&[0; 5])), BadChain::Length { step: 1, length: 40 });
    let write = || Step::write(table(ENTRIES), &[1; 8]);
    let allocate = || Step::allocate(table(LIST), HEAP, &[1; 8]);
    for step in [
        read().with_data_at(table(SCRATCH)),
        read().with_buffer(0),
        write().with_result_to(table(SCRATCH)),
        swap(&[1]).through_bounded_pointer(),
        swap(&[1]).with_data_at(table(SCRATCH)).with_buffer(0),
        allocate().through_pointer(),
    ] {
        assert_eq!(of(step), BadChain::Indirection(1));
    }
    let long = || Step::write(table(ENTRIES), &[1; 4096]);
    let chain = Chain::new().always(long()).then(Step::write(table(ENTRIES), &[1; 4096 - 128]));
    assert_eq!(chain.request().expect("it just fits").payload.len(), 8192);
    let chain = Chain::new().always(long()).then(long()).then(long()).then(long());
    assert_eq!(chain.request().unwrap_err(), BadChain::Payload(4 * 64 + 4 * 4096));
}

#[test]
fn what_is_no_answer_is_found_out() {
    let report = Report { outcome: 1, answered: true, length: 65, ..Report::default() };
    let mut bytes = [0; 192];
    report.emit(&mut bytes);
    assert_eq!(Answer::parse(&bytes).expect("two lines of data").data(0).len(), 65);
    for length in [0, 15, 63, 64, 191] {
        assert_eq!(Answer::parse(&bytes[..length]), Err(NoAnswer { length }));
    }
    for (at, code) in [(0, 9), (16, 0xff), (17, 7)] {
        let mut other = bytes;
        other[at] = code;
        assert_eq!(Answer::parse(&other), Err(NoAnswer { length: 192 }));
    }
}

proptest! {
    /// Keys of a store with one entry each, {version, buffer}: a PUT appends and publishes, if its version is newer; the buffer that was replaced is free again.
    #[test]
    fn a_store_of_versions_keeps_the_newest(puts in prop::collection::vec((0..4_u64, 1..20_u64, any::<u8>()), 1..60)) {
        let (mut ram, mut giver) = stocked();
        let (mut expected, mut kept) = (BTreeMap::new(), 0);
        for (key, version, value) in puts {
            let entry = table(ENTRIES + 16 * key);
            let swap = Swap::new(Comparison::Greater, &version.to_le_bytes(), &[version, 0])
                .comparing(&u64::MAX.to_le_bytes());
            let chain = Chain::new()
                .always(Step::allocate(table(LIST), HEAP, &[value; 9]))
                .then(Step::swap(entry, &swap).with_buffer(1));
            let answer = ram.call(&chain);
            let buffer = answer.report(0).expect("the first").address;
            let free = match answer.outcome(1) {
                Outcome::Done => {
                    let old = u64::from_le_bytes(answer.data(1)[8..].try_into().expect("a word"));
                    let is_new = expected.insert(key, (version, value)).is_none_or(|(older, _)| older < version);
                    prop_assert!(is_new);
                    if old == 0 { kept += 1; None } else { Some(old) }
                }
                Outcome::NotSwapped => {
                    prop_assert!(expected[&key].0 >= version);
                    Some(buffer)
                }
                Outcome::Skipped => {
                    prop_assert_eq!(answer.outcome(0), Outcome::NoBuffer);
                    prop_assert_eq!(kept, 3, "no buffer was lost");
                    None
                }
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            if let Some(buffer) = free {
                let stores = giver.give(buffer, ram.word(LIST)).expect("it came from there");
                ram.store(stores);
            }
        }
        for (key, (version, value)) in expected {
            prop_assert_eq!(ram.word(ENTRIES + 16 * key), version);
            let buffer = usize::try_from(ram.word(ENTRIES + 16 * key + 8)).expect("small");
            prop_assert_eq!(&ram.0[buffer..buffer + 9], &[value; 9]);
        }
    }
}
