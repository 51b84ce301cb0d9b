//! Unreliable connections: a range that is refused, and a receive that is too short, end their message, and nothing else.

use stroma_abi::desc::Status;

use super::corners::{EVEN, ODD, ends, refused, request, write};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::Rig;
use crate::transport::records::{Errand, List};

/// A packet of a WRITE that nobody answers; with a receive if it completes one.
fn packet(va: u64, begins: bool, completes: bool, key: u64) -> Visit {
    let (errand, bytes) = write(va, 64, key);
    let errand = Errand {
        unreliable: true,
        begins,
        completes,
        answer: 0.into(),
        status: 0.into(),
        vendor: 0.into(),
        is_awaited: true,
        ..errand
    };
    request((errand, bytes))
}

#[test]
fn a_message_that_is_refused_is_thrown_away_up_to_the_next() {
    let mut rig = Rig::<64>::new();
    let denied = u64::from(Status::RemoteAccess as u8);
    for cause in [Cause::Key, Cause::Bounds, Cause::PageList] {
        let visits = [
            packet(ODD, true, false, refused(cause)),
            packet(EVEN, false, false, 7),
            packet(EVEN, false, true, 7),
            packet(EVEN, true, false, 7),
            packet(EVEN, false, true, 7),
        ];
        rig.send(&visits);
        assert_eq!((rig.expected.accepted, rig.expected.lost, rig.expected.refused), (2, 3, 0), "{cause:?}");
        rig.finish();
        let found = ends(&mut rig, &visits);
        assert_eq!(found, (2, vec![], vec![], vec![(denied, 0), (0, 0)]), "{cause:?}");
    }
}

#[test]
fn a_reset_forgets_that_a_message_was_refused() {
    let mut rig = Rig::<64>::new();
    assert_eq!(ends(&mut rig, &[packet(ODD, true, false, refused(Cause::Key))]).0, 0);
    rig.change(1, true);
    rig.run(10);
    assert_eq!(ends(&mut rig, &[packet(EVEN, false, false, 7)]).0, 1);
}

/// A packet of a SEND that nobody answers, or what is left of it behind the end of its receive.
fn send(begins: bool, completes: bool, is_short: bool) -> Visit {
    let (errand, bytes) = write(EVEN, 64, 7);
    let errand = Errand {
        unreliable: true,
        begins,
        completes,
        list: (List::Receive as u64).into(),
        answer: 0.into(),
        status: 0.into(),
        vendor: 0.into(),
        is_awaited: true,
        ..errand
    };
    if !is_short {
        return request((errand, bytes));
    }
    let status = u64::from(Status::LocalLength as u8).into();
    request((Errand { places: false, span: 0.into(), fails: true, status, ..errand }, bytes))
}

#[test]
fn a_message_that_is_longer_than_its_receive_is_told_when_it_ends_and_nothing_fails() {
    let mut rig = Rig::<64>::new();
    let too_long = u64::from(Status::LocalLength as u8);
    let next = send(true, true, false);
    for (fits, packets) in [
        (0, vec![send(true, true, true)]),
        (1, vec![send(true, false, false), send(false, true, true)]),
        (0, vec![send(true, false, true), send(false, false, true), send(false, true, true)]),
        // The last packet has no bytes left to be placed, so its list was not looked at.
        (0, vec![send(true, false, true), send(false, true, false)]),
    ] {
        let count = packets.len();
        let found = ends(&mut rig, &[packets, vec![next.clone()]].concat());
        assert_eq!(found, (fits + 1, vec![], vec![], vec![(too_long, 0), (0, 0)]), "{count} packets");
    }
}

#[test]
fn a_message_that_is_too_long_and_broken_off_tells_nothing() {
    let mut rig = Rig::<64>::new();
    let visits = [send(true, false, true), send(true, false, false), send(false, true, false)];
    rig.send(&visits);
    assert_eq!((rig.expected.accepted, rig.expected.lost), (2, 1));
    rig.finish();
    assert_eq!(ends(&mut rig, &visits), (2, vec![], vec![], vec![(0, 0)]));
}
