//! What the threads that listen to clients have the one do that simulates.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use stroma_sim::Listener;
use stroma_sim::host::bars::Access;
use stroma_vfio_user::Errno;
use stroma_vfio_user::server::{Faults, Range};

use crate::bell::Bell;

/// What a card, or its host, is to do.
pub(crate) enum Order {
    /// A client has come: from now on somebody outside waits for answers. It hears of accesses to what it has not mapped.
    Attach(Faults),
    /// It has gone, and nothing of it may be left.
    Detach,
    /// An access to a BAR; answered with the value of a load, or when a store is on its way.
    Access(Access),
    /// A load from a BAR by somebody else than the client, at this address; answered with its value. It lets loads of the client pass.
    Peek(u64),
    /// The card may reach memory.
    Map(Range),
    /// It may not any more.
    Unmap {
        /// From this address on,
        first: u64,
        /// up to this one.
        last: u64,
    },
    /// Interrupts are told by other descriptors.
    Connect {
        /// The first of them.
        start: usize,
        /// One for each, or none.
        bells: Vec<Option<Bell>>,
    },
    /// The function may do DMA, or not any more.
    Master(bool),
    /// A reset of the whole function.
    Reset,
    /// Something has come from outside, to an end of the wire.
    Look,
    /// Somebody wants to hear of the frames of the card's port.
    Listen(Box<dyn Listener>),
    /// How late is it in the card's waves? Answered with halves of a cycle.
    WaveTime,
    /// How late is it? Answered with simulated nanoseconds.
    Now,
    /// Nobody is served any more.
    End,
}

/// What became of an order: the value of a load, the time, 0 otherwise.
pub(crate) type Answer = Result<u64, Errno>;

/// An order for a card, and where the answer goes.
pub(crate) struct Request {
    pub(crate) card: usize,
    pub(crate) order: Order,
    pub(crate) answer: SyncSender<Answer>,
}

/// Where orders for one card are given. Each is waited for, so that there is never more than one of a card: a client that asks faster
/// than its card answers makes nobody else wait.
#[derive(Clone)]
pub(crate) struct Orders {
    card: usize,
    requests: Sender<Request>,
}

impl Orders {
    /// A way to give orders to each of so many cards, and where they arrive.
    pub(crate) fn new(cards: usize) -> (Vec<Self>, Receiver<Request>) {
        let (requests, arrived) = channel();
        ((0..cards).map(|card| Self { card, requests: requests.clone() }).collect(), arrived)
    }

    /// Has an order carried out.
    ///
    /// # Errors
    /// As the order; `EIO` when nobody simulates any more.
    pub(crate) fn give(&self, order: Order) -> Answer {
        let (answer, answered) = sync_channel(1);
        self.requests.send(Request { card: self.card, order, answer }).map_err(|_| Errno::IO)?;
        answered.recv().map_err(|_| Errno::IO)?
    }
}
