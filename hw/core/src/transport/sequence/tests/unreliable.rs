//! Unreliable connections: whole messages are carried out, and nobody hears of the others.

use stroma_abi::desc::Cqe;
use stroma_abi::wire::{Opcode, opcode};

use super::corners::{FIRST_PSN, NONE, request};
use crate::transport::records::{Arrival, Occasion};
use crate::transport::sequence::model::Outcome;
use crate::transport::sequence::rig::Rig;

/// Index of queue pair 1's first receive, as the world counts.
const FIRST: u64 = 0xfffd + 64 - (1 << 16);

/// So many packets behind the first, of a message of 600 bytes if it is no SEND.
fn packet(op: Opcode, behind: u64, payload: u64) -> Arrival {
    Arrival { unreliable: true, ackreq: true, ..request(op, FIRST_PSN + behind, 600, payload) }
}

fn stocked(count: u64) -> Rig {
    let mut rig = Rig::new();
    rig.world.post(false, 1, count);
    rig
}

/// Is it thrown away, takes nothing, and answers nothing?
fn is_dropped(outcome: &Outcome) -> bool {
    let errand = outcome.errand;
    assert_eq!((u64::from(errand.answer), outcome.nak, errand.fails), (NONE, false, false));
    assert!(!outcome.dropped || !errand.places && !errand.completes && !outcome.takes && !errand.is_awaited);
    outcome.dropped
}

/// The receive that is completed, and with how many bytes.
fn completed(outcome: &Outcome) -> Option<(u64, u64)> {
    assert!(!is_dropped(outcome) && outcome.errand.unreliable);
    outcome.errand.completes.then(|| (outcome.errand.index.into(), outcome.errand.length.into()))
}

const LONG: [Opcode; 3] = [opcode::RC_SEND_FIRST, opcode::RC_SEND_MIDDLE, opcode::RC_SEND_LAST];

#[test]
fn a_message_is_carried_out_without_an_answer() {
    let mut rig = stocked(2);
    let sent = [256, 256, 88];
    let outcomes = [0, 1, 2].map(|at| rig.judge(&packet(LONG[at], at as u64, sent[at])));
    assert_eq!(outcomes.map(|outcome| completed(&outcome)), [None, None, Some((FIRST, 600))]);
    assert_eq!(outcomes.map(|outcome| outcome.errand.begins), [true, false, false]);
}

#[test]
fn a_gap_ends_the_message_and_its_receive_is_for_the_next() {
    for missing in 0..3 {
        let mut rig = stocked(1);
        for at in (0..3).filter(|at| *at != missing) {
            let outcome = rig.judge(&packet(LONG[at], at as u64, [256, 256, 88][at]));
            assert_eq!(is_dropped(&outcome), at > missing, "{at} without {missing}");
        }
        let next = rig.judge(&packet(opcode::RC_SEND_ONLY, 3, 8));
        assert_eq!((completed(&next), next.takes), (Some((FIRST, 8)), missing == 0), "without {missing}");
        let other = rig.judge(&packet(opcode::RC_SEND_ONLY, 4, 8));
        assert!(is_dropped(&other), "there was one receive");
    }
}

#[test]
fn what_begins_a_message_is_taken_whatever_its_number() {
    for behind in [0, 7, 0x80_0000, 0xff_ffff] {
        let mut rig = stocked(1);
        rig.judge(&packet(LONG[0], 0, 256));
        let first = rig.judge(&packet(opcode::RC_WRITE_FIRST, behind, 256));
        assert!(!is_dropped(&first) && first.errand.places, "{behind:#x}");
        let last = packet(opcode::RC_WRITE_MIDDLE, behind + 1, 256);
        assert!(!is_dropped(&rig.judge(&last)), "{behind:#x}: what follows it follows");
        assert!(is_dropped(&rig.judge(&last)), "{behind:#x}: not twice");
        assert!(is_dropped(&rig.judge(&packet(opcode::RC_WRITE_LAST, behind + 2, 88))), "{behind:#x}");
    }
}

