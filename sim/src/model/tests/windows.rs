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
    let expected = Received {
        id: 0,
        status,
        operation,
        bytes: 600,
        immediate: None,
        invalidated,
        solicited: false,
        source: None,
    };
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

/// Local work of that end, which owns the window.
fn local(id: u64, operation: Operation) -> Work {
    Work::new(id, operation, &[], 0, 0)
}

fn bind() -> Operation {
    Operation::Bind { key: KEY, window: window() }
}

#[test]
fn binds_and_ends_take_their_turn_among_all_that_was_posted() {
    let mut pair = Pair::simple();
    let (near, far) = (number(0, 0), number(1, 0));
    let message = Work::new(2, Operation::Send, &[sge(2, 0x2000, 600)], 0, 0);
    for work in [message, local(3, bind()), Work { id: 4, ..message }, local(5, Operation::Invalidate(KEY))] {
        pair.ends[1].post(far, work);
    }
    pair.ends[1].post(far, local(6, bind()));
    let use_of_it = super::super::Access {
        key: KEY,
        domain: 0,
        rights: rights::REMOTE_WRITE,
        address: 0x2100,
        queue_pair: Some(far),
    };
    let mut ended = Vec::new();
    let mut seen = Vec::new();
    for receives in 0..3 {
        // Without a receive the next message waits, and so does all behind it.
        if receives > 0 {
            let pieces = list(&[sge(1, 0x1000, 0x400)]);
            pair.ends[0].post_receive(near, Receive { id: receives, pieces });
        }
        (0..100_000).for_each(|_| pair.step());
        let done: Vec<_> = std::iter::from_fn(|| pair.ends[1].poll(far)).collect();
        assert!(done.iter().all(|done| done.status == Status::Success), "{done:?}");
        ended.push(done.iter().map(|done| done.id).collect::<Vec<_>>());
        seen.push(pair.ends[1].memory.check(&use_of_it, 1).is_ok());
    }
    assert_eq!(ended, [vec![], vec![2, 3], vec![4, 5, 6]]);
    assert_eq!(seen, [false, true, true]);
}

#[test]
fn what_cannot_be_bound_or_ended_is_told_and_what_stands_behind_is_flushed() {
    let wrong = |change: fn(&mut Window)| {
        let mut window = window();
        change(&mut window);
        Operation::Bind { key: KEY, window }
    };
    for operation in [
        wrong(|window| window.region = 9),
        wrong(|window| window.length = 0x1_0000),
        wrong(|window| window.length = 0),
        wrong(|window| window.queue_pair = number(1, 1)),
        Operation::Invalidate(KEY),
        Operation::Invalidate(2),
    ] {
        let mut pair = Pair::simple();
        pair.ends[1].post(number(1, 0), local(1, operation));
        pair.ends[1].post(number(1, 0), local(2, bind()));
        pair.run();
        let ended: Vec<_> = std::iter::from_fn(|| pair.ends[1].poll(number(1, 0)))
            .map(|done| (done.id, done.status, done.bytes))
            .collect();
        assert_eq!(ended, [(1, Status::WindowBind, 0), (2, Status::Flushed, 0)], "{operation:?}");
    }
}
