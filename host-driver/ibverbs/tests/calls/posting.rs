//! Requests and receives that are refused when they are posted, or end in an error.

use std::ptr;

use libc::{EINVAL, ENOMEM};
use rdma_sys::{
    ibv_qp_state, ibv_recv_wr, ibv_send_flags as flag, ibv_send_wr, ibv_sge, ibv_wc_status as status,
    ibv_wr_opcode,
};
use stroma_ibverbs::*;

use crate::stage::{End, zero};

/// A signaled WRITE of one piece to the front of the peer's memory.
fn write(piece: &mut ibv_sge, peer: &End) -> ibv_send_wr {
    let mut request: ibv_send_wr = zero();
    request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
    request.send_flags = flag::IBV_SEND_SIGNALED.0;
    (request.sg_list, request.num_sge) = (&raw mut *piece, 1);
    request.wr.rdma.remote_addr = peer.memory.as_ptr().addr() as u64;
    // SAFETY: a region of the story's.
    request.wr.rdma.rkey = unsafe { (*peer.mr).rkey };
    request
}

#[test]
fn a_list_is_posted_up_to_the_request_that_is_refused() {
    let [mut near, far] = End::pair();
    near.memory[..4].copy_from_slice(b"good");
    let mut piece = near.piece(0, 4);
    let mut many = [piece; 3];
    let (mut first, mut second, mut third) =
        (write(&mut piece, &far), write(&mut piece, &far), write(&mut piece, &far));
    (second.sg_list, second.num_sge) = (many.as_mut_ptr(), 3);
    (second.next, first.next) = (&raw mut third, &raw mut second);
    first.wr_id = 7;
    let blamed = &raw mut second;
    assert_eq!(near.post(&mut first), (EINVAL, blamed));
    let done = near.completion();
    assert_eq!((done.wr_id, done.status), (7, status::IBV_WC_SUCCESS));
    assert!(near.poll().unwrap().is_none(), "no other was posted");
    assert_eq!(&far.memory[..4], b"good");
    near.close();
    far.close();
}

#[test]
fn what_no_request_has_room_for_is_refused() {
    let [near, far] = End::pair();
    let mut piece = near.piece(0, 65);
    let mut long = write(&mut piece, &far);
    long.send_flags |= flag::IBV_SEND_INLINE.0;
    assert_eq!(near.post(&mut long).0, EINVAL, "more inline data than it was made for");
    let mut piece = near.piece(0, 8);
    let mut read = write(&mut piece, &far);
    read.opcode = ibv_wr_opcode::IBV_WR_RDMA_READ;
    read.send_flags |= flag::IBV_SEND_INLINE.0;
    assert_eq!(near.post(&mut read).0, EINVAL, "a READ has no inline data");
    let mut negative = write(&mut piece, &far);
    negative.num_sge = -1;
    assert_eq!(near.post(&mut negative).0, EINVAL);
    let mut nowhere = write(&mut piece, &far);
    nowhere.sg_list = ptr::null_mut();
    assert_eq!(near.post(&mut nowhere).0, EINVAL);
    let mut unknown = write(&mut piece, &far);
    unknown.opcode = 99;
    assert_eq!(near.post(&mut unknown).0, libc::EOPNOTSUPP);
    assert!(near.poll().unwrap().is_none(), "nothing was posted");
    near.close();
    far.close();
}

#[test]
fn queues_that_are_full_or_not_ready_say_so() {
    let end = End::new(0);
    let mut piece = end.piece(0, 8);
    let mut request = write(&mut piece, &end);
    assert_eq!(end.post(&mut request).0, EINVAL, "in RESET");
    let mut receive: ibv_recv_wr = zero();
    (receive.sg_list, receive.num_sge) = (&raw mut piece, 1);
    assert_eq!(end.receive(&mut receive).0, EINVAL, "in RESET");
    let [near, far] = End::pair();
    let mut piece = near.piece(0, 8);
    (receive.sg_list, receive.num_sge) = (&raw mut piece, 1);
    for _ in 0..16 {
        assert_eq!(near.receive(&mut receive).0, 0);
    }
    let blamed = &raw mut receive;
    assert_eq!(near.receive(&mut receive), (ENOMEM, blamed));
    near.close();
    far.close();
    end.close();
}

#[test]
fn foreign_keys_end_in_completions() {
    let expected = [
        ("a local key of another domain", status::IBV_WC_LOC_PROT_ERR),
        ("a remote key that is none", status::IBV_WC_REM_ACCESS_ERR),
        ("bytes behind the region", status::IBV_WC_LOC_PROT_ERR),
    ];
    for (case, (name, wanted)) in expected.into_iter().enumerate() {
        let [near, far] = End::pair();
        let other = End::new(0);
        let mut piece = near.piece(0, 8);
        let mut request = write(&mut piece, &far);
        match case {
            0 => piece.lkey = other.piece(0, 8).lkey,
            1 => request.wr.rdma.rkey = 0xdead_be00,
            _ => piece.length = 100_000,
        }
        assert_eq!(near.post(&mut request).0, 0, "{name}");
        assert_eq!(near.completion().status, wanted, "{name}");
        // The next one is flushed: the queue pair is in error, and its shell says so when it is asked.
        let mut piece = near.piece(0, 8);
        assert_eq!(near.post(&mut write(&mut piece, &far)).0, 0);
        assert_eq!(near.completion().status, status::IBV_WC_WR_FLUSH_ERR, "{name}");
        let (mut attr, mut init) = (zero(), zero());
        // SAFETY: places for the answer.
        assert_eq!(unsafe { ibv_query_qp(near.qp, &raw mut attr, 1, &raw mut init) }, 0);
        assert_eq!(attr.qp_state, ibv_qp_state::IBV_QPS_ERR);
        near.close();
        far.close();
        other.close();
    }
}
