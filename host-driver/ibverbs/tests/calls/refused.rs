//! Pointers that are none, no more, or somebody else's; and what cards do not have.

use std::ptr;

use libc::{EINVAL, EOPNOTSUPP};
use rdma_sys::{
    ibv_cq_init_attr_ex, ibv_mw_type, ibv_qp_init_attr_ex, ibv_qp_type, ibv_srq_init_attr, verbs_context,
};
use stroma_ibverbs::*;

use crate::stage::{End, errno, foreign, nowhere, open, refused, wanted, zero};

#[test]
fn null_and_foreign_pointers_are_refused_by_every_call() {
    let end = End::new(0);
    for context in [nowhere(), foreign()] {
        // SAFETY: pointers that are none are what this is about.
        unsafe {
            refused(ibv_alloc_pd(context), EINVAL);
            refused(ibv_create_cq(context, 1, ptr::null_mut(), ptr::null_mut(), 0), EINVAL);
            refused(ibv_create_comp_channel(context), EINVAL);
            assert_eq!(ibv_close_device(context), EINVAL);
            assert_eq!(ibv_query_device(context, &mut zero()), EINVAL);
            assert_eq!(ibv_query_port(context, 1, &mut zero()), EINVAL);
            assert_eq!((ibv_query_gid(context, 1, 0, &mut zero()), errno()), (-1, EINVAL));
            assert_eq!((ibv_get_async_event(context, &mut zero()), errno()), (-1, EINVAL));
        }
    }
    // SAFETY: as above.
    unsafe {
        refused(ibv_open_device(foreign()), EINVAL);
        refused(ibv_reg_mr(foreign(), end.memory.as_ptr().cast_mut().cast(), 64, 0), EINVAL);
        refused(ibv_create_ah(foreign(), &mut zero()), EINVAL);
        refused(ibv_create_ah(end.pd, nowhere()), EINVAL);
        refused(ibv_create_qp(end.pd, nowhere()), EINVAL);
        refused(ibv_create_qp(foreign(), &mut wanted(end.cq, ibv_qp_type::IBV_QPT_RC)), EINVAL);
        refused(ibv_create_qp(end.pd, &mut wanted(foreign(), ibv_qp_type::IBV_QPT_RC)), EINVAL);
        refused(ibv_create_srq(end.pd, nowhere()), EINVAL);
        assert_eq!(ibv_query_device(end.context, nowhere()), EINVAL);
        assert_eq!((ibv_query_gid(end.context, 1, 0, nowhere()), errno()), (-1, EINVAL));
        assert_eq!(ibv_modify_qp(end.qp, nowhere(), 1), EINVAL);
        assert_eq!(ibv_modify_qp(foreign(), &mut zero(), 1), EINVAL);
        assert_eq!(ibv_query_qp(end.qp, nowhere(), 0, nowhere()), EINVAL);
        for outcome in [
            ibv_destroy_qp(foreign()),
            ibv_destroy_cq(nowhere()),
            ibv_destroy_srq(foreign()),
            ibv_destroy_ah(nowhere()),
            ibv_dereg_mr(foreign()),
            ibv_dealloc_pd(nowhere()),
            ibv_destroy_comp_channel(foreign()),
        ] {
            assert_eq!(outcome, EINVAL);
        }
        ibv_ack_cq_events(foreign(), 1);
        assert!(ibv_qp_to_qp_ex(foreign()).is_null());
    }
    end.close();
}

#[test]
fn what_was_destroyed_is_refused_and_can_still_be_looked_at() {
    let end = End::new(1);
    let gone = End::new(1);
    let mut request = zero();
    // SAFETY: use after the end is what this is about; shells of ended objects can be read.
    unsafe {
        assert_eq!(ibv_destroy_qp(gone.qp), 0);
        assert_eq!(ibv_destroy_qp(gone.qp), EINVAL);
        assert_eq!(gone.post(&mut request).0, EINVAL);
        assert_eq!(ibv_modify_qp(gone.qp, &mut zero(), 1), EINVAL);
        assert_eq!(ibv_destroy_cq(gone.cq), 0);
        assert_eq!(gone.poll().err(), Some(EINVAL));
        assert_eq!((*gone.context).ops.req_notify_cq.unwrap()(gone.cq, 0), EINVAL);
        refused(ibv_create_qp(gone.pd, &mut wanted(gone.cq, ibv_qp_type::IBV_QPT_RC)), EINVAL);
        assert_eq!(ibv_dereg_mr(gone.mr), 0);
        assert_eq!(ibv_dereg_mr(gone.mr), EINVAL);
        assert_eq!(ibv_dealloc_pd(gone.pd), 0);
        refused(ibv_reg_mr(gone.pd, gone.memory.as_ptr().cast_mut().cast(), 64, 0), EINVAL);
        assert_eq!(ibv_close_device(gone.context), 0);
        refused(ibv_alloc_pd(gone.context), EINVAL);
    }
    end.close();
}

