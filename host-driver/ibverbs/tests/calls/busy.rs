//! What others stand on is not destroyed under them.

use std::ptr;

use libc::{EBUSY, EINVAL};
use rdma_sys::ibv_srq_init_attr;
use stroma_ibverbs::*;

use crate::stage::{End, wanted, zero};

#[test]
fn nothing_ends_under_what_stands_on_it() {
    let end = End::new(0);
    // SAFETY: whole structures; objects of the story's.
    unsafe {
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

#[test]
fn what_is_left_of_a_context_goes_with_it() {
    let (end, other) = (End::new(1), End::new(1));
    // SAFETY: use after the end is what this is about; shells of ended objects can be read.
    unsafe {
        let channel = ibv_create_comp_channel(end.context);
        let cq = ibv_create_cq(end.context, 16, ptr::null_mut(), channel, 0);
        assert_eq!(ibv_close_device(end.context), 0);
        for outcome in [
            ibv_destroy_qp(end.qp),
            ibv_destroy_cq(end.cq),
            ibv_destroy_cq(cq),
            ibv_dereg_mr(end.mr),
            ibv_destroy_comp_channel(channel),
            ibv_dealloc_pd(end.pd),
            ibv_close_device(end.context),
        ] {
            assert_eq!(outcome, EINVAL);
        }
    }
    // The other context of the same card has all it had.
    other.close();
}
