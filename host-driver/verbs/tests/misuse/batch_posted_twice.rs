use stroma_verbs::{QueuePair, Result};

fn twice(queue_pair: &QueuePair) -> Result<()> {
    let batch = queue_pair.start().nop();
    batch.post()?;
    batch.post()
}

fn main() {}
