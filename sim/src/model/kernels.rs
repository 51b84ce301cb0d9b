//! Kernels of the golden endpoint: what runs at the peer when it is called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stroma_abi::Qpn;
use stroma_abi::wire::RpcStatus;

use super::Memory;

/// A request to run a kernel, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// RPC op-code.
    pub operation: u16,
    /// The caller's, for the kernel.
    pub flags: u8,
    /// Key the kernel acts under.
    pub key: u32,
    /// Protection domain of the queue pair that was called.
    pub domain: u16,
    /// That queue pair.
    pub queue_pair: Qpn,
    /// Parameters, whole words.
    pub parameters: Vec<u8>,
    /// What came behind them.
    pub payload: Vec<u8>,
    /// Largest answer in bytes.
    pub response_max: u32,
}

/// How a call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// An [`RpcStatus`], or a kernel's own.
    pub status: u32,
    /// The answer, at most `response_max` bytes.
    pub data: Vec<u8>,
}

impl Outcome {
    /// An end without data.
    #[must_use]
    pub const fn refused(status: RpcStatus) -> Self {
        Self { status: status as u32, data: Vec::new() }
    }
}

/// A kernel: is run once for each call.
pub type Kernel = Box<dyn FnMut(&Call, &mut Memory) -> Outcome + Send>;

/// The kernels of an endpoint, by RPC op-code. Clones are the same kernels, so queue pairs share them.
#[derive(Clone, Default)]
pub struct Kernels {
    by_operation: Arc<Mutex<BTreeMap<u16, Kernel>>>,
}

impl Kernels {
    /// Adds a kernel, in place of the one that had its op-code.
    pub fn add(&self, operation: u16, kernel: Kernel) {
        self.by_operation.lock().unwrap_or_else(PoisonError::into_inner).insert(operation, kernel);
    }

    /// Runs what a call names.
    ///
    /// # Panics
    /// When a kernel answers with more than it may.
    pub(super) fn run(&self, call: &Call, memory: &mut Memory) -> Outcome {
        let mut kernels = self.by_operation.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kernel) = kernels.get_mut(&call.operation) else {
            return Outcome::refused(RpcStatus::UnknownOperation);
        };
        let outcome = kernel(call, memory);
        let (found, most) = (outcome.data.len(), call.response_max);
        assert!(found <= most as usize, "kernel {:#x} answers {found} bytes of {most}", call.operation);
        outcome
    }
}
