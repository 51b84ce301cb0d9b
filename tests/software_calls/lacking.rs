//! A kernel that the card lacks.

use stroma_abi::wire::RpcStatus;
use stroma_rpc::{Route, Shape};
use stroma_tests::pair::pattern;

use crate::stage::{Stage, Sum, said};

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

#[test]
fn what_the_card_lacks_the_service_does() {
    let stage = Stage::new();
    let shape = Shape { request_bytes: 2048, answer_bytes: 4096, ..Shape::default() };
    let (caller, _called) = stage.caller(shape);
    let asked = || Sum { address: stage.at(0), length: 512 };
    let unknown = "RPC 0x77 ended with status UnknownOperation";
    assert_eq!(said(caller.call(asked(), stage.key())), Err(unknown.into()));

    let (way, mut service) = stage.service(shape);
    let caller = caller.with_service(way, Route::CardFirst).unwrap();
    let in_memory = sum(&stage.bytes(0, 512));
    let pending = caller.post_rpc(asked(), stage.key()).unwrap();
    assert_eq!(stage.finish(&caller, &mut service, &pending).unwrap(), in_memory);
    let taken = "RPC 0x77: its answer was taken before";
    assert_eq!(said(caller.try_take(&pending)), Err(taken.into()));

    // What the card has, the card does.
    assert_eq!(caller.call(stage.walk(103, 40), stage.key()).unwrap(), Some(stage.value(103, 40)));
    assert_eq!(service.counts().answered, 1);

    // A stream is repeated, too, whose pieces are still where they were; as far as a message holds it.
    let near = &stage.pair.ends[0];
    let data = pattern(3, 3000);
    near.put(0, &data);
    let pieces = [near.piece(0, 1000), near.piece(1000, 36), near.piece(1036, 1000)];
    let pending = caller.post_rpc_write(asked(), stage.key(), &pieces).unwrap();
    assert_eq!(stage.finish(&caller, &mut service, &pending).unwrap(), in_memory + sum(&data[..2036]));
    let pieces = [near.piece(0, 1000), near.piece(1000, 1037)];
    let pending = caller.post_rpc_write(asked(), stage.key(), &pieces).unwrap();
    let long = "RPC 0x77: parameters, payload and stream have 2049 bytes, the service takes 2048";
    assert_eq!(said(stage.finish(&caller, &mut service, &pending)), Err(long.into()));

    // The service refuses what the card would.
    let outside = Sum { address: stage.at(0) - 1, length: 512 };
    let pending = caller.post_rpc(outside, stage.key()).unwrap();
    let refused = format!("RPC 0x77 ended with status {:?}", RpcStatus::Access);
    assert_eq!(said(stage.finish(&caller, &mut service, &pending)), Err(refused));
    assert_eq!((service.counts().answered, caller.strays()), (3, 0));
}
