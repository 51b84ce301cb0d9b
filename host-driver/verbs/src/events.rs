//! Events: one queue and one interrupt for the whole card, handed out to whoever waits.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use stroma_abi::{
    desc::{Eqe, Event},
    regs::map::{EVENT_LOG_MAX, EVENT_LOG_MIN, events},
};
use stroma_device::{Card, Entries, Wake, compose};

use crate::{
    AsyncEvent, CompletionQueue, Result,
    context::ring,
    iova::{Mapped, Space},
    lock,
};

/// Events of the card itself, beside one for each queue.
const SPARE: u32 = 32;
/// Asynchronous events kept for a program that does not ask for them. One more is [`AsyncEvent::Lost`].
const KEPT: usize = 1024;

/// Names a channel.
pub(crate) type ChannelId = u64;

/// Events that were read and not yet asked for.
pub(crate) struct Dispatch {
    entries: Entries<{ Eqe::LEN }>,
    asynchronous: VecDeque<AsyncEvent>,
    /// Queue pairs in error that have given back what they took from a shared receive queue.
    last_receives: HashSet<u32>,
    /// Completion queues that have a channel, by number.
    channels: HashMap<u32, (ChannelId, Weak<CompletionQueue>)>,
    /// Completion queues that have something, by channel.
    ready: HashMap<ChannelId, VecDeque<u32>>,
    next_channel: ChannelId,
    /// A thread waits for the interrupt, for all of them: an interrupt ends one wait alone.
    is_watched: bool,
}

/// The event queue.
pub(crate) struct Events {
    vector: usize,
    state: Mutex<Dispatch>,
    changed: Condvar,
    memory: Mutex<Option<Mapped>>,
}

impl Events {
    /// Gives the card its event queue: room for one event of each queue, so that it overflows only when the program
    /// does not look.
    pub(crate) fn start(card: &Card, space: &Arc<Space>, vector: usize) -> Result<Self> {
        let count = card.backend().vectors();
        if vector >= count {
            return Err(stroma_device::Error::NoVector { vector, count }.into());
        }
        let queues = card.capabilities().queue_pairs.saturating_add(card.capabilities().completion_queues);
        let wanted = queues.saturating_add(SPARE).checked_next_power_of_two();
        let log = wanted.map_or(EVENT_LOG_MAX, |entries| entries.ilog2() as usize);
        let log = log.clamp(EVENT_LOG_MIN, EVENT_LOG_MAX);
        let mapped = ring(card, space, Eqe::LEN << log)?;
        card.write(&events::BLOCK, &events::BASE, mapped.iova())?;
        let config = [("log", log as u64), ("vector", vector as u64), ("enable", 1)];
        card.write(&events::BLOCK, &events::CONFIG, compose(&events::CONFIG, config))?;
        card.write(&events::BLOCK, &events::CONSUMER, 0)?;
        let log = u8::try_from(log).expect("at most 16");
        let state = Dispatch {
            entries: Entries::new(log, Eqe::PHASE, Arc::clone(mapped.memory())),
            asynchronous: VecDeque::new(),
            last_receives: HashSet::new(),
            channels: HashMap::new(),
            ready: HashMap::new(),
            next_channel: 0,
            is_watched: false,
        };
        let (state, memory) = (Mutex::new(state), Mutex::new(Some(mapped)));
        Ok(Self { vector, state, changed: Condvar::new(), memory })
    }

    /// Leaves the queue's memory to a card that may still write to it.
    pub(crate) fn abandon(&self) {
        lock(&self.memory).take().into_iter().for_each(Mapped::abandon);
    }

    /// What `take` finds among the events there are.
    pub(crate) fn poll<T>(
        &self,
        card: &Card,
        take: impl FnOnce(&mut Dispatch) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut state = lock(&self.state);
        state.collect(card)?;
        let found = take(&mut state);
        drop(state);
        // What was read for others wakes them.
        self.changed.notify_all();
        if found.is_none() {
            card.backend().idle();
        }
        Ok(found)
    }

