use stroma_verbs::{Batch, QueuePair, Result};

fn prepare(queue_pair: QueuePair) -> Result<()> {
    let batch: Batch<'_> = queue_pair.start().nop();
    drop(queue_pair);
    batch.post()
}

fn main() {}
