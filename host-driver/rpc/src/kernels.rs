//! The kernels in software: which model an op-code has, and what the card's port sees to around each of them.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use stroma_abi::Qpn;
use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::{
    consistency as for_consistency, get as for_get, hyperloglog as for_hyperloglog, prism as for_prism,
    shuffle as for_shuffle, traversal as for_traversal,
};
use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{
    Invocation, Memory, Outcome, consistency, get, hyperloglog, prism, shuffle, traversal,
};

use crate::message::Asked;

/// A kernel in software.
pub(crate) type Model<M> = Box<dyn FnMut(&Invocation, &mut M) -> Outcome + Send>;

pub(crate) struct Kernels<M> {
    models: HashMap<u16, Model<M>>,
}

impl<M: Memory + 'static> Kernels<M> {
    /// All of the catalogue, with a sketch that nobody has named.
    pub(crate) fn new() -> Self {
        let mut sketch = hyperloglog::Kernel::default();
        let mut kernels = Self { models: HashMap::new() };
        kernels.add(for_traversal::OPERATION, Box::new(traversal::run));
        kernels.add(for_get::OPERATION, Box::new(get::run));
        kernels.add(for_consistency::OPERATION, Box::new(consistency::run));
        kernels.add(for_shuffle::OPERATION, Box::new(shuffle::run));
        kernels.add(for_hyperloglog::OPERATION, Box::new(move |asked, memory| sketch.run(asked, memory)));
        kernels.add(for_prism::OPERATION, Box::new(prism::run));
        kernels
    }

    pub(crate) fn add(&mut self, operation: u16, model: Model<M>) {
        self.models.insert(operation, model);
    }

    /// Carries a request of a queue pair out, whose answers may have `answer_max` bytes. Bytes beyond what the request allows are
    /// cut off, and `Ok` becomes `Limit`, as on the card.
    pub(crate) fn serve(&mut self, asked: Asked, from: Qpn, answer_max: usize, memory: &mut M) -> Outcome {
        let Asked { target, key, parameters, payload, .. } = asked;
        let response_max = target.response_max as usize;
        if response_max > answer_max {
            return Outcome::bare(RpcStatus::TooLong as u32);
        }
        let Some(model) = self.models.get_mut(&target.operation) else {
            return Outcome::bare(RpcStatus::UnknownOperation as u32);
        };
        let command = SlotCommand {
            queue_pair: from,
            flags: target.flags,
            operation: target.operation,
            key,
            response_max: target.response_max,
            ..SlotCommand::default()
        };
        let mut outcome = model(&Invocation::new(command, parameters, payload), memory);
        if outcome.data.len() > response_max {
            outcome.data.truncate(response_max);
            if outcome.status == RpcStatus::Ok as u32 {
                outcome.status = RpcStatus::Limit as u32;
            }
        }
        outcome
    }
}

impl<M> fmt::Debug for Kernels<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operations: Vec<_> = self.models.keys().collect();
        operations.sort_unstable();
        out.debug_struct("Kernels").field("operations", &operations).finish()
    }
}
