//! Requests, several at a time.

mod datagram;

use stroma_abi::desc::{
    AtomicOperands, Body, Parameters, Sge, SgeList, WindowBind, WorkOp, Wqe, WqeError, WqeHead,
    wqe::{UNIT, UNITS_MAX},
};
use stroma_abi::wire::RpcTarget;

use crate::{Access, Error, MemoryRegion, QueuePair, Result};

/// A request as it goes into the ring, but for its index.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) wr_id: u64,
    pub(crate) index: u16,
    /// Whole units.
    pub(crate) bytes: Vec<u8>,
}

/// Requests to be posted together, in the style of `ibv_wr_start`: what describes a request comes before it.
///
/// Nothing is posted before [`post`](Self::post), and then either all of it or nothing. A mistake on the way is told
/// there.
#[derive(Debug)]
#[must_use = "nothing is posted before `post`"]
pub struct Batch<'a> {
    queue_pair: &'a QueuePair,
    requests: Vec<Request>,
    /// Of the request that comes next.
    head: WqeHead,
    wr_id: u64,
    /// The request that comes next says where it goes.
    has_target: bool,
    push: bool,
    failed: Option<Error>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(queue_pair: &'a QueuePair) -> Self {
        Self {
            queue_pair,
            requests: Vec::new(),
            head: WqeHead::default(),
            wr_id: 0,
            has_target: false,
            push: false,
            failed: None,
        }
    }

    /// The next request completes with this number.
    pub fn wr_id(mut self, wr_id: u64) -> Self {
        self.wr_id = wr_id;
        self
    }

    /// The next request completes also when it succeeds.
    pub fn signaled(mut self) -> Self {
        self.head.signaled = true;
        self
    }

    /// The next request wakes a receiver that waits for solicited messages alone.
    pub fn solicited(mut self) -> Self {
        self.head.solicited = true;
        self
    }

    /// The next request waits until the READs, atomics and RPCs before it are done.
    pub fn fence(mut self) -> Self {
        self.head.fence = true;
        self
    }

    /// The batch goes to the card through push windows, if each of its requests has at most four units and the card
    /// has windows; otherwise by the doorbell, as without this. What happens is the same, sooner.
    pub fn push(mut self, push: bool) -> Self {
        self.push = push;
        self
    }

    /// Does nothing, and completes.
    pub fn nop(self) -> Self {
        self.request(WorkOp::Nop, Ok(Body::Nop))
    }

    /// Copies pieces of local memory, one behind the other, to `target`.
    pub fn gather(mut self, pieces: &[Sge], target: u64, target_key: u32) -> Self {
        (self.head.remote, self.head.key) = (target, target_key);
        let body = self.list(pieces);
        self.request(WorkOp::Gather, body)
    }

    /// Copies `bytes`, as they are now, to `target`.
    pub fn inline_gather(mut self, bytes: &[u8], target: u64, target_key: u32) -> Self {
        (self.head.remote, self.head.key) = (target, target_key);
        self.request(WorkOp::Gather, Ok(Body::Inline(bytes)))
    }

    /// Copies what is at `source` to pieces of local memory, one behind the other.
    pub fn scatter(mut self, source: u64, source_key: u32, pieces: &[Sge]) -> Self {
        (self.head.remote, self.head.key) = (source, source_key);
        let body = self.list(pieces);
        self.request(WorkOp::Scatter, body)
    }

    /// Writes pieces of local memory, one behind the other, to `target` in the peer's memory, under the peer's key.
    pub fn write(mut self, pieces: &[Sge], target: u64, target_key: u32) -> Self {
        (self.head.remote, self.head.key) = (target, target_key);
        let body = self.list(pieces);
        self.request(WorkOp::Write, body)
    }

    /// Writes `bytes`, as they are now, to `target` in the peer's memory.
    pub fn inline_write(mut self, bytes: &[u8], target: u64, target_key: u32) -> Self {
        (self.head.remote, self.head.key) = (target, target_key);
        self.request(WorkOp::Write, Ok(Body::Inline(bytes)))
    }

    /// As [`write`](Self::write), and completes a receive of the peer with `immediate`.
    pub fn write_imm(mut self, pieces: &[Sge], target: u64, target_key: u32, immediate: u32) -> Self {
        (self.head.remote, self.head.key, self.head.immediate) = (target, target_key, immediate);
        let body = self.list(pieces);
        self.request(WorkOp::WriteImm, body)
    }

    /// As [`inline_write`](Self::inline_write), and completes a receive of the peer with `immediate`.
    pub fn inline_write_imm(mut self, bytes: &[u8], target: u64, target_key: u32, immediate: u32) -> Self {
        (self.head.remote, self.head.key, self.head.immediate) = (target, target_key, immediate);
        self.request(WorkOp::WriteImm, Ok(Body::Inline(bytes)))
    }

    /// Reads what is at `source` in the peer's memory into pieces of local memory, one behind the other.
    pub fn read(mut self, pieces: &[Sge], source: u64, source_key: u32) -> Self {
        (self.head.remote, self.head.key) = (source, source_key);
        let body = self.list(pieces);
        self.request(WorkOp::Read, body)
    }

    /// Sends pieces of local memory, one behind the other, to the peer's next receive.
    pub fn send(self, pieces: &[Sge]) -> Self {
        let body = self.list(pieces);
        self.request(WorkOp::Send, body)
    }

    /// As [`send`](Self::send), with `immediate` for the completion of the receive.
    pub fn send_imm(mut self, pieces: &[Sge], immediate: u32) -> Self {
        self.head.immediate = immediate;
        let body = self.list(pieces);
        self.request(WorkOp::SendImm, body)
    }

    /// Sends `bytes`, as they are now, to the peer's next receive.
    pub fn inline_send(self, bytes: &[u8]) -> Self {
        self.request(WorkOp::Send, Ok(Body::Inline(bytes)))
    }

    /// As [`inline_send`](Self::inline_send), with `immediate` for the completion of the receive.
    pub fn inline_send_imm(mut self, bytes: &[u8], immediate: u32) -> Self {
        self.head.immediate = immediate;
        self.request(WorkOp::SendImm, Ok(Body::Inline(bytes)))
    }

    /// As [`send`](Self::send), and ends `key`, that of a memory window which the peer has bound to its queue pair.
    pub fn send_invalidate(mut self, pieces: &[Sge], key: u32) -> Self {
        self.head.immediate = key;
        let body = self.list(pieces);
        self.request(WorkOp::SendInv, body)
    }

    /// Sends `bytes`, as they are now, and ends `key` as [`send_invalidate`](Self::send_invalidate) does.
    pub fn inline_send_invalidate(mut self, bytes: &[u8], key: u32) -> Self {
        self.head.immediate = key;
        self.request(WorkOp::SendInv, Ok(Body::Inline(bytes)))
    }

    /// Binds the memory window of `key` to `len` bytes of `region` from `offset` on: from now on the peer of this queue pair,
    /// and nobody else, has `access` to them under that key, which [`next_key`](crate::MemoryWindow::next_key) made.
    pub fn bind(
        mut self,
        key: u32,
        region: &MemoryRegion,
        offset: usize,
        len: usize,
        access: Access,
    ) -> Self {
        self.head.key = key;
        let window = region.part(offset, len).map(|base| {
            let (length, rights) = (len as u64, access.bits());
            Body::Window(WindowBind { base, length, rights, region: region.lkey() })
        });
        self.request(WorkOp::Bind, window)
    }

    /// Ends `key`, that of a memory window. When it completes, the peer neither reads nor writes under it any more.
    pub fn invalidate(mut self, key: u32) -> Self {
        self.head.key = key;
        self.request(WorkOp::Invalidate, Ok(Body::Nop))
    }

    /// Swaps the eight bytes at `target` in the peer's memory for `swap` if they are `compare`; what was there comes to `result`.
    /// `target` is a multiple of eight.
    pub fn compare_swap(self, result: Sge, target: u64, target_key: u32, compare: u64, swap: u64) -> Self {
        self.atomic(WorkOp::CmpSwap, result, (target, target_key), AtomicOperands { swap_add: swap, compare })
    }

    /// Adds to the eight bytes at `target` in the peer's memory; what was there comes to `result`. `target` is a multiple of eight.
    pub fn fetch_add(self, result: Sge, target: u64, target_key: u32, add: u64) -> Self {
        let operands = AtomicOperands { swap_add: add, compare: 0 };
        self.atomic(WorkOp::FetchAdd, result, (target, target_key), operands)
    }

    fn atomic(
        mut self,
        op: WorkOp,
        result: Sge,
        (target, target_key): (u64, u32),
        operands: AtomicOperands,
    ) -> Self {
        (self.head.remote, self.head.key) = (target, target_key);
        self.request(op, Ok(Body::Atomic { operands, result }))
    }

    /// Runs the kernel of the peer's card that `target` names, with `parameters`. It acts on the peer's memory under `key`. Its answer,
    /// at most `response_max` bytes of the target, comes to `result`, which has room for all of them; its status and how many
    /// bytes it has, with the completion. The target's `parameter_words` follow from `parameters`.
    pub fn rpc(mut self, result: Sge, target: &RpcTarget, key: u32, parameters: Parameters) -> Self {
        (self.head.remote, self.head.key) = (target.to_address(), key);
        self.request(WorkOp::Rpc, Ok(Body::Rpc { result, parameters }))
    }

    /// As [`rpc`](Self::rpc), and streams pieces of local memory, one behind the other, through the kernel. The first
    /// `parameter_words` of them are its parameters.
    pub fn rpc_write(mut self, result: Sge, target: &RpcTarget, key: u32, pieces: &[Sge]) -> Self {
        (self.head.remote, self.head.key) = (target.to_address(), key);
        let payload = self.pieces(pieces);
        self.request(WorkOp::RpcWrite, payload.map(|payload| Body::RpcWrite { result, payload }))
    }

    /// Posts the requests: writes them to the send queue and tells the card.
    ///
    /// # Errors
    /// [`Error::BadRequest`], [`Error::TooManyPieces`], [`Error::WrongState`], [`Error::QueueFull`], and of datagrams [`Error::NoDestination`],
    /// [`Error::WrongKind`], [`Error::OtherDevice`]: nothing was posted.
    /// When the card cannot be reached, it may have been.
    pub fn post(mut self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.requests.is_empty() {
            return Ok(());
        }
        self.queue_pair.post(&mut self.requests, self.push)
    }

    fn list(&self, pieces: &[Sge]) -> Result<Body<'static>> {
        self.pieces(pieces).map(Body::Gather)
    }

    fn pieces(&self, pieces: &[Sge]) -> Result<SgeList> {
        let max = self.queue_pair.device().card().capabilities().sges as usize;
        let too_many = Error::TooManyPieces { position: self.requests.len(), count: pieces.len(), max };
        let list = SgeList::new(pieces).filter(|_| pieces.len() <= max);
        list.ok_or(too_many)
    }

    fn request(mut self, op: WorkOp, body: Result<Body<'_>>) -> Self {
        let head = WqeHead { opcode: op as u8, ..self.head };
        let have = self.queue_pair.device().card().capabilities().wqe_units as usize;
        let body = self.check_target(op).and(body);
        match body.and_then(|body| encode(self.requests.len(), head, &body, have)) {
            Ok(bytes) => self.requests.push(Request { wr_id: self.wr_id, index: 0, bytes }),
            Err(error) => self.failed = self.failed.or(Some(error)),
        }
        self.head = WqeHead::default();
        (self.wr_id, self.has_target) = (0, false);
        self
    }
}

