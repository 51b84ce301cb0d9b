use std::sync::Arc;

use stroma_verbs::{ProtectionDomain, QueuePair, Result};

fn incomplete(domain: &Arc<ProtectionDomain>) -> Result<QueuePair> {
    domain.queue_pair().build()
}

fn main() {}
