//! The caller's side of kernels: parameters from what a program knows, and structures in memory as kernels read them.

#![forbid(unsafe_code)]

mod call;
pub mod consistency;
pub mod get;
pub mod hyperloglog;
pub mod prism;
pub mod shuffle;
mod traversal;

pub use call::{Call, Failed, block, failed};
