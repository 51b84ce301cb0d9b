//! Requests that know what their answers mean.

use stroma_abi::desc::Parameters;
use stroma_abi::wire::{RpcStatus, RpcTarget};

/// Why a kernel gave no answer of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failed {
    /// The card ended it, or never began it.
    #[error("RPC {operation:#x} ended with status {status:?}")]
    Card {
        /// RPC op-code.
        operation: u16,
        /// What the card says.
        status: RpcStatus,
    },
    /// The kernel refused it.
    #[error("RPC {operation:#x} ended with status {code:#x} of its kernel")]
    Kernel {
        /// RPC op-code.
        operation: u16,
        /// The status: one that the kernel's file in `stroma_abi::kernel` explains.
        code: u32,
    },
    /// The bytes are none that the kernel answers with.
    #[error("{length} bytes are no answer of RPC {operation:#x}")]
    Answer {
        /// RPC op-code.
        operation: u16,
        /// How many there are.
        length: usize,
    },
}

/// A request to a kernel.
pub trait Call {
    /// What the caller gets if all goes well.
    type Answer;
    /// RPC op-code of the kernel.
    const OPERATION: u16;

    /// The parameters.
    fn parameters(&self) -> Parameters;

    /// What follows them, as far as the request itself knows it. A stream out of the caller's memory comes behind that.
    fn payload(&self) -> &[u8] {
        &[]
    }

    /// Bytes of the longest answer.
    fn response_max(&self) -> u32;

    /// What a status and the bytes that came with it mean.
    ///
    /// # Errors
    /// When they are no answer: [`Failed`].
    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed>;

    /// What the request tells the other card of itself.
    fn target(&self) -> RpcTarget {
        RpcTarget {
            response_max: self.response_max(),
            flags: 0,
            parameter_words: self.parameters().words(),
            operation: Self::OPERATION,
        }
    }
}

/// What a status other than 0 is called.
#[must_use]
pub fn failed(operation: u16, status: u32) -> Failed {
    match RpcStatus::from_code(status) {
        Some(status) => Failed::Card { operation, status },
        None => Failed::Kernel { operation, code: status },
    }
}

/// The bytes of status 0, `None` for the kernel's own status `absent`.
pub(crate) fn found(
    operation: u16,
    absent: u32,
    status: u32,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>, Failed> {
    if status == RpcStatus::Ok as u32 {
        Ok(Some(bytes.to_vec()))
    } else if status == absent {
        Ok(None)
    } else {
        Err(failed(operation, status))
    }
}

/// Parameters of a kernel, from the bytes of their layout.
///
/// # Panics
/// When those are no whole words, or more than 64 bytes: no request has such parameters.
#[must_use]
pub fn block(bytes: &[u8]) -> Parameters {
    Parameters::new(bytes).expect("layouts of parameters are whole words, and few")
}

#[cfg(test)]
mod tests {
    use stroma_abi::kernel::consistency::Consistency;
    use stroma_abi::kernel::shuffle::Shuffle;
    use stroma_abi::kernel::traversal::Traversal;

    use super::*;
    use crate::get::{Lookup, Shape};
    use crate::hyperloglog::{self, Sketch};
    use crate::prism::{Chain, Place, Step};
    use crate::shuffle::Shuffled;

    #[test]
    fn what_a_status_means_is_the_kernels_affair_from_0x100_on() {
        let walk = Traversal { value_length: 3, ..Traversal::default() };
        assert_eq!(walk.answer(0, b"abc"), Ok(Some(b"abc".to_vec())));
        assert_eq!(walk.answer(0x100, b""), Ok(None));
        assert_eq!(walk.answer(0x101, b""), Err(Failed::Kernel { operation: 1, code: 0x101 }));
        let access = Failed::Card { operation: 1, status: RpcStatus::Access };
        assert_eq!(walk.answer(2, b"rest"), Err(access));
        assert_eq!(access.to_string(), "RPC 0x1 ended with status Access");
        assert_eq!(walk.answer(0, b"ab"), Err(Failed::Answer { operation: 1, length: 2 }));

        let get = Shape { base: 0x1000, log_buckets: 4 }.request(b"key", 2).expect("a key");
        let get = Lookup { request: get, value_max: 9 };
        assert_eq!(get.answer(0, b"value"), Ok(Some(b"value".to_vec())));
        assert_eq!(get.answer(0x100, b""), Ok(None));
        assert_eq!(get.answer(0x103, b""), Err(Failed::Kernel { operation: 2, code: 0x103 }));

        let object = Consistency { length: 16, ..Consistency::default() };
        assert_eq!(object.answer(0, b"12345678"), Ok(Some(b"12345678".to_vec())));
        assert_eq!(object.answer(0x100, b"whatever"), Ok(None));
        assert_eq!(object.answer(0, b"1234567"), Err(Failed::Answer { operation: 3, length: 7 }));

        assert_eq!(Shuffle::default().answer(0x100, b""), Ok(Shuffled::Overflow));
        assert_eq!(Shuffle::default().answer(0, b""), Ok(Shuffled::All));
        let host = Failed::Card { operation: 4, status: RpcStatus::Host };
        assert_eq!(Shuffle::default().answer(6, b""), Err(host));

        assert_eq!(hyperloglog::clear(5).answer(0, b""), Ok(()));
        let other = Failed::Kernel { operation: 5, code: 0x100 };
        assert_eq!(hyperloglog::read(5).answer(0x100, b""), Err(other));
        assert_eq!(hyperloglog::read(5).answer(0, &vec![0; 65_536]), Ok(Sketch::default()));
        assert_eq!(hyperloglog::read(5).answer(0, &[0; 9]), Err(Failed::Answer { operation: 5, length: 9 }));
    }

    #[test]
    fn a_target_says_what_the_request_needs() {
        let walk = Traversal { value_length: 300, ..Traversal::default() };
        let target = RpcTarget { response_max: 300, flags: 0, parameter_words: 9, operation: 1 };
        assert_eq!(walk.target(), target);
        let object = Consistency { length: 4096, ..Consistency::default() };
        assert_eq!((object.response_max(), object.target().parameter_words), (4088, 4));
        assert_eq!((hyperloglog::clear(1).response_max(), hyperloglog::take(1).response_max()), (0, 65_536));
        let step = Step::allocate(Place::new(0x1000, 7), 8, b"a value");
        let chain = Chain::new().always(step).request().expect("a chain");
        assert_eq!((chain.target().parameter_words, chain.payload().len()), (1, 64 + 7));
    }
}
