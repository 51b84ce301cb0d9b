//! How a queue pair is to be made.

use std::sync::Arc;

use stroma_abi::desc::{
    self, ObjectKind, QueuePairKind,
    queue_pair::{QUEUE_LOG_MAX, QUEUE_LOG_MIN},
    wqe::UNIT,
};

use stroma_device::DmaMemory;

use super::{QueuePair, Results};
use crate::{
    Access, CompletionQueue, Device, DoorbellPage, ProtectionDomain, Result, SharedReceiveQueue,
    completion_queue::log_of,
    iova::{Mapped, address},
    object::Object,
    receive_queue::{Owner, ReceiveQueue, stride, stride_code},
    send_queue::SendQueue,
};

/// Units of a send queue unless told otherwise.
const SEND_UNITS: usize = 64;

/// Answers that are kept.
const RESULTS: usize = 16;

/// log2 of the bytes of a place for one: at least, and at most.
const RESULT_LOG_MIN: usize = 12;
const RESULT_LOG_MAX: usize = 16;

/// Pieces of a receive unless told otherwise.
const RECEIVE_PIECES: usize = 1;

/// How a queue pair is to be made.
#[derive(Debug)]
#[must_use = "nothing is made before `build`"]
pub struct QueuePairBuilder {
    domain: Arc<ProtectionDomain>,
    send_cq: Arc<CompletionQueue>,
    receive_cq: Arc<CompletionQueue>,
    kind: QueuePairKind,
    send_units: usize,
    receive_entries: usize,
    receive_pieces: usize,
    shared: Option<Arc<SharedReceiveQueue>>,
    page: Arc<DoorbellPage>,
    result_bytes: usize,
    /// It is the one for management datagrams.
    management: bool,
}

