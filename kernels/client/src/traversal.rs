//! For the kernel `traversal`, whose parameters say everything: see [`stroma_abi::kernel::traversal`].

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::{OPERATION, Traversal, TraversalStatus};

use crate::call::{Call, Failed, block, found};

/// The value behind the key; `None` if no element fits.
impl Call for Traversal {
    type Answer = Option<Vec<u8>>;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.to_bytes())
    }

    fn response_max(&self) -> u32 {
        self.value_length
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed> {
        let value = found(OPERATION, TraversalStatus::NotFound as u32, status, bytes)?;
        let wrong = value.as_ref().is_some_and(|value| value.len() != self.value_length as usize);
        if wrong { Err(Failed::Answer { operation: OPERATION, length: bytes.len() }) } else { Ok(value) }
    }
}
