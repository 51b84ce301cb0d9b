//! Extended verbs of one operation each, which the peer's kernel `prism` carries out: a READ through a pointer, and a compare-and-swap of more
//! than one word, with masks.
//!
//! What `prism` is told does not fit into a request, which names memory of the caller's instead. So that programs need none for it, the
//! library has some: a slot for each request that may be under way, twice, for the slots of requests that are being posted are written before the
//! send queue says that it has room for them.

#![expect(unsafe_code, reason = "pointers of C programs")]

use rdma_sys::ibv_qp_ex;
use stroma_abi::desc::Sge;
use stroma_abi::kernel::prism::{
    Chain as Parameters, Comparison, OPERATION, Operands, Operation as Encoded, SWAP_MAX,
};
use stroma_kernel_client::prism::{Chain, Place, Request, Step, Swap};
use stroma_verbs::{Access, MemoryRegion, RpcTarget};

use crate::{
    builder::begin,
    failure::{Failure, Outcome, invalid},
    handle::given,
    kernels,
    pair::Pair,
    work::Operation,
};

/// Bytes of a slot: parameters, an operation and its operands, and no more than that.
const SLOT: usize = 256;
const _: () = assert!(Parameters::LEN + Encoded::LEN + Operands::LEN <= SLOT);
/// Slots for a request that may be under way.
const SLOTS: usize = 2;
/// Bytes of a word.
const WORD: usize = 8;

/// `struct stroma_cas`.
#[repr(C)]
pub struct CompareAndSwap {
    /// Bytes: 8, 16, 24 or 32.
    pub length: u32,
    /// An `enum stroma_comparison`.
    pub comparison: u32,
    /// What is offered.
    pub compare: [u8; SWAP_MAX],
    /// Bits that are compared.
    pub compare_mask: [u8; SWAP_MAX],
    /// What is swapped in.
    pub swap: [u8; SWAP_MAX],
    /// Bits that are swapped.
    pub swap_mask: [u8; SWAP_MAX],
}

/// Payloads of requests that may be under way.
#[derive(Default)]
pub(crate) struct Scratch {
    region: Option<MemoryRegion>,
    /// The slot that comes next, and how many behind it the requests have that are being posted.
    next: usize,
    taken: usize,
}

impl Scratch {
    /// Requests are being posted; those before them were not, if nobody said so.
    pub(crate) fn begin(&mut self) {
        self.taken = 0;
    }

    /// Those requests are posted.
    pub(crate) fn keep(&mut self) {
        self.next += self.taken;
    }

    /// Where a payload now waits.
    fn put(&mut self, pair: &Pair, payload: &[u8]) -> Outcome<Sge> {
        let units = usize::from(pair.inner.send_units());
        if self.taken == units {
            return Err(Failure::Call { errno: libc::ENOMEM, why: "more requests than the send queue has" });
        }
        let region = match self.region.take() {
            Some(region) => region,
            None => pair.domain.inner.allocate(SLOTS * units * SLOT, Access::LOCAL_READ)?,
        };
        let region = self.region.insert(region);
        let at = (self.next + self.taken) % (SLOTS * units) * SLOT;
        region.write(at, payload)?;
        self.taken += 1;
        Ok(region.piece(at, payload.len())?)
    }

    /// How a chain is posted: the target of its call, and the piece that is streamed to it.
    pub(crate) fn chain(&mut self, pair: &Pair, request: &Request, result: Sge) -> Outcome<(RpcTarget, Sge)> {
        if result.length < request.response_max {
            return Err(invalid("an answer that is longer than its piece"));
        }
        let target = kernels::target(OPERATION, request.parameters.len(), request.response_max)?;
        let payload = [&request.parameters[..], &request.payload].concat();
        Ok((target, self.put(pair, &payload)?))
    }
}

fn operation(step: Step, key: u32) -> Outcome<Operation> {
    let request = Chain::new().always(step).request();
    let request = request.map_err(|_| invalid("more bytes than an operation moves, or none"))?;
    Ok(Operation::Chain { key, request: Box::new(request) })
}

/// Reads what a pointer in the peer's memory points to. `ibv_wr_set_sge` says where the answer goes, which begins with reports.
///
/// # Safety
/// None: pointers are looked up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_wr_read_indirect(qp: *mut ibv_qp_ex, key: u32, pointer: u64, length: u32) {
    begin("stroma_wr_read_indirect", qp, || {
        operation(Step::read(Place::new(pointer, key), length as usize).through_pointer(), key)
    });
}

/// Compares and swaps 1 to 4 words. The answer begins with reports, and has what was there before behind them.
///
/// # Safety
/// `cas` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_wr_cas_ext(
    qp: *mut ibv_qp_ex,
    key: u32,
    address: u64,
    cas: *const CompareAndSwap,
) {
    begin("stroma_wr_cas_ext", qp, || {
        // SAFETY: by contract.
        let cas = unsafe { &*given(cas)? };
        let comparison = u8::try_from(cas.comparison).ok().and_then(Comparison::from_code);
        let comparison = comparison.ok_or(invalid("no comparison"))?;
        let length = cas.length as usize;
        if !length.is_multiple_of(WORD) || !(WORD..=SWAP_MAX).contains(&length) {
            return Err(invalid("1 to 4 words are swapped"));
        }
        let (words, _) = cas.swap[..length].as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let swap =
            Swap::new(comparison, &cas.compare, &words).comparing(&cas.compare_mask).swapping(&cas.swap_mask);
        operation(Step::swap(Place::new(address, key), &swap), key)
    });
}
