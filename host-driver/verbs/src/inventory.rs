//! Numbers of all that is on a card.

use std::sync::Arc;

use stroma_abi::wire::deth::MANAGEMENT_QP;
use stroma_device::Capabilities;

use crate::numbers::Numbers;

/// Queue pairs 0 and 1 belong to management, on every network of this kind: tools take packets to them for its datagrams.
const ORDINARY: u32 = MANAGEMENT_QP.value() + 1;
/// Domains are numbers of the driver; their field has as many values.
const DOMAINS: u32 = 1 << u16::BITS;

/// Numbers of all that is on a card, by kind.
pub(crate) struct Inventory {
    pub(crate) queue_pairs: Arc<Numbers>,
    /// The one for management datagrams.
    pub(crate) management: Arc<Numbers>,
    pub(crate) completion_queues: Arc<Numbers>,
    pub(crate) shared_queues: Arc<Numbers>,
    pub(crate) regions: Arc<Numbers>,
    pub(crate) address_handles: Arc<Numbers>,
    pub(crate) domains: Arc<Numbers>,
    pub(crate) pages: Arc<Numbers>,
}

impl Inventory {
    pub(crate) fn new(capabilities: &Capabilities) -> Self {
        Self {
            queue_pairs: Numbers::from("queue pairs", ORDINARY, capabilities.queue_pairs),
            management: Numbers::from("management queue pairs", MANAGEMENT_QP.value(), ORDINARY),
            completion_queues: Numbers::new("completion queues", capabilities.completion_queues),
            shared_queues: Numbers::new("shared receive queues", capabilities.shared_receive_queues),
            regions: Numbers::new("memory regions", capabilities.memory_regions),
            address_handles: Numbers::new("address handles", capabilities.address_handles),
            domains: Numbers::new("protection domains", DOMAINS),
            pages: Numbers::new("doorbell pages", capabilities.doorbell_pages),
        }
    }
}
