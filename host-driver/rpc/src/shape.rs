//! How many calls may be under way, and how large they may be.

use stroma_abi::wire::{ServiceAnswer, ServiceRequest};

/// Sizes of a [`Caller`](crate::Caller), and of the [`Service`](crate::Service) at the other end. Both are told the same: a
/// message longer than the other end expects ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Calls under way, or answered and not taken: at least 1.
    pub places: usize,
    /// Most bytes of parameters and payload in a room; of parameters, payload and stream in a message to the service.
    pub request_bytes: usize,
    /// Most bytes of an answer.
    pub answer_bytes: usize,
}

impl Default for Shape {
    /// 16 places, as many as a card has RPCs in flight; requests of 16 KiB; the longest answers.
    fn default() -> Self {
        Self { places: 16, request_bytes: 1 << 14, answer_bytes: ANSWER_MAX }
    }
}

/// Most bytes of any answer: what a queue pair keeps for its peer.
pub(crate) const ANSWER_MAX: usize = 1 << 16;

impl Shape {
    /// Bytes of the longest request to a service.
    pub(crate) const fn request_message(&self) -> usize {
        ServiceRequest::LEN + self.request_bytes
    }

    /// Bytes of the longest answer of a service.
    pub(crate) const fn answer_message(&self) -> usize {
        ServiceAnswer::LEN + self.answer_bytes
    }
}
