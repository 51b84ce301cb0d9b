//! The same work without kernels: by a message to the far host, whose processor does it and answers.

use super::stage::Stage;

/// Nanoseconds of the far processor for a request: it sees the completion, finds what is wanted, and posts the answer.
pub(crate) const CPU_NS: u64 = 1000;
/// Nanoseconds for each byte of a CRC64 in software: 2 GB/s, as tables of 16 rows reach on a server's core.
pub(crate) const CRC_NS_PER_KIB: u64 = 512;

/// Bytes of a request.
const REQUEST: usize = 64;
/// Where a request is put together at the caller, and where the far host takes it.
const OUTBOX: usize = 1 << 20;

/// Sends a request and waits for its answer, which comes to offset 0 of the caller's memory. `serve` gives the answer from far
/// memory, as the far host's program would.
pub(crate) fn message(stage: &Stage, serve: impl Fn() -> Vec<u8>) -> Vec<u8> {
    let [near, far] = &stage.pair.ends;
    let [client, server] = &stage.ends;
    let inbox = stage.memories[1].piece(OUTBOX, REQUEST).expect("inside the memory");
    server.receives().expect("a receive queue").receive(3, &[inbox]).post().expect("room");
    client.receives().expect("a receive queue").receive(4, &[stage.near(0, 65_536)]).post().expect("room");
    client.start().wr_id(5).send(&[stage.near(OUTBOX, REQUEST)]).post().expect("room");
    far.received(3, REQUEST);
    stage.think(CPU_NS);
    let answer = serve();
    stage.put(1, OUTBOX + REQUEST, &answer);
    let piece = stage.memories[1].piece(OUTBOX + REQUEST, answer.len()).expect("inside the memory");
    server.start().wr_id(6).send(&[piece]).post().expect("room");
    near.received(4, answer.len());
    stage.bytes(0, 0, answer.len())
}
