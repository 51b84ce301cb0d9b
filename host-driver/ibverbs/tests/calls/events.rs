//! Events that are no completions.

use libc::{EAGAIN, F_SETFL, O_NONBLOCK, POLLIN, pollfd};
use rdma_sys::{
    ibv_event_type, ibv_qp_type, ibv_recv_wr, ibv_send_flags as flag, ibv_send_wr, ibv_srq_init_attr,
    ibv_wr_opcode,
};
use stroma_ibverbs::*;

use crate::stage::{End, errno, wanted, zero};

#[test]
fn a_shared_receive_queue_below_its_limit_is_told_and_ends_when_that_was_acknowledged() {
    let (near, mut far) = (End::new(0), End::new(1));
    // SAFETY: whole structures; objects of the story's.
    unsafe {
        let mut init: ibv_srq_init_attr = zero();
        (init.attr.max_wr, init.attr.max_sge) = (16, 1);
        let srq = ibv_create_srq(far.pd, &raw mut init);
        assert_eq!(ibv_destroy_qp(far.qp), 0);
        let mut with = wanted(far.cq, ibv_qp_type::IBV_QPT_RC);
        with.srq = srq;
        far.qp = ibv_create_qp(far.pd, &raw mut with);
        near.connect(&far);
        far.connect(&near);
        let mut piece = far.piece(0, 64);
        let mut receive: ibv_recv_wr = zero();
        (receive.sg_list, receive.num_sge) = (&raw mut piece, 1);
        let mut bad = std::ptr::null_mut();
        for _ in 0..3 {
            assert_eq!((*far.context).ops.post_srq_recv.unwrap()(srq, &raw mut receive, &raw mut bad), 0);
        }
        let mut attr = zero::<rdma_sys::ibv_srq_attr>();
        attr.srq_limit = 3;
        assert_eq!(ibv_modify_srq(srq, &raw mut attr, 2), 0);
        assert_eq!(ibv_query_srq(srq, &raw mut attr), 0);
        assert_eq!((attr.max_wr, attr.max_sge, attr.srq_limit), (16, 1, 3));

        assert_eq!(libc::fcntl((*far.context).async_fd, F_SETFL, O_NONBLOCK), 0);
        let mut event = zero();
        assert_eq!((ibv_get_async_event(far.context, &raw mut event), errno()), (-1, EAGAIN));
        let mut from = near.piece(0, 8);
        let mut request: ibv_send_wr = zero();
        (request.opcode, request.send_flags) = (ibv_wr_opcode::IBV_WR_SEND, flag::IBV_SEND_SIGNALED.0);
        (request.sg_list, request.num_sge) = (&raw mut from, 1);
        assert_eq!(near.post(&mut request).0, 0);
        let mut ready = pollfd { fd: (*far.context).async_fd, events: POLLIN, revents: 0 };
        assert_eq!(libc::poll(&raw mut ready, 1, 10_000), 1);
        assert_eq!(ibv_get_async_event(far.context, &raw mut event), 0);
        assert_eq!(event.event_type, ibv_event_type::IBV_EVENT_SRQ_LIMIT_REACHED);
        assert_eq!(event.element.srq, srq);
        ibv_ack_async_event(&raw mut event);
        assert_eq!(ibv_query_srq(srq, &raw mut attr), 0);
        assert_eq!(attr.srq_limit, 0, "what was told counts no more");
        assert_eq!(ibv_destroy_qp(far.qp), 0);
        assert_eq!(ibv_destroy_srq(srq), 0);
        far.qp = ibv_create_qp(far.pd, &mut wanted(far.cq, ibv_qp_type::IBV_QPT_RC));
    }
    near.close();
    far.close();
}
