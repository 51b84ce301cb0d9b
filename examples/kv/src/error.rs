//! What can go wrong, with the operation and its values.

use stroma_abi::kernel::prism::{Outcome, Stage};
use stroma_kernel_client::Failed;
use stroma_kernel_client::prism::BadChain;
use stroma_verbs::Status;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What happened below: queues, memory, the card.
    #[error(transparent)]
    Verbs(#[from] stroma_verbs::Error),
    /// A kernel gave no answer of the kind that was asked for. `get` says so of an object whose lengths are wrong.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// A chain that the kernel would refuse: a mistake of this crate.
    #[error(transparent)]
    BadChain(#[from] BadChain),
    /// A store that cannot be laid out.
    #[error(
        "a store of 2^{log_buckets} buckets and 2^{log_buffers} buffers of {buffer_bytes} bytes: {reason}"
    )]
    Layout {
        /// log2 of the buckets.
        log_buckets: u32,
        /// log2 of the buffers.
        log_buffers: u8,
        /// Bytes of a buffer.
        buffer_bytes: u32,
        /// What is wrong with that.
        reason: &'static str,
    },
    /// A key has 1 to 32 bytes.
    #[error("a key of {length} bytes: it has 1 to 32")]
    Key {
        /// What it has.
        length: usize,
    },
    /// A value that does not fit into a buffer.
    #[error("a value of {length} bytes under a key of {key}: a buffer has room for {max}")]
    Value {
        /// Bytes of the value.
        length: usize,
        /// Bytes of the key.
        key: usize,
        /// What would fit.
        max: usize,
    },
    /// No buffer is free. Those of replaced and deleted values are, after a [sweep](crate::Store::sweep).
    #[error(
        "PUT: all {buffers} buffers are taken, and those of replaced values stay so until the store is swept"
    )]
    OutOfSpace {
        /// How many there are.
        buffers: u64,
    },
    /// A bucket has as many keys as entries.
    #[error("PUT: bucket {bucket:#x} has three keys, and room for no other")]
    BucketFull {
        /// Address of the bucket.
        bucket: u64,
    },
    /// Others were faster each time, or somebody who has a lock does not give it back.
    #[error("{operation}: lost {attempts} races in a row at {place:#x}")]
    Contended {
        /// What was to be done.
        operation: &'static str,
        /// Where: a bucket, or the list of buffers.
        place: u64,
        /// How often it was tried.
        attempts: u32,
    },
    /// An object whose CRC does not fit, however often it is read.
    #[error("GET: the object of {length} bytes at {address:#x} does not fit its CRC")]
    Torn {
        /// Where it is.
        address: u64,
        /// Its bytes, CRC included.
        length: u32,
    },
    /// A step of a chain that ended as none of ours should.
    #[error("{operation}: step {step} of its chain ended as {outcome:?} in stage {stage:?}")]
    Chain {
        /// What was to be done.
        operation: &'static str,
        /// Counted from 0.
        step: usize,
        /// How it ended.
        outcome: Outcome,
        /// The DMA that was refused or failed.
        stage: Stage,
    },
    /// A request failed on its way, or the queue pair did before it: it was carried out once or not at all.
    #[error("{operation} on queue pair {queue_pair} ended as {status:?}, vendor code {vendor:#04x}")]
    Completion {
        /// The verb.
        operation: &'static str,
        /// Whose it was.
        queue_pair: u32,
        /// How it ended.
        status: Status,
        /// Detail, for people.
        vendor: u8,
    },
    /// A message that is no request and no answer.
    #[error("a message of {length} bytes that makes no sense")]
    Message {
        /// Bytes of it.
        length: usize,
    },
    /// The server has refused a request.
    #[error("the server refused it: {refusal:?}")]
    Refused {
        /// Why.
        refusal: crate::message::Refusal,
    },
    /// Nothing ended in the time there was.
    #[error("{left} tasks are not done after {cycles} cycles")]
    Stuck {
        /// Tasks that go on.
        left: usize,
        /// How long that was.
        cycles: u64,
    },
}
