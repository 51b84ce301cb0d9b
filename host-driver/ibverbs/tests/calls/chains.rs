//! READs through pointers, and compare-and-swaps of more than a word.

use std::ptr;

use libc::{EINVAL, ENOMEM};
use rdma_sys::{
    ibv_qp_ex, ibv_send_flags as flag, ibv_wc_opcode, ibv_wc_status, ibv_wr_complete, ibv_wr_set_inline_data,
    ibv_wr_set_sge, ibv_wr_start,
};
use stroma_ibverbs::*;

use crate::stage::End;

/// Bytes of the reports in front of an answer, and of what follows: whole lines.
const LINE: usize = 64;
/// `STROMA_OUTCOME_*`.
const DONE: u8 = 1;
const NOT_SWAPPED: u8 = 3;
const REFUSED: u8 = 7;
/// Where the caller wants answers.
const ANSWER: usize = 4096;

fn pair() -> ([End; 2], *mut ibv_qp_ex) {
    let ends = [End::called(0), End::called(1)];
    ends[0].connect(&ends[1]);
    ends[1].connect(&ends[0]);
    // SAFETY: a queue pair of the story's.
    let qp = unsafe { ibv_qp_to_qp_ex(ends[0].qp) };
    // SAFETY: as above.
    assert_eq!(unsafe { stroma_qp_ex_from_ibv_qp_ex(qp) }, qp);
    (ends, qp)
}

/// Posts one request whose answer has `lines` lines, and waits for its end; the first report's outcome.
fn call(near: &End, qp: *mut ibv_qp_ex, lines: u32, describe: impl FnOnce()) -> u8 {
    // SAFETY: a queue pair that describes requests.
    unsafe {
        ibv_wr_start(qp);
        (*qp).wr_flags = flag::IBV_SEND_SIGNALED.0;
        describe();
        ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(ANSWER, 0).addr, lines * 64);
        assert_eq!(ibv_wr_complete(qp), 0);
    }
    let done = near.completion();
    assert_eq!((done.status, done.opcode), (ibv_wc_status::IBV_WC_SUCCESS, ibv_wc_opcode::IBV_WC_DRIVER1));
    assert_eq!(done.vendor_err, 0, "the kernel's status");
    near.memory[ANSWER]
}

