//! What comes back: completions of the card, answers of the service.

use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::Outcome;
use stroma_verbs::{Status, WorkCompletion};

use super::{Caller, Channel, answer_at, may_be_posted};
use crate::book::Ticket;
use crate::{Error, Result, lock, message};

/// Completions taken from a queue at once.
const CHUNK: usize = 16;

impl Caller {
    /// Takes completions in, some at a time, and has the service repeat what the card has no kernel for. How many it took.
    ///
    /// # Errors
    /// When the card cannot be reached, or has written a completion that makes no sense. What went wrong with a call is told to who takes
    /// its answer.
    pub fn poll(&self) -> Result<usize> {
        let mut found = [WorkCompletion::default(); CHUNK];
        let mut total = 0;
        let mut result = Ok(());
        for queue in &self.queues {
            let count = queue.poll(&mut found)?;
            total += count;
            for completion in &found[..count] {
                // All of them, also behind one that failed.
                result = result.and(self.settle(completion));
            }
        }
        result.map(|()| total)
    }

    fn settle(&self, completion: &WorkCompletion) -> Result<()> {
        match &self.service {
            Some(channel) if completion.queue_pair == channel.queue_pair.number() => {
                if completion.is_receive {
                    return self.hear(channel, completion);
                }
                self.sent(completion);
            }
            _ if lock(&self.book).is_on_its_way(Ticket::from_id(completion.wr_id)) => {
                lock(&self.book).sent_on(Ticket::from_id(completion.wr_id), failure(completion));
            }
            _ => self.called(completion),
        }
        Ok(())
    }

    /// The card is done with an RPC.
    fn called(&self, completion: &WorkCompletion) {
        let ticket = Ticket::from_id(completion.wr_id);
        let place = ticket.place();
        let failed = failure(completion);
        // Read while the place is held, and so nobody else's.
        let is_wanted = lock(&self.book).is_held(ticket) && failed.is_none();
        let data =
            is_wanted.then(|| self.rooms.read(place, answer_at(&self.shape), completion.length as usize));
        lock(&self.book).completes(ticket);
        if let (Some(channel), None, Some(status)) = (&self.service, &failed, completion.rpc)
            && status == RpcStatus::UnknownOperation as u32
            && self.is_served(completion.queue_pair)
        {
            if let Err(error) = self.ask(channel, ticket) {
                lock(&self.book).ends(ticket, |_| Err(error));
            }
            return;
        }
        if let (None, Some(0), Some(Ok(data))) = (&failed, completion.rpc, &data)
            && self.sends_on(ticket, data)
        {
            return;
        }
        lock(&self.book).ends(ticket, |operation| match (failed, completion.rpc, data) {
            (Some((status, vendor)), _, _) => Err(Error::Completion { operation, status, vendor }),
            (None, Some(status), Some(data)) => Ok(Outcome { status, data: data? }),
            (None, ..) => Err(Error::NoStatus { operation }),
        });
    }

    /// Sends an answer on, if it has bytes and a place to go to.
    fn sends_on(&self, ticket: Ticket, data: &[u8]) -> bool {
        if data.is_empty() {
            return false;
        }
        let outcome = Outcome { status: RpcStatus::Ok as u32, data: data.to_vec() };
        let Some(onward) = lock(&self.book).sends_on(ticket, outcome) else { return false };
        let posted = self.rooms.piece(ticket.place(), answer_at(&self.shape), data.len()).and_then(|piece| {
            let batch = self.queue_pair.start().wr_id(ticket.id()).signaled();
            batch.write(&[piece], onward.address, onward.key).post()
        });
        if let Err(error) = posted {
            let mut book = lock(&self.book);
            if !may_be_posted(&error) {
                book.completes(ticket);
            }
            book.ends(ticket, |_| Err(error.into()));
        }
        true
    }

    /// The card is done with a message to the service.
    fn sent(&self, completion: &WorkCompletion) {
        let ticket = Ticket::from_id(completion.wr_id);
        let mut book = lock(&self.book);
        book.completes(ticket);
        if let Some((status, vendor)) = failure(completion) {
            book.ends(ticket, |operation| Err(Error::Completion { operation, status, vendor }));
        }
    }

    /// A message has come, or none will come any more.
    fn hear(&self, channel: &Channel, completion: &WorkCompletion) -> Result<()> {
        if let Some((status, vendor)) = failure(completion) {
            lock(&self.book).service_ends(|operation| Error::Completion { operation, status, vendor });
            return Ok(());
        }
        let place = usize::try_from(completion.wr_id).unwrap_or(usize::MAX);
        let message = channel.inbox.read(place, 0, completion.length as usize)?;
        match message::answer(&message) {
            Some((id, outcome)) => lock(&self.book).answered(Ticket::from_id(id), outcome),
            None => lock(&self.book).stray(),
        }
        Ok(channel.inbox.receive(&channel.queue_pair, place)?)
    }
}

/// How a request failed on its way, if it did.
fn failure(completion: &WorkCompletion) -> Option<(Status, u8)> {
    (completion.status != Status::Success).then_some((completion.status, completion.vendor))
}
