//! The send queue of a queue pair: a ring of 64-byte units, and the requests in it.

use std::sync::Arc;

use stroma_abi::desc::{QueuePairKind, QueuePairState, Status, WqeHead, wqe::UNIT};
use stroma_device::{DmaMemory, WorkRing, barrier};

use crate::{
    DoorbellPage, Error, Result,
    doorbell::PUSH_UNITS,
    lock,
    state::takes_requests,
    sync::{Mutex, MutexGuard},
    work_request::Request,
};

/// What queue pair and completion queue share.
#[derive(Debug)]
pub(crate) struct SendQueue {
    number: u32,
    kind: QueuePairKind,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// The queue pair's state, as far as the driver knows.
    pub(crate) state: QueuePairState,
    ring: WorkRing,
    /// Requests by the slot of their first unit.
    posted: Vec<Posted>,
    memory: Arc<DmaMemory>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Posted {
    wr_id: u64,
    units: u16,
}

impl SendQueue {
    pub(crate) fn new(number: u32, kind: QueuePairKind, log: u8, memory: Arc<DmaMemory>) -> Arc<Self> {
        let ring = empty(log.into());
        let posted = vec![Posted::default(); ring.size().into()];
        let inner = Mutex::new(Inner { state: QueuePairState::Reset, ring, posted, memory });
        Arc::new(Self { number, kind, inner })
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn kind(&self) -> QueuePairKind {
        self.kind
    }

    /// The queue pair stays as it is while this is held.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Frees the request that begins at `index` and all before it; `None` when there is no such request.
    pub(crate) fn complete(&self, index: u16, status: Status) -> Option<u64> {
        let mut state = self.hold();
        let posted = state.posted[state.ring.slot(index)];
        // A slot between the first units of two requests would free too little, and was never posted as one.
        let is_posted = posted.units > 0;
        (is_posted && state.ring.release(index, posted.units).is_ok()).then(|| {
            if status != Status::Success {
                state.state = QueuePairState::Error;
            }
            posted.wr_id
        })
    }

    /// Writes requests to the ring and tells the card: all of them, or none.
    pub(crate) fn post(&self, requests: &mut [Request], page: &DoorbellPage, push: bool) -> Result<()> {
        let mut state = self.hold();
        let number = self.number;
        if !takes_requests(state.state) {
            return Err(Error::WrongState { number, state: state.state });
        }
        let wanted: usize = requests.iter().map(|request| request.bytes.len() / UNIT).sum();
        let (room, size) = (state.ring.room(), state.ring.size());
        let full = Error::QueueFull { number, wanted, room, size };
        let reserved = u16::try_from(wanted).ok().and_then(|wanted| state.ring.reserve(wanted).ok());
        let mut index = reserved.ok_or(full)?;
        for request in &mut *requests {
            request.index = index;
            index = state.write(request)?;
        }
        barrier::to_device();
        // Told while the queue is held, so that the card is told in the order of the ring.
        if push && requests.iter().all(|request| request.bytes.len() <= PUSH_UNITS * UNIT) {
            requests.iter().try_for_each(|request| page.push(number, request.index, &request.bytes))
        } else {
            page.send(number, state.ring.producer())
        }
    }
}

impl Inner {
    /// Writes a request unit by unit, for its last ones may be the first of the ring. The result is the index behind it.
    fn write(&mut self, request: &mut Request) -> Result<u16> {
        let first = request.index;
        WqeHead::INDEX.set(&mut request.bytes, first);
        let mut index = first;
        for unit in request.bytes.chunks_exact(UNIT) {
            let slot = self.ring.slot(index);
            self.memory.write(slot * UNIT, unit)?;
            self.posted[slot] = Posted::default();
            index = index.wrapping_add(1);
        }
        let slot = self.ring.slot(first);
        self.posted[slot] = Posted { wr_id: request.wr_id, units: index.wrapping_sub(first) };
        Ok(index)
    }

    /// After a reset of the queue pair: its indices begin anew.
    pub(crate) fn restart(&mut self) {
        self.ring = empty(self.ring.size().ilog2());
        self.posted.fill(Posted::default());
    }

    pub(crate) fn size(&self) -> u16 {
        self.ring.size()
    }
}

fn empty(log: u32) -> WorkRing {
    WorkRing::new(log).expect("the card's send queues are smaller than indices can count")
}
