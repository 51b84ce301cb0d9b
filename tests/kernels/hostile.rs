//! Calls that no honest caller would make, and callers that go: an error status, nothing written, and the card lives on.

use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::wire::{RpcStatus, RpcTarget};
use stroma_kernel_client::Call;
use stroma_tests::calls::Calls;
use stroma_tests::pair::pattern;
use stroma_top::Profile;
use stroma_verbs::{Access, MemoryRegion, Status};

use crate::tasks::MEMORY;

const NOT_FOUND: u32 = 0x100;
const BAD_PARAMETERS: u32 = 0x101;

/// A list of two elements at `at`, the second of which leads to the first.
pub(crate) fn circle(calls: &Calls, at: usize) -> Traversal {
    for (index, following) in [(0, 64), (64, 0)] {
        let words = [100 + index as u64, calls.at(at + following), calls.at(at + 256)];
        calls.put(1, at + index, &words.map(u64::to_le_bytes).concat());
    }
    Traversal {
        root: calls.at(at),
        sought: 1,
        mask: u64::MAX,
        value_length: 8,
        hop_limit: 50,
        key_words: 1,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    }
}

/// Makes a call under `key` whose answer may have 8 bytes, and tells its status.
fn status(calls: &Calls, call: &impl Call, key: u32) -> u32 {
    let target = RpcTarget { response_max: 8, ..call.target() };
    let batch = calls.ends[0].start().wr_id(1).signaled();
    batch.rpc(calls.near(0, 8), &target, key, call.parameters()).post().expect("room in the queue");
    calls.pair.ends[0].expect(1).rpc.expect("an RPC")
}

/// A region of the far card in a domain that is not the connection's.
fn foreign(calls: &Calls) -> MemoryRegion {
    let domain = calls.pair.ends[1].device.protection_domain().expect("a domain");
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
    domain.allocate(8192, rights).expect("memory")
}

fn walks(profile: Profile) {
    let calls = Calls::new(profile, MEMORY, |_| {});
    let walk = circle(&calls, 8);
    let other = foreign(&calls);
    let there = other.address(0).expect("inside");
    let closed = calls.pair.ends[1].domain.allocate(4096, Access::LOCAL_WRITE).expect("memory");
    let before = calls.bytes(1, 0, MEMORY);
    let (key, access) = (calls.key(), RpcStatus::Access as u32);
    let last = calls.at(0) + MEMORY as u64;
    let at = |root: u64| Traversal { root, ..walk };
    let cases = [
        ("a circle", walk, key, RpcStatus::Limit as u32),
        ("nowhere", at(0), key, NOT_FOUND),
        ("before the region", at(calls.at(0) - 1), key, access),
        ("an element that ends behind the region", at(last - 23), key, access),
        ("behind the region", at(last), key, access),
        ("around the last address", at(u64::MAX - 7), key, access),
        ("an address of another domain's region", at(there), key, access),
        ("a region of another domain", at(there), other.rkey(), access),
        ("a region without the right", at(closed.address(0).expect("inside")), closed.rkey(), access),
        ("a key of nobody", walk, key ^ 1, access),
        ("no hops", Traversal { hop_limit: 0, ..walk }, key, BAD_PARAMETERS),
        ("no key words", Traversal { key_words: 0, ..walk }, key, BAD_PARAMETERS),
        ("a value of 2^32 - 1 bytes", Traversal { value_length: u32::MAX, ..walk }, key, BAD_PARAMETERS),
    ];
    for (name, walk, key, expected) in cases {
        assert_eq!(status(&calls, &walk, key), expected, "{profile:?}: {name}");
    }
    // Unaligned, and of length 0: both are right.
    let found = Traversal { sought: 164, value_length: 0, ..circle(&calls, 1003) };
    assert_eq!(calls.call(&found), Some(Vec::new()), "{profile:?}");
    let mut after = calls.bytes(1, 0, MEMORY);
    after[1003..1003 + 88].copy_from_slice(&before[1003..1003 + 88]);
    assert!(after == before, "{profile:?}: something was written");
}

#[test]
fn a_walk_goes_nowhere_that_its_caller_may_not_10g() {
    walks(Profile::TenGig);
}

#[test]
fn a_walk_goes_nowhere_that_its_caller_may_not_100g() {
    walks(Profile::HundredGig);
}

/// Shuffles 512 bytes into two buffers, and tells the status.
fn shuffled(calls: &Calls, buffers: u64, key: u32) -> u32 {
    let call = Shuffle { buffers, partitions_log: 1, first_bit: 0, wide: false };
    calls.put(0, 0, &[call.parameters().as_bytes(), &pattern(3, 512)].concat());
    let length = call.parameters().as_bytes().len() + 512;
    let batch = calls.ends[0].start().wr_id(1).signaled();
    let pieces = [calls.near(0, length)];
    batch.rpc_write(calls.near(8192, 0), &call.target(), key, &pieces).post().expect("room in the queue");
    calls.pair.ends[0].expect(1).rpc.expect("an RPC")
}

