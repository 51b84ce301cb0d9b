//! Queue pairs: where requests are posted.

mod builder;
mod view;

pub use builder::QueuePairBuilder;
pub use view::QueuePairView;

use std::sync::{Arc, MutexGuard};

use stroma_abi::desc::{self, CommandStatus, ObjectKind, QueuePairKind, QueuePairState, Statistics, Verb};

use crate::{
    Attributes, Batch, CompletionQueue, Device, DoorbellPage, Error, MemoryRegion, ProtectionDomain,
    ReceiveBatch, Result, SharedReceiveQueue, completion_queue::State, mailbox::Order, object::Object,
    receive_queue::ReceiveQueue, send_queue::SendQueue, state::takes_receives, work_request::Request,
};

/// A queue pair. Dropped, requests under way are finished or flushed, and their completions forgotten.
#[doc = include_str!("states.md")]
#[derive(Debug)]
pub struct QueuePair {
    object: Object,
    send: Arc<SendQueue>,
    /// Its own, or the one it shares.
    receive: Option<Arc<ReceiveQueue>>,
    send_cq: Arc<CompletionQueue>,
    receive_cq: Arc<CompletionQueue>,
    page: Arc<DoorbellPage>,
    shared: Option<Arc<SharedReceiveQueue>>,
    domain: Arc<ProtectionDomain>,
    results: Option<Results>,
}

/// Where answers to RPCs of the peer are kept.
#[derive(Debug)]
struct Results {
    region: MemoryRegion,
    /// log2 of the bytes of a place.
    log: u8,
}

