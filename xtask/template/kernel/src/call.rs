//! What a request to `kernel_name` says, and what its answer means.
//!
//! The word of 8 bytes at `address` becomes `value` if that is larger, both unsigned. The answer is the word as it was. Requests are carried
//! out one after the other, so that of many who raise a word none is forgotten.

use stroma_abi::desc::Parameters;
use stroma_abi::wire::RpcStatus;
use stroma_abi::{codes, layout};
use stroma_kernel_client::{Call, Failed, block, failed};

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 0xface;
/// Bytes of a word, and of the answer.
pub const WORD_LEN: usize = 8;

layout! {
    /// The parameters, all of them in every request.
    KernelName: Little, 16 bytes;
    ADDRESS address: u64 = 0, 0, 64, "of the word, at any alignment";
    VALUE   value:   u64 = 8, 0, 64, "what the word is to be at least";
}

codes! {
    /// Statuses of the kernel's own.
    KernelNameStatus: u32 {
        0x100 BadRequest "The number of parameters is wrong, the request allows no answer of 8 bytes, or it has flags or payload; nothing was touched.";
    }
}

const _: () = assert!(KernelNameStatus::BadRequest as u32 >= RpcStatus::KERNEL);

/// The word as it was.
impl Call for KernelName {
    type Answer = u64;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.to_bytes())
    }

    fn response_max(&self) -> u32 {
        u64::BITS / 8
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<u64, Failed> {
        if status != RpcStatus::Ok as u32 {
            return Err(failed(OPERATION, status));
        }
        let word = bytes.try_into().map(u64::from_le_bytes);
        word.map_err(|_| Failed::Answer { operation: OPERATION, length: bytes.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let asked = KernelName { address: 0x0807_0605_0403_0201, value: 0x100f_0e0d_0c0b_0a09 };
        assert_eq!(asked.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    }

    #[test]
    fn an_answer_is_a_word_and_a_status_is_an_error() {
        let asked = KernelName { address: 0x1000, value: 7 };
        assert_eq!(asked.answer(0, &[1, 2, 0, 0, 0, 0, 0, 0]), Ok(0x201));
        assert_eq!(asked.answer(0, &[1]), Err(Failed::Answer { operation: OPERATION, length: 1 }));
        let access = Failed::Card { operation: OPERATION, status: RpcStatus::Access };
        assert_eq!(asked.answer(2, &[]), Err(access));
        assert_eq!(asked.answer(0x100, &[]), Err(Failed::Kernel { operation: OPERATION, code: 0x100 }));
    }
}
