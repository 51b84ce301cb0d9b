//! Two cards, memory of the far host, and the ways to have something done there.

use std::sync::Arc;
use std::time::Duration;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::wire::RpcStatus;
use stroma_rpc::{
    Call, Caller, Failed, Invocation, Memory, Outcome, Pending, Regions, Result, Service, Shape,
};
use stroma_tests::pair::{End, LIMIT, Pair, pattern};
use stroma_tests::walks::task;
use stroma_top::Profile;
use stroma_verbs::{Access, MemoryRegion, QueuePair, QueuePairKind};

/// Where the list's values are, so many bytes apart.
const VALUES_AT: usize = 1 << 16;
const VALUE_LEN: usize = 5000;
/// Elements of the list.
const ELEMENTS: usize = 8;

pub(crate) struct Stage {
    pub(crate) pair: Pair,
    /// Of the far host: a list of keys 100 to 107.
    pub(crate) memory: Arc<MemoryRegion>,
}

/// What a call's answer, or its absence, reads like.
pub(crate) fn said<T>(result: Result<T>) -> std::result::Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// A queue pair with a completion queue and receives of its own.
fn queue_pair(end: &End) -> QueuePair {
    let completions = end.device.completion_queue(64).expect("a completion queue");
    let builder = end.domain.queue_pair(&completions).kind(QueuePairKind::Reliable);
    builder.send_units(256).receive_entries(16).result_bytes(1 << 16).build().expect("a queue pair")
}

impl Stage {
    pub(crate) fn new() -> Self {
        let pair = Pair::new(Profile::TenGig);
        let rights = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE | Access::RPC;
        let memory = Arc::new(pair.ends[1].domain.allocate(1 << 18, rights).expect("memory"));
        let stage = Self { pair, memory };
        stage.put(VALUES_AT, &pattern(9, ELEMENTS * VALUE_LEN));
        for element in 0..ELEMENTS {
            let next = if element + 1 < ELEMENTS { stage.at((element + 1) * 64) } else { 0 };
            let words = [100 + element as u64, next, stage.at(VALUES_AT + element * VALUE_LEN)];
            stage.put(element * 64, &words.map(u64::to_le_bytes).concat());
        }
        stage
    }

    pub(crate) fn key(&self) -> u32 {
        self.memory.rkey()
    }

    pub(crate) fn at(&self, offset: usize) -> u64 {
        self.memory.address(offset).expect("inside the memory")
    }

    pub(crate) fn put(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside the memory");
    }

    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(offset, &mut bytes).expect("inside the memory");
        bytes
    }

    /// A connection whose far end lets kernels run, or not.
    pub(crate) fn connect(&self, rpc: bool) -> [QueuePair; 2] {
        let pairs = self.pair.ends.each_ref().map(queue_pair);
        self.pair.join(pairs.each_ref(), |_, connection| {
            if rpc {
                connection.rights = connection.rights | Access::RPC;
            }
        });
        pairs
    }

    /// A caller of the far card's kernels, and the queue pair that it calls.
    pub(crate) fn caller(&self, shape: Shape) -> (Caller, QueuePair) {
        let [near, far] = self.connect(true);
        let caller = Caller::new(near, shape).expect("a caller");
        (caller.with_patience(Duration::from_mins(5)), far)
    }

    /// A service of the far host for its memory, with a kernel that no card has; and the way there.
    pub(crate) fn service(&self, shape: Shape) -> (QueuePair, Service) {
        let [near, far] = self.connect(false);
        let service = Service::new(far, shape).expect("a service");
        (near, service.with_region(Arc::clone(&self.memory)).with_model(Sum::OPERATION, sum))
    }

    /// The answer, while the service does its part.
    pub(crate) fn finish<C: Call>(
        &self,
        caller: &Caller,
        service: &mut Service,
        pending: &Pending<C>,
    ) -> Result<C::Answer> {
        let end = self.pair.now() + LIMIT;
        loop {
            service.poll()?;
            caller.poll()?;
            if let Some(answer) = caller.try_take(pending)? {
                return Ok(answer);
            }
            assert!(self.pair.now() < end, "no answer in {LIMIT} cycles");
        }
    }

    /// Looks for a key in the list.
    pub(crate) fn walk(&self, sought: u64, value_length: u32) -> Traversal {
        Traversal { sought, value_length, ..task(self.at(0)) }
    }

    /// What is behind a key.
    pub(crate) fn value(&self, sought: usize, length: usize) -> Vec<u8> {
        self.bytes(VALUES_AT + (sought - 100) * VALUE_LEN, length)
    }
}

/// Adds up bytes of the far memory and those of the payload: no card has such a kernel.
#[derive(Debug)]
pub(crate) struct Sum {
    pub(crate) address: u64,
    pub(crate) length: u32,
}

impl Call for Sum {
    type Answer = u64;
    const OPERATION: u16 = 0x77;

    fn parameters(&self) -> Parameters {
        let bytes = [&self.address.to_le_bytes()[..], &self.length.to_le_bytes()].concat();
        Parameters::new(&bytes).expect("three words")
    }

    fn response_max(&self) -> u32 {
        8
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> std::result::Result<u64, Failed> {
        let operation = Self::OPERATION;
        match RpcStatus::from_code(status) {
            Some(RpcStatus::Ok) => {
                let sum = bytes.try_into().map(u64::from_le_bytes);
                sum.map_err(|_| Failed::Answer { operation, length: bytes.len() })
            }
            Some(status) => Err(Failed::Card { operation, status }),
            None => Err(Failed::Kernel { operation, code: status }),
        }
    }
}

fn sum(asked: &Invocation, memory: &mut Regions) -> Outcome {
    let (address, length) = asked.parameters.block().split_at(8);
    let address = u64::from_le_bytes(address.try_into().expect("eight bytes"));
    let length = u32::from_le_bytes(length[..4].try_into().expect("four bytes"));
    match memory.read(asked.command.key, address, length as usize) {
        Ok(bytes) => {
            let sum: u64 = bytes.iter().chain(&asked.data).map(|byte| u64::from(*byte)).sum();
            Outcome { status: RpcStatus::Ok as u32, data: sum.to_le_bytes().to_vec() }
        }
        Err(failure) => failure.into(),
    }
}
