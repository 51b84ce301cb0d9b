//! A card and what a driver shares with it: memory and a doorbell. Both are atomics without order of their own, as they are behind a bus.

use stroma_abi::desc::QueuePairState;

use crate::sync::{AtomicU64, Ordering, fence};

const WORD: usize = size_of::<u64>();

/// Why a request is not posted.
#[derive(Debug)]
#[expect(dead_code, reason = "no model looks at why")]
pub(crate) enum Error {
    WrongState { number: u32, state: QueuePairState },
    QueueFull { number: u32, wanted: usize, room: u16, size: u16 },
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Memory that the card reaches.
#[derive(Debug)]
pub(crate) struct DmaMemory(Vec<AtomicU64>);

impl DmaMemory {
    pub(crate) fn zeroed(len: usize) -> Self {
        Self((0..len / WORD).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len() * WORD
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        for (place, word) in bytes.chunks_exact(WORD).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().expect("a chunk is a word"));
            self.0[offset / WORD + place].store(word, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The doorbell of a send queue.
#[derive(Debug)]
pub(crate) struct DoorbellPage(AtomicU64);

impl DoorbellPage {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn send(&self, _queue_pair: u32, producer: u16) -> Result<()> {
        self.0.store(producer.into(), Ordering::Relaxed);
        Ok(())
    }

    /// What is pushed is in the ring as well.
    pub(crate) fn push(&self, queue_pair: u32, index: u16, _request: &[u8]) -> Result<()> {
        self.send(queue_pair, index.wrapping_add(1))
    }

    /// The card looks how many requests there are. What it fetches now is fetched after that.
    pub(crate) fn seen(&self) -> u64 {
        let producer = self.0.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        producer
    }
}

/// The card writes an entry: its last word, with the phase, after the others, as writes behind a bus arrive.
pub(crate) fn write_entry(memory: &DmaMemory, offset: usize, entry: &[u8]) {
    let (head, last) = entry.split_at(entry.len() - WORD);
    memory.write(offset, head).expect("it lies in the memory");
    fence(Ordering::Release);
    memory.write(offset + head.len(), last).expect("it lies in the memory");
}

pub(crate) mod doorbell {
    pub(crate) const PUSH_UNITS: usize = 2;
}

pub(crate) mod state {
    use stroma_abi::desc::QueuePairState;

    pub(crate) fn takes_requests(state: QueuePairState) -> bool {
        state == QueuePairState::ReadyToSend
    }
}

pub(crate) mod work_request {
    /// A request as it goes into the ring, but for its index.
    #[derive(Debug)]
    pub(crate) struct Request {
        pub(crate) wr_id: u64,
        pub(crate) index: u16,
        pub(crate) bytes: Vec<u8>,
    }
}
