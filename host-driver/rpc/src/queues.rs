//! Queues that a caller or a service is given: have they room for what may be under way?

use std::sync::Arc;

use stroma_verbs::{CompletionQueue, QueuePair};

use crate::{Error, Result, Shape};

/// The queues, each once, if each has room for all that may complete there: `places` for every time that it is named.
pub(crate) fn distinct(shape: &Shape, named: &[&Arc<CompletionQueue>]) -> Result<Vec<Arc<CompletionQueue>>> {
    let mut queues: Vec<Arc<CompletionQueue>> = Vec::new();
    for queue in named {
        let times = named.iter().filter(|other| Arc::ptr_eq(other, queue)).count();
        let (number, have, need) = (queue.number(), queue.size(), times * shape.places);
        if have < need {
            return Err(Error::TooSmall { what: "completion queue", number, have, need });
        }
        if !queues.iter().any(|other| Arc::ptr_eq(other, queue)) {
            queues.push(Arc::clone(queue));
        }
    }
    Ok(queues)
}

/// Has the send queue room for a message of each place?
pub(crate) fn check_units(shape: &Shape, queue_pair: &QueuePair) -> Result<()> {
    let (have, need) = (usize::from(queue_pair.send_units()), shape.places);
    if have < need {
        let number = queue_pair.number();
        return Err(Error::TooSmall { what: "the send queue of queue pair", number, have, need });
    }
    Ok(())
}
