//! Extended verbs: calls of kernels on the peer's card. `include/stroma.h` tells programs of them.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::slice;

use libc::{c_int, c_void};
use rdma_sys::{ibv_context, ibv_qp, ibv_qp_ex, ibv_qp_init_attr_ex};
use stroma_abi::desc::Sge;
use stroma_verbs::{Parameters, QueuePairKind, RpcTarget};

use crate::{
    builder::begin,
    context::CONTEXTS,
    failure::{Outcome, invalid, number, pointer},
    handle::given,
    pair::{self, PAIRS},
    work::Operation,
};

/// Bytes of a parameter word.
const WORD: usize = 4;
/// `STROMA_QP_INIT_ATTR_RESULT_BYTES`.
const RESULT_BYTES: u64 = 1;

/// `struct stroma_qp_init_attr`.
#[repr(C)]
pub struct QueuePairInit {
    comp_mask: u64,
    result_bytes: u32,
}

impl QueuePairInit {
    /// With answers of up to so many bytes.
    #[must_use]
    pub const fn results(bytes: u32) -> Self {
        Self { comp_mask: RESULT_BYTES, result_bytes: bytes }
    }
}

/// `struct stroma_kernel_info`.
#[repr(C)]
pub struct KernelInfo {
    kernel: u16,
    version: u16,
    parameter_layout: u32,
}

/// Makes a queue pair whose peer may call kernels of this card.
///
/// # Safety
/// `init` is a structure, `more` is null or one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_create_qp(
    context: *mut ibv_context,
    init: *mut ibv_qp_init_attr_ex,
    more: *const QueuePairInit,
) -> *mut ibv_qp {
    pointer("stroma_create_qp", || {
        // SAFETY: by contract.
        let more = unsafe { more.as_ref() };
        if more.is_some_and(|more| more.comp_mask & !RESULT_BYTES != 0) {
            return Err(invalid("an attribute that there is not"));
        }
        let bytes =
            more.filter(|more| more.comp_mask & RESULT_BYTES != 0).map_or(0, |more| more.result_bytes);
        // SAFETY: by contract.
        unsafe { pair::extended(context, init, bytes as usize) }
    })
}

/// The queue pair as one that calls kernels; null if it is no reliable connection, or was not made for requests that are described call by call.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_qp_ex_from_ibv_qp_ex(qp: *mut ibv_qp_ex) -> *mut ibv_qp_ex {
    pointer("stroma_qp_ex_from_ibv_qp_ex", || {
        let kind = PAIRS.find(qp)?.inner.kind();
        if kind == QueuePairKind::Reliable {
            Ok(qp)
        } else {
            Err(invalid("kernels are called over reliable connections"))
        }
    })
}

/// What is called, with so many bytes of parameters.
pub(crate) fn target(kernel: u16, parameter_bytes: usize, response_max: u32) -> Outcome<RpcTarget> {
    let words =
        parameter_bytes.is_multiple_of(WORD).then(|| u8::try_from(parameter_bytes / WORD).ok()).flatten();
    let parameter_words =
        words.ok_or(invalid("parameters are whole words of 4 bytes, and 255 of them at most"))?;
    Ok(RpcTarget { response_max, flags: 0, parameter_words, operation: kernel })
}

/// Calls a kernel with parameters, which are copied. `ibv_wr_set_sge` says where its answer goes.
///
/// # Safety
/// `parameters` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_wr_rpc(
    qp: *mut ibv_qp_ex,
    kernel: u16,
    key: u32,
    parameters: *const c_void,
    length: usize,
) {
    begin("stroma_wr_rpc", qp, || {
        let target = target(kernel, length, 0)?;
        let bytes = if length == 0 {
            &[]
        } else {
            // SAFETY: by contract.
            unsafe { slice::from_raw_parts(given(parameters)?.cast(), length) }
        };
        let parameters =
            Parameters::new(bytes).ok_or(invalid("more parameters than a request has room for"))?;
        Ok(Operation::Rpc { target, key, parameters })
    });
}

/// Calls a kernel and streams bytes through it: `ibv_wr_set_sge_list` says which, the first `parameter_bytes` of them are its parameters. The
/// answer goes to `result`, under `result_key`.
///
/// # Safety
/// None: pointers are looked up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_wr_rpc_write(
    qp: *mut ibv_qp_ex,
    kernel: u16,
    key: u32,
    parameter_bytes: usize,
    result_key: u32,
    result: u64,
    result_length: u32,
) {
    begin("stroma_wr_rpc_write", qp, || {
        let target = target(kernel, parameter_bytes, result_length)?;
        let result = Sge { address: result, local_key: result_key, length: result_length };
        Ok(Operation::RpcWrite { target, key, result })
    });
}

/// The kernels of a card, as many as there is room for; how many it has.
///
/// # Safety
/// `list` is a place for `room` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stroma_query_kernels(
    context: *mut ibv_context,
    list: *mut KernelInfo,
    room: usize,
) -> c_int {
    number("stroma_query_kernels", || {
        let kernels = CONTEXTS.find(context)?.device().kernels()?;
        for (place, kernel) in kernels.iter().take(room).enumerate() {
            given(list)?;
            let info = KernelInfo {
                kernel: kernel.operation,
                version: kernel.version,
                parameter_layout: kernel.parameter_layout,
            };
            // SAFETY: by contract; the place is below `room`.
            unsafe { list.add(place).write(info) };
        }
        Ok(c_int::try_from(kernels.len()).unwrap_or(c_int::MAX))
    })
}
