//! Kernels of the golden endpoint: what runs at the peer when it is called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{Failure, Invocation, Memory as Callers, Outcome};

use super::{Access, Memory};

/// The endpoint's memory as a kernel sees it: under the rights of the queue pair that was called.
pub struct Reach<'a> {
    /// All of it.
    pub memory: &'a mut Memory,
    /// The queue pair's protection domain.
    pub domain: u16,
    /// The queue pair.
    pub queue_pair: Qpn,
    /// What it lets its peer do: no kernel does more for him.
    pub rights: u8,
}

impl Reach<'_> {
    /// What takes this right of the peer, and that kernels may act under the key.
    fn access(&self, key: u32, address: u64, right: u8) -> Result<Access, Failure> {
        if self.rights & right == 0 {
            return Err(Failure::Refused);
        }
        let rights = rights::RPC | right;
        Ok(Access { key, domain: self.domain, rights, address, queue_pair: Some(self.queue_pair) })
    }
}

impl Callers for Reach<'_> {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        let access = self.access(key, va, rights::REMOTE_READ)?;
        self.memory.read(&access, len as u64).map_err(|_| Failure::Refused)
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let access = self.access(key, va, rights::REMOTE_WRITE)?;
        self.memory.write(&access, bytes).map_err(|_| Failure::Refused)
    }
}

/// A kernel: is run once for each call.
pub type Kernel = Box<dyn FnMut(&Invocation, &mut Reach<'_>) -> Outcome + Send>;

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
    pub(super) fn run(&self, call: &Invocation, reach: &mut Reach<'_>) -> Outcome {
        let (operation, most) = (call.command.operation, call.command.response_max);
        let mut kernels = self.by_operation.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kernel) = kernels.get_mut(&operation) else {
            return Outcome::bare(RpcStatus::UnknownOperation as u32);
        };
        let outcome = kernel(call, reach);
        let found = outcome.data.len();
        assert!(found <= most as usize, "kernel {operation:#x} answers {found} bytes of {most}");
        outcome
    }
}
