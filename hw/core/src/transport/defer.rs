//! Requests that have to wait for an atomic, a key or an answer of their queue pair, while everything else goes on.

pub mod heads;
pub mod payload;
