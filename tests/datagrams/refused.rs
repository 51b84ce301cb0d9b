//! Datagrams that a card refuses to send.

use stroma_tests::widths;
use stroma_verbs::{Datagrams, QueuePairState, Status, WorkCompletion};

use crate::stage::{GOLDEN, GoldenEnd, Stage, header, key, path, way};

/// The queue pair has failed with this; it begins anew, and sends.
fn recover(stage: &Stage, golden: &GoldenEnd, found: &WorkCompletion, status: Status) {
    let Stage { end, queue_pair, .. } = stage;
    assert_eq!((found.wr_id, found.status, found.is_receive), (5, status, false), "{found:?}");
    assert_eq!(queue_pair.query().expect("it is there").state, QueuePairState::Error as u8);
    assert_eq!(golden.ask(|golden| golden.poll_receive(GOLDEN)), None, "nothing has left");
    queue_pair.reset().expect("a reset is always possible");
    queue_pair.activate_datagrams(&Datagrams::new(key(0))).expect("it is as fresh");
    golden.post_receive(0, 100);
    let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
    let batch = queue_pair.start().wr_id(6).signaled().to(&handle, GOLDEN, key(1));
    batch.inline_send(b"again").post().expect("room");
    end.expect(6);
    golden.check(0, stage.number(), None, &header(&path(0, 1, false), None, b"again"), b"again");
}

#[test]
fn one_byte_more_than_a_packet_has_room_for_is_refused() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
        let lists = [vec![end.piece(0, 4097)], vec![end.piece(0, 4096), end.piece(5000, 1)]];
        for pieces in lists {
            let batch = queue_pair.start().wr_id(5).to(&handle, GOLDEN, key(1));
            batch.send(&pieces).post().expect("the card judges");
            recover(&stage, &golden, &end.complete(), Status::LocalLength);
        }
    }
}

#[test]
fn address_handles_that_ended_or_are_of_another_domain_are_refused() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let other = end.device.protection_domain().expect("another domain");
        for is_foreign in [false, true] {
            let domain = if is_foreign { &other } else { &end.domain };
            let handle = domain.address_handle(&way(1, false)).expect("a handle");
            let batch = queue_pair.start().wr_id(5).to(&handle, GOLDEN, key(1)).inline_send(b"no");
            let _kept = is_foreign.then_some(handle);
            batch.post().expect("the card judges");
            recover(&stage, &golden, &end.complete(), Status::LocalQueuePair);
        }
    }
}

#[test]
fn what_stands_behind_a_refused_datagram_is_flushed() {
    for profile in widths!() {
        let (stage, golden) = Stage::golden(profile);
        let Stage { end, queue_pair, .. } = &stage;
        let handle = end.domain.address_handle(&way(1, false)).expect("a handle");
        golden.post_receive(0, 100);
        let batch = queue_pair.start().wr_id(1).signaled().to(&handle, GOLDEN, key(1)).inline_send(b"first");
        let batch = batch.wr_id(2).to(&handle, GOLDEN, key(1)).send(&[end.piece(0, 4097)]);
        batch.wr_id(3).to(&handle, GOLDEN, key(1)).inline_send(b"third").post().expect("room");
        let found = [(); 3].map(|()| end.complete()).map(|found| (found.wr_id, found.status));
        assert_eq!(found, [(1, Status::Success), (2, Status::LocalLength), (3, Status::Flushed)]);
        golden.check(0, stage.number(), None, &header(&path(0, 1, false), None, b"first"), b"first");
    }
}
