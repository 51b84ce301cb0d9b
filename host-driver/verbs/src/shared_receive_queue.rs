//! Shared receive queues: buffers for the messages of many queue pairs.

use std::sync::Arc;

use stroma_abi::desc::{
    ObjectKind, SharedQueue, Verb,
    shared_queue::{LIMIT_ATTRIBUTE, SRQ_LOG_MAX, SRQ_LOG_MIN},
};

use crate::{
    Device, DoorbellPage, ProtectionDomain, ReceiveBatch, Result,
    completion_queue::log_of,
    object::Object,
    receive_queue::{Owner, ReceiveQueue, stride, stride_code},
};

/// A shared receive queue. Its entries are taken in the order they were posted, and complete in any; a ring is filled in
/// its order, so room for the next one is there when the oldest has completed.
#[derive(Debug)]
pub struct SharedReceiveQueue {
    object: Object,
    queue: Arc<ReceiveQueue>,
    page: Arc<DoorbellPage>,
    domain: Arc<ProtectionDomain>,
}

impl SharedReceiveQueue {
    /// Makes one with at least so many entries, each for up to `pieces` pieces.
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, entries: usize, pieces: usize) -> Result<Arc<Self>> {
        let device = domain.device();
        let page = Arc::clone(device.doorbells());
        let log = log_of("entries of a shared receive queue", entries, SRQ_LOG_MIN, SRQ_LOG_MAX)?;
        device.check_pieces(pieces)?;
        let mapped = device.ring(stride(pieces) << log)?;
        let body = SharedQueue {
            base: mapped.iova(),
            log,
            stride: stride_code(pieces),
            page: page.body_number(),
            pd: domain.body_number(),
            limit: 0,
        };
        let number = device.numbers().shared_queues.take()?;
        let owner = Owner::Shared(number.value());
        let queue = ReceiveQueue::new(owner, log, pieces, Arc::clone(mapped.memory()));
        let object = Object::create(device, ObjectKind::SharedQueue, number, &body.to_bytes(), vec![mapped])?;
        Ok(Arc::new(Self { object, queue, page, domain: Arc::clone(domain) }))
    }

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

    /// The protection domain.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// Entries of the queue.
    #[must_use]
    pub fn size(&self) -> usize {
        self.queue.hold().size()
    }

    /// Begins a batch of buffers.
    pub fn receives(&self) -> ReceiveBatch<'_> {
        ReceiveBatch::new(&self.queue, &self.page)
    }

    /// Asks for one [`SrqLimit`](crate::AsyncEvent::SrqLimit) when an entry is taken and fewer than `limit` are left; 0 asks for none.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn arm_limit(&self, limit: u16) -> Result<()> {
        let body = SharedQueue { limit, ..SharedQueue::default() };
        self.object.command(Verb::Modify, LIMIT_ATTRIBUTE, &body.to_bytes()).map(drop)
    }

    /// What the card knows about the queue.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn query(&self) -> Result<SharedQueue> {
        self.object.command(Verb::Query, 0, &[]).map(|body| shown(&body))
    }

    pub(crate) fn queue(&self) -> &Arc<ReceiveQueue> {
        &self.queue
    }
}

/// What the reply to a query shows.
fn shown(body: &[u8]) -> SharedQueue {
    SharedQueue::parse(body).expect("a body is longer than a shared receive queue")
}
