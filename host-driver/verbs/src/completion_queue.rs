//! Completion queues: what became of requests, in the order in which it became so.

mod builder;

pub use builder::CompletionQueueBuilder;
pub(crate) use builder::log_of;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use stroma_abi::desc::{self, Cqe, Verb, completion_queue::MODERATION_ATTRIBUTE};
use stroma_device::Entries;

use crate::{
    CompletionChannel, Device, DoorbellPage, Error, Result, WorkCompletion, lock,
    object::Object,
    receive_queue::ReceiveQueue,
    send_queue::SendQueue,
    work_completion::{bad, understand},
};

/// Entries taken from the ring before its doorbell is rung.
const CHUNK: usize = 16;
/// What the doorbell's `arm` may ask for.
const ARM_NONE: u64 = 0;
const ARM_NEXT: u64 = 1;
const ARM_SOLICITED: u64 = 2;

/// A completion queue.
#[derive(Debug)]
pub struct CompletionQueue {
    state: Mutex<State>,
    object: Object,
    page: Arc<DoorbellPage>,
    channel: Option<Arc<CompletionChannel>>,
}

/// The ring, and what was read from it and not yet polled.
#[derive(Debug)]
pub(crate) struct State {
    ring: Entries<{ Cqe::LEN }>,
    found: VecDeque<WorkCompletion>,
    failed: Option<Error>,
    send_queues: HashMap<u32, Arc<SendQueue>>,
    /// Receive queues, by the queue pair that takes from them.
    receive_queues: HashMap<u32, Arc<ReceiveQueue>>,
}

