//! Kernels as the driver sees them: which there are, what is counted of them, and what their limits do.

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::{OPERATION, Traversal};
use stroma_abi::wire::{RpcStatus, RpcTarget};
use stroma_tests::pair::{End, Pair};
use stroma_tests::walks::{connect, list, target, walk};
use stroma_top::Profile;
use stroma_top::kernels::slots;
use stroma_verbs::{Kernel, KernelCounters, KernelLimits, QueuePair};

/// Cycles that a walk of [`LONG`] elements does not end in.
const SHORT: u32 = 300;
/// Elements of a list whose walk takes longer.
const LONG: u64 = 20;

/// What is counted of each slot.
fn counters(end: &End) -> Vec<KernelCounters> {
    (0..slots().len()).map(|slot| end.device.kernel_counters(slot).unwrap()).collect()
}

/// What is counted of each slot of `traversal`; nothing is of the others.
fn walks(end: &End) -> Vec<KernelCounters> {
    let (walks, others): (Vec<_>, Vec<_>) =
        counters(end).into_iter().zip(slots()).partition(|(_, entry)| entry.operation == OPERATION);
    for (counters, entry) in others {
        assert_eq!(counters, KernelCounters::default(), "{}", entry.name);
    }
    walks.into_iter().map(|(counters, _)| counters).collect()
}

/// The same of all of them together.
fn all_walks(end: &End) -> KernelCounters {
    walks(end).into_iter().fold(KernelCounters::default(), |sum, of| KernelCounters {
        invoked: sum.invoked + of.invoked,
        succeeded: sum.succeeded + of.succeeded,
        failed: sum.failed + of.failed,
        stopped: sum.stopped + of.stopped,
    })
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
        let of = |(slot, entry): (usize, &stroma_kernels::Entry)| Kernel {
            slot,
            operation: entry.operation,
            version: entry.version,
            parameter_layout: entry.parameter_layout,
        };
        let expected: Vec<Kernel> = slots().into_iter().enumerate().map(of).collect();
        assert_eq!(device.kernels().unwrap(), expected, "{profile:?}");
        let kernels = device.kernels().unwrap().into_iter();
        let layouts: Vec<u32> = kernels
            .filter(|kernel| kernel.operation == OPERATION)
            .map(|kernel| kernel.parameter_layout)
            .collect();
        assert_eq!(layouts, [Traversal::LAYOUT; 2]);
        assert!(device.card().features().rpc);
        assert_eq!(device.kernel_limits().unwrap(), KernelLimits::default());
        assert_eq!(walks(end), [KernelCounters::default(); 2]);
        let refused = device.kernel_counters(slots().len()).unwrap_err();
        assert_eq!(refused.to_string(), "the card has 7 kernels, and none in slot 7");
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
    assert_eq!(all_walks(far), expected, "{profile:?}");
    assert_eq!(walks(near), [KernelCounters::default(); 2], "it called, and was not called");
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
    assert_eq!(all_walks(far), stopped, "{profile:?}");
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
    assert_eq!(all_walks(far), expected, "{profile:?}");
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
    let [before, after] = [0, 1].map(|_| all_walks(far));
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
    assert_eq!(all_walks(far).invoked, 1);
    drop(callers);
    far.device.card().reset(std::time::Duration::from_mins(1)).unwrap();
    assert_eq!(walks(far), [KernelCounters::default(); 2]);
    assert_eq!(far.device.kernel_limits().unwrap(), KernelLimits::default());
}

fn two_at_once(profile: Profile) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let callers = [0, 1].map(|_| connect(&pair, 4096, 3));
    let task = Traversal { sought: 99 + LONG, value_length: 8, ..list(&pair, LONG) };
    let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
    let walk = |caller: &QueuePair, wr_id: u64| {
        let batch = caller.start().wr_id(wr_id).signaled();
        batch.rpc(near.piece(0, 8), &target(8), far.memory.rkey(), parameters).post().unwrap();
    };
    let alone = {
        let start = pair.now();
        walk(&callers[0][0], 1);
        assert_eq!(near.expect(1).rpc, Some(0));
        pair.now() - start
    };
    let start = pair.now();
    walk(&callers[0][0], 2);
    walk(&callers[1][0], 2);
    for _ in 0..2 {
        assert_eq!(near.expect(2).rpc, Some(0));
    }
    let both = pair.now() - start;
    assert!(10 * both < 13 * alone, "{profile:?}: {both} cycles for both, {alone} for one");
    let invoked: Vec<u64> = walks(far).iter().map(|of| of.invoked).collect();
    assert_eq!(invoked.iter().sum::<u64>(), 3, "{profile:?}");
    assert!(invoked.iter().all(|count| *count > 0), "{profile:?}: {invoked:?}");

    // One queue pair's calls go to both, and are answered in order.
    for wr_id in 3..11 {
        walk(&callers[0][0], wr_id);
    }
    for wr_id in 3..11 {
        assert_eq!(near.expect(wr_id).rpc, Some(0), "{profile:?}");
    }
    let invoked: Vec<u64> = walks(far).iter().map(|of| of.invoked).collect();
    assert!(invoked[0].abs_diff(invoked[1]) == 1, "{profile:?}: {invoked:?}");
}

#[test]
fn two_slots_of_one_kernel_share_its_calls_10g() {
    two_at_once(Profile::TenGig);
}

#[test]
fn two_slots_of_one_kernel_share_its_calls_100g() {
    two_at_once(Profile::HundredGig);
}
