//! What became of a posted operation.

use stroma_abi::desc::Status;

/// One operation, ended. Each posted operation has exactly one, in the order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The poster's own number.
    pub id: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes moved; zero when it failed.
    pub bytes: u32,
    /// How a call of a kernel ended.
    pub rpc: Option<u32>,
}