impl QueuePair {
    /// Number of the queue pair.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.object.number()
    }

    /// What it speaks.
    #[must_use]
    pub fn kind(&self) -> QueuePairKind {
        self.send.kind()
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        self.object.device()
    }

    /// The protection domain.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// Where requests complete.
    #[must_use]
    pub fn send_cq(&self) -> &Arc<CompletionQueue> {
        &self.send_cq
    }

    /// Where receives complete.
    #[must_use]
    pub fn receive_cq(&self) -> &Arc<CompletionQueue> {
        &self.receive_cq
    }

    /// Units of the send queue.
    #[must_use]
    pub fn send_units(&self) -> u16 {
        self.send.hold().size()
    }

    /// Entries of its own receive queue.
    #[must_use]
    pub fn receive_entries(&self) -> usize {
        let own = self.receive.as_ref().filter(|queue| !queue.is_shared());
        own.map_or(0, |queue| queue.hold().size())
    }

    /// The queue it shares its receives with others of, if it does.
    #[must_use]
    pub fn shared_receive_queue(&self) -> Option<&Arc<SharedReceiveQueue>> {
        self.shared.as_ref()
    }

    /// The state, as far as the driver knows: the card may have gone into error since, and [`Self::query`] asks it.
    #[must_use]
    pub fn state(&self) -> QueuePairState {
        self.send.hold().state
    }

    /// Changes state and attributes.
    ///
    /// # Errors
    /// [`Error::BadTransition`], before the card is asked; [`Error::TooWide`]; when the card refuses.
    pub fn modify(&self, attributes: &Attributes) -> Result<()> {
        // Nothing is posted and, for a reset, nothing polled meanwhile: queues are locked in this order everywhere.
        let mut completions = self.hold_completions();
        let mut send = self.send.hold();
        let to = attributes.check(self.number(), self.kind(), send.state)?;
        let body = attributes.body(to);
        if to == QueuePairState::Reset {
            self.return_receives(send.state);
        }
        match self.object.command(Verb::Modify, attributes.mask(), &body.to_bytes()) {
            Ok(_) => send.state = to,
            Err(error) => {
                if let Error::CommandRefused { status: CommandStatus::BadState, .. } = error {
                    // The card has gone into error by itself.
                    send.state = state_of(&self.ask()?, send.state);
                }
                return Err(error);
            }
        }
        if to == QueuePairState::Reset {
            send.restart();
            drop(send);
            if let Some(own) = self.receive.as_ref().filter(|queue| !queue.is_shared()) {
                own.hold().restart();
            }
            for (queue, state) in &mut completions {
                queue.clean(state, self.number());
            }
        }
        Ok(())
    }

    /// Lets go of a receive that a message has begun to fill, if it is of a shared queue: others could never use its place
    /// again. In error the card gives it back as flushed, and tells when it has. What goes wrong here costs that place.
    fn return_receives(&self, state: QueuePairState) {
        if self.shared.is_none() || matches!(state, QueuePairState::Reset | QueuePairState::Init) {
            return;
        }
        let error = Attributes::default().state(QueuePairState::Error);
        let body = error.body(QueuePairState::Error);
        if self.object.command(Verb::Modify, error.mask(), &body.to_bytes()).is_ok() {
            let _ = self.device().await_last_receive(self.number());
        }
    }

    /// Its completion queues, each once and in the order of their numbers, for several may be held by several.
    fn hold_completions(&self) -> Vec<(&CompletionQueue, MutexGuard<'_, State>)> {
        let mut queues = vec![&*self.send_cq, &*self.receive_cq];
        queues.sort_by_key(|queue| queue.number());
        queues.dedup_by_key(|queue| queue.number());
        queues.into_iter().map(|queue| (queue, queue.hold())).collect()
    }

    /// To Init, with the attributes that the kind needs.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn to_init(&self, attributes: Attributes) -> Result<()> {
        self.modify(&attributes.state(QueuePairState::Init))
    }

    /// To ready-to-receive, with the attributes that the kind needs.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn to_rtr(&self, attributes: Attributes) -> Result<()> {
        self.modify(&attributes.state(QueuePairState::ReadyToReceive))
    }

    /// To ready-to-send, with the attributes that the kind needs.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn to_rts(&self, attributes: Attributes) -> Result<()> {
        self.modify(&attributes.state(QueuePairState::ReadyToSend))
    }

    /// From ready-to-send to Drained: requests begun are finished, those posted wait until it is ready to send again. With
    /// `notify`, [`SendQueueDrained`](crate::AsyncEvent::SendQueueDrained) tells when all that have begun are completed;
    /// `draining` of [`Self::query`] shows it at any time. One that fails on the way tells by completions or
    /// [`QueuePairError`](crate::AsyncEvent::QueuePairError), and not by this event.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn to_sqd(&self, notify: bool) -> Result<()> {
        let attributes = Attributes::default().state(QueuePairState::Drained);
        self.modify(&if notify { attributes.notify_drained() } else { attributes })
    }

    /// The attributes, and where answers to RPCs are kept, if the queue pair has a place for them: for the way to Init, which
    /// [`connect`](Self::connect) takes so by itself.
    ///
    /// # Errors
    /// None that a region of its own could give.
    pub fn with_results(&self, attributes: Attributes) -> Result<Attributes> {
        match &self.results {
            Some(Results { region, log }) => Ok(attributes.results(region.address(0)?, *log, region.lkey())),
            None => Ok(attributes),
        }
    }

    /// From Reset to ready-to-send, for a kind that needs no attributes: Local.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn activate(&self) -> Result<()> {
        self.to_init(Attributes::default())?;
        self.to_rtr(Attributes::default())?;
        self.to_rts(Attributes::default())
    }

    /// Back to Reset: nothing is posted, and completions not yet polled are forgotten.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn reset(&self) -> Result<()> {
        self.modify(&Attributes::default().state(QueuePairState::Reset))
    }

    /// What the card knows about the queue pair: how it is set, and what it is doing.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn query(&self) -> Result<QueuePairView> {
        let mut send = self.send.hold();
        let found = self.ask()?;
        send.state = state_of(&found, send.state);
        Ok(QueuePairView::new(self.number(), found, self.statistics()?))
    }

    /// What the queue pair is doing, and what has happened to it since it was made or taken to Reset.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn statistics(&self) -> Result<Statistics> {
        let (verb, kind, number) = (Verb::Query, ObjectKind::Statistics, self.number());
        let body = self.device().command(&Order { verb, kind, number, attributes: 0, body: &[] })?;
        Ok(live(&body))
    }

    fn ask(&self) -> Result<desc::QueuePair> {
        let body = self.object.command(Verb::Query, 0, &[])?;
        Ok(desc::QueuePair::parse(&body).expect("a body is as long as a queue pair"))
    }

    /// Begins a batch of requests.
    pub fn start(&self) -> Batch<'_> {
        Batch::new(self)
    }

    /// Begins a batch of buffers for messages of the peer.
    ///
    /// # Errors
    /// [`Error::NoReceiveQueue`]; [`Error::WrongState`] in Reset: receives may be posted from Init on.
    pub fn receives(&self) -> Result<ReceiveBatch<'_>> {
        let number = self.number();
        let own = self.receive.as_ref().filter(|queue| !queue.is_shared());
        let queue = own.ok_or(Error::NoReceiveQueue { number })?;
        let state = self.state();
        if !takes_receives(state) {
            return Err(Error::WrongState { number, state });
        }
        Ok(ReceiveBatch::new(queue, &self.page))
    }

    pub(crate) fn post(&self, requests: &mut [Request], push: bool) -> Result<()> {
        let push = push && self.device().card().features().push;
        self.send.post(requests, &self.page, push)
    }
}

/// What the reply to a query of statistics shows.
fn live(body: &[u8]) -> Statistics {
    Statistics::parse(body).expect("a body is longer than statistics")
}

/// The state a query shows; a code that does not exist changes nothing.
fn state_of(found: &desc::QueuePair, known: QueuePairState) -> QueuePairState {
    QueuePairState::from_code(found.state).unwrap_or(known)
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let number = self.number();
        let state = self.state();
        self.return_receives(state);
        // An entry that stays names a number that stays taken, too: the card cannot be reached.
        let _ = self.device().groups().forget(self.device().card(), number);
        // What it failed with is dealt with by the object. Its number stays taken until its completions are forgotten.
        let _ = self.object.destroy();
        self.send_cq.disconnect(number);
        self.receive_cq.disconnect(number);
    }
}
