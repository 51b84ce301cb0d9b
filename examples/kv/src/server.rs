//! The server's processor: one core that answers messages, in the order in which they come.

use std::cell::RefCell;
use std::rc::Rc;

use stroma_verbs::{MemoryRegion, QueuePair, Status};

use crate::message::{Answer, Refusal, Request};
use crate::store::Memory;
use crate::{Clock, Error, Inbox, Result, Store};

/// Bytes of memory for each client: a request, and the answer to it.
pub const DESK: usize = 16 << 10;
const ANSWER_AT: usize = DESK / 2;

/// Answers messages of clients over queue pairs that complete to one inbox.
pub struct Server {
    inbox: Rc<Inbox>,
    clock: Rc<Clock>,
    queue_pairs: Vec<QueuePair>,
    desks: MemoryRegion,
    /// Cycles of the processor for a request: it sees the completion, does what is asked, and posts the answer.
    cost: u64,
}

impl Server {
    /// A server to connected queue pairs, with [`DESK`] bytes of memory for each, that spends `cost` cycles on a request.
    ///
    /// # Errors
    /// When receives cannot be posted.
    pub fn new(
        inbox: Rc<Inbox>,
        clock: Rc<Clock>,
        queue_pairs: Vec<QueuePair>,
        desks: MemoryRegion,
        cost: u64,
    ) -> Result<Self> {
        let server = Self { inbox, clock, queue_pairs, desks, cost };
        (0..server.queue_pairs.len()).try_for_each(|desk| server.receive(desk))?;
        Ok(server)
    }

    fn receive(&self, desk: usize) -> Result<()> {
        let piece = self.desks.piece(desk * DESK, ANSWER_AT)?;
        Ok(self.queue_pairs[desk].receives()?.receive(desk as u64, &[piece]).post()?)
    }

    /// Serves for ever.
    ///
    /// # Errors
    /// When a connection ends, or a message cannot be answered.
    pub async fn serve(&self, store: &RefCell<Store>) -> Result<()> {
        loop {
            let found = self.inbox.arrival().await;
            let (status, vendor, queue_pair) = (found.status, found.vendor, found.queue_pair);
            if status != Status::Success {
                return Err(Error::Completion {
                    operation: "RECV of the server",
                    queue_pair,
                    status,
                    vendor,
                });
            }
            self.clock.sleep(self.cost).await;
            let desk = usize::try_from(found.wr_id).unwrap_or(usize::MAX);
            let mut message = vec![0; found.length as usize];
            self.desks.read(desk * DESK, &mut message)?;
            let answer = answer(&mut store.borrow_mut(), &message).to_bytes();
            // The client has had the answer before: a copy of it that the card may still send is thrown away there, whatever is in it.
            self.desks.write(desk * DESK + ANSWER_AT, &answer)?;
            let piece = self.desks.piece(desk * DESK + ANSWER_AT, answer.len())?;
            self.receive(desk)?;
            self.inbox.forget(queue_pair);
            self.queue_pairs[desk].start().signaled().send(&[piece]).post()?;
        }
    }
}

/// Does what a message asks for.
pub(crate) fn answer<M: Memory>(store: &mut Store<M>, message: &[u8]) -> Answer {
    let done = Request::parse(message).and_then(|request| match request {
        Request::Get { key } => Ok(store.get(&key)?.map_or(Answer::Absent, Answer::Present)),
        Request::Put { key, value } => Ok(present(store.put(&key, &value)?)),
        Request::Delete { key } => Ok(present(store.delete(&key)?)),
    });
    done.unwrap_or_else(|error| {
        Answer::Refused(match error {
            Error::Key { .. } | Error::Value { .. } | Error::Message { .. } => Refusal::Malformed,
            Error::OutOfSpace { .. } => Refusal::OutOfSpace,
            Error::BucketFull { .. } => Refusal::BucketFull,
            _ => Refusal::Broken,
        })
    })
}

const fn present(is_present: bool) -> Answer {
    if is_present { Answer::Present(Vec::new()) } else { Answer::Absent }
}
