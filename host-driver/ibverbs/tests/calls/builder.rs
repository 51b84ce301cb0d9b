//! Requests that are described call by call, and calls of kernels.

use std::ptr;

use libc::EINVAL;
use rdma_sys::{
    ibv_qp_ex, ibv_qp_type, ibv_send_flags as flag, ibv_wc_opcode, ibv_wc_status, ibv_wr_abort,
    ibv_wr_complete, ibv_wr_rdma_write, ibv_wr_set_inline_data, ibv_wr_set_sge, ibv_wr_set_sge_list,
    ibv_wr_start,
};
use stroma_ibverbs::*;

use crate::stage::{End, refused, wanted};

fn pair() -> ([End; 2], *mut ibv_qp_ex) {
    let ends = [End::describing(0), End::describing(1)];
    ends[0].connect(&ends[1]);
    ends[1].connect(&ends[0]);
    // SAFETY: a queue pair of the story's.
    let qp = unsafe { ibv_qp_to_qp_ex(ends[0].qp) };
    assert!(!qp.is_null());
    (ends, qp)
}

/// Begins a WRITE to the front of the peer's memory.
fn begin(qp: *mut ibv_qp_ex, peer: &End, wr_id: u64) {
    let to = peer.piece(0, 8);
    // SAFETY: a queue pair that describes requests.
    unsafe {
        (*qp).wr_id = wr_id;
        (*qp).wr_flags = flag::IBV_SEND_SIGNALED.0;
        ibv_wr_rdma_write(qp, to.lkey, to.addr);
    }
}

#[test]
fn requests_described_call_by_call_are_posted_together_or_not_at_all() {
    let ([near, far], qp) = pair();
    let mut bytes = *b"by calls";
    // SAFETY: as above.
    unsafe {
        ibv_wr_start(qp);
        begin(qp, &far, 1);
        ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(64, 8).addr, 8);
        begin(qp, &far, 2);
        ibv_wr_set_inline_data(qp, bytes.as_mut_ptr().cast(), 8);
        assert_eq!(ibv_wr_complete(qp), 0);
        for wr_id in [1, 2] {
            let done = near.completion();
            assert_eq!((done.wr_id, done.status), (wr_id, ibv_wc_status::IBV_WC_SUCCESS));
        }
        assert_eq!(&far.memory[..8], b"by calls");

        ibv_wr_start(qp);
        begin(qp, &far, 3);
        ibv_wr_set_inline_data(qp, bytes.as_mut_ptr().cast(), 8);
        ibv_wr_abort(qp);

        ibv_wr_start(qp);
        begin(qp, &far, 4);
        ibv_wr_set_inline_data(qp, bytes.as_mut_ptr().cast(), 8);
        begin(qp, &far, 5);
        let many = [near.piece(0, 8); 3];
        ibv_wr_set_sge_list(qp, many.len(), many.as_ptr());
        assert_eq!(ibv_wr_complete(qp), EINVAL, "more pieces than it was made for");

        ibv_wr_start(qp);
        ibv_wr_set_sge(qp, 0, 0, 0);
        assert_eq!(ibv_wr_complete(qp), EINVAL, "no request was begun");
        assert!(near.poll().unwrap().is_none(), "none of these was posted");
    }
    near.close();
    far.close();
}

#[test]
fn only_queue_pairs_that_were_made_so_describe_and_call() {
    let end = End::new(0);
    // SAFETY: whole structures; objects of the story's.
    unsafe {
        assert!(ibv_qp_to_qp_ex(end.qp).is_null());
        let datagrams = ibv_create_qp(end.pd, &mut wanted(end.cq, ibv_qp_type::IBV_QPT_UD));
        refused(stroma_qp_ex_from_ibv_qp_ex(datagrams.cast()), EINVAL);
        refused(stroma_qp_ex_from_ibv_qp_ex(ptr::null_mut()), EINVAL);
        assert_eq!(ibv_destroy_qp(datagrams), 0);
        assert!(stroma_query_kernels(end.context, ptr::null_mut(), 0) > 0);
        assert_eq!(stroma_query_kernels(ptr::null_mut(), ptr::null_mut(), 0), -1);
    }
    end.close();
}

#[test]
fn calls_that_make_no_sense_are_refused_and_those_that_may_not_be_are_answered() {
    let ([near, far], qp) = pair();
    let parameters = [0_u8; 512];
    // SAFETY: as above.
    unsafe {
        for (length, why) in [(3, "part of a word"), (512, "more than a request has room for")] {
            ibv_wr_start(qp);
            stroma_wr_rpc(qp, 1, far.piece(0, 8).lkey, parameters.as_ptr().cast(), length);
            ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(0, 8).addr, 8);
            assert_eq!(ibv_wr_complete(qp), EINVAL, "{why}");
        }
        // The peer has not granted the right to call kernels.
        ibv_wr_start(qp);
        (*qp).wr_flags = flag::IBV_SEND_SIGNALED.0;
        stroma_wr_rpc(qp, 1, far.piece(0, 8).lkey, parameters.as_ptr().cast(), 36);
        ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(0, 8).addr, 8);
        assert_eq!(ibv_wr_complete(qp), 0);
        let done = near.completion();
        assert_ne!(done.status, ibv_wc_status::IBV_WC_SUCCESS);
        assert_eq!(done.opcode, ibv_wc_opcode::IBV_WC_DRIVER1);
    }
    near.close();
    far.close();
}
