//! Completions, in the words of libibverbs.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{fs::File, os::unix::fs::FileExt, sync::LazyLock};

use libc::{c_int, c_uint};
use rdma_sys::{ibv_cq, ibv_wc, ibv_wc_flags, ibv_wc_opcode, imm_data_invalidated_rkey_union_t};
use stroma_abi::Qpn;
use stroma_verbs::{Status, WorkCompletion, WorkOp};

use crate::{
    failure::{invalid, number, status},
    handle::{given, zeroed},
    queue::QUEUES,
};

/// Completions taken at a time.
const CHUNK: usize = 16;
/// What programs of datagrams find in place of a service level: which version of IP the datagram came with.
const IPV4: u8 = 0xa;
const IPV6: u8 = 0x9;

/// Takes completions; how many, or -1.
pub(crate) unsafe extern "C" fn poll(cq: *mut ibv_cq, room: c_int, wc: *mut ibv_wc) -> c_int {
    number("ibv_poll_cq", || {
        let queue = QUEUES.find(cq)?;
        let room = usize::try_from(room).map_err(|_| invalid("room for fewer than none"))?;
        if room > 0 {
            given(wc)?;
        }
        let mut found = [WorkCompletion::default(); CHUNK];
        let mut taken = 0;
        while taken < room {
            let wanted = CHUNK.min(room - taken);
            let count = match queue.inner.poll(&mut found[..wanted]) {
                Ok(count) => count,
                // Those that were taken are told first; the next call meets with the error again, or with what follows it.
                Err(_) if taken > 0 => break,
                Err(error) => return Err(error.into()),
            };
            for completion in &found[..count] {
                // SAFETY: the program has room for `room` completions, and `taken` is below.
                unsafe { wc.add(taken).write(told(completion)) };
                taken += 1;
            }
            if count < wanted {
                break;
            }
        }
        Ok(c_int::try_from(taken).unwrap_or(c_int::MAX))
    })
}

/// Asks for an event at the next completion.
pub(crate) unsafe extern "C" fn notify(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    status("ibv_req_notify_cq", || Ok(QUEUES.find(cq)?.inner.request_notify_of_new(solicited_only != 0)?))
}

/// What was asked for, or received.
pub(crate) fn opcode(completion: &WorkCompletion) -> ibv_wc_opcode::Type {
    match (completion.is_receive, completion.op) {
        (true, WorkOp::WriteImm) => ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM,
        (true, _) => ibv_wc_opcode::IBV_WC_RECV,
        (false, WorkOp::Write | WorkOp::WriteImm | WorkOp::Gather | WorkOp::Scatter) => {
            ibv_wc_opcode::IBV_WC_RDMA_WRITE
        }
        (false, WorkOp::Read) => ibv_wc_opcode::IBV_WC_RDMA_READ,
        (false, WorkOp::CmpSwap) => ibv_wc_opcode::IBV_WC_COMP_SWAP,
        (false, WorkOp::FetchAdd) => ibv_wc_opcode::IBV_WC_FETCH_ADD,
        (false, WorkOp::Bind) => ibv_wc_opcode::IBV_WC_BIND_MW,
        (false, WorkOp::Invalidate) => ibv_wc_opcode::IBV_WC_LOCAL_INV,
        (false, WorkOp::Rpc | WorkOp::RpcWrite) => ibv_wc_opcode::IBV_WC_DRIVER1,
        (false, _) => ibv_wc_opcode::IBV_WC_SEND,
    }
}

/// What came with a message.
pub(crate) fn flags(completion: &WorkCompletion) -> c_uint {
    let flag = |is_set: bool, flag: ibv_wc_flags| if is_set { flag.0 } else { 0 };
    flag(completion.has_grh, ibv_wc_flags::IBV_WC_GRH)
        | flag(completion.immediate.is_some(), ibv_wc_flags::IBV_WC_WITH_IMM)
        | flag(completion.invalidated.is_some(), ibv_wc_flags::IBV_WC_WITH_INV)
}

/// Immediate data as it was on the wire, or the key that a message ended.
pub(crate) fn detail(completion: &WorkCompletion) -> u32 {
    completion.immediate.map_or(completion.invalidated.unwrap_or(0), u32::to_be)
}

/// Detail of an error; of a kernel that ran, how it ended.
pub(crate) fn vendor(completion: &WorkCompletion) -> u32 {
    completion.rpc.unwrap_or(completion.vendor.into())
}

/// The memory of this process, as a file: reading what is not mapped any more is an error there, and nothing else.
static MEMORY: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/self/mem").ok());

/// The service level of a datagram. Its buffer begins with an IPv6 header, or with nothing and an IPv4 header.
pub(crate) fn level(completion: &WorkCompletion) -> u8 {
    let Some(buffer) = completion.buffer.filter(|_| completion.has_grh) else { return 0 };
    let mut first = [0];
    let read = MEMORY.as_ref().is_some_and(|memory| memory.read_exact_at(&mut first, buffer).is_ok());
    if read && first[0] >> 4 == 6 { IPV6 } else { IPV4 }
}

fn told(completion: &WorkCompletion) -> ibv_wc {
    let source = completion.source_qp.map_or(0, Qpn::value);
    let mut wc = ibv_wc {
        wr_id: completion.wr_id,
        // The card's codes are those of libibverbs.
        status: completion.status as u32,
        vendor_err: vendor(completion),
        qp_num: completion.queue_pair,
        opcode: opcode(completion),
        ..zeroed()
    };
    if completion.status == Status::Success {
        wc.byte_len = completion.length;
        wc.imm_data_invalidated_rkey_union =
            imm_data_invalidated_rkey_union_t { imm_data: detail(completion) };
        wc.src_qp = source;
        wc.wc_flags = flags(completion);
        wc.sl = level(completion);
    }
    wc
}
