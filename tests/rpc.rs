//! RPC: a kernel of the other card runs, and its answer comes here.

use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::RpcStatus;
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::walks::{VALUE_STRIDE, VALUES_AT, connect, list, walk};
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
