//! Chains of `prism`: built operation by operation, sent as one request, read back from one answer.
//!
//! ```
//! use stroma_kernel_client::prism::{Chain, Comparison, Place, Step, Swap};
//!
//! // A value goes to a fresh buffer; then its address takes the place of 0 in word 1 of an entry, if it still is 0.
//! let (list, entry, heap_key) = (Place::new(0x1000, 7), Place::new(0x2000, 7), 8);
//! let publish = Swap::new(Comparison::Equal, &[0; 16], &[5, 0]).comparing(&[0, u64::MAX].map(u64::to_le_bytes).concat());
//! let request = Chain::new()
//!     .always(Step::allocate(list, heap_key, b"a value"))
//!     .then(Step::swap(entry, &publish).with_buffer(1))
//!     .request()
//!     .unwrap();
//! assert_eq!(request.response_max, 128);
//! ```

mod answer;
mod free_list;
mod step;
#[cfg(test)]
mod tests;

use stroma_abi::desc::Parameters as Block;
use stroma_abi::kernel::prism::{
    Chain as Parameters, LINE, OPERATION, OPERATIONS_MAX, Operation, PAYLOAD_MAX, REPORTS_LEN,
};
use stroma_abi::wire::RpcStatus;
use thiserror::Error;

use crate::call::{Call, Failed, block, failed};

pub use answer::{Answer, NoAnswer};
pub use free_list::{Full, Giver, Store};
pub use step::{Place, Step, Swap};
pub use stroma_abi::kernel::prism::{Comparison, Outcome, Report, Stage};

/// Why a chain cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadChain {
    /// It has no steps, or too many.
    #[error("a chain has 1 to {OPERATIONS_MAX} steps, not {0}")]
    Steps(usize),
    /// A step moves nothing, or too much at once.
    #[error("step {step} moves {length} bytes")]
    Length {
        /// Counted from 0.
        step: usize,
        /// What it would move.
        length: usize,
    },
    /// A step cannot have an indirection that was asked of it.
    #[error("step {0} cannot be led so")]
    Indirection(usize),
    /// The data of all steps are too long together.
    #[error("the request has {0} bytes, and {PAYLOAD_MAX} at most")]
    Payload(usize),
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The parameters.
    pub parameters: [u8; Parameters::LEN],
    /// What follows them.
    pub payload: Vec<u8>,
    /// The longest answer.
    pub response_max: u32,
}

impl Call for Request {
    type Answer = Answer;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Block {
        block(&self.parameters)
    }

    fn payload(&self) -> &[u8] {
        &self.payload
    }

    fn response_max(&self) -> u32 {
        self.response_max
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed> {
        if status != RpcStatus::Ok as u32 {
            return Err(failed(OPERATION, status));
        }
        Answer::parse(bytes).map_err(|wrong| Failed::Answer { operation: OPERATION, length: wrong.length })
    }
}

/// Steps, in the order in which they are carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    steps: Vec<Step>,
}

impl Chain {
    /// One without steps.
    #[must_use]
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    /// A step that is carried out whatever came of the one before it, unless a DMA of that was refused or failed.
    #[must_use]
    pub fn always(mut self, step: Step) -> Self {
        self.steps.push(step.on_condition(false));
        self
    }

    /// A step that is carried out only if the one before it is done.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step.on_condition(true));
        self
    }

    /// The request of it.
    ///
    /// # Errors
    /// When a kernel would refuse it.
    pub fn request(&self) -> Result<Request, BadChain> {
        let count = self.steps.len();
        let code = u8::try_from(count).ok().filter(|_| (1..=OPERATIONS_MAX).contains(&count));
        let parameters = Parameters { count: code.ok_or(BadChain::Steps(count))? }.to_bytes();
        let (mut operations, mut data) = (Vec::with_capacity(count * LINE), Vec::new());
        let mut response_max = REPORTS_LEN;
        for (at, step) in self.steps.iter().enumerate() {
            let length = step.length();
            if !step.has_length() {
                return Err(BadChain::Length { step: at, length });
            }
            if !step.is_allowed() {
                return Err(BadChain::Indirection(at));
            }
            let line = count + data.len() / LINE;
            // Beyond 255 the payload is too long, which is told below.
            let data_line = u8::try_from(line).unwrap_or(u8::MAX);
            let operation = Operation { data_line, ..step.operation() };
            operations.extend(operation.to_bytes());
            data.extend(step.data());
            data.resize(data.len().next_multiple_of(LINE), 0);
            response_max += step.answer_length().next_multiple_of(LINE);
        }
        // Nothing of the padding behind the last data need be sent.
        let last = self.steps.last().map_or(0, |step| step.data().len());
        data.truncate(data.len() - (last.next_multiple_of(LINE) - last));
        operations.extend(data);
        if operations.len() > PAYLOAD_MAX {
            return Err(BadChain::Payload(operations.len()));
        }
        let response_max = u32::try_from(response_max).unwrap_or(u32::MAX);
        Ok(Request { parameters, payload: operations, response_max })
    }
}
