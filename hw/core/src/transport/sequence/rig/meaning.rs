//! What of an errand counts.

use stroma_abi::desc::Cqe;

use crate::fabric::records::Calling;
use crate::transport::records::{Answer, Atomic, Errand, List};

/// The errand without what means nothing.
pub(super) fn meaning(mut errand: Errand) -> Errand {
    let begins = errand.call.index() == Calling::Begins as usize;
    let calls = begins || errand.call.index() == Calling::GoesOn as usize;
    if !begins && (errand.span.index() == 0 || errand.list.index() != List::None as usize) {
        (errand.va, errand.key) = (0_u64.into(), 0_u64.into());
    }
    if !begins && errand.span.index() == 0 {
        errand.need = 0_u64.into();
    }
    if errand.answer.index() != Answer::Acknowledge as usize {
        errand.syndrome = 0_u64.into();
    }
    if errand.list.index() == List::None as usize {
        (errand.srq, errand.offset) = (0_u64.into(), 0_u64.into());
    }
    if ![Atomic::Add as usize, Atomic::Swap as usize].contains(&errand.atomic.index()) {
        errand.compare = 0_u64.into();
        if !(errand.completes && errand.flags.get_bit(Cqe::HAS_GRH.bit)) {
            errand.value = 0_u64.into();
        }
        if errand.call.index() == Calling::None as usize {
            errand.place = 0_u64.into();
        }
    }
    if !(errand.stores || errand.loads && errand.payload_len.any()) {
        errand.slot = 0_u64.into();
    }
    if !calls {
        (errand.kernel, errand.refusal, errand.reserved) = (0_u64.into(), 0_u64.into(), 0_u64.into());
    }
    if !errand.completes {
        (errand.cq, errand.detail) = (0_u64.into(), 0_u64.into());
        if !begins {
            errand.length = 0_u64.into();
        }
        (errand.opcode, errand.flags) = (0_u64.into(), 0_u64.into());
        if errand.list.index() == List::None as usize {
            errand.index = 0_u64.into();
        }
    }
    errand
}
