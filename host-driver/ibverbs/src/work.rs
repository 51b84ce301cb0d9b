//! A request as a program describes it, by a structure or call by call, and as the driver takes it.

use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_abi::desc::{Sge, WqeHead, wqe::UNIT};
use stroma_kernel_client::prism::Request;
use stroma_verbs::{Access, Batch, Parameters, QueuePairKind, RpcTarget};

use crate::{
    address::Handle,
    chains::Scratch,
    failure::{Failure, Outcome, invalid},
    lock,
    pair::Pair,
    region::Region,
};

/// Pieces in the first unit of a request, and in each that follows.
pub(crate) const PIECES_FIRST: usize = (UNIT - WqeHead::LEN) / Sge::LEN;
pub(crate) const UNIT_PIECES: usize = UNIT / Sge::LEN;
/// Bytes of inline data there.
pub(crate) const INLINE_FIRST: usize = UNIT - WqeHead::LEN;
pub(crate) const UNIT_BYTES: usize = UNIT;

/// A request.
#[derive(Clone, Default)]
pub(crate) struct Work {
    pub(crate) wr_id: u64,
    pub(crate) signaled: bool,
    pub(crate) solicited: bool,
    pub(crate) fence: bool,
    pub(crate) operation: Operation,
    pub(crate) data: Data,
    /// Where a datagram goes.
    pub(crate) target: Option<Target>,
}

/// What it asks for.
#[derive(Clone, Default)]
pub(crate) enum Operation {
    #[default]
    Send,
    SendImm(u32),
    SendInvalidate(u32),
    Write(Remote),
    WriteImm(Remote, u32),
    Read(Remote),
    CompareSwap(Remote, u64, u64),
    FetchAdd(Remote, u64),
    Bind(Bind),
    Invalidate(u32),
    /// The answer comes to the one piece of its data, and has no more bytes than that.
    Rpc {
        target: RpcTarget,
        key: u32,
        parameters: Parameters,
    },
    /// Its data are streamed, parameters first.
    RpcWrite {
        target: RpcTarget,
        key: u32,
        result: Sge,
    },
    /// What its kernel is told waits in memory of the library's. The answer comes to the one piece of its data.
    Chain {
        key: u32,
        request: Box<Request>,
    },
}

/// A place in the peer's memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Remote {
    pub(crate) address: u64,
    pub(crate) key: u32,
}

/// What a window is to stand for.
#[derive(Clone)]
pub(crate) struct Bind {
    pub(crate) key: u32,
    pub(crate) region: Arc<Region>,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) access: Access,
}

/// What it sends, or where it puts what it gets.
#[derive(Clone)]
pub(crate) enum Data {
    Pieces(Vec<Sge>),
    Inline(Vec<u8>),
}

impl Default for Data {
    fn default() -> Self {
        Self::Pieces(Vec::new())
    }
}

/// Where a datagram goes.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) handle: Arc<Handle>,
    pub(crate) queue_pair: u32,
    pub(crate) q_key: u32,
}

const NOT_INLINE: Failure = invalid("inline data of a request that has none");

impl Work {
    /// Is it no longer than the queue pair was made for?
    fn check(&self, pair: &Pair) -> Outcome<()> {
        match &self.data {
            Data::Pieces(pieces) if pieces.len() > pair.cap.max_send_sge as usize => {
                Err(invalid("more pieces than the queue pair was made for"))
            }
            Data::Inline(bytes) if bytes.len() > pair.cap.max_inline_data as usize => {
                Err(invalid("more inline data than the queue pair was made for"))
            }
            _ => Ok(()),
        }
    }

