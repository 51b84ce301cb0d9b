//! Kernel invocation on the wire: op-codes 0xD8 to 0xDF.
//!
//! A request carries a RETH. Its address field is an [`RpcTarget`], its key is the one the kernel acts under, its
//! length counts the request's payload, of which the first `parameter_words` words are parameters. The
//! answer's last packet carries an [`RpcEth`].

use super::Reth;
use crate::codes::codes;
use crate::layout::layout;

layout! {
    /// The address field of an RPC request's RETH. Read little-endian it is bytes 16 to 23 of a WQE.
    RpcTarget: Big, 8 bytes;
    RESPONSE_MAX    response_max:    u32 = 0, 0, 32, "largest answer in bytes; reserves its PSNs";
    FLAGS           flags:           u8  = 4, 0,  8, "for the kernel";
    PARAMETER_WORDS parameter_words: u8  = 5, 0,  8, "parameters at the front of the payload, in 4-byte units";
    OPERATION       operation:       u16 = 6, 0, 16, "RPC op-code: chooses the kernel";
}

impl RpcTarget {
    /// As the RETH carries it.
    #[must_use]
    pub fn to_address(&self) -> u64 {
        u64::from_be_bytes(self.to_bytes())
    }

    /// What the address field of an RPC request says.
    #[must_use]
    pub fn of(reth: &Reth) -> Self {
        Self::from_address(reth.address)
    }

    /// From the 64 bits of the address field.
    #[must_use]
    pub fn from_address(address: u64) -> Self {
        let bytes = address.to_be_bytes();
        Self {
            response_max: Self::RESPONSE_MAX.get(&bytes),
            flags: Self::FLAGS.get(&bytes),
            parameter_words: Self::PARAMETER_WORDS.get(&bytes),
            operation: Self::OPERATION.get(&bytes),
        }
    }
}

layout! {
    /// How an RPC ended.
    RpcEth: Big, 8 bytes;
    STATUS status: u32 = 0, 0, 32, "an `RpcStatus`, or a kernel's own from 0x100 on";
    LENGTH length: u32 = 4, 0, 32, "bytes of the whole answer";
}

codes! {
    /// The card's own values of [`RpcEth::status`]. A kernel's begin at [`Self::KERNEL`].
    RpcStatus: u32 {
        0 Ok               "The kernel finished.";
        1 UnknownOperation "No kernel has this RPC op-code.";
        2 Access           "A DMA of the kernel failed the check of key, protection domain, bounds or rights.";
        3 Limit            "The kernel's watchdog ended it, or it came to a limit that the request set.";
        4 Aborted          "The request's stream stopped before its last packet.";
        5 TooLong          "The largest answer allowed exceeds the queue pair's result area; nothing ran.";
        6 Host             "The host could not serve a DMA of the kernel.";
    }
}

impl RpcStatus {
    /// First value with a meaning of the kernel's own.
    pub const KERNEL: u32 = 0x100;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_one_64_bit_word_with_the_operation_lowest() {
        let target =
            RpcTarget { response_max: 0x1122_3344, flags: 0x55, parameter_words: 0x66, operation: 0x7788 };
        assert_eq!(target.to_address(), 0x1122_3344_5566_7788);
        assert_eq!(RpcTarget::from_address(0x1122_3344_5566_7788), target);
    }

    #[test]
    fn status_numbers_stay_below_the_kernels() {
        for (status, _) in RpcStatus::ALL {
            let code = *status as u32;
            assert_eq!(RpcStatus::from_code(code), Some(*status));
            assert!(code < RpcStatus::KERNEL);
        }
        assert_eq!(RpcStatus::from_code(RpcStatus::KERNEL), None);
    }
}
