//! Requests for memory that a peer may not touch: refused as an access error, and nothing moves.

use stroma_abi::wire::opcode::{
    RC_FETCH_ADD, RC_READ_REQUEST, RC_WRITE_FIRST, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM,
};
use stroma_abi::wire::{Extended, ImmDt, NakCode, Opcode};
use stroma_sim::model::Packet;
use stroma_tests::pair::MEMORY;
use stroma_tests::widths;
use stroma_verbs::{Access, MemoryRegion, QueuePairState, Status};

use crate::packets::{addition, nak, packet, reth};
use crate::stage::{MTU, PEER_PSN, Stage, is, on};

/// Bytes of the regions beside the memory.
const REGION: usize = 4096;
const ALL: fn() -> Access =
    || Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC;

/// A request of eight bytes, or of the whole message that a First begins.
fn request(opcode: Opcode, address: u64, key: u32) -> Packet {
    let length = if opcode == RC_WRITE_FIRST { 1000 } else { 8 };
    let payload = if opcode == RC_WRITE_FIRST { MTU } else { 8 };
    let payload = if opcode.payload { payload } else { 0 };
    let immediate = (opcode == RC_WRITE_ONLY_IMM).then(ImmDt::default);
    let extended = match opcode {
        RC_FETCH_ADD => addition(address, key),
        _ => Extended { imm: immediate, ..reth(address, key, length) },
    };
    Packet { extended, ..packet(opcode, PEER_PSN, payload) }
}

fn refused(stage: &Stage, opcode: Opcode, name: &str, (address, key): (u64, u32)) {
    let what = format!("{name}, {}", opcode.name);
    let end = &stage.end;
    let queue_pair = stage.connect(|_| {});
    queue_pair.receives().expect("a receive queue").receive(1, &[]).post().expect("room");
    let before = [end.bytes(0, REGION), end.bytes(MEMORY - REGION, REGION)];
    stage.send(&queue_pair, &request(opcode, address, key));
    stage.answers(&what, nak(NakCode::RemoteAccess, PEER_PSN));
    stage.tells_error(&what, &queue_pair, Status::RemoteAccess);
    let found = end.complete();
    assert_eq!((found.wr_id, found.status, found.is_receive), (1, Status::Flushed, true), "{what}");
    assert!(is(&queue_pair, QueuePairState::Error), "{what}");
    stage.rests(&what);
    assert!(before == [end.bytes(0, REGION), end.bytes(MEMORY - REGION, REGION)], "{what}: something moved");
}

#[test]
fn a_request_for_memory_that_is_closed_to_it_is_refused_and_ends_the_queue_pair() {
    for profile in widths!() {
        let stage = Stage::new(profile);
        let end = &stage.end;
        let at = |region: &MemoryRegion| (region.address(0).expect("a byte"), region.rkey());
        let closed = end.domain.allocate(REGION, Access::LOCAL_WRITE).expect("a region");
        let other = end.device.protection_domain().expect("a domain");
        let foreign = other.allocate(REGION, ALL()).expect("a region");
        let gone = end.domain.allocate(REGION, ALL()).expect("a region");
        let was = at(&gone);
        drop(gone.deregister().expect("nobody uses it"));
        let key = end.memory.rkey();
        let cases = [
            ("a key that the region does not have", (end.at(0), key ^ 1)),
            ("a region that is gone", was),
            ("a region of another domain", at(&foreign)),
            ("a region without the right", at(&closed)),
            ("a word behind the region", (end.at(0) + MEMORY as u64, key)),
            ("a word before the region", (end.at(0) - 8, key)),
        ];
        for (name, target) in cases {
            for opcode in [RC_WRITE_ONLY, RC_WRITE_ONLY_IMM, RC_READ_REQUEST, RC_FETCH_ADD] {
                refused(&stage, opcode, &format!("{profile:?}, {name}"), target);
            }
        }
        // The first packet would fit, the message does not.
        let name = on(profile, "the end of a message behind the region");
        refused(&stage, RC_WRITE_FIRST, &name, (end.at(MEMORY - 999), key));
    }
}
