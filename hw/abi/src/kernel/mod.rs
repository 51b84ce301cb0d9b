//! What requests tell kernels: parameters, one file a kernel, and the statuses with a meaning of the kernel's own.

pub mod consistency;
pub mod get;
pub mod hyperloglog;
pub mod prism;
pub mod shuffle;
pub mod traversal;