#[test]
fn a_shuffle_writes_nowhere_that_its_caller_may_not() {
    let calls = Calls::new(Profile::TenGig, MEMORY, |_| {});
    let other = foreign(&calls);
    let there = other.address(0).expect("inside");
    let access = RpcStatus::Access as u32;
    let table = |addresses: [u64; 2]| {
        let buffer = |address| Buffer { address, capacity: 4096, used: 0 }.to_bytes();
        addresses.map(buffer).concat()
    };
    calls.put(1, 0, &table([calls.at(4096), there]));
    assert_eq!(shuffled(&calls, calls.at(0), calls.key()), access, "a buffer of another domain");
    assert_eq!(calls.bytes(1, 0, 32), table([calls.at(4096), there]), "no buffer has grown");
    assert_eq!(shuffled(&calls, there, calls.key()), access, "a table of another domain");
    assert_eq!(shuffled(&calls, calls.at(0), other.rkey()), access, "a key of another domain");
    let mut foreign = vec![1; 8192];
    other.read(0, &mut foreign).expect("inside");
    assert!(foreign == [0; 8192], "nothing of another domain was written");
    calls.put(1, 0, &table([calls.at(4096), calls.at(8192)]));
    assert_eq!(shuffled(&calls, calls.at(0), calls.key()), 0, "and the next one is served");
}

/// Posts a walk that takes long, and lets it begin.
fn begin_long_walk(calls: &Calls) {
    let walk = Traversal { hop_limit: 400, ..circle(calls, 0) };
    let batch = calls.ends[0].start().wr_id(1).signaled();
    batch
        .rpc(calls.near(0, 8), &walk.target(), calls.key(), walk.parameters())
        .post()
        .expect("room in the queue");
    calls.pair.run(4000);
}

/// The kernel serves others.
pub(crate) fn serves(calls: &Calls) {
    let Calls { pair, memories, .. } = calls;
    let ends = [0, 1].map(|end| pair.ends[end].calling(4096));
    pair.join(ends.each_ref(), |_, connection| connection.rights = connection.rights | Access::RPC);
    let walk = circle(calls, 0);
    let batch = ends[0].start().wr_id(9).signaled();
    batch
        .rpc(calls.near(0, 8), &walk.target(), memories[1].rkey(), walk.parameters())
        .post()
        .expect("room in the queue");
    assert_eq!(pair.ends[0].expect(9).rpc, Some(RpcStatus::Limit as u32), "a circle has no end");
}

#[test]
fn a_caller_may_go_while_its_call_runs() {
    let mut calls = Calls::new(Profile::HundredGig, MEMORY, |_| {});
    begin_long_walk(&calls);
    // Both ends of a new connection stand in for the old, which are destroyed.
    calls.ends = [0, 1].map(|end| calls.pair.ends[end].calling(4096));
    calls.pair.run(300_000);
    while calls.pair.ends[0].poll().is_some() {}
    serves(&calls);
}

#[test]
fn the_called_end_may_go_while_a_call_runs() {
    let calls = Calls::new(Profile::HundredGig, MEMORY, |connection| {
        connection.timeout = 4;
        connection.retry = 1;
    });
    begin_long_walk(&calls);
    let Calls { pair, ends: [_caller, called], memories } = calls;
    drop(called);
    assert_eq!(pair.ends[0].complete().status, Status::RetryExceeded, "nobody answers");
    let ends = [0, 1].map(|end| pair.ends[end].calling(4096));
    serves(&Calls { pair, ends, memories });
}

/// The answer finds no place: its caller is told, and nobody else notices.
#[test]
fn the_place_of_an_answer_may_go_while_a_call_runs() {
    let calls = Calls::new(Profile::HundredGig, MEMORY, |_| {});
    // A list of 200 elements, of which the last is sought: some 200 us.
    for index in 0..200 {
        let words = [100 + index as u64, calls.at(64 * (index + 1)), calls.at(0)];
        calls.put(1, 64 * index, &words.map(u64::to_le_bytes).concat());
    }
    let walk = Traversal { hop_limit: 400, sought: 299, ..circle(&calls, 1 << 19) };
    let walk = Traversal { root: calls.at(0), ..walk };
    let place = calls.pair.ends[0].domain.allocate(4096, Access::LOCAL_WRITE).expect("memory");
    let batch = calls.ends[0].start().wr_id(1).signaled();
    let room = place.piece(0, 8).expect("inside");
    batch.rpc(room, &walk.target(), calls.key(), walk.parameters()).post().expect("room in the queue");
    calls.pair.run(4000);
    let gone = place.deregister().expect("no window");
    assert_eq!(calls.pair.ends[0].complete().status, Status::LocalProtection, "its place is no more");
    drop(gone);
    serves(&calls);
}

#[test]
fn memory_may_go_while_a_kernel_walks_it() {
    let calls = Calls::new(Profile::HundredGig, MEMORY, |_| {});
    begin_long_walk(&calls);
    let Calls { pair, ends, memories: [near, far] } = calls;
    drop(far.deregister().expect("no window"));
    assert_eq!(pair.ends[0].expect(1).rpc, Some(RpcStatus::Access as u32), "what it walks is no more");
    let rights = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::RPC;
    let far = pair.ends[1].domain.allocate(MEMORY, rights).expect("memory");
    serves(&Calls { pair, ends, memories: [near, far] });
}
