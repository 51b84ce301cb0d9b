//! Doorbell pages: how the card is told that there is something to do.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use stroma_abi::{
    desc::wqe::UNIT,
    regs::map::{
        DOORBELL_PAGE, PUSH_WINDOW, PUSH_WINDOWS,
        doorbells::{BLOCK, COMPLETION, PUSH, PUSH_COMMIT, RECEIVE, SEND, SHARED_RECEIVE},
    },
};
use stroma_device::{Backend, BarId, compose};

use crate::{Result, lock, numbers::Number};

/// Units of a request that fit a push window.
pub(crate) const PUSH_UNITS: usize = PUSH_WINDOW / UNIT;

const WORD: usize = size_of::<u64>();

/// A page of doorbells. Queues belong to one page; queues on different pages do not wait for each other when they push.
pub struct DoorbellPage {
    backend: Arc<dyn Backend>,
    number: Number,
    /// The push window to use next.
    window: Mutex<usize>,
}

impl DoorbellPage {
    pub(crate) fn new(backend: Arc<dyn Backend>, number: Number) -> Arc<Self> {
        Arc::new(Self { backend, number, window: Mutex::new(0) })
    }

    /// Number of the page.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number.value()
    }

    pub(crate) fn body_number(&self) -> u16 {
        u16::try_from(self.number()).expect("pages are counted by 16 bits")
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    fn store(&self, offset: usize, value: u64) -> Result<()> {
        let place = self.number() as usize * DOORBELL_PAGE + BLOCK.offset + offset;
        Ok(self.backend.write64(BarId::Bar2, place, value)?)
    }

    /// Requests below `producer` may be fetched.
    pub(crate) fn send(&self, queue_pair: u32, producer: u16) -> Result<()> {
        let value = compose(&SEND, [("queue_pair", queue_pair.into()), ("producer", producer.into())]);
        self.store(SEND.offset, value)
    }

    /// Receives below `producer` may be used.
    pub(crate) fn receive(&self, queue_pair: u32, producer: u16) -> Result<()> {
        let parts = [("queue_pair", queue_pair.into()), ("producer", producer.into())];
        self.store(RECEIVE.offset, compose(&RECEIVE, parts))
    }

    /// The same for a shared receive queue.
    pub(crate) fn shared_receive(&self, queue: u32, producer: u16) -> Result<()> {
        let parts = [("queue", queue.into()), ("producer", producer.into())];
        self.store(SHARED_RECEIVE.offset, compose(&SHARED_RECEIVE, parts))
    }

    /// Entries below `consumer` may be overwritten; `arm` as the register says.
    pub(crate) fn completion(&self, queue: u32, consumer: u32, arm: u64) -> Result<()> {
        let parts = [("queue", queue.into()), ("consumer", consumer.into()), ("arm", arm)];
        self.store(COMPLETION.offset, compose(&COMPLETION, parts))
    }

    /// Hands over a request that is in the ring already, so that the card need not fetch it.
    pub(crate) fn push(&self, queue_pair: u32, index: u16, request: &[u8]) -> Result<()> {
        // Held until the commit: nobody else may store to the window before.
        let mut next = lock(&self.window);
        let window = *next;
        *next = (window + 1) % PUSH_WINDOWS;
        let first = window * PUSH_WINDOW / WORD;
        for (place, word) in request.chunks_exact(WORD).enumerate() {
            let word = u64::from_le_bytes(word.try_into().expect("a chunk is a word"));
            self.store(PUSH.element(first + place), word)?;
        }
        let parts = [
            ("queue_pair", queue_pair.into()),
            ("index", index.into()),
            ("units", (request.len() / UNIT) as u64),
            ("window", window as u64),
        ];
        self.store(PUSH_COMMIT.offset, compose(&PUSH_COMMIT, parts))
    }
}

impl fmt::Debug for DoorbellPage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DoorbellPage({})", self.number())
    }
}
