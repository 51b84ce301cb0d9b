//! Requests that are described call by call: `ibv_wr_start` and what follows.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{
    slice,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use libc::{c_int, c_void};
use rdma_sys::{ibv_ah, ibv_data_buf, ibv_mw, ibv_mw_bind_info, ibv_qp_ex, ibv_send_flags as flag, ibv_sge};
use stroma_abi::desc::Sge;

use crate::{
    address::HANDLES,
    failure::{Failure, Outcome, invalid, quiet, status, unsupported},
    handle::given,
    lock,
    pair::{PAIRS, Pair},
    post,
    region::{REGIONS, window_rights},
    window::WINDOWS,
    work::{Bind, Data, Operation, Remote, Target, Work},
};

/// `IBV_QP_EX_WITH_*` of the operations that there are: the ten from RDMA WRITE to SEND with invalidate.
const OPERATIONS: u64 = 0x3ff;

/// Requests of a program that has started to describe some. One thread at a time does.
#[derive(Default)]
pub(crate) struct Session {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_open: bool,
    works: Vec<Work>,
    failed: Option<Failure>,
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn open(&self) {
        let state = self.ended.wait_while(self.state(), |state| state.is_open);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        *state = State { is_open: true, ..State::default() };
    }

    fn close(&self) -> (Vec<Work>, Option<Failure>) {
        let State { works, failed, .. } = std::mem::take(&mut *self.state());
        self.ended.notify_one();
        (works, failed)
    }
}

/// Does something with the session of a queue pair; what goes wrong is told when it is complete.
fn during(name: &str, qp: *mut ibv_qp_ex, act: impl FnOnce(&Pair, &mut Vec<Work>) -> Outcome<()>) {
    quiet(name, || {
        let pair = PAIRS.find(qp)?;
        let mut state = pair.session.state();
        let State { works, failed, .. } = &mut *state;
        if let Err(failure) = act(&pair, works) {
            failed.get_or_insert(failure);
        }
        Ok(())
    });
}

/// Begins a request.
pub(crate) fn begin(name: &str, qp: *mut ibv_qp_ex, operation: impl FnOnce() -> Outcome<Operation>) {
    during(name, qp, |_, works| {
        // SAFETY: the queue pair is in the table, so its shell is whole; the program sets these fields before it calls.
        let (wr_id, flags) = unsafe { ((*qp).wr_id, (*qp).wr_flags) };
        let has = |wanted: flag| flags & wanted.0 != 0;
        works.push(Work {
            wr_id,
            signaled: has(flag::IBV_SEND_SIGNALED),
            solicited: has(flag::IBV_SEND_SOLICITED),
            fence: has(flag::IBV_SEND_FENCE),
            operation: operation()?,
            ..Work::default()
        });
        Ok(())
    });
}

/// Goes on with the request that was begun last.
pub(crate) fn go_on(name: &str, qp: *mut ibv_qp_ex, change: impl FnOnce(&mut Work) -> Outcome<()>) {
    during(name, qp, |_, works| change(works.last_mut().ok_or(invalid("no request was begun"))?));
}

unsafe extern "C" fn start(qp: *mut ibv_qp_ex) {
    quiet("ibv_wr_start", || {
        PAIRS.find(qp)?.session.open();
        Ok(())
    });
}

unsafe extern "C" fn complete(qp: *mut ibv_qp_ex) -> c_int {
    status("ibv_wr_complete", || {
        let pair = PAIRS.find(qp)?;
        match pair.session.close() {
            (_, Some(failure)) => Err(failure),
            (works, None) => post::post(&pair, &works),
        }
    })
}

unsafe extern "C" fn abort(qp: *mut ibv_qp_ex) {
    quiet("ibv_wr_abort", || {
        drop(PAIRS.find(qp)?.session.close());
        Ok(())
    });
}

unsafe extern "C" fn compare_swap(qp: *mut ibv_qp_ex, key: u32, address: u64, compare: u64, swap: u64) {
    begin("ibv_wr_atomic_cmp_swp", qp, || Ok(Operation::CompareSwap(Remote { address, key }, compare, swap)));
}

unsafe extern "C" fn fetch_add(qp: *mut ibv_qp_ex, key: u32, address: u64, add: u64) {
    begin("ibv_wr_atomic_fetch_add", qp, || Ok(Operation::FetchAdd(Remote { address, key }, add)));
}

unsafe extern "C" fn bind(qp: *mut ibv_qp_ex, mw: *mut ibv_mw, key: u32, info: *const ibv_mw_bind_info) {
    begin("ibv_wr_bind_mw", qp, || {
        WINDOWS.find(mw)?;
        // SAFETY: `ibv_wr_bind_mw` promises a structure.
        let info = unsafe { *given(info)? };
        let region = REGIONS.find(info.mr)?;
        let access = window_rights(info.mw_access_flags)?;
        Ok(Operation::Bind(Bind { key, region, address: info.addr, length: info.length, access }))
    });
}

unsafe extern "C" fn invalidate(qp: *mut ibv_qp_ex, key: u32) {
    begin("ibv_wr_local_inv", qp, || Ok(Operation::Invalidate(key)));
}

