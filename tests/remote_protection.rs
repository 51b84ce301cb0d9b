//! What a peer may not do: each refusal with its NAK, the status of the request, the state of both ends, and nothing moved.

use stroma_abi::regs::map::counters;
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Access, AsyncEvent, QueuePairState, Status};

/// Where a request of the near end goes wrong.
struct Case {
    name: &'static str,
    /// What of its address and key, of 64 bytes.
    target: fn(&End) -> (u64, u32),
    /// Rights of the queue pair at the far end.
    rights: Access,
    status: Status,
}

const BOTH: fn() -> Access = || Access::REMOTE_WRITE | Access::REMOTE_READ;
const LEN: usize = 64;

/// A region of the far end that grants nothing to peers, and one of another domain, live as long as the story.
fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "another key",
            target: |far| (far.at(0), far.memory.rkey() ^ 1),
            rights: BOTH(),
            status: Status::RemoteAccess,
        },
        Case {
            name: "a region that does not exist",
            target: |far| (far.at(0), far.memory.rkey() + 0x700),
            rights: BOTH(),
            status: Status::RemoteAccess,
        },
        Case {
            name: "a byte too far",
            target: |far| (far.at(0) + (1 << 20) - 63, far.memory.rkey()),
            rights: BOTH(),
            status: Status::RemoteAccess,
        },
        Case {
            name: "a byte too early",
            target: |far| (far.at(0) - 1, far.memory.rkey()),
            rights: BOTH(),
            status: Status::RemoteAccess,
        },
        Case {
            name: "around the last address",
            target: |far| (u64::MAX - 10, far.memory.rkey()),
            rights: BOTH(),
            status: Status::RemoteAccess,
        },
        Case {
            name: "a queue pair without the right",
            target: |far| (far.at(0), far.memory.rkey()),
            rights: Access::LOCAL_READ,
            status: Status::RemoteInvalid,
        },
    ]
}

/// Posts a request that is refused; both ends end as they should, and no byte moves.
fn refused(profile: Profile, pair: &Pair, case: &Case, is_read: bool, target: (u64, u32)) {
    let [near, far] = &pair.ends;
    let name = format!("{profile:?}, {}, {}", case.name, if is_read { "READ" } else { "WRITE" });
    let [sender, receiver] = pair.connect_with(64, |end, connection| {
        if end == 1 {
            connection.rights = case.rights;
        }
    });
    let (before, naks) = ([near.bytes(0, 8192), far.bytes(0, 8192)], far.count(&counters::NAKS));
    let (address, key) = target;
    let batch = sender.start().wr_id(1).signaled();
    let batch = if is_read {
        batch.read(&[near.piece(4096, LEN)], address, key)
    } else {
        batch.write(&[near.piece(0, LEN)], address, key)
    };
    batch.wr_id(2).signaled().write(&[near.piece(0, 1)], far.at(0), far.memory.rkey()).post().unwrap();
    let found = near.complete();
    assert_eq!((found.wr_id, found.status), (1, case.status), "{name}");
    let found = near.complete();
    assert_eq!((found.wr_id, found.status), (2, Status::Flushed), "{name}");
    assert_eq!(far.count(&counters::NAKS), naks + 1, "{name}");
    for queue_pair in [&sender, &receiver] {
        assert_eq!(queue_pair.query().unwrap().state, QueuePairState::Error as u8, "{name}");
    }
    let event = far.event();
    let is_told =
        matches!(event, AsyncEvent::QueuePairError { queue_pair, .. } if queue_pair == receiver.number());
    assert!(is_told, "{name}: {event:?}");
    pair.run(2000);
    assert!([near.bytes(0, 8192), far.bytes(0, 8192)] == before, "{name}: something moved");
}