impl CompletionQueue {
    /// Number of the queue.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.object.number()
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        self.object.device()
    }

    /// Entries the ring has. One completion more than that is lost, and its queue pair goes into error.
    #[must_use]
    pub fn size(&self) -> usize {
        lock(&self.state).ring.ring().size() as usize
    }

    /// Takes completions, as many as there are and `completions` has room for. The result says how many.
    ///
    /// # Errors
    /// When the card cannot be reached, or has written an entry that makes no sense ([`Error::BadCompletion`]); the
    /// entry is skipped then, and none is lost.
    pub fn poll(&self, completions: &mut [WorkCompletion]) -> Result<usize> {
        let mut state = lock(&self.state);
        let mut count = 0;
        while count < completions.len() {
            if let Some(completion) = state.found.pop_front() {
                completions[count] = completion;
                count += 1;
            } else if !self.read(&mut state, completions.len() - count)? {
                break;
            }
        }
        if count == 0
            && let Some(error) = state.failed.take()
        {
            return Err(error);
        }
        drop(state);
        if count == 0 {
            self.device().card().backend().idle();
        }
        Ok(count)
    }

    /// Asks for one event on the channel: at the next completion, or, with `solicited_only`, at the next that was
    /// solicited or failed. Completions that wait already give the event at once. [`moderate`](Self::moderate) may put it off.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn request_notify(&self, solicited_only: bool) -> Result<()> {
        let state = lock(&self.state);
        let arm = if solicited_only { ARM_SOLICITED } else { ARM_NEXT };
        self.page.completion(self.number(), state.ring.ring().consumer24(), arm)?;
        // The card believes that these were taken.
        let has_more = !state.found.is_empty() || state.failed.is_some();
        drop(state);
        if has_more {
            self.device().events().announce(self.number());
        }
        Ok(())
    }

    /// As [`request_notify`](Self::request_notify), but completions that wait already give no event, as the specification has it and some programs
    /// rely on. Who polls before and not after may wait for what is there. A program that never polls is told at once again, when as many
    /// wait as the queue has entries.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn request_notify_of_new(&self, solicited_only: bool) -> Result<()> {
        let mut state = lock(&self.state);
        let size = state.ring.ring().size() as usize;
        while state.found.len() < size && self.read(&mut state, CHUNK)? {}
        let arm = if solicited_only { ARM_SOLICITED } else { ARM_NEXT };
        self.page.completion(self.number(), state.ring.ring().consumer24(), arm)
    }

    /// Puts events off: one that was asked for comes with the `count`th completion, or `period` after the first of them if that is
    /// earlier. Completions that wait when it is asked for count. A `count` of 0 or 1 puts nothing off. The card counts
    /// microseconds; part of one is a whole one.
    ///
    /// Without a `period`, fewer completions than `count` give no event. Who sleeps on the channel then sleeps on, so that suits
    /// those who know how many will come. No count should be larger than the queue.
    ///
    /// # Errors
    /// [`Error::TooWide`] if `period` is more than 65,535 microseconds; when the card does not answer.
    pub fn moderate(&self, count: u16, period: Duration) -> Result<()> {
        let microseconds = period.as_nanos().div_ceil(1000);
        let period = u16::try_from(microseconds).map_err(|_| Error::TooWide {
            field: "period",
            value: microseconds,
            bits: desc::CompletionQueue::MODERATION_PERIOD.width,
        })?;
        let body = desc::CompletionQueue { count, period, ..desc::CompletionQueue::default() };
        self.object.command(Verb::Modify, MODERATION_ATTRIBUTE, &body.to_bytes()).map(drop)
    }

    /// What the card knows about the queue.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn query(&self) -> Result<desc::CompletionQueue> {
        self.object.command(Verb::Query, 0, &[]).map(|body| shown(&body))
    }

    /// Reads up to `room` entries of the ring, some at a time. Was there any?
    fn read(&self, state: &mut State, room: usize) -> Result<bool> {
        let mut taken = [[0; Cqe::LEN]; CHUNK];
        let mut count = 0;
        for place in taken.iter_mut().take(room) {
            let Some(entry) = state.ring.next() else { break };
            *place = entry;
            count += 1;
        }
        if count == 0 {
            return Ok(false);
        }
        // Before the slots of their requests are free: else others could post, and overflow a ring that has room.
        self.page.completion(self.number(), state.ring.ring().consumer24(), ARM_NONE)?;
        for bytes in &taken[..count] {
            let entry = Cqe::parse(bytes).expect("an entry has the length of an entry");
            match self.resolve(state, &entry) {
                Ok(completion) => state.found.extend(completion),
                Err(error) => {
                    state.failed.get_or_insert(error);
                }
            }
        }
        Ok(true)
    }

    /// Finds the request of an entry, and frees its slots. `None` when its queue pair is gone.
    fn resolve(&self, state: &State, entry: &Cqe) -> Result<Option<WorkCompletion>> {
        let mut completion = understand(self.number(), entry)?;
        let wr_id = if completion.is_receive {
            let Some(queue) = state.receive_queues.get(&completion.queue_pair) else { return Ok(None) };
            let posted = queue.complete(entry.index);
            completion.buffer = posted.and_then(|posted| posted.buffer);
            posted.map(|posted| posted.wr_id)
        } else {
            let Some(queue) = state.send_queues.get(&completion.queue_pair) else { return Ok(None) };
            queue.complete(entry.index, completion.status)
        };
        completion.wr_id = wr_id.ok_or_else(|| bad(self.number(), "not posted", entry))?;
        Ok(Some(completion))
    }

    /// From now on, completions of this queue's requests arrive here.
    pub(crate) fn connect(&self, queue: &Arc<SendQueue>) {
        lock(&self.state).send_queues.insert(queue.number(), Arc::clone(queue));
    }

    /// From now on, receives of this queue pair arrive here.
    pub(crate) fn connect_receives(&self, queue_pair: u32, queue: &Arc<ReceiveQueue>) {
        lock(&self.state).receive_queues.insert(queue_pair, Arc::clone(queue));
    }

    /// No completion arrives any more while this is held.
    pub(crate) fn hold(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Forgets completions of a queue pair that the card has ended or reset. Entries of a shared queue are free then.
    pub(crate) fn clean(&self, state: &mut State, queue_pair: u32) {
        let queue = state.send_queues.remove(&queue_pair);
        let own = state.receive_queues.get(&queue_pair).is_some_and(|queue| !queue.is_shared());
        let receives = own.then(|| state.receive_queues.remove(&queue_pair)).flatten();
        // A card that is out of reach gives no entries.
        while self.read(state, CHUNK).unwrap_or(false) {}
        state.found.retain(|completion| completion.queue_pair != queue_pair);
        state.send_queues.extend(queue.map(|queue| (queue_pair, queue)));
        state.receive_queues.extend(receives.map(|queue| (queue_pair, queue)));
    }

    pub(crate) fn disconnect(&self, queue_pair: u32) {
        let mut state = lock(&self.state);
        self.clean(&mut state, queue_pair);
        state.send_queues.remove(&queue_pair);
        state.receive_queues.remove(&queue_pair);
    }
}

/// What the reply to a query shows.
fn shown(body: &[u8]) -> desc::CompletionQueue {
    desc::CompletionQueue::parse(body).expect("a body is longer than a completion queue")
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // What it failed with is dealt with by the object. Its number stays taken until the channel has forgotten it.
        let number = self.number();
        let _ = self.object.destroy();
        if self.channel.is_some() {
            self.device().events().disconnect(number);
        }
    }
}
