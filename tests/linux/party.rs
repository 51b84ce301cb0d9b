//! An end of a connection, whoever it is: so that each story is told once and runs in both directions.

use std::net::IpAddr;

use anyhow::Result;

use crate::cases::{Family, Link, Operation, Service};

/// Bytes of memory that each end offers.
pub(crate) const AREA: usize = 1 << 20;

/// What one end has to know of the other to connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Its queue pair.
    pub(crate) number: u32,
    /// PSN of its first request.
    pub(crate) psn: u32,
    /// Address of its memory's first byte, and the key that opens it.
    pub(crate) base: u64,
    pub(crate) key: u32,
    /// What datagrams to its queue pair have to know.
    pub(crate) q_key: u32,
}

/// A request; places are offsets into the memory of either end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) local: usize,
    pub(crate) bytes: usize,
    pub(crate) remote: usize,
    /// Immediate data; what is added; or what is compared and what is swapped in.
    pub(crate) operands: [u64; 2],
    /// Bits in which the key of a datagram differs from the right one.
    pub(crate) key_error: u32,
}

/// A request or a receive that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) bytes: usize,
    pub(crate) immediate: u32,
    /// Of a received datagram, which begins with its GRH: the queue pair it came from.
    pub(crate) sender: Option<u32>,
}

/// An end.
pub(crate) trait Party {
    /// A new queue pair, in place of the one before.
    fn offer(&mut self, service: Service) -> Result<Offer>;

    /// Connects it.
    fn connect(&mut self, far: &Offer, link: &Link) -> Result<()>;

    /// Number of its queue pair.
    fn number(&self) -> Result<u32>;

    /// Its IP address.
    fn address(&self, family: Family) -> IpAddr;

    /// Fills memory with bytes that the seed says.
    fn fill(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()>;

    /// Compares memory with such bytes, each of them.
    fn check(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()>;

    /// Eight bytes of memory as a number.
    fn word(&mut self, offset: usize) -> Result<u64>;

    /// Posts a request.
    fn post(&mut self, request: &Request) -> Result<()>;

    /// Posts a receive.
    fn receive(&mut self, offset: usize, bytes: usize) -> Result<()>;

    /// Waits for a completion; one that is no success is an error.
    fn take(&mut self) -> Result<Completed>;

    /// From now on, datagrams go to who has sent the one that was taken last, by what its GRH says, which is at this offset.
    fn reply(&mut self, offset: usize) -> Result<()>;

    /// How many datagrams were refused so far.
    fn refused(&mut self) -> Result<u64>;
}
