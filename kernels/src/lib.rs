//! Kernels: what a request may have done at the card, beside the data. Each sits in a [`slot`](stroma_hw::slot).
//!
//! A kernel is a folder: its file joins the parts, which stand in the order in which data meet them. What it does is told with its
//! parameters in [`stroma_abi::kernel`], what comes of it by its model in the crate `stroma-kernel-models`; tests hold the RTL against
//! that, on the rig of the crate `stroma-kernel-rig`, which plays the slot's other side.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

pub mod consistency;
pub mod get;
pub mod hyperloglog;
pub mod prism;
pub mod shuffle;
pub mod traversal;

pub use stroma_kernel_parts::ask;

/// What is known of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The RPC op-code that chooses it.
    pub operation: u16,
    /// Grows with each change that a caller can notice.
    pub version: u16,
    /// The fingerprint of its parameters' layout.
    pub parameter_layout: u32,
}

/// A row each: the module that tells what the kernel does, its version, and its parameters.
macro_rules! catalogue {
    ($($kernel:ident $version:literal $parameters:ident;)*) => {
        /// Every kernel there is.
        pub const CATALOGUE: &[Entry] = &[$(Entry {
            name: stringify!($kernel),
            operation: stroma_abi::kernel::$kernel::OPERATION,
            version: $version,
            parameter_layout: stroma_abi::kernel::$kernel::$parameters::LAYOUT,
        },)*];
    };
}

catalogue! {
    consistency 2 Consistency;
    get         1 Get;
    hyperloglog 2 HyperLogLog;
    prism       1 Chain;
    shuffle     1 Shuffle;
    traversal   1 Traversal;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_op_codes_and_layouts_are_unique() {
        let names: BTreeSet<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        let operations: BTreeSet<u16> = CATALOGUE.iter().map(|entry| entry.operation).collect();
        let layouts: BTreeSet<u32> = CATALOGUE.iter().map(|entry| entry.parameter_layout).collect();
        assert_eq!([names.len(), operations.len(), layouts.len()], [CATALOGUE.len(); 3]);
    }
}
