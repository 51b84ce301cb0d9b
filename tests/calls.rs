//! Two cards, a connection over which kernels may be called, and memory for it at both ends.

#![expect(clippy::missing_panics_doc, reason = "a story that is not as expected panics, wherever it is")]

use stroma_kernel_client::Call;
use stroma_sim::Kind;
use stroma_sim::link::LinkConfig;
use stroma_verbs::{Access, Connection, MemoryRegion, QueuePair, QueuePairKind, Sge, Status};

use crate::pair::Pair;

/// Entries of completion, send and receive queues.
const ENTRIES: usize = 256;
/// Bytes of the longest answer.
pub const ANSWER: usize = 65_536;

/// Where it all happens. The near end calls, kernels of the far card run.
pub struct Calls {
    /// The cards.
    pub pair: Pair,
    /// The caller's end, and the other.
    pub ends: [QueuePair; 2],
    /// Memory of both, which the other may use.
    pub memories: [MemoryRegion; 2],
}

impl Calls {
    /// With so many bytes of memory at each end, after a change to what each is told of the other.
    pub fn new(kind: impl Into<Kind>, bytes: usize, change: impl Fn(&mut Connection)) -> Self {
        let kind = kind.into();
        let cable = LinkConfig::cable(kind.profile);
        let pair = Pair::with(kind, cable, ENTRIES);
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memories = pair.ends.each_ref().map(|end| end.domain.allocate(bytes, rights).expect("memory"));
        let ends = pair.ends.each_ref().map(|end| {
            let builder = end.domain.queue_pair(&end.completions).kind(QueuePairKind::Reliable);
            let builder = builder.result_bytes(ANSWER).receive_entries(ENTRIES);
            builder.send_units(ENTRIES).build().expect("a queue pair")
        });
        pair.join(ends.each_ref(), |_, connection| {
            connection.rights = connection.rights | Access::RPC;
            change(connection);
        });
        Self { pair, ends, memories }
    }

    /// Cycles from before `work` to behind it, on idle cards whose tables and buffers are warm: the second run counts.
    pub fn time(&self, mut work: impl FnMut()) -> u64 {
        let mut cycles = 0;
        for _ in 0..2 {
            self.pair.run(5000);
            let start = self.pair.now();
            work();
            cycles = self.pair.now() - start;
        }
        cycles
    }

    /// A piece of the caller's memory.
    pub fn near(&self, at: usize, bytes: usize) -> Sge {
        self.memories[0].piece(at, bytes).expect("inside the memory")
    }

    /// Address of a byte of the far memory.
    pub fn at(&self, offset: usize) -> u64 {
        self.memories[1].address(offset).expect("inside the memory")
    }

    /// Where an address of the far memory is in it.
    pub fn offset(&self, address: u64) -> usize {
        usize::try_from(address - self.at(0)).expect("inside the memory")
    }

    /// What opens the far memory.
    pub fn key(&self) -> u32 {
        self.memories[1].rkey()
    }

    /// Stores to the memory of an end.
    pub fn put(&self, end: usize, at: usize, bytes: &[u8]) {
        self.memories[end].write(at, bytes).expect("inside the memory");
    }

    /// Bytes of the memory of an end.
    pub fn bytes(&self, end: usize, at: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memories[end].read(at, &mut bytes).expect("inside the memory");
        bytes
    }

    /// Runs a call, whose answer comes to offset 0, and tells what came.
    pub fn call<C: Call>(&self, call: &C) -> C::Answer {
        let room = self.near(0, call.response_max() as usize);
        let batch = self.ends[0].start().wr_id(1).signaled();
        batch.rpc(room, &call.target(), self.key(), call.parameters()).post().expect("room in the queue");
        let found = self.pair.ends[0].expect(1);
        let status = found.rpc.expect("an RPC");
        let answer = call.answer(status, &self.bytes(0, 0, found.length as usize));
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads far memory to offset `to` of the caller's, and waits for it.
    pub fn read(&self, address: u64, to: usize, bytes: usize) -> Vec<u8> {
        let batch = self.ends[0].start().wr_id(2).signaled();
        batch.read(&[self.near(to, bytes)], address, self.key()).post().expect("room in the queue");
        self.pair.ends[0].expect(2);
        self.bytes(0, to, bytes)
    }

    /// Waits until `count` requests of the caller have ended well; their RPC statuses.
    pub fn finish(&self, count: usize) -> Vec<Option<u32>> {
        let complete = |_| {
            let found = self.pair.ends[0].complete();
            assert_eq!(found.status, Status::Success, "request {}", found.wr_id);
            found.rpc
        };
        (0..count).map(complete).collect()
    }
}
