//! What a client needs of its connection. Clients do one thing at a time, and so does this.

use stroma_kernel_client::Call;

use crate::Result;

/// A way to a store's memory: by verbs on a [`Line`](crate::Line), or by models of kernels in tests.
pub trait Reach {
    /// Has a kernel of the server's card run.
    fn call<C: Call>(&mut self, call: &C) -> impl Future<Output = Result<C::Answer>>;
    /// Reads the server's memory.
    fn read(&mut self, address: u64, length: usize) -> impl Future<Output = Result<Vec<u8>>>;
    /// Writes to places of the server's memory, one after the other.
    fn write(&mut self, places: &[(u64, &[u8])]) -> impl Future<Output = Result<()>>;
    /// Compares and swaps a word of the server's memory by the transport's atomic; what was there.
    fn compare_swap(&mut self, address: u64, compare: u64, swap: u64) -> impl Future<Output = Result<u64>>;
    /// Sends a message, and waits for the answer to it.
    fn exchange(&mut self, message: &[u8]) -> impl Future<Output = Result<Vec<u8>>>;
    /// Waits a little before the next attempt, longer from one to the next.
    fn pause(&self, attempt: u32) -> impl Future<Output = ()>;
}