fn encode(position: usize, head: WqeHead, body: &Body<'_>, have: usize) -> Result<Vec<u8>> {
    let bad = |source| Error::BadRequest { position, source };
    let request = Wqe::new(head, *body).map_err(bad)?;
    let need = usize::from(request.head().units);
    if need > have {
        return Err(bad(WqeError::Units { need, have }));
    }
    let mut bytes = [0; UNITS_MAX * UNIT];
    let len = request.encode(&mut bytes).map_err(bad)?;
    Ok(bytes[..len].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rpc_says_what_it_was_given() {
        let target = RpcTarget { response_max: 600, flags: 3, parameter_words: 0, operation: 7 };
        let result = Sge { address: 0x1234_0000, local_key: 0x55, length: 600 };
        let head =
            |op| WqeHead { opcode: op as u8, remote: target.to_address(), key: 9, ..WqeHead::default() };
        let parameters = Parameters::new(&[5; 20]).unwrap();
        let bytes = encode(0, head(WorkOp::Rpc), &Body::Rpc { result, parameters }, 8).unwrap();
        let found = Wqe::decode(&bytes).unwrap();
        assert_eq!((found.head().units, found.head().length, found.head().key), (2, 20, 9));
        let told = RpcTarget::from_address(found.head().remote);
        assert_eq!(told, RpcTarget { parameter_words: 5, ..target });
        assert_eq!(*found.body(), Body::Rpc { result, parameters });

        let payload = SgeList::new(&[Sge { address: 8, local_key: 6, length: 100 }; 2]).unwrap();
        let body = Body::RpcWrite { result, payload };
        let bytes = encode(0, head(WorkOp::RpcWrite), &body, 8).unwrap();
        let found = Wqe::decode(&bytes).unwrap();
        assert_eq!((found.head().units, found.head().length, found.head().sge_count), (2, 200, 2));
        assert_eq!(RpcTarget::from_address(found.head().remote), target);
        assert_eq!(*found.body(), body);
        // One unit holds the result and one piece more.
        let small = encode(0, head(WorkOp::RpcWrite), &body, 1);
        assert!(matches!(small, Err(Error::BadRequest { source: WqeError::Units { need: 2, have: 1 }, .. })));
    }
}
