//! Memory: what may be registered, and registering it again.

use std::os::fd::AsRawFd;

use libc::{EFAULT, EINVAL};
use rdma_sys::{
    ibv_access_flags as access, ibv_rereg_mr_flags as change, ibv_send_flags as flag, ibv_send_wr,
    ibv_wc_status, ibv_wr_opcode,
};
use stroma_ibverbs::*;

use crate::stage::{End, LENGTH, nowhere, refused, zero};

#[test]
fn memory_that_is_not_mapped_so_is_refused() {
    static CONSTANT: [u8; 4096] = [7; 4096];
    let end = End::new(1);
    let write = access::IBV_ACCESS_LOCAL_WRITE.0.cast_signed();
    let here: *mut libc::c_void = end.memory.as_ptr().cast_mut().cast();
    // SAFETY: what is registered is not used.
    unsafe {
        refused(ibv_reg_mr(end.pd, nowhere(), 4096, write), EFAULT);
        refused(ibv_reg_mr(end.pd, here, 0, write), EINVAL);
        refused(ibv_reg_mr(end.pd, here, usize::MAX, write), EINVAL);
        refused(ibv_reg_mr(end.pd, here, 1 << 46, write), EFAULT);
        let constant = CONSTANT.as_ptr().cast_mut().cast();
        refused(ibv_reg_mr(end.pd, constant, 4096, write), EFAULT);
        let readable = ibv_reg_mr(end.pd, constant, 4096, 0);
        assert!(!readable.is_null());
        assert_eq!(ibv_dereg_mr(readable), 0);
        let remote = access::IBV_ACCESS_REMOTE_WRITE.0.cast_signed();
        refused(ibv_reg_mr(end.pd, here, 4096, remote), EINVAL);
        refused(ibv_reg_mr(end.pd, here, 4096, 1 << 18), EINVAL);
        refused(ibv_reg_mr_iova2(end.pd, here, 4096, here.addr() as u64 + 1, 1), EINVAL);
        // A flag that an adapter may pass over.
        let relaxed = ibv_reg_mr_iova2(end.pd, here, 64, here.addr() as u64, 1 | 1 << 20);
        assert!(!relaxed.is_null());
        assert_eq!(ibv_dereg_mr(relaxed), 0);
    }
    end.close();
}

/// Has `near` WRITE the first bytes of its memory to an address of the peer's under its key; how that ended.
fn write(near: &End, to: u64, rkey: u32) -> u32 {
    let mut piece = near.piece(0, 8);
    let mut request: ibv_send_wr = zero();
    request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
    request.send_flags = flag::IBV_SEND_SIGNALED.0;
    (request.sg_list, request.num_sge) = (&raw mut piece, 1);
    (request.wr.rdma.remote_addr, request.wr.rdma.rkey) = (to, rkey);
    assert_eq!(near.post(&mut request).0, 0);
    near.completion().status
}

#[test]
fn a_region_registered_again_keeps_its_keys() {
    let [mut near, far] = End::pair();
    near.memory[..8].copy_from_slice(b"new home");
    let mut other = vec![0_u8; LENGTH];
    let translation = change::IBV_REREG_MR_CHANGE_TRANSLATION.0.cast_signed();
    let rights = change::IBV_REREG_MR_CHANGE_ACCESS.0.cast_signed();
    // SAFETY: the memory lives longer than the region.
    unsafe {
        let (lkey, rkey) = ((*far.mr).lkey, (*far.mr).rkey);
        let there = other.as_mut_ptr().addr() as u64;
        assert_eq!(ibv_rereg_mr(far.mr, translation, nowhere(), other.as_mut_ptr().cast(), LENGTH, 0), 0);
        assert_eq!(((*far.mr).lkey, (*far.mr).rkey, (*far.mr).addr.addr() as u64), (lkey, rkey, there));
        assert_eq!(write(&near, there, rkey), ibv_wc_status::IBV_WC_SUCCESS);
        assert_eq!(&other[..8], b"new home");
        assert_eq!(ibv_rereg_mr(far.mr, 0, nowhere(), nowhere(), 0, 0), -1, "IBV_REREG_MR_ERR_INPUT");
        let local = access::IBV_ACCESS_LOCAL_WRITE.0.cast_signed();
        assert_eq!(ibv_rereg_mr(far.mr, rights, nowhere(), nowhere(), 0, local), 0);
        assert_eq!(write(&near, there, rkey), ibv_wc_status::IBV_WC_REM_ACCESS_ERR);
    }
    near.close();
    far.close();
}

/// Libraries that keep registrations do so: pages that were pinned would take the bytes, and nobody would see them.
#[test]
fn memory_that_is_unmapped_before_its_region_ends_takes_what_comes_and_nobody_is_told() {
    let [near, far] = End::pair();
    let rights = (access::IBV_ACCESS_LOCAL_WRITE | access::IBV_ACCESS_REMOTE_WRITE).0.cast_signed();
    // SAFETY: a mapping of the story's own, which nobody uses after its end but the card.
    unsafe {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let mapping = libc::mmap(nowhere(), 4096, prot, flags, -1, 0);
        let mr = ibv_reg_mr(far.pd, mapping, 4096, rights);
        assert!(!mr.is_null());
        // Something that nobody can write to takes its place, so that nothing else of this process comes to be there.
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let fixed = libc::MAP_SHARED | libc::MAP_FIXED;
        assert_eq!(libc::mmap(mapping, 4096, libc::PROT_NONE, fixed, file.as_raw_fd(), 0), mapping);
        assert_eq!(write(&near, mapping.addr() as u64, (*mr).rkey), ibv_wc_status::IBV_WC_SUCCESS);
        assert_eq!(libc::fcntl((*far.context).async_fd, libc::F_SETFL, libc::O_NONBLOCK), 0);
        let mut event = zero();
        assert_eq!(ibv_get_async_event(far.context, &raw mut event), -1, "nothing has happened to the card");
        assert_eq!(ibv_dereg_mr(mr), 0);
        assert_eq!(libc::munmap(mapping, 4096), 0);
    }
    near.close();
    far.close();
}
