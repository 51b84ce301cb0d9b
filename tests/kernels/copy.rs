//! The far memory again, for models to work on.

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::{consistency, get, hyperloglog, prism, shuffle, traversal};
use stroma_kernel_models::{self as models, Failure, Invocation, Memory, Outcome};
use stroma_tests::calls::Calls;

use crate::tasks::Task;

/// What the far memory should hold, and the state of kernels that have some.
pub(crate) struct Copy {
    base: u64,
    key: u32,
    bytes: Vec<u8>,
    hyperloglog: models::hyperloglog::Kernel,
}

impl Copy {
    /// As the far memory is now.
    pub(crate) fn of(calls: &Calls, length: usize) -> Self {
        Self {
            base: calls.at(0),
            key: calls.key(),
            bytes: calls.bytes(1, 0, length),
            hyperloglog: models::hyperloglog::Kernel::default(),
        }
    }

    /// What a call should end with; memory changes as it should.
    pub(crate) fn run(&mut self, task: &Task) -> Outcome {
        let (key, response_max) = (self.key, task.target.response_max);
        let command = SlotCommand { key, response_max, ..SlotCommand::default() };
        let invocation = Invocation::new(command, task.parameters, task.payload.clone());
        match task.target.operation {
            consistency::OPERATION => models::consistency::run(&invocation, self),
            get::OPERATION => models::get::run(&invocation, self),
            hyperloglog::OPERATION => {
                let mut kernel = std::mem::take(&mut self.hyperloglog);
                let outcome = kernel.run(&invocation, self);
                self.hyperloglog = kernel;
                outcome
            }
            prism::OPERATION => models::prism::run(&invocation, self),
            shuffle::OPERATION => models::shuffle::run(&invocation, self),
            traversal::OPERATION => models::traversal::run(&invocation, self),
            other => panic!("op-code {other:#x} has no model"),
        }
    }

    /// The far memory is as the models left it.
    pub(crate) fn check(&self, calls: &Calls) {
        let found = calls.bytes(1, 0, self.bytes.len());
        let wrong = found.iter().zip(&self.bytes).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "first byte of far memory that differs");
    }

    fn place(&self, key: u32, va: u64, len: usize) -> Result<usize, Failure> {
        let at = va.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        at.filter(|at| key == self.key && at.checked_add(len).is_some_and(|end| end <= self.bytes.len()))
            .ok_or(Failure::Refused)
    }
}

impl Memory for Copy {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        let at = self.place(key, va, len)?;
        Ok(self.bytes[at..at + len].to_vec())
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let at = self.place(key, va, bytes.len())?;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}
