//! What requests tell kernels: parameters, one file a kernel, and the statuses with a meaning of the kernel's own.

pub mod consistency;
pub mod get;
pub mod hyperloglog;
pub mod prism;
pub mod shuffle;
pub mod traversal;

/// Kernels by op-code: their name, and the layout of their parameters.
pub const ALL: &[(u16, &str, u32)] = &[
    (traversal::OPERATION, "traversal", traversal::Traversal::LAYOUT),
    (get::OPERATION, "get", get::Get::LAYOUT),
    (consistency::OPERATION, "consistency", consistency::Consistency::LAYOUT),
    (shuffle::OPERATION, "shuffle", shuffle::Shuffle::LAYOUT),
    (hyperloglog::OPERATION, "hyperloglog", hyperloglog::HyperLogLog::LAYOUT),
    (prism::OPERATION, "prism", prism::Chain::LAYOUT),
];

/// The name of the kernel that an RPC op-code chooses, if it is one of ours.
#[must_use]
pub fn name(operation: u16) -> Option<&'static str> {
    ALL.iter().find(|(of, ..)| *of == operation).map(|(_, name, _)| *name)
}
