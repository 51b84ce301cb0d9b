//! Two cards, and all that a program has on them.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, LazyLock};

use libc::c_int;
use rdma_sys::{
    ibv_access_flags as access, ibv_context, ibv_cq, ibv_gid, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr,
    ibv_qp_attr_mask as mask, ibv_qp_cap, ibv_qp_init_attr, ibv_qp_init_attr_ex,
    ibv_qp_init_attr_mask as init_mask, ibv_qp_state, ibv_qp_type, ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_wc,
};
use stroma_fabric::{Fabric, Plan, Report};
use stroma_ibverbs::*;

/// Bytes of each program's memory.
pub(crate) const LENGTH: usize = 8192;
/// `STROMA_ACCESS_RPC`.
const RPC: u32 = 1 << 29;
/// The address that the stories use.
const GID: u8 = 1;

/// Serves two cards, once.
static CARDS: LazyLock<()> = LazyLock::new(|| {
    // The folder is left to the system: the cards are served until the process ends.
    let folder = tempfile::tempdir().unwrap().keep();
    let report: Report = Arc::new(|_| {});
    Fabric::start(&Plan::new(&folder), &report).unwrap();
    // SAFETY: whoever reads the variable does so through this library, behind the lock of the first use.
    unsafe { std::env::set_var("STROMA_FABRIC", folder) };
});

/// A structure of C, all zero.
pub(crate) fn zero<T>() -> T {
    // SAFETY: for structures of libibverbs alone, which may be.
    unsafe { std::mem::zeroed() }
}

/// The number of the last error.
pub(crate) fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

/// Asserts that a call which answers a pointer was refused.
#[track_caller]
pub(crate) fn refused<T>(pointer: *mut T, expected: c_int) {
    let errno = errno();
    assert!(pointer.is_null());
    assert_eq!(errno, expected);
}

/// A program's side of a card.
pub(crate) struct End {
    pub(crate) context: *mut ibv_context,
    pub(crate) pd: *mut ibv_pd,
    pub(crate) cq: *mut ibv_cq,
    pub(crate) qp: *mut ibv_qp,
    pub(crate) mr: *mut ibv_mr,
    pub(crate) memory: Vec<u8>,
    /// What its peer may do, beside `LOCAL_WRITE`.
    rights: u32,
}

/// Opens a card by its place in the list.
pub(crate) fn open(card: usize) -> *mut ibv_context {
    LazyLock::force(&CARDS);
    let mut count = 0;
    // SAFETY: the list has so many devices until it is freed.
    unsafe {
        let list = ibv_get_device_list(&raw mut count);
        assert_eq!(count, 2);
        let context = ibv_open_device(*list.add(card));
        ibv_free_device_list(list);
        assert!(!context.is_null());
        context
    }
}

/// What queue pairs of stories are made with.
pub(crate) fn wanted(cq: *mut ibv_cq, kind: ibv_qp_type::Type) -> ibv_qp_init_attr {
    let cap = ibv_qp_cap {
        max_send_wr: 16,
        max_recv_wr: 16,
        max_send_sge: 2,
        max_recv_sge: 2,
        max_inline_data: 64,
    };
    ibv_qp_init_attr { send_cq: cq, recv_cq: cq, cap, qp_type: kind, ..zero() }
}

impl End {
    pub(crate) fn new(card: usize) -> Self {
        Self::granting(card, 0)
    }

    /// One whose peer may do more than READs, WRITEs and atomics.
    fn granting(card: usize, more: u32) -> Self {
        let context = open(card);
        let mut memory = vec![0; LENGTH];
        let usual = access::IBV_ACCESS_REMOTE_WRITE
            | access::IBV_ACCESS_REMOTE_READ
            | access::IBV_ACCESS_REMOTE_ATOMIC;
        let rights = usual.0 | more;
        let local = access::IBV_ACCESS_LOCAL_WRITE.0;
        // SAFETY: the memory lives as long as the region, and the structure as long as the call.
        unsafe {
            let pd = ibv_alloc_pd(context);
            let cq = ibv_create_cq(context, 64, ptr::null_mut(), ptr::null_mut(), 0);
            let qp = ibv_create_qp(pd, &mut wanted(cq, ibv_qp_type::IBV_QPT_RC));
            let mr = ibv_reg_mr(pd, memory.as_mut_ptr().cast(), LENGTH, (rights | local).cast_signed());
            assert!(!pd.is_null() && !cq.is_null() && !qp.is_null() && !mr.is_null());
            Self { context, pd, cq, qp, mr, memory, rights }
        }
    }

    /// One whose requests are described call by call.
    pub(crate) fn describing(card: usize) -> Self {
        Self::new(card).described(ptr::null())
    }

    /// One whose peer may call kernels too.
    pub(crate) fn called(card: usize) -> Self {
        Self::granting(card, RPC).described(&QueuePairInit::results(4096))
    }

    /// With a queue pair whose requests are described call by call, and more that is told of it.
    fn described(self, more: *const QueuePairInit) -> Self {
        let mut end = self;
        let mut init: ibv_qp_init_attr_ex = zero();
        let plain = wanted(end.cq, ibv_qp_type::IBV_QPT_RC);
        (init.send_cq, init.recv_cq, init.cap, init.qp_type) = (end.cq, end.cq, plain.cap, plain.qp_type);
        init.comp_mask = (init_mask::IBV_QP_INIT_ATTR_PD | init_mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS).0;
        (init.pd, init.send_ops_flags) = (end.pd, 0x3ff);
        // SAFETY: a whole structure; the queue pair that it had is not used any more.
        unsafe {
            assert_eq!(ibv_destroy_qp(end.qp), 0);
            end.qp = stroma_create_qp(end.context, &raw mut init, more);
        }
        assert!(!end.qp.is_null());
        end
    }