#[test]
fn what_cards_do_not_have_is_told_so() {
    let end = End::new(0);
    // SAFETY: whole structures.
    unsafe {
        for kind in
            [ibv_qp_type::IBV_QPT_RAW_PACKET, ibv_qp_type::IBV_QPT_XRC_SEND, ibv_qp_type::IBV_QPT_DRIVER]
        {
            refused(ibv_create_qp(end.pd, &mut wanted(end.cq, kind)), EOPNOTSUPP);
        }
        refused(ibv_create_qp(end.pd, &mut wanted(end.cq, 77)), EINVAL);
        assert_eq!(ibv_resize_cq(end.cq, 100), EOPNOTSUPP);
        refused(ibv_import_device(), EOPNOTSUPP);
        refused(ibv_reg_dmabuf_mr(), EOPNOTSUPP);
        refused((*end.context).ops.alloc_mw.unwrap()(end.pd, ibv_mw_type::IBV_MW_TYPE_1), EOPNOTSUPP);
        let on_demand = rdma_sys::ibv_access_flags::IBV_ACCESS_ON_DEMAND.0.cast_signed();
        refused(ibv_reg_mr(end.pd, end.memory.as_ptr().cast_mut().cast(), 64, on_demand), EOPNOTSUPP);
        let around =
            end.context.byte_sub(std::mem::offset_of!(verbs_context, context)).cast::<verbs_context>();
        let mut queue: ibv_cq_init_attr_ex = zero();
        (queue.cqe, queue.wc_flags) = (16, 1 << 63);
        refused((*around).create_cq_ex.unwrap()(end.context, &raw mut queue), EOPNOTSUPP);
        let mut pair: ibv_qp_init_attr_ex = zero();
        pair.comp_mask = 1 << 31;
        refused((*around).create_qp_ex.unwrap()(end.context, &raw mut pair), EOPNOTSUPP);
        // What inline code of the header finds absent, it refuses itself.
        assert!((*around).open_xrcd.is_none() && (*around).alloc_dm.is_none());
    }
    end.close();
}

#[test]
fn sizes_beyond_the_cards_are_refused_and_those_within_are_told() {
    let end = End::new(1);
    let with = |change: fn(&mut rdma_sys::ibv_qp_cap)| {
        let mut init = wanted(end.cq, ibv_qp_type::IBV_QPT_RC);
        change(&mut init.cap);
        init
    };
    // SAFETY: whole structures.
    unsafe {
        refused(ibv_create_qp(end.pd, &mut with(|cap| cap.max_send_wr = 1 << 20)), EINVAL);
        refused(ibv_create_qp(end.pd, &mut with(|cap| cap.max_recv_wr = 1 << 20)), EINVAL);
        refused(ibv_create_qp(end.pd, &mut with(|cap| cap.max_send_sge = 17)), EINVAL);
        refused(ibv_create_qp(end.pd, &mut with(|cap| cap.max_recv_sge = 17)), EINVAL);
        refused(ibv_create_qp(end.pd, &mut with(|cap| cap.max_inline_data = 481)), EINVAL);
        refused(ibv_create_cq(end.context, 0, ptr::null_mut(), ptr::null_mut(), 0), EINVAL);
        refused(ibv_create_cq(end.context, -1, ptr::null_mut(), ptr::null_mut(), 0), EINVAL);
        refused(ibv_create_cq(end.context, 1 << 21, ptr::null_mut(), ptr::null_mut(), 0), EINVAL);
        refused(ibv_create_cq(end.context, 16, ptr::null_mut(), ptr::null_mut(), 1), EINVAL);
        let mut srq: ibv_srq_init_attr = zero();
        srq.attr.max_wr = 1 << 20;
        refused(ibv_create_srq(end.pd, &raw mut srq), EINVAL);

        let mut most = with(|cap| {
            (cap.max_send_wr, cap.max_recv_wr, cap.max_send_sge, cap.max_inline_data) = (4096, 4096, 16, 480);
        });
        let qp = ibv_create_qp(end.pd, &raw mut most);
        assert!(!qp.is_null());
        assert!(most.cap.max_send_wr >= 4096 && most.cap.max_recv_wr >= 4096);
        assert_eq!(ibv_destroy_qp(qp), 0);
    }
    end.close();
}

#[test]
fn a_context_after_the_last_finds_the_card_again() {
    for _ in 0..3 {
        let context = open(0);
        // SAFETY: nothing of it is used any more.
        assert_eq!(unsafe { ibv_close_device(context) }, 0);
    }
}