impl QueuePairBuilder {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, completions: &Arc<CompletionQueue>) -> Self {
        Self {
            domain: Arc::clone(domain),
            send_cq: Arc::clone(completions),
            receive_cq: Arc::clone(completions),
            kind: QueuePairKind::Local,
            send_units: SEND_UNITS,
            receive_entries: 0,
            receive_pieces: RECEIVE_PIECES,
            shared: None,
            page: Arc::clone(domain.device().doorbells()),
            result_bytes: 0,
            management: false,
        }
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        self.domain.device()
    }

    /// Gives it the number that management datagrams are for.
    pub(crate) fn management(mut self) -> Self {
        self.management = true;
        self
    }

    /// What it speaks. Local without this.
    pub fn kind(mut self, kind: QueuePairKind) -> Self {
        self.kind = kind;
        self
    }

    /// Where receives complete. Where requests do, without this.
    pub fn receive_cq(mut self, completions: &Arc<CompletionQueue>) -> Self {
        self.receive_cq = Arc::clone(completions);
        self
    }

    /// At least so many 64-byte units for its requests. A request takes a unit for two pieces or 32 bytes of inline
    /// data, and one more for each four pieces or 64 bytes.
    pub fn send_units(mut self, units: usize) -> Self {
        self.send_units = units;
        self
    }

    /// At least so many entries in a receive queue of its own. It has none without this.
    pub fn receive_entries(mut self, entries: usize) -> Self {
        self.receive_entries = entries;
        self
    }

    /// A receive has up to so many pieces. One without this.
    pub fn receive_pieces(mut self, pieces: usize) -> Self {
        self.receive_pieces = pieces;
        self
    }

    /// Receives come from this queue, which many may share; it has none of its own then.
    pub fn shared_receive_queue(mut self, queue: &Arc<SharedReceiveQueue>) -> Self {
        self.shared = Some(Arc::clone(queue));
        self
    }

    /// Answers to RPCs of the peer have up to so many bytes, at most 64 KiB: memory is there to keep 16 of them until the peer has
    /// them. Without this they have none.
    pub fn result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = bytes;
        self
    }

    /// Its page of doorbells.
    pub fn doorbells(mut self, page: &Arc<DoorbellPage>) -> Self {
        self.page = Arc::clone(page);
        self
    }

    /// Makes it, in the state Reset.
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`NoneLeft`](crate::Error::NoneLeft),
    /// [`OtherDevice`](crate::Error::OtherDevice); [`Lacks`](crate::Error::Lacks) for datagrams on a card without; when there is no memory; when the card refuses.
    pub fn build(self) -> Result<QueuePair> {
        let Self { domain, send_cq, receive_cq, kind, send_units, page, .. } = &self;
        let (kind, send_units) = (*kind, *send_units);
        let device = domain.device();
        if kind == QueuePairKind::Datagram {
            device.check_datagrams("queue pair for datagrams")?;
        }
        device.check_page(page)?;
        device.check_same(send_cq.device(), "completion queue")?;
        device.check_same(receive_cq.device(), "completion queue")?;
        let send_log = log_of("units of a send queue", send_units, QUEUE_LOG_MIN, QUEUE_LOG_MAX)?;
        let mapped = device.ring(UNIT << send_log)?;
        let receives = self.receive_ring()?;
        let results = self.results()?;
        let body = desc::QueuePair {
            kind: kind as u8,
            pd: domain.body_number(),
            send_cq: send_cq.number(),
            send_log,
            receive_cq: receive_cq.number(),
            page: page.body_number(),
            send_base: mapped.iova(),
            receive_log: receives.as_ref().map_or(0, |(log, _)| *log),
            receive_stride: stride_code(self.receive_pieces),
            receive_base: receives.as_ref().map_or(0, |(_, ring)| ring.iova()),
            has_srq: self.shared.is_some(),
            srq: self.shared.as_ref().map_or(0, |queue| queue.number()),
            ..desc::QueuePair::default()
        };
        let numbers = device.numbers();
        let number = if self.management { numbers.management.take()? } else { numbers.queue_pairs.take()? };
        let send = SendQueue::new(number.value(), kind, send_log, Arc::clone(mapped.memory()));
        let own = receives.as_ref().map(|(log, ring)| {
            let owner = Owner::QueuePair(number.value());
            ReceiveQueue::new(owner, *log, self.receive_pieces, Arc::clone(ring.memory()))
        });
        let receive = own.or_else(|| self.shared.as_ref().map(|shared| Arc::clone(shared.queue())));
        let memory = [mapped].into_iter().chain(receives.map(|(_, ring)| ring)).collect();
        let object = Object::create(device, ObjectKind::QueuePair, number, &body.to_bytes(), memory)?;
        send_cq.connect(&send);
        if let Some(receive) = &receive {
            receive_cq.connect_receives(object.number(), receive);
        }
        let Self { domain, send_cq, receive_cq, page, shared, .. } = self;
        Ok(QueuePair { object, send, receive, send_cq, receive_cq, page, shared, domain, results })
    }

    /// Memory for answers, if there are any: all places together begin at a multiple of their bytes.
    fn results(&self) -> Result<Option<Results>> {
        if self.result_bytes == 0 {
            return Ok(None);
        }
        let log = log_of("bytes of an answer", self.result_bytes, RESULT_LOG_MIN, RESULT_LOG_MAX)?;
        let bytes = RESULTS << log;
        let node = self.domain.device().card().backend().identity().numa_node;
        let memory = Arc::new(DmaMemory::allocate(2 * bytes, node)?);
        let within = usize::try_from(address(&memory) % bytes as u64).expect("less than the places have");
        let begin = (bytes - within) % bytes;
        let region = self.domain.region(Access::LOCAL_WRITE).range(begin..begin + bytes).register(memory)?;
        Ok(Some(Results { region, log }))
    }

    /// Memory for the receive queue of its own, if it has one, and the log2 of its entries.
    fn receive_ring(&self) -> Result<Option<(u8, Mapped)>> {
        let device = self.domain.device();
        device.check_pieces(self.receive_pieces)?;
        if let Some(shared) = &self.shared {
            device.check_same(shared.device(), "shared receive queue")?;
            return Ok(None);
        }
        if self.receive_entries == 0 {
            return Ok(None);
        }
        let what = "entries of a receive queue";
        let log = log_of(what, self.receive_entries, QUEUE_LOG_MIN, QUEUE_LOG_MAX)?;
        Ok(Some((log, device.ring(stride(self.receive_pieces) << log)?)))
    }
}