fn every_case(profile: Profile) {
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    near.put(0, &pattern(1, 8192));
    far.put(0, &pattern(2, 8192));
    for case in cases() {
        for is_read in [false, true] {
            refused(profile, &pair, &case, is_read, (case.target)(far));
        }
    }
    // Regions that say no: without rights, of another domain, and one that is gone.
    let case =
        |name| Case { name, target: |far| (far.at(0), 0), rights: BOTH(), status: Status::RemoteAccess };
    let closed = far.domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let foreign = far.device.protection_domain().unwrap();
    let foreign = foreign.allocate(4096, Access::LOCAL_WRITE | BOTH()).unwrap();
    let gone = far.domain.allocate(4096, Access::LOCAL_WRITE | BOTH()).unwrap();
    let was = (gone.address(0).unwrap(), gone.rkey());
    drop(gone.deregister().unwrap());
    for is_read in [false, true] {
        refused(
            profile,
            &pair,
            &case("a region without the right"),
            is_read,
            (closed.address(0).unwrap(), closed.rkey()),
        );
        refused(
            profile,
            &pair,
            &case("a region of another domain"),
            is_read,
            (foreign.address(0).unwrap(), foreign.rkey()),
        );
        refused(profile, &pair, &case("a region that is gone"), is_read, was);
    }
}

#[test]
fn a_peer_may_do_what_key_bounds_domain_and_rights_allow_and_no_more_10g() {
    every_case(Profile::TenGig);
}

#[test]
fn a_peer_may_do_what_key_bounds_domain_and_rights_allow_and_no_more_100g() {
    every_case(Profile::HundredGig);
}

#[test]
fn a_long_write_whose_end_is_out_of_bounds_moves_nothing_of_its_beginning() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let [sender, _receiver] = pair.connect();
        near.put(0, &pattern(1, 20_000));
        let at = (1 << 20) - 19_999;
        sender
            .start()
            .signaled()
            .write(&[near.piece(0, 20_000)], far.at(at), far.memory.rkey())
            .post()
            .unwrap();
        assert_eq!(near.complete().status, Status::RemoteAccess);
        pair.run(3000);
        assert!(far.bytes(at, 19_999) == vec![0; 19_999], "{profile:?}");
    }
}

/// As a switch delivers it that does not know yet where the other station is.
#[test]
fn a_frame_for_another_station_is_counted_and_nothing_else_and_one_for_all_is_taken() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        near.put(0, &pattern(1, LEN));
        let mut other = far.address.mac;
        other[5] ^= 0x40;
        for (mac, status, unwanted) in [(other, Status::RetryExceeded, 3), ([0xff; 6], Status::Success, 0)] {
            let [sender, _receiver] = pair.connect_with(256, |end, connection| {
                connection.timeout = 2;
                connection.retry = 2;
                if end == 0 {
                    connection.address.mac = mac;
                }
            });
            let before = far.count(&counters::RX_UNWANTED);
            let batch = sender.start().signaled();
            batch.write(&[near.piece(0, LEN)], far.at(0), far.memory.rkey()).post().unwrap();
            assert_eq!(near.complete().status, status, "{profile:?}");
            assert_eq!(far.count(&counters::RX_UNWANTED) - before, unwanted, "{profile:?}");
            let expected = if status == Status::Success { pattern(1, LEN) } else { vec![0; LEN] };
            assert!(far.bytes(0, LEN) == expected, "{profile:?}");
        }
    }
}

#[test]
fn local_keys_are_checked_before_anything_is_sent() {
    for profile in widths!() {
        let pair = Pair::new(profile);
        let [near, far] = &pair.ends;
        let frames = pair.shared.world().line(0).counters().pushed;
        for is_read in [false, true] {
            let [sender, _receiver] = pair.connect();
            let mut piece = near.piece(0, 64);
            piece.local_key ^= 1;
            let batch = sender.start().signaled();
            let key = far.memory.rkey();
            let batch = if is_read {
                batch.read(&[piece], far.at(0), key)
            } else {
                batch.write(&[piece], far.at(0), key)
            };
            batch.post().unwrap();
            assert_eq!(near.complete().status, Status::LocalProtection, "{profile:?}");
            assert_eq!(sender.query().unwrap().state, QueuePairState::Error as u8);
        }
        assert_eq!(pair.shared.world().line(0).counters().pushed, frames, "{profile:?}: nothing was sent");
    }
}
