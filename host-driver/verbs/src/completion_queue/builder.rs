//! How a completion queue is to be made.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use stroma_abi::desc::{
    self, Cqe, ObjectKind,
    completion_queue::{CQ_LOG_MAX, CQ_LOG_MIN},
};
use stroma_device::Entries;

use super::{CompletionQueue, State};
use crate::{CompletionChannel, Device, DoorbellPage, Error, Result, object::Object};

/// How a completion queue is to be made.
#[derive(Debug)]
#[must_use = "nothing is made before `build`"]
pub struct CompletionQueueBuilder {
    device: Arc<Device>,
    entries: usize,
    channel: Option<Arc<CompletionChannel>>,
    page: Arc<DoorbellPage>,
}

impl CompletionQueueBuilder {
    pub(crate) fn new(device: &Arc<Device>, entries: usize) -> Self {
        let page = Arc::clone(device.doorbells());
        Self { device: Arc::clone(device), entries, channel: None, page }
    }

    /// Where its events go. Without a channel it has none.
    pub fn channel(mut self, channel: &Arc<CompletionChannel>) -> Self {
        self.channel = Some(Arc::clone(channel));
        self
    }

    /// Its page of doorbells.
    pub fn doorbells(mut self, page: &Arc<DoorbellPage>) -> Self {
        self.page = Arc::clone(page);
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::NoneLeft`], [`Error::OtherDevice`]; when there is no memory; when the card refuses.
    pub fn build(self) -> Result<Arc<CompletionQueue>> {
        let Self { device, entries, channel, page } = self;
        device.check_page(&page)?;
        if let Some(channel) = &channel {
            device.check_same(channel.device(), "completion channel")?;
        }
        let log = log_of("entries of a completion queue", entries, CQ_LOG_MIN, CQ_LOG_MAX)?;
        let mapped = device.ring(Cqe::LEN << log)?;
        let ring = Entries::new(log, Cqe::PHASE, Arc::clone(mapped.memory()));
        let body = desc::CompletionQueue {
            base: mapped.iova(),
            log,
            page: page.body_number(),
            ..desc::CompletionQueue::default()
        };
        let number = device.numbers().completion_queues.take()?;
        let kind = ObjectKind::CompletionQueue;
        let object = Object::create(&device, kind, number, &body.to_bytes(), vec![mapped])?;
        let state = Mutex::new(State {
            ring,
            found: VecDeque::new(),
            failed: None,
            send_queues: HashMap::new(),
            receive_queues: HashMap::new(),
        });
        let queue = Arc::new(CompletionQueue { state, object, page, channel });
        if let Some(channel) = &queue.channel {
            channel.connect(&queue);
        }
        Ok(queue)
    }
}

/// log2 of the smallest power of two that is no less than `count`, and possible.
pub(crate) fn log_of(what: &'static str, count: usize, min: usize, max: usize) -> Result<u8> {
    let too_large = Error::TooLarge { what, asked: count, max: 1 << max };
    if count > 1 << max {
        return Err(too_large);
    }
    let log = (count.next_power_of_two().ilog2() as usize).max(min);
    Ok(u8::try_from(log).expect("the logarithm of a number of 64 bits"))
}
