//! A card as verbs see it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use stroma_abi::desc::mailbox::BODY_LEN;
use stroma_control::inspect::Inspection;
use stroma_device::{Backend, Backing, Card, DmaMemory};

use crate::{
    AsyncEvent, CompletionChannel, CompletionQueue, CompletionQueueBuilder, DoorbellPage, Error, Port,
    ProtectionDomain, Result,
    controls::Controls,
    events::{Dispatch, Events},
    groups::Groups,
    inspection,
    inventory::Inventory,
    iova::{Mapped, Space},
    lock,
    mailbox::Order,
};

/// How a device is to be opened.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct DeviceBuilder {
    timeout: Duration,
    vector: usize,
}

impl DeviceBuilder {
    /// Time the card has to get ready, and to answer a command. Ten seconds without this.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Interrupt vector of the event queue. The first without this.
    pub fn vector(mut self, vector: usize) -> Self {
        self.vector = vector;
        self
    }

    /// Opens the card behind `backend`; see [`Device::open`].
    ///
    /// # Errors
    /// When it is no card of ours, does not get ready, or has no such vector.
    pub fn open(self, backend: Arc<dyn Backend>) -> Result<Arc<Device>> {
        let card = Card::open(backend, self.timeout)?;
        card.reset(self.timeout)?;
        if card.features().ud {
            Groups::begin(&card)?;
        }
        let controls = Arc::new(Controls::new(card, self.timeout));
        let backend = Arc::clone(controls.card.backend());
        let doorbells = DoorbellPage::new(backend, controls.numbers.pages.take()?);
        let space = Arc::default();
        let events = Events::start(&controls.card, &space, self.vector)?;
        Ok(Arc::new(Device {
            inspection: inspection::start(&controls),
            timeout: self.timeout,
            space,
            keys: Mutex::default(),
            groups: Groups::default(),
            doorbells,
            events,
            controls,
        }))
    }
}

/// A card, opened for verbs. Whoever has one has the card alone.
pub struct Device {
    controls: Arc<Controls>,
    inspection: Option<Inspection>,
    timeout: Duration,
    space: Arc<Space>,
    /// The last key of each region's number.
    keys: Mutex<HashMap<u32, u8>>,
    groups: Groups,
    doorbells: Arc<DoorbellPage>,
    events: Events,
}

impl Device {
    /// Opens the card behind `backend`, and resets it: what an earlier driver left there is gone.
    ///
    /// # Errors
    /// As [`DeviceBuilder::open`].
    pub fn open(backend: Arc<dyn Backend>) -> Result<Arc<Self>> {
        Self::builder().open(backend)
    }

