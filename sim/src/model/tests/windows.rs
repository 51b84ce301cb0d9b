//! Memory windows: whose they are, and who may end them.

use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Status, WorkOp};

use super::rig::{Pair, list, number, sge, work};
use crate::model::{Denied, Operation, Receive, Received, Window, Work};

const KEY: u32 = 0x77;

/// A window over 256 bytes of that end, for the peer of its queue pair.
fn window() -> Window {
    Window {
        region: 2,
        base: 0x2100,
        length: 0x100,
        rights: rights::REMOTE_WRITE | rights::REMOTE_READ,
        queue_pair: number(1, 0),
    }
}

/// A pair whose far end has bound it, and posted two receives.
fn bound() -> Pair {
    let mut pair = Pair::simple();
    pair.ends[1].memory.bind(KEY, window());
    for id in 0..2 {
        pair.ends[1].post_receive(number(1, 0), Receive { id, pieces: list(&[sge(2, 0x2800, 0x400)]) });
    }
    pair
}

fn write(id: u64, address: u64, length: u32) -> Work {
    Work { remote_key: KEY, remote_address: address, ..work(id, Operation::Write, length) }
}

/// Runs, and says how this end's operations ended.
fn statuses(pair: &mut Pair) -> Vec<Status> {
    pair.run();
    std::iter::from_fn(|| pair.ends[0].poll(number(0, 0))).map(|done| done.status).collect()
}

#[test]
fn a_window_opens_its_part_of_the_region_until_its_peer_ends_it() {
    let mut pair = bound();
    let sent = pair.ends[0].memory.region(1).unwrap().bytes[..0x100].to_vec();
    pair.ends[0].post(number(0, 0), write(1, 0x2100, 0x100));
    pair.ends[0].post(number(0, 0), work(2, Operation::SendInv(KEY), 600));
    assert_eq!(statuses(&mut pair), [Status::Success; 2]);
    assert!(pair.ends[1].memory.region(2).unwrap().bytes[0x100..0x200] == sent);
    let received = pair.ends[1].poll_receive(number(1, 0)).unwrap();
    let (status, operation, invalidated) = (Status::Success, WorkOp::SendInv, Some(KEY));
    let expected =
        Received { id: 0, status, operation, bytes: 600, immediate: None, invalidated, solicited: false };
    assert_eq!(received, expected);
    pair.ends[0].post(number(0, 0), write(3, 0x2100, 1));
    assert_eq!(statuses(&mut pair), [Status::RemoteAccess]);
}

#[test]
fn outside_its_bounds_and_rights_a_window_opens_nothing() {
    for (operation, address, length) in [
        (Operation::Write, 0x20ff, 1),
        (Operation::Write, 0x2100, 0x101),
        (Operation::FetchAdd(1), 0x2100, 8),
    ] {
        let mut pair = bound();
        let asked = Work { operation, ..write(1, address, length) };
        pair.ends[0].post(number(0, 0), asked);
        assert_eq!(statuses(&mut pair), [Status::RemoteAccess], "{operation:?} at {address:#x}");
    }
}

#[test]
fn who_is_not_the_peer_neither_uses_a_window_nor_ends_it() {
    let mut pair = bound();
    let other = number(1, 1);
    pair.ends[1].memory.bind(KEY, Window { queue_pair: other, ..window() });
    pair.ends[0].post(number(0, 0), work(1, Operation::SendInv(KEY), 8));
    assert_eq!(statuses(&mut pair), [Status::RemoteAccess]);
    let received = pair.ends[1].poll_receive(number(1, 0)).unwrap();
    assert_eq!((received.id, received.status), (0, Status::RemoteAccess));
    assert!(pair.ends[1].memory.invalidate(KEY, other).is_some(), "it is still bound");

    let mut memory = pair.ends[1].memory.clone();
    memory.bind(KEY, window());
    let own = super::super::Access { key: KEY, domain: 0, rights: 0, address: 0x2100, queue_pair: None };
    assert_eq!(memory.check(&own, 1), Err(Denied::Window { found: number(1, 0) }));
}
