//! RPC: a kernel of the other card runs, and its answer comes here.

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::RpcStatus;
use stroma_sim::host::timing::Timing;
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::walks::{VALUE_STRIDE, VALUES_AT, connect, list, target, walk};
use stroma_top::Profile;
use stroma_verbs::WorkOp;

fn a_walk(profile: Profile) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [caller, _called] = connect(&pair, 65_536, 3);
    let values = pattern(9, 1 << 17);
    far.put(VALUES_AT, &values);
    let task = list(&pair, 8);
    for (sought, length) in [(100, 64), (103, 1), (107, 1024), (105, 1025), (101, 5000), (102, 0)] {
        let task = Traversal { sought, value_length: length, ..task };
        let found = walk(&pair, &caller, &task, 4096, length.max(1));
        assert_eq!((found.op, found.rpc, found.length), (WorkOp::Rpc, Some(0), length), "{sought}");
        let at = usize::try_from(sought - 100).expect("small") * VALUE_STRIDE;
        let length = length as usize;
        assert!(near.bytes(4096, length) == values[at..at + length], "{profile:?}: {length} bytes");
    }
    let none = walk(&pair, &caller, &Traversal { sought: 99, value_length: 8, ..task }, 0, 8);
    assert_eq!((none.rpc, none.length), (Some(0x100), 0));
    let outside = walk(&pair, &caller, &Traversal { root: 0x10, value_length: 8, ..task }, 0, 8);
    assert_eq!((outside.rpc, outside.length), (Some(RpcStatus::Access as u32), 0));
    assert_eq!(near.count(&counters::RETRANSMITTED), 0);
}

#[test]
fn a_kernel_walks_a_list_of_the_other_host_10g() {
    a_walk(Profile::TenGig);
}

#[test]
fn a_kernel_walks_a_list_of_the_other_host_100g() {
    a_walk(Profile::HundredGig);
}

/// A list of one element is written anew, value first, and walked at the same doorbell, in a host where writes take longer than
/// reads: a kernel that reads what is not yet visible finds the key of the round before, or its value.
fn after_writes(profile: Profile) {
    const ROUNDS: u64 = 20;
    const LENGTH: usize = 3000;
    const NEW_ELEMENT: usize = 0;
    const NEW_VALUE: usize = 4096;
    const ANSWER: usize = 8192;
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    pair.shared.world().card(1).set_timing(Timing { write_ns: 5000, ..Timing::ALVEO_GEN3X16 });
    let [caller, _called] = connect(&pair, 65_536, 5);
    let task = list(&pair, 1);
    for round in 0..ROUNDS {
        let (key, value) = (1000 + round, pattern(round, LENGTH));
        let element = [key, 0, far.at(VALUES_AT)].map(u64::to_le_bytes).concat();
        near.put(NEW_ELEMENT, &element);
        near.put(NEW_VALUE, &value);
        let task = Traversal { sought: key, value_length: 3000, ..task };
        let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
        let rkey = far.memory.rkey();
        let batch = caller.start();
        let batch = batch.write(&[near.piece(NEW_VALUE, LENGTH)], far.at(VALUES_AT), rkey);
        let batch = batch.write(&[near.piece(NEW_ELEMENT, element.len())], far.at(0), rkey);
        let answer = near.piece(ANSWER, LENGTH);
        let batch = batch.wr_id(7).signaled().rpc(answer, &target(3000), rkey, parameters);
        batch.post().expect("two WRITEs and a call");
        let found = near.expect(7);
        assert_eq!((found.rpc, found.length), (Some(0), 3000), "{profile:?}, round {round}: the element");
        assert!(near.bytes(ANSWER, LENGTH) == value, "{profile:?}, round {round}: the value");
    }
}

#[test]
fn a_kernel_sees_what_writes_before_its_call_placed_10g() {
    after_writes(Profile::TenGig);
}

#[test]
fn a_kernel_sees_what_writes_before_its_call_placed_100g() {
    after_writes(Profile::HundredGig);
}
