//! Requests and receives that are described by lists of structures.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{ptr, slice};

use libc::{c_int, c_uint};
use rdma_sys::{ibv_qp, ibv_recv_wr, ibv_send_flags as flag, ibv_send_wr, ibv_sge, ibv_wr_opcode};
use stroma_abi::desc::Sge;
use stroma_verbs::{QueuePairKind, ReceiveBatch};

use crate::{
    address::HANDLES,
    failure::{Outcome, invalid, status, unsupported},
    handle::given,
    pair::{PAIRS, Pair},
    region::{REGIONS, window_rights},
    work::{Bind, Data, Operation, Remote, Target, Work},
};

/// The pieces of a list.
///
/// # Safety
/// `list` is null, or has `count` entries.
pub(crate) unsafe fn pieces(list: *const ibv_sge, count: usize) -> Outcome<Vec<Sge>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: by contract.
    let list = unsafe { slice::from_raw_parts(given(list)?, count) };
    Ok(list
        .iter()
        .map(|piece| Sge { address: piece.addr, local_key: piece.lkey, length: piece.length })
        .collect())
}

/// The bytes of a list, as they are now.
///
/// # Safety
/// `list` is null, or has `count` entries, whose memory can be read.
unsafe fn bytes(list: *const ibv_sge, count: usize) -> Outcome<Vec<u8>> {
    // SAFETY: by contract.
    let pieces = unsafe { pieces(list, count) }?;
    let mut bytes = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.length > 0) {
        let at =
            usize::try_from(piece.address).map_err(|_| invalid("inline data beyond the end of memory"))?;
        let at: *const u8 = given(ptr::with_exposed_provenance(at))?;
        // SAFETY: by contract: inline data is the program's, under no key.
        bytes.extend_from_slice(unsafe { slice::from_raw_parts(at, piece.length as usize) });
    }
    Ok(bytes)
}

fn has(flags: c_uint, wanted: flag) -> bool {
    flags & wanted.0 != 0
}

fn count(number: c_int) -> Outcome<usize> {
    usize::try_from(number).map_err(|_| invalid("fewer pieces than none"))
}

/// A request as a structure describes it.
///
/// # Safety
/// The structure is whole, as its op-code and its queue pair want it.
unsafe fn understand(pair: &Pair, wr: &ibv_send_wr) -> Outcome<Work> {
    use ibv_wr_opcode as op;
    // SAFETY: which part of a union counts follows from the op-code; all of them are plain numbers and pointers.
    let (rdma, atomic, immediate, key, bind) = unsafe {
        let detail = &wr.imm_data_invalidated_rkey_union;
        let remote = Remote { address: wr.wr.rdma.remote_addr, key: wr.wr.rdma.rkey };
        (
            remote,
            wr.wr.atomic,
            u32::from_be(detail.imm_data),
            detail.invalidated_rkey,
            wr.bind_mw_tso_union.bind_mw,
        )
    };
    let at = Remote { address: atomic.remote_addr, key: atomic.rkey };
    let operation = match wr.opcode {
        op::IBV_WR_SEND => Operation::Send,
        op::IBV_WR_SEND_WITH_IMM => Operation::SendImm(immediate),
        op::IBV_WR_SEND_WITH_INV => Operation::SendInvalidate(key),
        op::IBV_WR_RDMA_WRITE => Operation::Write(rdma),
        op::IBV_WR_RDMA_WRITE_WITH_IMM => Operation::WriteImm(rdma, immediate),
        op::IBV_WR_RDMA_READ => Operation::Read(rdma),
        op::IBV_WR_ATOMIC_CMP_AND_SWP => Operation::CompareSwap(at, atomic.compare_add, atomic.swap),
        op::IBV_WR_ATOMIC_FETCH_AND_ADD => Operation::FetchAdd(at, atomic.compare_add),
        op::IBV_WR_LOCAL_INV => Operation::Invalidate(key),
        op::IBV_WR_BIND_MW => Operation::Bind(Bind {
            key: bind.rkey,
            region: REGIONS.find(bind.bind_info.mr)?,
            address: bind.bind_info.addr,
            length: bind.bind_info.length,
            access: window_rights(bind.bind_info.mw_access_flags)?,
        }),
        _ => return Err(unsupported("an operation that cards do not have")),
    };
    let target = if pair.inner.kind() == QueuePairKind::Datagram {
        // SAFETY: requests of datagrams have this part.
        let ud = unsafe { wr.wr.ud };
        Some(Target { handle: HANDLES.find(ud.ah)?, queue_pair: ud.remote_qpn, q_key: ud.remote_qkey })
    } else {
        None
    };
    let length = count(wr.num_sge)?;
    // SAFETY: by contract.
    let data = unsafe {
        if has(wr.send_flags, flag::IBV_SEND_INLINE) {
            Data::Inline(bytes(wr.sg_list, length)?)
        } else {
            Data::Pieces(pieces(wr.sg_list, length)?)
        }
    };
    Ok(Work {
        wr_id: wr.wr_id,
        signaled: has(wr.send_flags, flag::IBV_SEND_SIGNALED),
        solicited: has(wr.send_flags, flag::IBV_SEND_SOLICITED),
        fence: has(wr.send_flags, flag::IBV_SEND_FENCE),
        operation,
        data,
        target,
    })
}

