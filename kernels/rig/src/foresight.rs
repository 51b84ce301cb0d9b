//! What is to become of memory: the model has a copy of its own.

use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{Invocation, Outcome};

use super::{Host, Twin};

/// Follows commands in their order, from a time at which none was open.
#[derive(Default)]
pub(super) struct Foresight {
    /// Memory as it is to be when all of them have ended.
    expected: Host,
    /// Memory as it was before them, and as each would have left it without a failure of its writes: any part of a write that
    /// failed may be there, and of those around it.
    between: Vec<Host>,
    /// One of them fails.
    has_failed: bool,
}

impl Foresight {
    /// No command is open.
    pub(super) fn begin(&mut self, host: &Host) {
        *self = Self { expected: host.clone(), between: vec![host.clone()], has_failed: false };
    }

    pub(super) fn follow(&mut self, invocation: &Invocation, twin: Twin) -> Outcome {
        let mut willing = self.expected.that_takes_all();
        let outcome = twin(invocation, &mut self.expected);
        if [RpcStatus::Access as u32, RpcStatus::Host as u32].contains(&outcome.status) {
            twin(invocation, &mut willing);
            self.has_failed = true;
            self.between.push(willing);
        }
        self.between.push(self.expected.clone());
        outcome
    }

    /// All have ended: is memory as the model left it? If one failed, bytes that they change may be old or new.
    ///
    /// # Panics
    /// If it is not.
    pub(super) fn compare(&self, host: &Host) {
        let between = if self.has_failed { &self.between[..] } else { &[] };
        let others: Vec<&Host> = [&self.expected].into_iter().chain(between).collect();
        if let Some(va) = host.stray(&others) {
            let (found, expected) = (host.bytes(va, 32), self.expected.bytes(va, 32));
            panic!("memory at {va:#x}: {found:x?}, expected {expected:x?}");
        }
    }
}
