//! Completion channels: sleeping until there is something to poll.

use std::{fmt, sync::Arc, time::Duration};

use crate::{CompletionQueue, Device, Result, events::ChannelId};

/// Where a thread sleeps until one of its completion queues has something.
///
/// A queue gives one event for each [`CompletionQueue::request_notify`]. To miss nothing: ask for the event, poll until
/// the queue is empty, then wait.
pub struct CompletionChannel {
    device: Arc<Device>,
    id: ChannelId,
}

impl CompletionChannel {
    pub(crate) fn new(device: &Arc<Device>) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), id: device.events().open_channel() })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// From now on, events of `queue` come here.
    pub(crate) fn connect(&self, queue: &Arc<CompletionQueue>) {
        self.device.events().connect(self.id, queue);
    }

    /// A completion queue that has announced something, if there is one.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn poll(&self) -> Result<Option<Arc<CompletionQueue>>> {
        self.device.events().poll(self.device.card(), |state| state.take_ready(self.id))
    }

    /// Waits until a completion queue announces something; `None` after `timeout`.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn wait(&self, timeout: Duration) -> Result<Option<Arc<CompletionQueue>>> {
        self.device.events().wait(self.device.card(), timeout, |state| state.take_ready(self.id))
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        self.device.events().close_channel(self.id);
    }
}

impl fmt::Debug for CompletionChannel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CompletionChannel({})", self.id)
    }
}
