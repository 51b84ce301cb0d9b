//! Tenants of one card: what a kernel keeps for one protection domain is not there for another.

use stroma_kernel_client::{Call, hyperloglog};
use stroma_tests::calls::{ANSWER, Calls};
use stroma_top::Profile;
use stroma_verbs::{Access, QueuePair, QueuePairKind};

use crate::tasks::MEMORY;

const SKETCH: u64 = 0x5e7c;
/// Statuses of the kernel.
const OTHER: u32 = 0x100;
const TAKEN: u32 = 0x102;

/// Calls over a connection, and tells the status.
fn status(calls: &Calls, caller: &QueuePair, call: &impl Call) -> u32 {
    let room = calls.near(0, call.response_max() as usize);
    let batch = caller.start().wr_id(1).signaled();
    batch.rpc(room, &call.target(), calls.key(), call.parameters()).post().expect("room in the queue");
    calls.pair.ends[0].expect(1).rpc.expect("an RPC")
}

fn sketches(profile: Profile) {
    let calls = Calls::new(profile, MEMORY, |_| {});
    let [near, far] = &calls.pair.ends;
    let other = far.device.protection_domain().expect("a domain");
    let answering = other.queue_pair(&far.completions).kind(QueuePairKind::Reliable);
    let answering = answering.result_bytes(ANSWER).send_units(16).build().expect("a queue pair");
    let caller = near.calling(ANSWER);
    calls
        .pair
        .join([&caller, &answering], |_, connection| connection.rights = connection.rights | Access::RPC);
    let ours = |call: hyperloglog::Counting| status(&calls, &calls.ends[0], &call);
    let theirs = |call: hyperloglog::Counting| status(&calls, &caller, &call);
    let count = hyperloglog::count_only(SKETCH, 8).expect("a size");

    assert_eq!(ours(hyperloglog::clear(SKETCH)), 0, "{profile:?}");
    assert_eq!([theirs(hyperloglog::clear(SKETCH)), theirs(hyperloglog::release())], [TAKEN; 2]);
    assert_eq!(theirs(count), OTHER, "{profile:?}: though they know the name");
    assert_eq!(status(&calls, &caller, &hyperloglog::take(SKETCH)), OTHER, "{profile:?}");
    assert_eq!(ours(count), 0, "{profile:?}: it is as it was");
    assert_eq!(ours(hyperloglog::release()), 0, "{profile:?}");
    assert_eq!(theirs(hyperloglog::clear(SKETCH)), 0, "{profile:?}");
    assert_eq!([ours(count), ours(hyperloglog::clear(SKETCH))], [OTHER, TAKEN], "{profile:?}");
}

#[test]
fn the_sketch_of_one_domain_is_not_there_for_another_10g() {
    sketches(Profile::TenGig);
}

#[test]
fn the_sketch_of_one_domain_is_not_there_for_another_100g() {
    sketches(Profile::HundredGig);
}