/// Posts requests: all of them at once, or, if one is refused, those before it.
pub(crate) unsafe extern "C" fn send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    status("ibv_post_send", || {
        let pair = PAIRS.find(qp)?;
        let mut works = Vec::new();
        let mut next = wr;
        let mut refused = None;
        while !next.is_null() {
            // SAFETY: `ibv_post_send` promises a list of whole structures.
            let (work, following) = unsafe { (understand(&pair, &*next), (*next).next) };
            match work {
                Ok(work) => works.push((next, work)),
                Err(failure) => {
                    refused = Some((next, failure));
                    break;
                }
            }
            next = following;
        }
        let posted = post(&pair, works.iter().map(|(_, work)| work));
        // One of many was refused: then one at a time, up to it.
        let first = match posted {
            Ok(()) => refused,
            Err(_) => {
                works.iter().find_map(|(at, work)| post(&pair, [work]).err().map(|failure| (*at, failure)))
            }
        };
        tell(bad, first)
    })
}

/// Posts requests, all of them or none.
pub(crate) fn post<'a>(pair: &Pair, works: impl IntoIterator<Item = &'a Work>) -> Outcome<()> {
    let mut scratch = pair.scratch();
    scratch.begin();
    let mut batch = pair.inner.start();
    for work in works {
        batch = work.add(pair, &mut scratch, batch)?;
    }
    batch.post()?;
    scratch.keep();
    Ok(())
}

/// Tells which entry of a list was refused first, if one was.
fn tell<T>(bad: *mut *mut T, refused: Option<(*mut T, crate::failure::Failure)>) -> Outcome<()> {
    let Some((at, failure)) = refused else { return Ok(()) };
    if !bad.is_null() {
        // SAFETY: callers promise a place for the pointer.
        unsafe { bad.write(at) };
    }
    Err(failure)
}

/// Posts receives, up to the first that is refused.
pub(crate) unsafe extern "C" fn receive(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    status("ibv_post_recv", || {
        let pair = PAIRS.find(qp)?;
        // SAFETY: `ibv_post_recv` promises a list.
        unsafe { receives(wr, bad, || Ok(pair.inner.receives()?)) }
    })
}

/// Posts a list of receives: all of them at once, or, if one is refused, those before it.
///
/// # Safety
/// `wr` is a list of whole structures, `bad` null or a place for a pointer.
pub(crate) unsafe fn receives<'a>(
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
    batch: impl Fn() -> Outcome<ReceiveBatch<'a>>,
) -> Outcome<()> {
    let mut list = Vec::new();
    let mut next = wr;
    let mut refused = None;
    while !next.is_null() {
        // SAFETY: by contract.
        let (entry, following) = unsafe {
            let entry = &*next;
            (
                count(entry.num_sge)
                    .and_then(|count| pieces(entry.sg_list, count))
                    .map(|list| (entry.wr_id, list)),
                entry.next,
            )
        };
        match entry {
            Ok((wr_id, pieces)) => list.push((next, wr_id, pieces)),
            Err(failure) => {
                refused = Some((next, failure));
                break;
            }
        }
        next = following;
    }
    let all = batch()
        .map(|batch| list.iter().fold(batch, |batch, (_, wr_id, pieces)| batch.receive(*wr_id, pieces)));
    let first = match all.and_then(|all| Ok(all.post()?)) {
        Ok(()) => refused,
        Err(_) => list.iter().find_map(|(at, wr_id, pieces)| {
            let posted = batch().and_then(|batch| Ok(batch.receive(*wr_id, pieces).post()?));
            posted.err().map(|failure| (*at, failure))
        }),
    };
    tell(bad, first)
}
