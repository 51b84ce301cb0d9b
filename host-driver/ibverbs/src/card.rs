//! An open card, which all contexts of a process share: a card has one client.
//!
//! Here are the two threads that do what a kernel does for other adapters: one tells programs of completions and answers
//! neighbours, the other tells of all other events.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use stroma_verbs::{AsyncEvent, CompletionChannel, Device, Neighbours};

use crate::{
    context::Context,
    failure::{Failure, Outcome},
    lock,
    pair::Pair,
    places::Found,
    queue::Queue,
    shared::Shared,
};

/// A wait of the threads: so long a card that is not wanted any more stays open.
const WAIT: Duration = Duration::from_millis(20);

/// Cards that are open.
static OPEN: Mutex<BTreeMap<Found, Weak<Card>>> = Mutex::new(BTreeMap::new());

/// An open card.
pub(crate) struct Card {
    pub(crate) found: Found,
    pub(crate) inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

/// What its threads share.
pub(crate) struct Inner {
    pub(crate) neighbours: Neighbours,
    channel: Arc<CompletionChannel>,
    pub(crate) device: Arc<Device>,
    book: Mutex<Book>,
    is_closing: AtomicBool,
}

/// Who is to be told of what, by numbers of the card.
#[derive(Default)]
struct Book {
    contexts: Vec<Weak<Context>>,
    queues: BTreeMap<u32, Weak<Queue>>,
    pairs: BTreeMap<u32, Weak<Pair>>,
    shared: BTreeMap<u32, Weak<Shared>>,
}

impl Card {
    /// The card, opened if no context has it yet.
    pub(crate) fn open(found: &Found) -> Outcome<Arc<Self>> {
        let mut open = lock(&OPEN);
        if let Some(card) = open.get(found).and_then(Weak::upgrade) {
            return Ok(card);
        }
        let card = Arc::new(Self::start(found)?);
        open.insert(found.clone(), Arc::downgrade(&card));
        Ok(card)
    }

    fn start(found: &Found) -> Outcome<Self> {
        let device = Device::open(found.open()?)?;
        device.port().set_mac(found.mac())?;
        for (place, address) in found.addresses()?.into_iter().enumerate() {
            device.port().set_address(place, address)?;
        }
        let channel = device.completion_channel();
        let neighbours = Neighbours::announced(&device, &channel)?;
        let (book, is_closing) = (Mutex::default(), AtomicBool::new(false));
        let inner = Arc::new(Inner { neighbours, channel, device, book, is_closing });
        let threads = [
            Self::spawn("stroma completions", &inner, Inner::tell_completion)?,
            Self::spawn("stroma events", &inner, Inner::tell_event)?,
        ];
        Ok(Self { found: found.clone(), inner, threads: threads.into() })
    }

    fn spawn(name: &str, inner: &Arc<Inner>, work: fn(&Inner) -> Outcome<()>) -> Outcome<JoinHandle<()>> {
        let inner = Arc::clone(inner);
        let run = move || {
            // A card that is out of reach tells nothing any more; calls say so themselves.
            while !inner.is_closing.load(Ordering::Acquire) {
                if work(&inner).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|_| Failure::Call { errno: libc::EAGAIN, why: "a thread for the card's events" })
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.inner.is_closing.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // One that has panicked has nothing to tell any more.
            let _ = thread.join();
        }
    }
}

impl Inner {
    /// The channel of all completion queues that have one.
    pub(crate) fn channel(&self) -> &Arc<CompletionChannel> {
        &self.channel
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        lock(&self.book)
    }

    pub(crate) fn enter_context(&self, context: &Arc<Context>) {
        let mut book = self.book();
        book.contexts.retain(|other| other.strong_count() > 0);
        book.contexts.push(Arc::downgrade(context));
    }

    pub(crate) fn enter_queue(&self, number: u32, queue: &Arc<Queue>) {
        self.book().queues.insert(number, Arc::downgrade(queue));
    }

    pub(crate) fn enter_pair(&self, number: u32, pair: &Arc<Pair>) {
        self.book().pairs.insert(number, Arc::downgrade(pair));
    }

    pub(crate) fn enter_shared(&self, number: u32, shared: &Arc<Shared>) {
        self.book().shared.insert(number, Arc::downgrade(shared));
    }

    fn tell_completion(&self) -> Outcome<()> {
        let Some(queue) = self.channel.wait(WAIT)? else { return Ok(()) };
        if queue.number() == self.neighbours.completions().number() {
            self.neighbours.serve()?;
        } else if let Some(queue) = self.book().queues.get(&queue.number()).and_then(Weak::upgrade) {
            queue.announce();
        }
        Ok(())
    }

    fn tell_event(&self) -> Outcome<()> {
        let Some(event) = self.device.wait_async_event(WAIT)? else { return Ok(()) };
        let book = self.book();
        match event {
            AsyncEvent::CqOverflow { completion_queue } => {
                if let Some(queue) = book.queues.get(&completion_queue).and_then(Weak::upgrade) {
                    queue.failed();
                }
            }
            AsyncEvent::QueuePairError { queue_pair, .. }
            | AsyncEvent::LastReceive { queue_pair }
            | AsyncEvent::CommunicationUp { queue_pair }
            | AsyncEvent::SendQueueDrained { queue_pair } => {
                if let Some(pair) = book.pairs.get(&queue_pair).and_then(Weak::upgrade) {
                    pair.tell(&event);
                }
            }
            AsyncEvent::SrqLimit { shared_receive_queue } => {
                if let Some(shared) = book.shared.get(&shared_receive_queue).and_then(Weak::upgrade) {
                    shared.low();
                }
            }
            _ => {
                for context in book.contexts.iter().filter_map(Weak::upgrade) {
                    context.tell(&event);
                }
            }
        }
        Ok(())
    }
}
