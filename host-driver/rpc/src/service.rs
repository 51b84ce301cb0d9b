//! The service: kernels in software, for peers who need one that the card lacks.

use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{Invocation, Outcome};
use stroma_verbs::{CompletionQueue, MemoryRegion, QueuePair, Status, WorkCompletion};

use crate::kernels::Kernels;
use crate::message::{self, Malformed};
use crate::queues::{self, check_units};
use crate::shape::ANSWER_MAX;
use crate::slots::Slots;
use crate::{Error, Regions, Result, Shape};

/// Completions taken at once.
const CHUNK: usize = 16;

/// What a service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were answered, with whatever status.
    pub answered: u64,
    /// Messages that were no request. Those too short to say who asks were dropped, the others answered with `Aborted`.
    pub malformed: u64,
}

/// Runs kernels in software, for the peer of one queue pair, on regions that it is given.
///
/// A place is a room for a request and one for its answer. A request comes into it, is carried out, and is answered; when the card has
/// sent the answer the place waits for the next request. If all are in use the peer's card waits.
#[derive(Debug)]
pub struct Service {
    // Ended before the memory that it writes to.
    queue_pair: QueuePair,
    inbox: Slots,
    outbox: Slots,
    queues: Vec<Arc<CompletionQueue>>,
    shape: Shape,
    regions: Regions,
    kernels: Kernels<Regions>,
    counts: Counts,
    ended: Option<(Status, u8)>,
}

impl Service {
    /// Serves the peer of a connected queue pair, whose completions are for nobody else. It has at least as many receives as
    /// there are places, and as many units in its send queue.
    ///
    /// # Errors
    /// [`Error::TooSmall`] for a send or completion queue; when there is no memory, or receives cannot be posted.
    pub fn new(queue_pair: QueuePair, shape: Shape) -> Result<Self> {
        let queues = queues::distinct(&shape, &[queue_pair.send_cq(), queue_pair.receive_cq()])?;
        check_units(&shape, &queue_pair)?;
        let domain = queue_pair.domain();
        let inbox = Slots::new(domain, shape.places, shape.request_message())?;
        let outbox = Slots::new(domain, shape.places, shape.answer_message())?;
        (0..shape.places).try_for_each(|place| inbox.receive(&queue_pair, place))?;
        let regions = Regions::new(domain, queue_pair.query()?.rights);
        let (kernels, counts) = (Kernels::new(), Counts::default());
        Ok(Self { queue_pair, inbox, outbox, queues, shape, regions, kernels, counts, ended: None })
    }

    /// Lets calls act on a region, as its rights and those of the connection allow.
    #[must_use]
    pub fn with_region(mut self, region: Arc<MemoryRegion>) -> Self {
        self.regions.add(region);
        self
    }

    /// Carries calls of this RPC op-code out by `model`, instead of by that of the catalogue if there is one.
    #[must_use]
    pub fn with_model(
        mut self,
        operation: u16,
        model: impl FnMut(&Invocation, &mut Regions) -> Outcome + Send + 'static,
    ) -> Self {
        self.kernels.add(operation, Box::new(model));
        self
    }

    /// Carries out what has come, some at a time, in the order in which it came. How many messages that were.
    ///
    /// # Errors
    /// [`Error::Ended`] from when the connection is; when the card cannot be reached.
    pub fn poll(&mut self) -> Result<usize> {
        let before = self.counts;
        let mut found = [WorkCompletion::default(); CHUNK];
        let mut result = Ok(());
        for place in 0..self.queues.len() {
            let count = self.queues[place].poll(&mut found)?;
            for completion in &found[..count] {
                // All of them, also behind one that failed.
                result = result.and(self.settle(completion));
            }
        }
        result?;
        if let Some((status, vendor)) = self.ended {
            return Err(Error::Ended { number: self.queue_pair.number(), status, vendor });
        }
        let done = |counts: Counts| counts.answered + counts.malformed;
        Ok(usize::try_from(done(self.counts) - done(before)).unwrap_or(usize::MAX))
    }

    /// What it has done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn settle(&mut self, completion: &WorkCompletion) -> Result<()> {
        if completion.status != Status::Success {
            self.ended.get_or_insert((completion.status, completion.vendor));
            return Ok(());
        }
        let place = usize::try_from(completion.wr_id).unwrap_or(usize::MAX);
        if !completion.is_receive {
            return Ok(self.inbox.receive(&self.queue_pair, place)?);
        }
        let message = self.inbox.read(place, 0, completion.length as usize)?;
        match self.answer(&message) {
            Some(answer) => {
                self.outbox.write(place, 0, &answer)?;
                let piece = self.outbox.piece(place, 0, answer.len())?;
                Ok(self.queue_pair.start().wr_id(completion.wr_id).signaled().send(&[piece]).post()?)
            }
            None => Ok(self.inbox.receive(&self.queue_pair, place)?),
        }
    }

    /// The answer to a message, if that says who asks.
    fn answer(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        match message::request(message) {
            Ok(asked) => {
                self.counts.answered += 1;
                let (id, from) = (asked.id, Qpn::new(self.queue_pair.number()));
                let answer_max = self.shape.answer_bytes.min(ANSWER_MAX);
                let outcome = self.kernels.serve(asked, from, answer_max, &mut self.regions);
                Some(message::answering(id, &outcome))
            }
            Err(Malformed::Lengths { id }) => {
                self.counts.malformed += 1;
                Some(message::answering(id, &Outcome::bare(RpcStatus::Aborted as u32)))
            }
            Err(Malformed::Nameless) => {
                self.counts.malformed += 1;
                None
            }
        }
    }
}
