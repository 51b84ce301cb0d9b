//! What others stand on is not destroyed under them.

use std::ptr;

use libc::EBUSY;
use rdma_sys::ibv_srq_init_attr;
use stroma_ibverbs::*;

use crate::stage::{End, wanted, zero};

#[test]
fn nothing_ends_under_what_stands_on_it() {
    let end = End::new(0);
    // SAFETY: whole structures; objects of the story's.
    unsafe {
        assert_eq!(ibv_close_device(end.context), EBUSY);
        assert_eq!(ibv_dealloc_pd(end.pd), EBUSY);
        assert_eq!(ibv_destroy_cq(end.cq), EBUSY);

        let channel = ibv_create_comp_channel(end.context);
        let cq = ibv_create_cq(end.context, 16, ptr::null_mut(), channel, 0);
        assert_eq!(ibv_destroy_comp_channel(channel), EBUSY);
        let mut init: ibv_srq_init_attr = zero();
        (init.attr.max_wr, init.attr.max_sge) = (16, 1);
        let srq = ibv_create_srq(end.pd, &raw mut init);
        let mut pair = wanted(cq, rdma_sys::ibv_qp_type::IBV_QPT_UD);
        pair.srq = srq;
        let qp = ibv_create_qp(end.pd, &raw mut pair);
        assert!(!qp.is_null());
        assert_eq!(ibv_destroy_srq(srq), EBUSY);
        assert_eq!(ibv_destroy_cq(cq), EBUSY);
        // In the order in which they stand.
        assert_eq!(ibv_destroy_qp(qp), 0);
        assert_eq!(ibv_destroy_srq(srq), 0);
        assert_eq!(ibv_destroy_cq(cq), 0);
        assert_eq!(ibv_destroy_comp_channel(channel), 0);
    }
    end.close();
}