#[test]
fn immediate_data_have_the_receive_of_a_send_that_was_broken_off() {
    let mut rig = stocked(1);
    rig.judge(&packet(LONG[0], 0, 256));
    let only = Arrival { len: 8_u64.into(), ..packet(opcode::RC_WRITE_ONLY_IMM, 5, 8) };
    assert_eq!(completed(&rig.judge(&only)), Some((FIRST, 8)));
    assert!(is_dropped(&rig.judge(&only)), "there was one receive");
}

#[test]
fn what_breaks_a_rule_ends_its_message_and_no_queue_pair() {
    let wrong = [
        packet(LONG[1], 1, 255),
        packet(LONG[2], 1, 0),
        packet(opcode::RC_WRITE_MIDDLE, 1, 256),
        Arrival { rights: 0_u64.into(), ..packet(opcode::RC_WRITE_FIRST, 1, 256) },
        Arrival { len: 0x8000_0001_u64.into(), ..packet(opcode::RC_WRITE_FIRST, 1, 256) },
    ];
    for wrong in wrong {
        let mut rig = stocked(1);
        rig.judge(&packet(LONG[0], 0, 256));
        assert!(is_dropped(&rig.judge(&wrong)));
        assert!(is_dropped(&rig.judge(&packet(LONG[1], 1, 256))), "the message is over");
        assert_eq!(completed(&rig.judge(&packet(opcode::RC_SEND_ONLY, 9, 8))), Some((FIRST, 8)));
    }
}

#[test]
fn a_receive_that_waits_for_the_next_message_is_given_up_first() {
    let mut rig = stocked(2);
    rig.judge(&packet(LONG[0], 0, 256));
    rig.judge(&packet(LONG[2], 2, 8));
    let recall =
        Arrival { occasion: (Occasion::Recall as u64).into(), op: 0_u64.into(), ..packet(LONG[0], 0, 0) };
    let recalled = [(); 3].map(|()| rig.judge(&recall));
    let found = recalled.map(|outcome| outcome.errand.completes.then(|| u64::from(outcome.errand.index)));
    assert_eq!(found, [Some(FIRST), Some(FIRST + 1), None]);
    assert_eq!(recalled.map(|outcome| outcome.takes), [false, true, false]);
}

/// A datagram: its numbers are of no account, and 40 bytes more than a payload has are none too many.
fn datagram(op: Opcode, psn: u64, payload: u64) -> Arrival {
    Arrival { datagram: true, path_mtu: 6_u64.into(), a1: 0xab_cdef_u64.into(), ..packet(op, psn, payload) }
}

#[test]
fn a_datagram_takes_a_receive_and_says_who_has_sent_it() {
    let mut rig = stocked(3);
    let sent = [(opcode::RC_SEND_ONLY, 40), (opcode::RC_SEND_ONLY_IMM, 4136), (opcode::RC_SEND_ONLY, 41)];
    let grh = 1 << Cqe::HAS_GRH.bit;
    for (at, (op, bytes)) in (0..).zip(sent) {
        let outcome = rig.judge(&datagram(op, 5_000_000 * at, bytes));
        assert_eq!((completed(&outcome), outcome.takes), (Some((FIRST + at, bytes)), true));
        let (flags, sender) = (u64::from(outcome.errand.flags), u64::from(outcome.errand.value));
        assert_eq!((flags & grh, sender), (grh, 0xab_cdef));
    }
    assert!(is_dropped(&rig.judge(&datagram(opcode::RC_SEND_ONLY, 9, 40))), "there were three receives");
    let mut rig = stocked(1);
    let plain = rig.judge(&packet(opcode::RC_SEND_ONLY, 0, 40));
    assert_eq!(u64::from(plain.errand.flags) & grh, 0, "a connection's peer is known");
}