    /// Begins to open a card.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder { timeout: Duration::from_secs(10), vector: 0 }
    }

    /// The card: registers, capabilities, link.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.controls.card
    }

    /// The network port.
    #[must_use]
    pub fn port(&self) -> Port<'_> {
        Port::new(&self.controls.card)
    }

    /// Makes a protection domain.
    ///
    /// # Errors
    /// [`Error::NoneLeft`].
    pub fn protection_domain(self: &Arc<Self>) -> Result<Arc<ProtectionDomain>> {
        Ok(ProtectionDomain::new(self, self.controls.numbers.domains.take()?))
    }

    /// Makes a completion queue of at least so many entries, without a channel.
    ///
    /// # Errors
    /// As [`CompletionQueueBuilder::build`].
    pub fn completion_queue(self: &Arc<Self>, entries: usize) -> Result<Arc<CompletionQueue>> {
        self.build_completion_queue(entries).build()
    }

    /// Begins to make a completion queue of at least so many entries.
    pub fn build_completion_queue(self: &Arc<Self>, entries: usize) -> CompletionQueueBuilder {
        CompletionQueueBuilder::new(self, entries)
    }

    /// Makes a channel, on which a thread can sleep until one of its completion queues has something.
    #[must_use]
    pub fn completion_channel(self: &Arc<Self>) -> Arc<CompletionChannel> {
        CompletionChannel::new(self)
    }

    /// The page of doorbells that queues use unless told otherwise.
    #[must_use]
    pub fn doorbells(&self) -> &Arc<DoorbellPage> {
        &self.doorbells
    }

    /// Takes another page of doorbells.
    ///
    /// # Errors
    /// [`Error::NoneLeft`].
    pub fn doorbell_page(&self) -> Result<Arc<DoorbellPage>> {
        Ok(DoorbellPage::new(Arc::clone(self.controls.card.backend()), self.controls.numbers.pages.take()?))
    }

    /// The next event that belongs to no completion queue, if there is one.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn poll_async_event(&self) -> Result<Option<AsyncEvent>> {
        self.events.poll(&self.controls.card, Dispatch::take_async)
    }

    /// Waits for an event that belongs to no completion queue; `None` after `timeout`.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn wait_async_event(&self, timeout: Duration) -> Result<Option<AsyncEvent>> {
        self.events.wait(&self.controls.card, timeout, Dispatch::take_async)
    }

    /// Waits until a queue pair in error has given back what it took from a shared receive queue; not for ever.
    pub(crate) fn await_last_receive(&self, queue_pair: u32) -> Result<()> {
        self.events
            .wait(&self.controls.card, self.timeout, |events| events.take_last_receive(queue_pair))
            .map(Option::unwrap_or_default)
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    pub(crate) fn command(&self, order: &Order<'_>) -> Result<[u8; BODY_LEN]> {
        self.controls.command(order)
    }

    pub(crate) fn controls(&self) -> &Controls {
        &self.controls
    }

    pub(crate) fn numbers(&self) -> &Inventory {
        &self.controls.numbers
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Does the card have datagrams, which an operation needs?
    pub(crate) fn check_datagrams(&self, operation: &'static str) -> Result<()> {
        if self.controls.card.features().ud { Ok(()) } else { Err(Error::Lacks { operation, feature: "ud" }) }
    }

    /// Does the card take lists of so many pieces?
    pub(crate) fn check_pieces(&self, asked: usize) -> Result<()> {
        let max = self.controls.card.capabilities().sges as usize;
        if asked <= max { Ok(()) } else { Err(Error::TooLarge { what: "pieces of a receive", asked, max }) }
    }

    /// Low byte of the next key of a region: another one than the last, so that an old key is not valid again.
    pub(crate) fn next_key(&self, region: u32) -> u8 {
        let mut keys = lock(&self.keys);
        let key = keys.entry(region).or_default();
        *key = key.wrapping_add(1);
        *key
    }

    /// Shows memory to the card.
    pub(crate) fn map(&self, memory: Arc<DmaMemory>, page: Backing) -> Result<Mapped> {
        Mapped::new(self.controls.card.backend(), &self.space, memory, page)
    }

    /// Memory of the driver's own, zeroed, which the card can reach.
    pub(crate) fn ring(&self, len: usize) -> Result<Mapped> {
        ring(&self.controls.card, &self.space, len)
    }

    /// Is `other` this very device?
    pub(crate) fn check_same(self: &Arc<Self>, other: &Arc<Self>, what: &'static str) -> Result<()> {
        if Arc::ptr_eq(self, other) { Ok(()) } else { Err(Error::OtherDevice { what }) }
    }

    /// Is the page one of this device's?
    pub(crate) fn check_page(&self, page: &DoorbellPage) -> Result<()> {
        let is_ours = Arc::ptr_eq(page.backend(), self.controls.card.backend());
        if is_ours { Ok(()) } else { Err(Error::OtherDevice { what: "doorbell page" }) }
    }
}

/// Zeroed memory near the card, which the card can reach.
pub(crate) fn ring(card: &Card, space: &Arc<Space>, len: usize) -> Result<Mapped> {
    let memory = Arc::new(DmaMemory::allocate(len, card.backend().identity().numa_node)?);
    let page = memory.backing().unwrap_or(Backing::Small);
    Mapped::new(card.backend(), space, memory, page)
}

impl Drop for Device {
    fn drop(&mut self) {
        // Once the card is let go, the next program's socket may be where this one's was.
        drop(self.inspection.take());
        // All queues are gone: they hold shares of the device. A card that does not stop keeps its event queue.
        if self.controls.card.reset(self.timeout).is_err() {
            self.events.abandon();
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Device({:?})", self.controls.card)
    }
}
