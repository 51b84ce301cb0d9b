//! How a queue pair is to be made.

use std::sync::Arc;

use stroma_abi::desc::{
    self, ObjectKind, QueuePairKind,
    queue_pair::{QUEUE_LOG_MAX, QUEUE_LOG_MIN},
    wqe::UNIT,
};

use super::QueuePair;
use crate::{
    CompletionQueue, DoorbellPage, ProtectionDomain, Result, completion_queue::log_of, object::Object,
    send_queue::SendQueue,
};

/// Units of a send queue unless told otherwise.
const SEND_UNITS: usize = 64;

/// How a queue pair is to be made.
#[derive(Debug)]
#[must_use = "nothing is made before `build`"]
pub struct QueuePairBuilder {
    domain: Arc<ProtectionDomain>,
    send_cq: Arc<CompletionQueue>,
    receive_cq: Arc<CompletionQueue>,
    kind: QueuePairKind,
    send_units: usize,
    page: Arc<DoorbellPage>,
}

impl QueuePairBuilder {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, completions: &Arc<CompletionQueue>) -> Self {
        Self {
            domain: Arc::clone(domain),
            send_cq: Arc::clone(completions),
            receive_cq: Arc::clone(completions),
            kind: QueuePairKind::Local,
            send_units: SEND_UNITS,
            page: Arc::clone(domain.device().doorbells()),
        }
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

    /// Its page of doorbells.
    pub fn doorbells(mut self, page: &Arc<DoorbellPage>) -> Self {
        self.page = Arc::clone(page);
        self
    }

    /// Makes it, in the state Reset.
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`NoneLeft`](crate::Error::NoneLeft),
    /// [`OtherDevice`](crate::Error::OtherDevice); when there is no memory; when the card refuses.
    pub fn build(self) -> Result<QueuePair> {
        let Self { domain, send_cq, receive_cq, kind, send_units, page } = self;
        let device = domain.device();
        device.check_page(&page)?;
        device.check_same(send_cq.device(), "completion queue")?;
        device.check_same(receive_cq.device(), "completion queue")?;
        let send_log = log_of("units of a send queue", send_units, QUEUE_LOG_MIN, QUEUE_LOG_MAX)?;
        let mapped = device.ring(UNIT << send_log)?;
        let body = desc::QueuePair {
            kind: kind as u8,
            pd: domain.body_number(),
            send_cq: send_cq.number(),
            send_log,
            receive_cq: receive_cq.number(),
            page: page.body_number(),
            send_base: mapped.iova(),
            ..desc::QueuePair::default()
        };
        let number = device.queue_pair_number()?;
        let send = SendQueue::new(number.value(), kind, send_log, Arc::clone(mapped.memory()));
        let object = Object::create(device, ObjectKind::QueuePair, number, &body.to_bytes(), vec![mapped])?;
        send_cq.connect(&send);
        Ok(QueuePair { object, send, send_cq, receive_cq, page, domain })
    }
}
