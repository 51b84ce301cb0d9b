//! Operations as they are posted.

use stroma_abi::desc::rpc::Parameters;
use stroma_abi::desc::{Sge, SgeList};

use super::Window;

/// What a posted operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Local bytes to the peer's next receive.
    Send,
    /// The same, with immediate data.
    SendImm(u32),
    /// The same, and ends a key of the peer.
    SendInv(u32),
    /// Local bytes to the peer's memory.
    Write,
    /// The same, and the peer's next receive completes with immediate data.
    WriteImm(u32),
    /// The peer's bytes to local memory.
    Read,
    /// Eight bytes of the peer are swapped if they are what is expected; what they were comes to local memory.
    CompareSwap {
        /// Expected.
        compare: u64,
        /// Stored then.
        swap: u64,
    },
    /// A number is added to eight bytes of the peer; what they were comes to local memory.
    FetchAdd(u64),
    /// Runs a kernel of the peer; its answer comes to local memory.
    Call {
        /// RPC op-code.
        operation: u16,
        /// For the kernel.
        flags: u8,
        /// For the kernel too.
        parameters: Parameters,
        /// Local bytes that follow the parameters as a stream; without, the parameters go alone.
        payload: Option<Sge>,
    },
    /// Binds a memory window of this end, for the peer.
    Bind {
        /// The key that the peer is to use.
        key: u32,
        /// What it stands for.
        window: Window,
    },
    /// Ends the key of a window of this end.
    Invalidate(u32),
}

impl Operation {
    /// Does the answer bring data?
    #[must_use]
    pub const fn wants_data(self) -> bool {
        matches!(self, Self::Read | Self::Call { .. }) || self.is_atomic()
    }

    /// Is it `CMP_SWAP` or `FETCH_ADD`?
    #[must_use]
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap { .. } | Self::FetchAdd(_))
    }

    /// Is it done here, without a packet?
    #[must_use]
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Bind { .. } | Self::Invalidate(_))
    }
}

/// A posted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The poster's own number, back in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Local bytes, 0 to 2^31 of them; eight for an atomic, none for local work, of a call the largest answer.
    pub pieces: SgeList,
    /// Key of the peer's region, or that a kernel acts under; SENDs have none.
    pub remote_key: u32,
    /// Address there; for an atomic a multiple of eight. Calls have none.
    pub remote_address: u64,
    /// Wait for all READs, atomics and calls posted before.
    pub fence: bool,
    /// Ask the receiver to be woken.
    pub solicited: bool,
}

impl Work {
    /// An operation without fence or wake-up.
    ///
    /// # Panics
    /// When there are more than 16 pieces.
    #[must_use]
    pub fn new(id: u64, operation: Operation, pieces: &[Sge], remote_key: u32, remote_address: u64) -> Self {
        let count = pieces.len();
        let pieces = SgeList::new(pieces).unwrap_or_else(|| panic!("{count} pieces are too many"));
        Self { id, operation, pieces, remote_key, remote_address, fence: false, solicited: false }
    }
}