unsafe extern "C" fn read(qp: *mut ibv_qp_ex, key: u32, address: u64) {
    begin("ibv_wr_rdma_read", qp, || Ok(Operation::Read(Remote { address, key })));
}

unsafe extern "C" fn write(qp: *mut ibv_qp_ex, key: u32, address: u64) {
    begin("ibv_wr_rdma_write", qp, || Ok(Operation::Write(Remote { address, key })));
}

unsafe extern "C" fn write_imm(qp: *mut ibv_qp_ex, key: u32, address: u64, immediate: u32) {
    let immediate = u32::from_be(immediate);
    begin("ibv_wr_rdma_write_imm", qp, || Ok(Operation::WriteImm(Remote { address, key }, immediate)));
}

unsafe extern "C" fn send(qp: *mut ibv_qp_ex) {
    begin("ibv_wr_send", qp, || Ok(Operation::Send));
}

unsafe extern "C" fn send_imm(qp: *mut ibv_qp_ex, immediate: u32) {
    begin("ibv_wr_send_imm", qp, || Ok(Operation::SendImm(u32::from_be(immediate))));
}

unsafe extern "C" fn send_inv(qp: *mut ibv_qp_ex, key: u32) {
    begin("ibv_wr_send_inv", qp, || Ok(Operation::SendInvalidate(key)));
}

unsafe extern "C" fn set_target(qp: *mut ibv_qp_ex, ah: *mut ibv_ah, queue_pair: u32, q_key: u32) {
    go_on("ibv_wr_set_ud_addr", qp, |work| {
        work.target = Some(Target { handle: HANDLES.find(ah)?, queue_pair, q_key });
        Ok(())
    });
}

unsafe extern "C" fn set_inline(qp: *mut ibv_qp_ex, address: *mut c_void, length: usize) {
    go_on("ibv_wr_set_inline_data", qp, |work| {
        // SAFETY: `ibv_wr_set_inline_data` promises so many bytes.
        work.data = Data::Inline(unsafe { copied(address, length) }?);
        Ok(())
    });
}

unsafe extern "C" fn set_inline_list(qp: *mut ibv_qp_ex, count: usize, list: *const ibv_data_buf) {
    go_on("ibv_wr_set_inline_data_list", qp, |work| {
        let mut bytes = Vec::new();
        if count > 0 {
            // SAFETY: `ibv_wr_set_inline_data_list` promises a list of so many buffers.
            for buffer in unsafe { slice::from_raw_parts(given(list)?, count) } {
                // SAFETY: and so many bytes in each.
                bytes.extend(unsafe { copied(buffer.addr, buffer.length) }?);
            }
        }
        work.data = Data::Inline(bytes);
        Ok(())
    });
}

/// Bytes of the program, as they are now.
///
/// # Safety
/// There are so many at the address.
unsafe fn copied(address: *mut c_void, length: usize) -> Outcome<Vec<u8>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: by contract.
    Ok(unsafe { slice::from_raw_parts(given(address.cast::<u8>())?, length) }.to_vec())
}

unsafe extern "C" fn set_piece(qp: *mut ibv_qp_ex, key: u32, address: u64, length: u32) {
    go_on("ibv_wr_set_sge", qp, |work| {
        work.data = Data::Pieces(vec![Sge { address, local_key: key, length }]);
        Ok(())
    });
}

unsafe extern "C" fn set_pieces(qp: *mut ibv_qp_ex, count: usize, list: *const ibv_sge) {
    go_on("ibv_wr_set_sge_list", qp, |work| {
        // SAFETY: `ibv_wr_set_sge_list` promises a list of so many.
        work.data = Data::Pieces(unsafe { post::pieces(list, count) }?);
        Ok(())
    });
}

/// Gives a queue pair the functions, if it asks for no operation that there is not.
pub(crate) fn equip(shell: &mut ibv_qp_ex, operations: u64) -> Outcome<()> {
    if operations & !OPERATIONS != 0 {
        return Err(unsupported("an operation that cards do not have"));
    }
    shell.wr_atomic_cmp_swp = Some(compare_swap);
    shell.wr_atomic_fetch_add = Some(fetch_add);
    shell.wr_bind_mw = Some(bind);
    shell.wr_local_inv = Some(invalidate);
    shell.wr_rdma_read = Some(read);
    shell.wr_rdma_write = Some(write);
    shell.wr_rdma_write_imm = Some(write_imm);
    shell.wr_send = Some(send);
    shell.wr_send_imm = Some(send_imm);
    shell.wr_send_inv = Some(send_inv);
    shell.wr_set_ud_addr = Some(set_target);
    shell.wr_set_inline_data = Some(set_inline);
    shell.wr_set_inline_data_list = Some(set_inline_list);
    shell.wr_set_sge = Some(set_piece);
    shell.wr_set_sge_list = Some(set_pieces);
    shell.wr_start = Some(start);
    shell.wr_complete = Some(complete);
    shell.wr_abort = Some(abort);
    Ok(())
}