    /// Adds it to a batch.
    pub(crate) fn add<'a>(&self, pair: &Pair, scratch: &mut Scratch, batch: Batch<'a>) -> Outcome<Batch<'a>> {
        self.check(pair)?;
        let mut batch = batch.wr_id(self.wr_id);
        if self.signaled || pair.is_signaled {
            batch = batch.signaled();
        }
        if self.solicited {
            batch = batch.solicited();
        }
        if self.fence {
            batch = batch.fence();
        }
        if pair.inner.kind() == QueuePairKind::Datagram {
            let target = self.target.as_ref().ok_or(invalid("a datagram that does not say where it goes"))?;
            batch = batch.to(&target.handle.inner, Qpn::new(target.queue_pair & 0xff_ffff), target.q_key);
        }
        if let (Operation::Chain { key, request }, Data::Pieces(pieces)) = (&self.operation, &self.data) {
            let result = one(pieces)?;
            let (target, payload) = scratch.chain(pair, request, result)?;
            return Ok(batch.rpc_write(result, &target, *key, &[payload]));
        }
        self.describe(batch)
    }

    fn describe<'a>(&self, batch: Batch<'a>) -> Outcome<Batch<'a>> {
        Ok(match (&self.operation, &self.data) {
            (Operation::Send, Data::Pieces(pieces)) => batch.send(pieces),
            (Operation::Send, Data::Inline(bytes)) => batch.inline_send(bytes),
            (Operation::SendImm(immediate), Data::Pieces(pieces)) => batch.send_imm(pieces, *immediate),
            (Operation::SendImm(immediate), Data::Inline(bytes)) => batch.inline_send_imm(bytes, *immediate),
            (Operation::SendInvalidate(key), Data::Pieces(pieces)) => batch.send_invalidate(pieces, *key),
            (Operation::SendInvalidate(key), Data::Inline(bytes)) => {
                batch.inline_send_invalidate(bytes, *key)
            }
            (Operation::Write(to), Data::Pieces(pieces)) => batch.write(pieces, to.address, to.key),
            (Operation::Write(to), Data::Inline(bytes)) => batch.inline_write(bytes, to.address, to.key),
            (Operation::WriteImm(to, immediate), Data::Pieces(pieces)) => {
                batch.write_imm(pieces, to.address, to.key, *immediate)
            }
            (Operation::WriteImm(to, immediate), Data::Inline(bytes)) => {
                batch.inline_write_imm(bytes, to.address, to.key, *immediate)
            }
            (Operation::Read(from), Data::Pieces(pieces)) => batch.read(pieces, from.address, from.key),
            (Operation::CompareSwap(at, compare, swap), Data::Pieces(pieces)) => {
                batch.compare_swap(one(pieces)?, at.address, at.key, *compare, *swap)
            }
            (Operation::FetchAdd(at, add), Data::Pieces(pieces)) => {
                batch.fetch_add(one(pieces)?, at.address, at.key, *add)
            }
            (Operation::Bind(bind), _) => bind.add(batch)?,
            (Operation::Invalidate(key), _) => batch.invalidate(*key),
            (Operation::Rpc { target, key, parameters }, Data::Pieces(pieces)) => {
                let result = one(pieces)?;
                let target = RpcTarget { response_max: result.length, ..*target };
                batch.rpc(result, &target, *key, *parameters)
            }
            (Operation::RpcWrite { target, key, result }, Data::Pieces(pieces)) => {
                batch.rpc_write(*result, target, *key, pieces)
            }
            (
                Operation::Read(_)
                | Operation::CompareSwap(..)
                | Operation::FetchAdd(..)
                | Operation::Rpc { .. }
                | Operation::RpcWrite { .. },
                Data::Inline(_),
            )
            | (Operation::Chain { .. }, _) => return Err(NOT_INLINE),
        })
    }
}

/// The one piece that a result comes to.
fn one(pieces: &[Sge]) -> Outcome<Sge> {
    match pieces {
        [piece] => Ok(*piece),
        _ => Err(invalid("a result comes to one piece")),
    }
}

impl Bind {
    fn add<'a>(&self, batch: Batch<'a>) -> Outcome<Batch<'a>> {
        let region = lock(&self.region.inner);
        let region = &region.as_ref().ok_or(invalid("a region that is gone"))?.region;
        let outside = || invalid("a window beyond its region");
        let offset = self.address.checked_sub(region.address(0)?).ok_or_else(outside)?;
        let offset = usize::try_from(offset).map_err(|_| outside())?;
        let length = usize::try_from(self.length).map_err(|_| outside())?;
        Ok(batch.bind(self.key, region, offset, length, self.access))
    }
}
