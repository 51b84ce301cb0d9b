//! Kernels in plain Rust: each does to a [`Memory`] what its RTL does to the caller's memory through the slot.

#![forbid(unsafe_code)]

pub mod consistency;
pub mod get;
pub mod hyperloglog;
pub mod prism;
pub mod shuffle;
pub mod traversal;

use stroma_abi::desc::{Parameters, SlotCommand};
use stroma_abi::wire::RpcStatus;

/// Why a kernel could not read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Key, protection domain, bounds or rights forbid it.
    Refused,
    /// The host could not serve it.
    Host,
}

impl Failure {
    /// The status of an invocation that ends with it.
    #[must_use]
    pub const fn status(self) -> RpcStatus {
        match self {
            Self::Refused => RpcStatus::Access,
            Self::Host => RpcStatus::Host,
        }
    }
}

/// The caller's memory, under the caller's rights.
pub trait Memory {
    /// The `len` bytes at `va`.
    ///
    /// # Errors
    /// When any of them cannot be read.
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure>;

    /// Stores `bytes` at `va`.
    ///
    /// # Errors
    /// When any of them cannot be written; others may have been.
    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure>;
}

/// What a kernel is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The command, as the slot gives it.
    pub command: SlotCommand,
    /// Its parameters.
    pub parameters: Parameters,
    /// The payload behind them.
    pub data: Vec<u8>,
}

impl Invocation {
    /// An invocation whose command counts parameters and payload as they are.
    #[must_use]
    pub fn new(command: SlotCommand, parameters: Parameters, data: Vec<u8>) -> Self {
        let bytes = parameters.as_bytes().len() + data.len();
        let command = SlotCommand {
            parameter_words: parameters.words(),
            request_length: u32::try_from(bytes).unwrap_or(u32::MAX),
            ..command
        };
        Self { command, parameters, data }
    }
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// An [`RpcStatus`], or a status of the kernel's own.
    pub status: u32,
    /// The answer's bytes; with any status but 0 they mean nothing, and there are none here.
    pub data: Vec<u8>,
}

impl Outcome {
    /// An answer without bytes.
    #[must_use]
    pub const fn bare(status: u32) -> Self {
        Self { status, data: Vec::new() }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::bare(failure.status() as u32)
    }
}
