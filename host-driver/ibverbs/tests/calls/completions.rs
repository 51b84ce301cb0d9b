//! Completion channels: descriptors, events, acknowledgements.

use std::ptr;
use std::thread;
use std::time::Duration;

use libc::{EAGAIN, F_SETFL, O_NONBLOCK, POLLIN, pollfd};
use rdma_sys::{ibv_cq, ibv_send_flags as flag, ibv_send_wr, ibv_wr_opcode};
use stroma_ibverbs::*;

use crate::stage::{End, errno, wanted, zero};

#[test]
fn a_channel_tells_of_completions_once_each_time_it_is_asked() {
    let mut end = End::new(0);
    // SAFETY: objects of the story's, and places for answers.
    unsafe {
        let channel = ibv_create_comp_channel(end.context);
        let mine = 0x1234_usize;
        let cq = ibv_create_cq(end.context, 16, ptr::without_provenance_mut(mine), channel, 0);
        assert_eq!(ibv_destroy_qp(end.qp), 0);
        end.qp = ibv_create_qp(end.pd, &mut wanted(cq, rdma_sys::ibv_qp_type::IBV_QPT_RC));
        let peer = End::new(1);
        end.connect(&peer);
        peer.connect(&end);

        assert_eq!(libc::fcntl((*channel).fd, F_SETFL, O_NONBLOCK), 0);
        let (mut which, mut context): (*mut ibv_cq, _) = (ptr::null_mut(), ptr::null_mut());
        assert_eq!((ibv_get_cq_event(channel, &raw mut which, &raw mut context), errno()), (-1, EAGAIN));
        assert_eq!((*end.context).ops.req_notify_cq.unwrap()(cq, 0), 0);

        let mut piece = end.piece(0, 8);
        let mut request: ibv_send_wr = zero();
        request.opcode = ibv_wr_opcode::IBV_WR_RDMA_READ;
        request.send_flags = flag::IBV_SEND_SIGNALED.0;
        (request.sg_list, request.num_sge) = (&raw mut piece, 1);
        let theirs = peer.piece(0, 8);
        (request.wr.rdma.remote_addr, request.wr.rdma.rkey) = (theirs.addr, theirs.lkey);
        assert_eq!(end.post(&mut request).0, 0);
        let mut ready = pollfd { fd: (*channel).fd, events: POLLIN, revents: 0 };
        assert_eq!(libc::poll(&raw mut ready, 1, 10_000), 1);
        assert_eq!(ibv_get_cq_event(channel, &raw mut which, &raw mut context), 0);
        assert_eq!((which, context.addr()), (cq, mine));
        assert_eq!((ibv_get_cq_event(channel, &raw mut which, &raw mut context), errno()), (-1, EAGAIN));

        // Its end waits for the acknowledgement.
        assert_eq!(ibv_destroy_qp(end.qp), 0);
        let place = cq.expose_provenance();
        let ending = thread::spawn(move || ibv_destroy_cq(ptr::with_exposed_provenance_mut(place)));
        thread::sleep(Duration::from_millis(50));
        assert!(!ending.is_finished());
        ibv_ack_cq_events(cq, 1);
        assert_eq!(ending.join().unwrap(), 0);
        assert_eq!(ibv_destroy_comp_channel(channel), 0);

        peer.close();
        assert_eq!(ibv_destroy_cq(end.cq), 0);
        assert_eq!(ibv_dereg_mr(end.mr), 0);
        assert_eq!(ibv_dealloc_pd(end.pd), 0);
        assert_eq!(ibv_close_device(end.context), 0);
    }
}
