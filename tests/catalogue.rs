//! Kernels as the driver sees them: which there are, what is counted of them, and what their limits do.

use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::wire::{RpcStatus, RpcTarget};
use stroma_kernels::CATALOGUE;
use stroma_tests::pair::{End, Pair};
use stroma_tests::walks::{connect, list, target, walk};
use stroma_top::Profile;
use stroma_verbs::{Kernel, KernelCounters, KernelLimits, QueuePair};

/// Cycles that a walk of [`LONG`] elements does not end in.
const SHORT: u32 = 300;
/// Elements of a list whose walk takes longer.
const LONG: u64 = 20;

/// The slot of the kernel `traversal`.
fn slot() -> usize {
    CATALOGUE.iter().position(|entry| entry.name == "traversal").expect("a kernel of this name")
}

/// What is counted of each slot.
fn counters(end: &End) -> Vec<KernelCounters> {
    (0..CATALOGUE.len()).map(|slot| end.device.kernel_counters(slot).unwrap()).collect()
}

/// Nothing but this, in the slot of `traversal`.
fn only(counters: KernelCounters) -> Vec<KernelCounters> {
    let of = |at| if at == slot() { counters } else { KernelCounters::default() };
    (0..CATALOGUE.len()).map(of).collect()
}

/// Sets the limit of the far card's kernels, and leaves their patience as it is after reset.
fn limit(pair: &Pair, limit: u32) {
    pair.ends[1].device.set_kernel_limits(KernelLimits { limit, ..KernelLimits::default() }).unwrap();
}

/// The status of a walk to this key.
fn status(pair: &Pair, caller: &QueuePair, task: &Traversal, sought: u64) -> u32 {
    walk(pair, caller, &Traversal { sought, value_length: 8, ..*task }, 0, 8).rpc.expect("a call")
}

fn the_catalogue(profile: Profile) {
    let pair = Pair::new(profile);
    for end in &pair.ends {
        let device = &end.device;
        let of = |entry: &stroma_kernels::Entry| Kernel {
            operation: entry.operation,
            version: entry.version,
            parameter_layout: entry.parameter_layout,
        };
        let expected: Vec<Kernel> = CATALOGUE.iter().map(of).collect();
        assert_eq!(device.kernels().unwrap(), expected, "{profile:?}");
        assert_eq!(device.kernels().unwrap()[slot()].parameter_layout, Traversal::LAYOUT);
        assert!(device.card().features().rpc);
        assert_eq!(device.kernel_limits().unwrap(), KernelLimits::default());
        assert_eq!(counters(end), only(KernelCounters::default()));
        let refused = device.kernel_counters(CATALOGUE.len()).unwrap_err();
        assert_eq!(refused.to_string(), "the card has 6 kernels, and none in slot 6");
    }
}

#[test]
fn the_catalogue_is_that_of_the_crate_10g() {
    the_catalogue(Profile::TenGig);
}

#[test]
fn the_catalogue_is_that_of_the_crate_100g() {
    the_catalogue(Profile::HundredGig);
}

fn what_is_counted(profile: Profile) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [caller, _called] = connect(&pair, 4096, 3);
    let task = list(&pair, 4);
    for (sought, expected) in [(100, 0), (99, 0x100), (103, 0), (101, 0)] {
        assert_eq!(status(&pair, &caller, &task, sought), expected, "{profile:?}");
    }
    let expected = KernelCounters { invoked: 4, succeeded: 3, failed: 1, stopped: 0 };
    assert_eq!(counters(far), only(expected), "{profile:?}");
    assert_eq!(counters(near), only(KernelCounters::default()), "it called, and was not called");
}

#[test]
fn every_call_is_counted_by_the_card_that_is_called_10g() {
    what_is_counted(Profile::TenGig);
}

#[test]
fn every_call_is_counted_by_the_card_that_is_called_100g() {
    what_is_counted(Profile::HundredGig);
}

