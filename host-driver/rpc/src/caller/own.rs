//! The way to the kernels of one's own card: a connection that does not leave it.

use std::sync::Arc;

use stroma_verbs::{Access, CompletionQueue, ProtectionDomain, QueuePair, QueuePairKind};

use crate::shape::ANSWER_MAX;
use crate::{Result, Shape};

/// Units of a send queue for each place: a request, its pieces, and parameters in the WQE.
const UNITS_A_PLACE: usize = 8;

#[derive(Debug)]
pub(super) struct Own {
    /// Where calls are posted.
    pub(super) queue_pair: QueuePair,
    /// Where they arrive; it keeps their answers.
    _called: QueuePair,
}

impl Own {
    pub(super) fn new(domain: &Arc<ProtectionDomain>, shape: &Shape) -> Result<Self> {
        let completions = domain.device().completion_queue(shape.places)?;
        let end = |completions: &Arc<CompletionQueue>| {
            let builder = domain.queue_pair(completions).kind(QueuePairKind::Reliable);
            let builder = builder.result_bytes(shape.answer_bytes.min(ANSWER_MAX));
            builder.send_units(shape.places * UNITS_A_PLACE).build()
        };
        let (queue_pair, called) = (end(&completions)?, end(&completions)?);
        // Who calls his own card's kernels has them do what he may do; the regions say what that is.
        queue_pair.connect_locally(&called, Access::RPC | Access::REMOTE_READ | Access::REMOTE_WRITE)?;
        Ok(Self { queue_pair, _called: called })
    }
}
