//! The same calls, by card and by service.

use stroma_kernel_client::hyperloglog::{self, Sketch};
use stroma_kernel_client::prism::{Chain, Comparison, Outcome, Place, Request, Step, Swap};
use stroma_rpc::{Caller, Route, Service, Shape};
use stroma_tests::pair::pattern;
use stroma_verbs::QueuePair;

use crate::stage::{Stage, said};

/// Where chains read and write.
const CHAIN_AT: usize = 0x4000;
/// Where counted items go.
const ITEMS_AT: usize = 0x2_0000;

/// A caller of the card, one of the service, and what they call.
fn both(stage: &Stage) -> (Caller, Caller, Service, [QueuePair; 2]) {
    let shape = Shape::default();
    let (card, called) = stage.caller(shape);
    let (unused, idle) = stage.caller(shape);
    let (way, service) = stage.service(shape);
    let software = unused.with_service(way, Route::ServiceOnly).expect("a caller");
    (card, software, service, [called, idle])
}

#[test]
fn walks_have_the_same_answers() {
    let stage = Stage::new();
    let (card, software, mut service, _called) = both(&stage);
    let calls = [(100, 64), (107, 1025), (101, 5000), (105, 0), (99, 8)];
    for (sought, length) in calls {
        let walk = stage.walk(sought, length);
        let pending = software.post_rpc(walk, stage.key()).unwrap();
        let found = stage.finish(&software, &mut service, &pending).unwrap();
        assert_eq!(card.call(walk, stage.key()).unwrap(), found, "{sought}");
        let expected =
            (sought >= 100).then(|| stage.value(usize::try_from(sought).unwrap(), length as usize));
        assert_eq!(found, expected, "{sought}");
    }
    let mut outside = stage.walk(100, 8);
    outside.root = 0x10;
    let pending = software.post_rpc(outside, stage.key()).unwrap();
    let refused = said(stage.finish(&software, &mut service, &pending));
    assert_eq!(refused, Err("RPC 0x1 ended with status Access".into()));
    assert_eq!(said(card.call(outside, stage.key())), refused);
    assert_eq!((service.counts().answered, service.counts().malformed), (6, 0));
}

/// Reads through a bounded pointer, writes through a pointer, swaps, and does not swap again.
fn chain(stage: &Stage) -> Request {
    let place = |offset: usize| Place::new(stage.at(CHAIN_AT + offset), stage.key());
    stage.put(CHAIN_AT, &pattern(4, 0x1000));
    let words = [stage.at(CHAIN_AT + 0x800), 150, stage.at(CHAIN_AT + 0xa01), 7];
    stage.put(CHAIN_AT, &words.map(u64::to_le_bytes).concat());
    let swap = Swap::new(Comparison::Equal, &7_u64.to_le_bytes(), &[8]);
    let request = Chain::new()
        .always(Step::read(place(0), 200).through_bounded_pointer())
        .always(Step::write(place(16), &pattern(5, 300)).through_pointer())
        .then(Step::swap(place(24), &swap))
        .then(Step::swap(place(24), &swap));
    request.request().expect("a chain")
}

#[test]
fn chains_have_the_same_answers_and_leave_the_same_memory() {
    let stage = Stage::new();
    let (card, software, mut service, _called) = both(&stage);
    let pending = software.post_rpc(chain(&stage), stage.key()).unwrap();
    let found = stage.finish(&software, &mut service, &pending).unwrap();
    let memory = stage.bytes(CHAIN_AT, 0x1000);
    assert_eq!(card.call(chain(&stage), stage.key()).unwrap(), found);
    assert!(stage.bytes(CHAIN_AT, 0x1000) == memory);
    let outcomes = [0, 1, 2, 3].map(|step| found.outcome(step));
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Done, Outcome::NotSwapped]);
    assert!(memory[0xa01..0xa01 + 300] == pattern(5, 300) && memory[24] == 8);
}

#[test]
fn streams_are_counted_alike_and_sketches_of_64_kib_come_back() {
    let stage = Stage::new();
    let (card, software, mut service, _called) = both(&stage);
    let near = &stage.pair.ends[0];
    let items = pattern(6, 4000);
    near.put(0, &items);
    // Two pieces, and items across them.
    let stream = [near.piece(0, 1234), near.piece(1234, 4000 - 1234)];
    let count = hyperloglog::count(5, 8, stage.at(ITEMS_AT)).expect("a size of items");
    let mut expected = Sketch::default();
    items.chunks(8).for_each(|item| expected.insert(item));

    let cleared = software.post_rpc(hyperloglog::clear(5), stage.key()).unwrap();
    stage.finish(&software, &mut service, &cleared).unwrap();
    let counted = software.post_rpc_write(count, stage.key(), &stream).unwrap();
    stage.finish(&software, &mut service, &counted).unwrap();
    let read = software.post_rpc(hyperloglog::read(5), stage.key()).unwrap();
    assert!(stage.finish(&software, &mut service, &read).unwrap() == expected);
    assert!(stage.bytes(ITEMS_AT, 4000) == items);

    stage.put(ITEMS_AT, &[0; 4000]);
    card.call(hyperloglog::clear(5), stage.key()).unwrap();
    card.wait(card.post_rpc_write(count, stage.key(), &stream).unwrap()).unwrap();
    assert!(card.call(hyperloglog::read(5), stage.key()).unwrap() == expected);
    assert!(stage.bytes(ITEMS_AT, 4000) == items);
}
