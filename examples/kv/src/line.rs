//! A client's connection: verbs that can be waited for, one at a time.

use std::rc::Rc;

use stroma_kernel_client::Call;
use stroma_verbs::{Batch, MemoryRegion, QueuePair, Sge, Status, WorkCompletion};

use crate::{Clock, Error, Inbox, Reach, Result};

/// Where requests are put together in a line's memory, and where answers come.
const REQUEST_AT: usize = 0;
const ANSWER_AT: usize = 16 << 10;
/// Bytes of a line's memory.
pub const ROOM: usize = 32 << 10;

/// Units of a pause after a lost race, and most of them.
const PAUSE_CYCLES: u64 = 250;
const PAUSES_MAX: u32 = 16;

/// A connected queue pair and memory of its own.
pub struct Line {
    queue_pair: QueuePair,
    room: MemoryRegion,
    inbox: Rc<Inbox>,
    clock: Rc<Clock>,
    /// The store's key.
    key: u32,
}

impl Line {
    /// A line over a connected queue pair that completes to `inbox`, with [`ROOM`] bytes of memory that its card may write.
    #[must_use]
    pub const fn new(
        queue_pair: QueuePair,
        room: MemoryRegion,
        inbox: Rc<Inbox>,
        clock: Rc<Clock>,
        key: u32,
    ) -> Self {
        Self { queue_pair, room, inbox, clock, key }
    }

    fn request(&self, bytes: &[u8]) -> Result<Sge> {
        self.room.write(REQUEST_AT, bytes)?;
        Ok(self.room.piece(REQUEST_AT, bytes.len())?)
    }

    fn answer(&self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.room.read(ANSWER_AT, &mut bytes)?;
        Ok(bytes)
    }

    fn start(&self) -> Batch<'_> {
        self.queue_pair.start().signaled()
    }

    async fn done(&self, operation: &'static str) -> Result<WorkCompletion> {
        let found = self.inbox.next(self.queue_pair.number(), false).await;
        self.judge(operation, found)
    }

    fn judge(&self, operation: &'static str, found: WorkCompletion) -> Result<WorkCompletion> {
        let WorkCompletion { status, vendor, .. } = found;
        let queue_pair = self.queue_pair.number();
        if status == Status::Success {
            Ok(found)
        } else {
            Err(Error::Completion { operation, queue_pair, status, vendor })
        }
    }
}

impl Reach for Line {
    async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer> {
        let target = call.target();
        let result = self.room.piece(ANSWER_AT, call.response_max() as usize)?;
        let batch = if call.payload().is_empty() {
            self.start().rpc(result, &target, self.key, call.parameters())
        } else {
            let body = self.request(&[call.parameters().as_bytes(), call.payload()].concat())?;
            self.start().rpc_write(result, &target, self.key, &[body])
        };
        batch.post()?;
        let found = self.done("RPC").await?;
        let answer = self.answer(found.length as usize)?;
        let (status, vendor, queue_pair) = (found.status, found.vendor, found.queue_pair);
        let no_status = Error::Completion { operation: "RPC without a status", queue_pair, status, vendor };
        Ok(call.answer(found.rpc.ok_or(no_status)?, &answer)?)
    }

    async fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>> {
        self.start().read(&[self.room.piece(ANSWER_AT, length)?], address, self.key).post()?;
        self.done("READ").await?;
        self.answer(length)
    }

    async fn write(&mut self, places: &[(u64, &[u8])]) -> Result<()> {
        let all: Vec<u8> = places.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        self.request(&all)?;
        let (mut batch, mut at) = (self.queue_pair.start(), REQUEST_AT);
        for (number, (address, bytes)) in places.iter().enumerate() {
            let piece = self.room.piece(at, bytes.len())?;
            at += bytes.len();
            batch = if number + 1 == places.len() { batch.signaled() } else { batch };
            batch = batch.write(&[piece], *address, self.key);
        }
        batch.post()?;
        self.done("WRITE").await.map(drop)
    }

    async fn compare_swap(&mut self, address: u64, compare: u64, swap: u64) -> Result<u64> {
        let result = self.room.piece(ANSWER_AT, 8)?;
        self.start().compare_swap(result, address, self.key, compare, swap).post()?;
        self.done("CMP_SWAP").await?;
        let bytes = self.answer(8)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    async fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>> {
        let inbox = self.room.piece(ANSWER_AT, ROOM - ANSWER_AT)?;
        self.queue_pair.receives()?.receive(0, &[inbox]).post()?;
        let piece = self.request(message)?;
        self.start().send(&[piece]).post()?;
        self.done("SEND").await?;
        let found = self.inbox.next(self.queue_pair.number(), true).await;
        let found = self.judge("RECV", found)?;
        self.answer(found.length as usize)
    }

    async fn pause(&self, attempt: u32) {
        self.clock.sleep(u64::from(attempt.min(PAUSES_MAX)) * PAUSE_CYCLES).await;
    }
}
