//! What operations do.

use stroma_abi::desc::WorkOp;

use super::Grant;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the own source to the far side's next receive.
    Send,
    /// The same, with immediate data.
    SendImm(u32),
    /// The same, and ends the key of the far side's window.
    SendInv(u32),
    /// From the own source to the far target.
    Write,
    /// The same, and the far side's next receive completes with immediate data.
    WriteImm(u32),
    /// From the far target to the own landing.
    Read,
    /// On a word of the far side, whose value comes to the own results.
    CompareSwap {
        /// Value expected.
        compare: u64,
        /// Value stored then.
        swap: u64,
    },
    /// The same, and adds.
    FetchAdd(u64),
    /// Binds the own window, for the far side.
    Bind(Grant),
    /// Ends the key of the own window.
    Invalidate(u32),
}

impl Kind {
    /// Does it work on a word?
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap { .. } | Self::FetchAdd(_))
    }

    /// Does it go to a receive?
    pub fn is_send(self) -> bool {
        matches!(self, Self::Send | Self::SendImm(_) | Self::SendInv(_))
    }

    /// Does it write to the far target?
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteImm(_))
    }

    /// Does it write to the far target, or read there?
    pub fn uses_target(self) -> bool {
        self.is_write() || self == Self::Read
    }

    /// Does nothing of it leave its side?
    pub fn is_local(self) -> bool {
        matches!(self, Self::Bind(_) | Self::Invalidate(_))
    }

    /// Does it complete a receive of the far side?
    pub fn takes_receive(self) -> bool {
        self.is_send() || self.immediate().is_some()
    }

    /// What it tells the receiver.
    pub fn immediate(self) -> Option<u32> {
        match self {
            Self::SendImm(data) | Self::WriteImm(data) => Some(data),
            _ => None,
        }
    }

    /// The key of the receiver that it ends.
    pub fn ended(self) -> Option<u32> {
        if let Self::SendInv(key) = self { Some(key) } else { None }
    }

    /// Its op-code.
    pub fn work(self) -> WorkOp {
        match self {
            Self::Send => WorkOp::Send,
            Self::SendImm(_) => WorkOp::SendImm,
            Self::SendInv(_) => WorkOp::SendInv,
            Self::Write => WorkOp::Write,
            Self::WriteImm(_) => WorkOp::WriteImm,
            Self::Read => WorkOp::Read,
            Self::CompareSwap { .. } => WorkOp::CmpSwap,
            Self::FetchAdd(_) => WorkOp::FetchAdd,
            Self::Bind(_) => WorkOp::Bind,
            Self::Invalidate(_) => WorkOp::Invalidate,
        }
    }
}