fn the_limit(profile: Profile) {
    let pair = Pair::new(profile);
    let far = &pair.ends[1];
    let [caller, _called] = connect(&pair, 4096, 3);
    let endless = Traversal { hop_limit: u16::MAX, ..list(&pair, 1) };
    let words = [100, far.at(0), far.at(64)].map(u64::to_le_bytes).concat();
    far.put(0, &words);
    limit(&pair, SHORT);
    assert_eq!(status(&pair, &caller, &endless, 99), RpcStatus::Limit as u32, "{profile:?}");
    let stopped = KernelCounters { invoked: 1, succeeded: 0, failed: 1, stopped: 1 };
    assert_eq!(counters(far), only(stopped), "{profile:?}");
    limit(&pair, KernelLimits::default().limit);
    assert_eq!(status(&pair, &caller, &endless, 100), 0, "the kernel runs again");

    // The same walk is too long, and with no limit it is not.
    let task = list(&pair, LONG);
    let last = 99 + LONG;
    limit(&pair, SHORT);
    assert_eq!(status(&pair, &caller, &task, last), RpcStatus::Limit as u32, "{profile:?}");
    limit(&pair, 0);
    assert_eq!(status(&pair, &caller, &task, last), 0, "{profile:?}");
    let expected = KernelCounters { invoked: 4, succeeded: 2, failed: 2, stopped: 2 };
    assert_eq!(counters(far), only(expected), "{profile:?}");
}

#[test]
fn the_limit_ends_a_walk_that_does_not_end_10g() {
    the_limit(Profile::TenGig);
}

#[test]
fn the_limit_ends_a_walk_that_does_not_end_100g() {
    the_limit(Profile::HundredGig);
}

/// A request of several packets, more than the kernel takes: its own status says that it saw all of them.
fn many_packets(pair: &Pair, caller: &QueuePair) -> u32 {
    let [near, far] = &pair.ends;
    let words = u8::try_from(Traversal::LEN / 4).expect("few");
    let target = RpcTarget { parameter_words: words, ..target(8) };
    let batch = caller.start().wr_id(8).signaled();
    batch.rpc_write(near.piece(0, 8), &target, far.memory.rkey(), &[near.piece(4096, 5000)]).post().unwrap();
    near.expect(8).rpc.expect("a call")
}

fn patience(profile: Profile) {
    let pair = Pair::new(profile);
    let far = &pair.ends[1];
    let [caller, _called] = connect(&pair, 4096, 3);
    assert_eq!(many_packets(&pair, &caller), 0x101, "{profile:?}");
    far.device.set_kernel_limits(KernelLimits { limit: 0, patience: 1 }).unwrap();
    assert_eq!(many_packets(&pair, &caller), RpcStatus::Aborted as u32, "{profile:?}");
    let [before, after] = [0, 1].map(|_| far.device.kernel_counters(slot()).unwrap());
    assert_eq!((before.failed, before.stopped, before), (2, 1, after), "{profile:?}");
    far.device.set_kernel_limits(KernelLimits { limit: 0, patience: 0 }).unwrap();
    assert_eq!(many_packets(&pair, &caller), 0x101, "{profile:?}");
}

#[test]
fn a_request_that_stops_coming_is_given_up_10g() {
    patience(Profile::TenGig);
}

#[test]
fn a_request_that_stops_coming_is_given_up_100g() {
    patience(Profile::HundredGig);
}

#[test]
fn a_reset_puts_limits_and_counters_back() {
    let pair = Pair::new(Profile::TenGig);
    let far = &pair.ends[1];
    let callers = connect(&pair, 4096, 3);
    let task = list(&pair, 1);
    limit(&pair, 5000);
    assert_eq!(status(&pair, &callers[0], &task, 100), 0);
    assert_eq!(far.device.kernel_counters(slot()).unwrap().invoked, 1);
    drop(callers);
    far.device.card().reset(std::time::Duration::from_mins(1)).unwrap();
    assert_eq!(counters(far), only(KernelCounters::default()));
    assert_eq!(far.device.kernel_limits().unwrap(), KernelLimits::default());
}
