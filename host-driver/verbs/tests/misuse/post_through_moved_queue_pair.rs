use std::thread;

use stroma_verbs::{QueuePair, Result};

fn moved(queue_pair: QueuePair) -> Result<()> {
    thread::spawn(move || queue_pair.start().nop().post());
    queue_pair.start().nop().post()
}

fn main() {}
