//! Places: as many calls at once as there are, and each room for one of them.

use stroma_rpc::{Error, Route, Shape};

use crate::stage::{Stage, Sum, said};

#[test]
fn places_are_given_back_when_the_card_is_done_with_them() {
    let stage = Stage::new();
    let (caller, _called) = stage.caller(Shape { places: 2, request_bytes: 64, answer_bytes: 256 });
    let walk = |sought| caller.post_rpc(stage.walk(sought, 200), stage.key());
    let kept = walk(101).unwrap();
    drop(walk(102).unwrap());
    // The card may still write into the room of the call that was dropped.
    let full = "RPC 0x1: all 2 places are in use until answers are taken or given up";
    assert_eq!(said(walk(103)).map(drop), Err(full.into()));
    let third = loop {
        caller.poll().unwrap();
        match walk(103) {
            Err(Error::NoRoom { .. }) => {}
            other => break other.unwrap(),
        }
    };
    assert_eq!(caller.wait(third).unwrap(), Some(stage.value(103, 200)));
    assert_eq!(caller.wait(kept).unwrap(), Some(stage.value(101, 200)));

    // Many at once, in any order, again and again.
    for round in 0..4 {
        let pair = [104 + round % 2, 106].map(|sought| walk(sought).unwrap());
        let [first, second] = pair;
        assert_eq!(caller.wait(second).unwrap(), Some(stage.value(106, 200)));
        let sought = usize::try_from(104 + round % 2).unwrap();
        assert_eq!(caller.wait(first).unwrap(), Some(stage.value(sought, 200)));
    }
    let long = caller.post_rpc(stage.walk(101, 257), stage.key());
    assert_eq!(said(long).map(drop), Err("RPC 0x1: the answer may have 257 bytes, a room has 256".into()));
    let (other, _called) = stage.caller(Shape { places: 1, request_bytes: 32, answer_bytes: 256 });
    let long = other.post_rpc(stage.walk(101, 1), stage.key());
    let expected = "RPC 0x1: parameters and payload have 36 bytes, a room has 32";
    assert_eq!(said(long).map(drop), Err(expected.into()));
    // What cannot be posted costs no place.
    let pieces = [stage.pair.ends[0].piece(0, 8); 17];
    for _ in 0..3 {
        let many = caller.post_rpc_write(stage.walk(101, 1), stage.key(), &pieces);
        assert!(said(many).map(drop).unwrap_err().contains("18 pieces"));
    }
    let mine = walk(101).unwrap();
    assert_eq!(said(other.try_take(&mine)), Err("RPC 0x1 was posted by another caller".into()));
}

#[test]
fn calls_in_software_that_are_dropped_give_their_places_back() {
    let stage = Stage::new();
    let shape = Shape { places: 1, request_bytes: 64, answer_bytes: 64 };
    let (caller, _called) = stage.caller(shape);
    let (way, mut service) = stage.service(shape);
    let caller = caller.with_service(way, Route::ServiceOnly).unwrap();
    let asked = || caller.post_rpc(Sum { address: stage.at(0), length: 64 }, stage.key());
    for _ in 0..3 {
        drop(asked().unwrap());
        assert!(matches!(asked(), Err(Error::NoRoom { places: 1, .. })));
        let pending = loop {
            service.poll().unwrap();
            caller.poll().unwrap();
            match asked() {
                Err(Error::NoRoom { .. }) => {}
                other => break other.unwrap(),
            }
        };
        let sum = stage.bytes(0, 64).iter().map(|byte| u64::from(*byte)).sum::<u64>();
        assert_eq!(stage.finish(&caller, &mut service, &pending).unwrap(), sum);
        // The card may complete the request behind the answer.
        stage.pair.run(20_000);
        caller.poll().unwrap();
    }
    assert_eq!((service.counts().answered, caller.strays()), (6, 0));
}