fn put(end: &mut End, at: usize, bytes: &[u8]) {
    end.memory[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn a_read_follows_a_pointer_in_the_peers_memory() {
    let ([near, mut far], qp) = pair();
    let (value, key) = (far.piece(1000, 0).addr, far.piece(0, 0).lkey);
    put(&mut far, 64, &value.to_le_bytes());
    put(&mut far, 72, &1_u64.to_le_bytes());
    put(&mut far, 1000, b"behind a pointer");
    // SAFETY: a queue pair that describes requests.
    let read = |pointer: u64| move || unsafe { stroma_wr_read_indirect(qp, key, pointer, 16) };
    assert_eq!(call(&near, qp, 2, read(far.piece(64, 0).addr)), DONE);
    assert_eq!(&near.memory[ANSWER + LINE..ANSWER + LINE + 16], b"behind a pointer");
    // The pointer leads to memory that is not the peer's to give.
    assert_eq!(call(&near, qp, 2, read(far.piece(72, 0).addr)), REFUSED);
    near.close();
    far.close();
}

#[test]
fn a_compare_and_swap_has_masks_and_more_than_a_word() {
    let ([near, mut far], qp) = pair();
    put(&mut far, 256, &[1, 2, 3].map(u64::to_le_bytes).concat());
    let (at, key) = (far.piece(256, 0).addr, far.piece(0, 0).lkey);
    let wide = |words: [u64; 4]| -> [u8; 32] { words.map(u64::to_le_bytes).concat().try_into().unwrap() };
    let cas = |compare: [u64; 4]| CompareAndSwap {
        length: 24,
        comparison: 0,
        compare: wide(compare),
        compare_mask: wide([u64::MAX, 0, u64::MAX, 0]),
        swap: wide([7, 8, 9, 0]),
        swap_mask: wide([u64::MAX, u64::MAX, 0xf, 0]),
    };
    // SAFETY: a queue pair that describes requests, and a structure.
    let swap = |cas: CompareAndSwap| move || unsafe { stroma_wr_cas_ext(qp, key, at, &raw const cas) };
    assert_eq!(call(&near, qp, 2, swap(cas([1, 0, 4, 0]))), NOT_SWAPPED);
    let old = [1, 2, 3].map(u64::to_le_bytes).concat();
    assert_eq!((&far.memory[256..280], &near.memory[ANSWER + LINE..][..24]), (&old[..], &old[..]));
    // The second word is not looked at.
    assert_eq!(call(&near, qp, 2, swap(cas([1, 0, 3, 0]))), DONE);
    assert_eq!(&near.memory[ANSWER + LINE..][..24], &old[..]);
    assert_eq!(&far.memory[256..280], [7, 8, 9].map(u64::to_le_bytes).concat());
    near.close();
    far.close();
}

#[test]
fn chains_that_are_under_way_together_do_not_get_into_each_others_way() {
    const BATCHES: usize = 5;
    const PARTS: usize = 3;
    let ([near, mut far], qp) = pair();
    let key = far.piece(0, 0).lkey;
    let (pointer, value) = (|number: usize| 64 + number * 8, |number: usize| 1000 + number * 8);
    // All that the send queue has room for, again and again, so that every slot is used more than once.
    for round in 0..12_u64 {
        for number in 0..BATCHES * PARTS {
            let target = far.piece(value(number), 0).addr;
            put(&mut far, pointer(number), &target.to_le_bytes());
            put(&mut far, value(number), &(round << 8 | number as u64).to_le_bytes());
        }
        for batch in 0..BATCHES {
            // SAFETY: as above.
            unsafe {
                ibv_wr_start(qp);
                for part in 0..PARTS {
                    let number = batch * PARTS + part;
                    (*qp).wr_flags = if part + 1 == PARTS { flag::IBV_SEND_SIGNALED.0 } else { 0 };
                    stroma_wr_read_indirect(qp, key, far.piece(pointer(number), 0).addr, 8);
                    ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(ANSWER + number * 128, 0).addr, 128);
                }
                assert_eq!(ibv_wr_complete(qp), 0);
            }
        }
        for _ in 0..BATCHES {
            assert_eq!(near.completion().status, ibv_wc_status::IBV_WC_SUCCESS);
        }
        for number in 0..BATCHES * PARTS {
            let answer = &near.memory[ANSWER + number * 128..];
            let expected = (round << 8 | number as u64).to_le_bytes();
            assert_eq!((answer[0], &answer[LINE..LINE + 8]), (DONE, &expected[..]), "{round}, {number}");
        }
    }
    near.close();
    far.close();
}

#[test]
fn chains_that_make_no_sense_are_refused() {
    let ([near, far], qp) = pair();
    let (at, key) = (far.piece(0, 0).addr, far.piece(0, 0).lkey);
    let cas = |length: u32, comparison: u32| CompareAndSwap {
        length,
        comparison,
        compare: [0; 32],
        compare_mask: [0; 32],
        swap: [0; 32],
        swap_mask: [0; 32],
    };
    let answered = |bytes: u32, describe: &dyn Fn()| {
        // SAFETY: as above.
        unsafe {
            ibv_wr_start(qp);
            describe();
            ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(ANSWER, 0).addr, bytes);
            ibv_wr_complete(qp)
        }
    };
    // SAFETY: as above, and null pointers, which are refused.
    unsafe {
        for length in [0, 4097] {
            let code = answered(8192, &|| stroma_wr_read_indirect(qp, key, at, length));
            assert_eq!(code, EINVAL, "{length} bytes");
        }
        assert_eq!(
            answered(127, &|| stroma_wr_read_indirect(qp, key, at, 8)),
            EINVAL,
            "no room for the answer"
        );
        for (length, comparison) in [(0, 0), (4, 0), (40, 0), (8, 4), (8, 256)] {
            let cas = cas(length, comparison);
            let code = answered(128, &|| stroma_wr_cas_ext(qp, key, at, &raw const cas));
            assert_eq!(code, EINVAL, "{length} bytes, comparison {comparison}");
        }
        assert_eq!(answered(128, &|| stroma_wr_cas_ext(qp, key, at, ptr::null())), EINVAL);
        let mut inline = [0_u8; 8];
        ibv_wr_start(qp);
        stroma_wr_read_indirect(qp, key, at, 8);
        ibv_wr_set_inline_data(qp, inline.as_mut_ptr().cast(), 8);
        assert_eq!(ibv_wr_complete(qp), EINVAL, "inline data of a request that has none");
        // More at once than there is room for, however often it is tried.
        for _ in 0..5 {
            ibv_wr_start(qp);
            for _ in 0..200 {
                stroma_wr_read_indirect(qp, key, at, 8);
                ibv_wr_set_sge(qp, (*near.mr).lkey, near.piece(ANSWER, 0).addr, 128);
            }
            assert_eq!(ibv_wr_complete(qp), ENOMEM);
        }
    }
    assert!(near.poll().unwrap().is_none(), "none of these was posted");
    near.close();
    far.close();
}
