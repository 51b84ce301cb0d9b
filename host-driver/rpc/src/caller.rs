//! Callers: requests out, typed answers in.

mod channel;
mod own;
mod settle;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stroma_abi::wire::ServiceRequest;
use stroma_kernel_client::Call;
use stroma_verbs::{Batch, CompletionQueue, QueuePair, Sge};

use crate::book::{Book, Errand, Found, Onward, Ticket};
use crate::slots::{ALIGNMENT, Slots};
use crate::{Error, Pending, Result, Shape, lock, queues};

use channel::Channel;
pub use channel::Route;
use own::Own;

/// Where parameters and payload begin in a room. The head of a message to the service ends there.
const BODY_AT: usize = ALIGNMENT;
const HEAD_AT: usize = BODY_AT - ServiceRequest::LEN;

/// How long [`Caller::wait`] waits unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls kernels of the peer over a queue pair, whose completions are for nobody else.
///
/// A call has a place, and the place a room in registered memory: for the request's bytes, and for its answer. It is another's when the
/// answer was taken or the [`Pending`] dropped, and the card is done with the room.
#[derive(Debug)]
pub struct Caller {
    // Ended before the memory that they write to.
    queue_pair: QueuePair,
    service: Option<Channel>,
    own: Option<Own>,
    rooms: Slots,
    /// Where all of it completes.
    queues: Vec<Arc<CompletionQueue>>,
    shape: Shape,
    book: Arc<Mutex<Book>>,
    patience: Duration,
}

impl Caller {
    /// Calls over a connected queue pair whose peer grants [`RPC`](stroma_verbs::Access::RPC), and, for kernels that read or write,
    /// [`REMOTE_READ`](stroma_verbs::Access::REMOTE_READ) or [`REMOTE_WRITE`](stroma_verbs::Access::REMOTE_WRITE).
    ///
    /// # Errors
    /// [`Error::TooSmall`] if the completion queue has no room for as many as there are places; when there is no memory.
    pub fn new(queue_pair: QueuePair, shape: Shape) -> Result<Self> {
        let queues = queues::distinct(&shape, &[queue_pair.send_cq()])?;
        let places = u32::try_from(shape.places).unwrap_or(u32::MAX);
        let rooms = Slots::new(queue_pair.domain(), shape.places, answer_at(&shape) + shape.answer_bytes)?;
        let book = Arc::new(Mutex::new(Book::new(places)));
        Ok(Self { queue_pair, service: None, own: None, rooms, queues, shape, book, patience: PATIENCE })
    }

    /// Calls also the [`Service`](crate::Service) at the other end of a second queue pair, of the same domain: always, or when the card lacks the kernel.
    /// It has at least as many receives as there are places, and as many units in its send queue, more for streams of many pieces.
    ///
    /// # Errors
    /// [`Error::OtherDomain`]; [`Error::TooSmall`] for a send or completion queue; when there is no memory, or receives cannot be posted.
    pub fn with_service(mut self, queue_pair: QueuePair, route: Route) -> Result<Self> {
        let mut all = vec![self.queue_pair.send_cq(), queue_pair.send_cq(), queue_pair.receive_cq()];
        all.extend(self.own.iter().map(|own| own.queue_pair.send_cq()));
        self.queues = queues::distinct(&self.shape, &all)?;
        self.service = Some(Channel::new(&self.queue_pair, queue_pair, &self.shape, route)?);
        Ok(self)
    }

    /// Calls also kernels of this card: [`post_rpc_local`](Self::post_rpc_local).
    ///
    /// # Errors
    /// When the card has no queue pairs left, no memory, or its port no address.
    pub fn with_own_card(mut self) -> Result<Self> {
        let own = Own::new(self.queue_pair.domain(), &self.shape)?;
        self.queues.push(Arc::clone(own.queue_pair.send_cq()));
        self.own = Some(own);
        Ok(self)
    }

    /// [`wait`](Self::wait) waits so long; 10 seconds without this.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Posts a call under a key of the peer's memory.
    ///
    /// # Errors
    /// [`Error::NoRoom`], [`Error::RequestTooLong`], [`Error::AnswerTooLong`], [`Error::MessageTooLong`], and those of
    /// [`post`](stroma_verbs::Batch::post): nothing was posted.
    pub fn post_rpc<C: Call>(&self, call: C, key: u32) -> Result<Pending<C>> {
        self.post(call, key, None, &self.queue_pair, None)
    }

