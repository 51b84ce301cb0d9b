//! Unreliable connections: a range that is refused ends its message, and nothing else.

use stroma_abi::desc::Status;

use super::corners::{EVEN, ODD, ends, refused, request, write};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::Rig;
use crate::transport::records::Errand;

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