    /// Two of them, connected.
    pub(crate) fn pair() -> [Self; 2] {
        let ends = [Self::new(0), Self::new(1)];
        ends[0].connect(&ends[1]);
        ends[1].connect(&ends[0]);
        ends
    }

    pub(crate) fn gid(&self) -> ibv_gid {
        let mut gid = zero();
        // SAFETY: a place for the answer.
        assert_eq!(unsafe { ibv_query_gid(self.context, 1, GID.into(), &raw mut gid) }, 0);
        gid
    }

    #[track_caller]
    fn modify(&self, attr: &mut ibv_qp_attr, given: mask) {
        // SAFETY: a whole structure.
        assert_eq!(unsafe { ibv_modify_qp(self.qp, &raw mut *attr, given.0.cast_signed()) }, 0);
    }

    pub(crate) fn connect(&self, peer: &Self) {
        let mut attr: ibv_qp_attr = zero();
        attr.qp_state = ibv_qp_state::IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = self.rights;
        self.modify(
            &mut attr,
            mask::IBV_QP_STATE | mask::IBV_QP_PKEY_INDEX | mask::IBV_QP_PORT | mask::IBV_QP_ACCESS_FLAGS,
        );
        attr.qp_state = ibv_qp_state::IBV_QPS_RTR;
        attr.path_mtu = 3;
        // SAFETY: a queue pair of the story's.
        attr.dest_qp_num = unsafe { (*peer.qp).qp_num };
        (attr.max_dest_rd_atomic, attr.min_rnr_timer) = (4, 12);
        attr.ah_attr.grh.dgid = peer.gid();
        attr.ah_attr.grh.sgid_index = GID;
        (attr.ah_attr.grh.hop_limit, attr.ah_attr.is_global, attr.ah_attr.port_num) = (1, 1, 1);
        self.modify(
            &mut attr,
            mask::IBV_QP_STATE
                | mask::IBV_QP_AV
                | mask::IBV_QP_PATH_MTU
                | mask::IBV_QP_DEST_QPN
                | mask::IBV_QP_RQ_PSN
                | mask::IBV_QP_MAX_DEST_RD_ATOMIC
                | mask::IBV_QP_MIN_RNR_TIMER,
        );
        attr.qp_state = ibv_qp_state::IBV_QPS_RTS;
        (attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.max_rd_atomic) = (14, 7, 7, 4);
        self.modify(
            &mut attr,
            mask::IBV_QP_STATE
                | mask::IBV_QP_TIMEOUT
                | mask::IBV_QP_RETRY_CNT
                | mask::IBV_QP_RNR_RETRY
                | mask::IBV_QP_SQ_PSN
                | mask::IBV_QP_MAX_QP_RD_ATOMIC,
        );
    }

    /// A piece of its memory.
    pub(crate) fn piece(&self, at: usize, length: u32) -> ibv_sge {
        // SAFETY: a region of the story's.
        let lkey = unsafe { (*self.mr).lkey };
        ibv_sge { addr: self.memory.as_ptr().addr() as u64 + at as u64, length, lkey }
    }

    /// Posts a list of requests; what the call answers, and which it blames.
    pub(crate) fn post(&self, wr: &mut ibv_send_wr) -> (c_int, *mut ibv_send_wr) {
        let mut bad = ptr::null_mut();
        // SAFETY: a list of whole structures; the queue pair's shell can be read, also for a while after its end.
        let outcome =
            unsafe { (*(*self.qp).context).ops.post_send.unwrap()(self.qp, &raw mut *wr, &raw mut bad) };
        (outcome, bad)
    }

    /// The same with receives.
    pub(crate) fn receive(&self, wr: &mut ibv_recv_wr) -> (c_int, *mut ibv_recv_wr) {
        let mut bad = ptr::null_mut();
        // SAFETY: as above.
        let outcome =
            unsafe { (*(*self.qp).context).ops.post_recv.unwrap()(self.qp, &raw mut *wr, &raw mut bad) };
        (outcome, bad)
    }

    /// Completions that are there.
    pub(crate) fn poll(&self) -> Result<Option<ibv_wc>, c_int> {
        let mut found = zero();
        // SAFETY: room for one.
        match unsafe { (*self.context).ops.poll_cq.unwrap()(self.cq, 1, &raw mut found) } {
            0 => Ok(None),
            1 => Ok(Some(found)),
            _ => Err(errno()),
        }
    }

    /// The next completion.
    pub(crate) fn completion(&self) -> ibv_wc {
        loop {
            if let Some(found) = self.poll().unwrap() {
                return found;
            }
        }
    }

    /// Ends all of it; each call must succeed.
    pub(crate) fn close(self) {
        // SAFETY: nothing of it is used any more.
        unsafe {
            assert_eq!(ibv_destroy_qp(self.qp), 0);
            assert_eq!(ibv_destroy_cq(self.cq), 0);
            assert_eq!(ibv_dereg_mr(self.mr), 0);
            assert_eq!(ibv_dealloc_pd(self.pd), 0);
            assert_eq!(ibv_close_device(self.context), 0);
        }
    }
}

/// Nothing, for calls that are to refuse it.
pub(crate) fn nowhere<T>() -> *mut T {
    ptr::null_mut()
}

/// A pointer that is none of the library's.
pub(crate) fn foreign<T>() -> *mut T {
    static SOMETHING: [u64; 512] = [0; 512];
    SOMETHING.as_ptr().cast_mut().cast::<c_void>().cast()
}