    /// As [`post_rpc`](Self::post_rpc), with pieces of local memory as the payload, or behind that which the call has. They stay as
    /// they are until the answer has come.
    ///
    /// # Errors
    /// As [`post_rpc`](Self::post_rpc).
    pub fn post_rpc_write<C: Call>(&self, call: C, key: u32, stream: &[Sge]) -> Result<Pending<C>> {
        self.post(call, key, Some(stream), &self.queue_pair, None)
    }

    /// As [`post_rpc`](Self::post_rpc), of a kernel of this card, under a key of this domain's memory. No service is asked.
    ///
    /// # Errors
    /// As [`post_rpc`](Self::post_rpc); [`Error::NoOwnCard`].
    pub fn post_rpc_local<C: Call>(&self, call: C, key: u32) -> Result<Pending<C>> {
        self.post(call, key, None, self.own_card(C::OPERATION)?, None)
    }

    /// As [`post_rpc_write`](Self::post_rpc_write), of a kernel of this card.
    ///
    /// # Errors
    /// As [`post_rpc_local`](Self::post_rpc_local).
    pub fn post_rpc_write_local<C: Call>(&self, call: C, key: u32, stream: &[Sge]) -> Result<Pending<C>> {
        self.post(call, key, Some(stream), self.own_card(C::OPERATION)?, None)
    }

    /// A kernel on the sending side: a call of a kernel of this card, whose answer goes on to the peer's memory. If it ended well, its
    /// bytes are there when the answer is told; otherwise nothing was written. What a lost packet costs is sent again from the room, so
    /// that the kernel runs once. Between the two the driver has its hand in: somebody has to [`poll`](Self::poll).
    ///
    /// # Errors
    /// As [`post_rpc_local`](Self::post_rpc_local). A WRITE that fails is told to who takes the answer.
    pub fn post_rpc_onward<C: Call>(
        &self,
        call: C,
        key: u32,
        stream: Option<&[Sge]>,
        onward: Onward,
    ) -> Result<Pending<C>> {
        self.post(call, key, stream, self.own_card(C::OPERATION)?, Some(onward))
    }

    fn own_card(&self, operation: u16) -> Result<&QueuePair> {
        self.own.as_ref().map(|own| &own.queue_pair).ok_or(Error::NoOwnCard { operation })
    }

    fn post<C: Call>(
        &self,
        call: C,
        key: u32,
        stream: Option<&[Sge]>,
        by: &QueuePair,
        onward: Option<Onward>,
    ) -> Result<Pending<C>> {
        let (operation, target, parameters) = (C::OPERATION, call.target(), call.parameters());
        let body = [parameters.as_bytes(), call.payload()].concat();
        let is_stream = stream.is_some() || !call.payload().is_empty();
        self.check(operation, body.len(), target.response_max)?;
        let errand =
            Errand { operation, length: body.len(), stream: stream.unwrap_or_default().to_vec(), onward };
        // More than can be counted is more than any service takes.
        let length = u32::try_from(errand.total()).unwrap_or(u32::MAX);
        let ticket = lock(&self.book).take(errand);
        let ticket = ticket.ok_or(Error::NoRoom { operation, places: self.shape.places })?;
        // From here on, what fails drops the `Pending`, and that gives the place back.
        let pending = Pending::new(call, ticket, &self.book);
        let place = ticket.place();
        let head = ServiceRequest { id: ticket.id(), target: target.to_address(), key, length };
        self.rooms.write(place, HEAD_AT, &[&head.to_bytes(), &body[..]].concat())?;
        let service = self.service.as_ref().filter(|_| self.is_served(by.number()));
        if let Some(channel) = service.filter(|channel| channel.is_only()) {
            self.ask(channel, ticket)?;
            return Ok(pending);
        }
        let result = self.rooms.piece(place, answer_at(&self.shape), target.response_max as usize)?;
        let batch = by.start().wr_id(ticket.id()).signaled();
        self.invoke(
            ticket,
            if is_stream {
                let pieces = [&[self.rooms.piece(place, BODY_AT, body.len())?], stream.unwrap_or_default()];
                batch.rpc_write(result, &target, key, &pieces.concat())
            } else {
                batch.rpc(result, &target, key, parameters)
            },
        )?;
        Ok(pending)
    }