    /// What `take` finds among events, as soon as there is one; `None` after `timeout`.
    pub(crate) fn wait<T>(
        &self,
        card: &Card,
        timeout: Duration,
        mut take: impl FnMut(&mut Dispatch) -> Option<T>,
    ) -> Result<Option<T>> {
        let start = Instant::now();
        let mut state = lock(&self.state);
        loop {
            state.collect(card)?;
            let left = timeout.saturating_sub(start.elapsed());
            let found = take(&mut state);
            if found.is_some() || left.is_zero() {
                self.changed.notify_all();
                return Ok(found);
            }
            if state.is_watched {
                let waited = self.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.is_watched = true;
            drop(state);
            let woken = card.backend().wait(self.vector, left);
            state = lock(&self.state);
            state.is_watched = false;
            // Another takes over the watch if this thread has what it wants.
            self.changed.notify_all();
            if woken? == Wake::Fired {
                state.recover(card)?;
            }
        }
    }

    pub(crate) fn open_channel(&self) -> ChannelId {
        let mut state = lock(&self.state);
        state.next_channel += 1;
        state.next_channel
    }

    pub(crate) fn close_channel(&self, channel: ChannelId) {
        lock(&self.state).ready.remove(&channel);
    }

    /// From now on, completion events of `queue` go to the channel.
    pub(crate) fn connect(&self, channel: ChannelId, queue: &Arc<CompletionQueue>) {
        lock(&self.state).channels.insert(queue.number(), (channel, Arc::downgrade(queue)));
    }

    pub(crate) fn disconnect(&self, queue: u32) {
        let mut state = lock(&self.state);
        if let Some((channel, _)) = state.channels.remove(&queue) {
            state.ready.entry(channel).or_default().retain(|other| *other != queue);
        }
    }

    /// Announces a queue that has something of which the card knows nothing.
    pub(crate) fn announce(&self, queue: u32) {
        lock(&self.state).announce(queue);
        self.changed.notify_all();
    }
}

impl Dispatch {
    /// Reads all new events.
    fn collect(&mut self, card: &Card) -> Result<()> {
        let before = self.entries.ring().consumer();
        while let Some(bytes) = self.entries.next() {
            let entry = Eqe::parse(&bytes).expect("an entry has the length of an entry");
            if entry.kind == Event::Completion as u8 {
                self.announce(entry.object);
            } else {
                let event = AsyncEvent::new(&entry);
                if let AsyncEvent::LastReceive { queue_pair } = event {
                    self.last_receives.insert(queue_pair);
                }
                self.keep(event);
            }
        }
        let consumer = self.entries.ring().consumer();
        if consumer != before {
            // The store arms the vector again; the card raises it at once when there is more.
            card.write(&events::BLOCK, &events::CONSUMER, consumer.into())?;
        }
        Ok(())
    }

    /// After an interrupt: were events lost? Then every queue may have had one.
    fn recover(&mut self, card: &Card) -> Result<()> {
        if card.read(&events::BLOCK, &events::OVERFLOW)? & 1 == 0 {
            return Ok(());
        }
        card.write(&events::BLOCK, &events::OVERFLOW, 1)?;
        let queues: Vec<u32> = self.channels.keys().copied().collect();
        for queue in queues {
            self.announce(queue);
        }
        self.keep(AsyncEvent::Lost);
        Ok(())
    }

    fn announce(&mut self, queue: u32) {
        if let Some((channel, _)) = self.channels.get(&queue) {
            let ready = self.ready.entry(*channel).or_default();
            if !ready.contains(&queue) {
                ready.push_back(queue);
            }
        }
    }

    fn keep(&mut self, event: AsyncEvent) {
        if self.asynchronous.len() < KEPT {
            self.asynchronous.push_back(event);
        } else if self.asynchronous.back() != Some(&AsyncEvent::Lost) {
            self.asynchronous.push_back(AsyncEvent::Lost);
        }
    }

    pub(crate) fn take_async(&mut self) -> Option<AsyncEvent> {
        self.asynchronous.pop_front()
    }

    /// Has a queue pair that is about to end given back its receives? The program need not hear of it any more.
    pub(crate) fn take_last_receive(&mut self, queue_pair: u32) -> Option<()> {
        self.asynchronous.retain(|event| *event != AsyncEvent::LastReceive { queue_pair });
        self.last_receives.remove(&queue_pair).then_some(())
    }

    pub(crate) fn take_ready(&mut self, channel: ChannelId) -> Option<Arc<CompletionQueue>> {
        let ready = self.ready.get_mut(&channel)?;
        // A queue that is being dropped has nobody who could poll it.
        while let Some(queue) = ready.pop_front() {
            let found = self.channels.get(&queue).and_then(|(_, queue)| queue.upgrade());
            if found.is_some() {
                return found;
            }
        }
        None
    }
}
