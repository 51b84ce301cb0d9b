//! Queue pairs for datagrams, and the one for management.

use stroma_abi::Psn;
use stroma_abi::wire::deth::{MANAGEMENT_KEY, OWN_KEY_BIT};

use crate::{Attributes, Port, QueuePair, QueuePairBuilder, QueuePairKind, Result};

/// With this as its key, a datagram carries the key of the queue pair that sends it. Any key with its highest bit does the same: who
/// posts cannot choose one of those, which are privileged.
pub const OWN_KEY: u32 = OWN_KEY_BIT;

/// What a queue pair for datagrams is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Key that senders must know.
    pub q_key: u32,
    /// Partition.
    pub p_key: u16,
    /// PSN of the first datagram sent. Nobody looks at it.
    pub send_psn: Psn,
}

impl Datagrams {
    /// Datagrams under this key, of the default partition.
    #[must_use]
    pub fn new(q_key: u32) -> Self {
        Self { q_key, p_key: 0xffff, send_psn: Psn::new(0) }
    }
}

impl QueuePair {
    /// From Reset to ready-to-send, for datagrams. Each one names [where it goes](crate::Batch::to).
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn activate_datagrams(&self, how: &Datagrams) -> Result<()> {
        self.to_init(Attributes::default().q_key(how.q_key).p_key(how.p_key))?;
        self.to_rtr(Attributes::default())?;
        self.to_rts(Attributes::default().send_psn(how.send_psn))
    }
}

impl Port<'_> {
    /// Makes queue pair 1, to which stations send management datagrams, whatever the builder's kind was to be, and leads it to
    /// ready-to-send with the key that all of them know. Nothing is posted yet. It sends with [`OWN_KEY`].
    ///
    /// # Errors
    /// [`NoneLeft`](crate::Error::NoneLeft) when there is one already; [`OtherDevice`](crate::Error::OtherDevice); as
    /// [`QueuePairBuilder::build`] and [`QueuePair::modify`].
    pub fn management_queue_pair(&self, builder: QueuePairBuilder) -> Result<QueuePair> {
        self.check_same(builder.device(), "queue pair")?;
        let queue_pair = builder.kind(QueuePairKind::Datagram).management().build()?;
        queue_pair.activate_datagrams(&Datagrams::new(MANAGEMENT_KEY))?;
        Ok(queue_pair)
    }
}
