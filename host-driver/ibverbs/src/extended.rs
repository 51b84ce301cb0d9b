//! Completion queues that are looked at completion by completion: `ibv_start_poll` and what follows.

#![expect(unsafe_code, reason = "pointers of C programs")]

use libc::{c_int, c_uint};
use rdma_sys::{ibv_cq_ex, ibv_create_cq_wc_flags as fields, ibv_poll_cq_attr, ibv_wc_opcode};
use stroma_abi::Qpn;
use stroma_verbs::WorkCompletion;

use crate::{
    failure::{Failure, Outcome, status, unsupported},
    lock, poll,
    queue::{QUEUES, Queue},
};

/// Fields of completions that programs may ask for. Local identifiers and tags of VLANs are 0: the network has none, or the
/// card does not tell.
pub(crate) const FIELDS: u64 = (fields::IBV_WC_EX_WITH_BYTE_LEN.0
    | fields::IBV_WC_EX_WITH_IMM.0
    | fields::IBV_WC_EX_WITH_QP_NUM.0
    | fields::IBV_WC_EX_WITH_SRC_QP.0
    | fields::IBV_WC_EX_WITH_SLID.0
    | fields::IBV_WC_EX_WITH_SL.0
    | fields::IBV_WC_EX_WITH_DLID_PATH_BITS.0
    | fields::IBV_WC_EX_WITH_COMPLETION_TIMESTAMP.0) as u64;

/// The completion that a program is looking at.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    current: WorkCompletion,
}

/// No completion is there.
const NONE: Failure = Failure::Call { errno: libc::ENOENT, why: "no completion" };

fn step(cq: *mut ibv_cq_ex) -> Outcome<()> {
    let queue = QUEUES.find(cq)?;
    let mut found = [WorkCompletion::default()];
    if queue.inner.poll(&mut found)? == 0 {
        return Err(NONE);
    }
    let [current] = found;
    lock(&queue.cursor).current = current;
    QUEUES.show(cq, |shell| (shell.wr_id, shell.status) = (current.wr_id, current.status as u32))
}

/// Takes the first completion. That there is none is no failure to be told in words.
fn quietly(name: &str, cq: *mut ibv_cq_ex) -> c_int {
    match step(cq) {
        Err(failure) if failure.errno() == libc::ENOENT => libc::ENOENT,
        outcome => status(name, || outcome),
    }
}

unsafe extern "C" fn start(cq: *mut ibv_cq_ex, attr: *mut ibv_poll_cq_attr) -> c_int {
    // SAFETY: `ibv_start_poll` promises a structure.
    if !attr.is_null() && unsafe { (*attr).comp_mask } != 0 {
        return status("ibv_start_poll", || Err(unsupported("an attribute of polling")));
    }
    quietly("ibv_start_poll", cq)
}

unsafe extern "C" fn next(cq: *mut ibv_cq_ex) -> c_int {
    quietly("ibv_next_poll", cq)
}

unsafe extern "C" fn end(_cq: *mut ibv_cq_ex) {}

/// What a function finds in the completion that the program is looking at; `0` for a queue that is none.
fn read<T: Default>(cq: *mut ibv_cq_ex, get: impl FnOnce(&WorkCompletion) -> T) -> T {
    let current = |queue: &Queue| get(&lock(&queue.cursor).current);
    QUEUES.find(cq).map(|queue| current(&queue)).unwrap_or_default()
}

unsafe extern "C" fn opcode(cq: *mut ibv_cq_ex) -> ibv_wc_opcode::Type {
    read(cq, poll::opcode)
}

unsafe extern "C" fn vendor(cq: *mut ibv_cq_ex) -> u32 {
    read(cq, poll::vendor)
}

unsafe extern "C" fn length(cq: *mut ibv_cq_ex) -> u32 {
    read(cq, |completion| completion.length)
}

unsafe extern "C" fn immediate(cq: *mut ibv_cq_ex) -> u32 {
    read(cq, poll::detail)
}

unsafe extern "C" fn queue_pair(cq: *mut ibv_cq_ex) -> u32 {
    read(cq, |completion| completion.queue_pair)
}

unsafe extern "C" fn source(cq: *mut ibv_cq_ex) -> u32 {
    read(cq, |completion| completion.source_qp.map_or(0, Qpn::value))
}

unsafe extern "C" fn flags(cq: *mut ibv_cq_ex) -> c_uint {
    read(cq, poll::flags)
}

unsafe extern "C" fn no_identifier(_cq: *mut ibv_cq_ex) -> u32 {
    0
}

unsafe extern "C" fn level(cq: *mut ibv_cq_ex) -> u8 {
    read(cq, poll::level)
}

unsafe extern "C" fn no_bits(_cq: *mut ibv_cq_ex) -> u8 {
    0
}

unsafe extern "C" fn timestamp(cq: *mut ibv_cq_ex) -> u64 {
    read(cq, |completion| completion.timestamp)
}

/// Gives a queue its functions.
pub(crate) fn equip(shell: &mut ibv_cq_ex) {
    shell.start_poll = Some(start);
    shell.next_poll = Some(next);
    shell.end_poll = Some(end);
    shell.read_opcode = Some(opcode);
    shell.read_vendor_err = Some(vendor);
    shell.read_byte_len = Some(length);
    shell.read_imm_data = Some(immediate);
    shell.read_qp_num = Some(queue_pair);
    shell.read_src_qp = Some(source);
    shell.read_wc_flags = Some(flags);
    shell.read_slid = Some(no_identifier);
    shell.read_sl = Some(level);
    shell.read_dlid_path_bits = Some(no_bits);
    shell.read_completion_ts = Some(timestamp);
}
