//! Connections that end: calls are told why, and none waits for ever.

use std::time::Duration;

use stroma_rpc::{Caller, Error, Route, Shape};
use stroma_tests::pair::LIMIT;
use stroma_verbs::Status;

use crate::stage::{Stage, Sum};

#[test]
fn a_peer_that_lets_no_kernel_run_ends_the_queue_pair_and_every_call_is_told() {
    let stage = Stage::new();
    let [near, _far] = stage.connect(false);
    let caller = Caller::new(near, Shape { places: 3, ..Shape::default() }).unwrap();
    let caller = caller.with_patience(Duration::from_mins(5));
    let calls = [101, 102, 103].map(|sought| caller.post_rpc(stage.walk(sought, 8), stage.key()).unwrap());
    let ends = calls.map(|pending| match caller.wait(pending) {
        Err(Error::Completion { operation: 1, status, .. }) => status,
        other => panic!("{other:?}"),
    });
    assert_eq!(ends, [Status::RemoteInvalid, Status::Flushed, Status::Flushed]);
    // So is each that comes later, and none of them keeps its place.
    for _ in 0..4 {
        let late = caller.call(stage.walk(101, 8), stage.key());
        assert!(matches!(late, Err(Error::Completion { status: Status::Flushed, .. })), "{late:?}");
    }
}

#[test]
fn a_message_that_the_service_has_no_room_for_ends_both_ends() {
    let stage = Stage::new();
    let small = Shape { places: 2, request_bytes: 64, answer_bytes: 64 };
    let large = Shape { request_bytes: 4096, ..small };
    let (caller, _called) = stage.caller(large);
    let (way, mut service) = stage.service(small);
    let caller = caller.with_service(way, Route::ServiceOnly).unwrap();
    let near = &stage.pair.ends[0];
    let asked = || Sum { address: stage.at(0), length: 64 };
    let pending = caller.post_rpc_write(asked(), stage.key(), &[near.piece(0, 4000)]).unwrap();
    let behind = caller.post_rpc(asked(), stage.key()).unwrap();
    let end = stage.pair.now() + LIMIT;
    let ended = loop {
        if let Err(error) = service.poll() {
            break error;
        }
        assert!(stage.pair.now() < end, "no end in {LIMIT} cycles");
    };
    assert!(matches!(ended, Error::Ended { status: Status::LocalLength, .. }), "{ended}");
    for (pending, expected) in [(pending, Status::RemoteInvalid), (behind, Status::Flushed)] {
        match caller.wait(pending) {
            Err(Error::Completion { operation: 0x77, status, .. }) => assert_eq!(status, expected),
            other => panic!("{other:?}"),
        }
    }
}