    /// May the service carry out what this queue pair calls? It has the peer's memory, not this one's.
    fn is_served(&self, number: u32) -> bool {
        number == self.queue_pair.number()
    }

    /// Does a call fit into a room?
    fn check(&self, operation: u16, length: usize, asked: u32) -> Result<()> {
        let Shape { request_bytes, answer_bytes, .. } = self.shape;
        if length > request_bytes {
            return Err(Error::RequestTooLong { operation, length, max: request_bytes });
        }
        if asked as usize > answer_bytes {
            return Err(Error::AnswerTooLong { operation, asked, max: answer_bytes });
        }
        Ok(())
    }

    /// Has the peer's card carry a call out.
    fn invoke(&self, ticket: Ticket, batch: Batch<'_>) -> Result<()> {
        lock(&self.book).posts(ticket);
        let posted = batch.post();
        if posted.as_ref().is_err_and(|error| !may_be_posted(error)) {
            lock(&self.book).completes(ticket);
        }
        Ok(posted?)
    }

    /// The answer, if it has come: [`poll`](Self::poll) takes it in. It is given once.
    ///
    /// # Errors
    /// [`Error::Completion`], [`Error::Failed`], and what a repetition by the service met with; [`Error::Taken`] if the answer was given before.
    pub fn try_take<C: Call>(&self, pending: &Pending<C>) -> Result<Option<C::Answer>> {
        let operation = C::OPERATION;
        if !pending.is_of(&self.book) {
            return Err(Error::OtherCaller { operation });
        }
        let found = lock(&self.book).take_end(pending.ticket());
        match found {
            Found::NotYet => Ok(None),
            Found::Gone => Err(Error::Taken { operation }),
            Found::End(end) => {
                let outcome = end?;
                Ok(Some(pending.call().answer(outcome.status, &outcome.data)?))
            }
        }
    }

    /// Polls until the answer has come.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take) and [`poll`](Self::poll); [`Error::TimedOut`].
    #[expect(clippy::needless_pass_by_value, reason = "who has waited in vain gives the call up")]
    pub fn wait<C: Call>(&self, pending: Pending<C>) -> Result<C::Answer> {
        let started = Instant::now();
        loop {
            if let Some(answer) = self.try_take(&pending)? {
                return Ok(answer);
            }
            let waited = started.elapsed();
            if waited > self.patience {
                return Err(Error::TimedOut { operation: C::OPERATION, waited });
            }
            self.poll()?;
        }
    }

    /// Posts a call and waits for its answer.
    ///
    /// # Errors
    /// As [`post_rpc`](Self::post_rpc) and [`wait`](Self::wait).
    pub fn call<C: Call>(&self, call: C, key: u32) -> Result<C::Answer> {
        self.wait(self.post_rpc(call, key)?)
    }

    /// Messages of the service that were no answer to anything that waits for one.
    #[must_use]
    pub fn strays(&self) -> u64 {
        lock(&self.book).strays()
    }

    /// Has the service carry a call out, if anybody wants its answer.
    fn ask(&self, channel: &Channel, ticket: Ticket) -> Result<()> {
        let Some(errand) = lock(&self.book).asks(ticket) else { return Ok(()) };
        let sent = channel.send(&self.rooms, ticket, &errand, self.shape.request_bytes);
        if let Err(error) = &sent
            && !matches!(error, Error::Verbs(error) if may_be_posted(error))
        {
            lock(&self.book).unasks(ticket);
        }
        sent
    }
}

/// Where answers begin in a room.
const fn answer_at(shape: &Shape) -> usize {
    (BODY_AT + shape.request_bytes).next_multiple_of(ALIGNMENT)
}

/// The card could not be reached, so that it may have the request all the same: its room is lost then, and nothing else.
const fn may_be_posted(error: &stroma_verbs::Error) -> bool {
    matches!(error, stroma_verbs::Error::Device(_))
}
