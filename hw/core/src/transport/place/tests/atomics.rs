//! Atomics: what goes to the block that carries them out.

use stroma_verilate::Pause;

use super::corners::{EVEN, GENERAL, NAK_ACCESS, NAK_OPERATION, ODD, ends, refused, request, rng, write};
use super::errands::{atomic, blank};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::{Rig, STREAMS};
use crate::transport::records::{Answer, Atomic, Errand};

const FRESH: [Atomic; 2] = [Atomic::Add, Atomic::Swap];

fn one(kind: Atomic, va: u64, key: u64) -> Visit {
    let errand = Errand { key: key.into(), msn: 0x12.into(), counts: true, ..atomic(&mut rng(), kind, va) };
    request((errand, vec![]))
}

#[test]
fn a_fresh_atomic_is_asked_for_once_as_eight_bytes_and_has_no_answer_here() {
    let mut rig = Rig::<64>::new();
    for kind in FRESH {
        rig.send(&[one(kind, ODD + 0xff8, 7)]);
        let expected = &rig.expected;
        let asked: Vec<(u64, u64)> =
            expected.questions.iter().map(|question| (question.va.into(), question.len.into())).collect();
        assert_eq!(asked, [(ODD + 0xff8, 8)]);
        let operation = expected.operations[0].0;
        assert_eq!(operation.atomic.index(), kind as usize);
        assert_eq!(u64::from(operation.iova) % 0x1000, 0xff8);
        assert_ne!(u64::from(operation.iova), ODD + 0xff8, "it is translated");
        assert_eq!((expected.tasks.len(), expected.writes.len()), (0, 0));
        rig.finish();
    }
}

#[test]
fn an_atomic_that_came_again_asks_nothing() {
    let mut rig = Rig::<64>::new();
    rig.send(&[one(Atomic::Replay, ODD, refused(Cause::Key))]);
    assert_eq!((rig.expected.questions.len(), rig.expected.operations.len()), (0, 1));
    rig.finish();
}

#[test]
fn an_atomic_that_is_refused_is_answered_with_a_nak_and_not_carried_out() {
    let mut rig = Rig::<64>::new();
    for (cause, nak, status) in [(Cause::Rights, NAK_ACCESS, 10), (Cause::PageList, NAK_OPERATION, GENERAL)] {
        for kind in FRESH {
            let found = ends(&mut rig, &[one(kind, ODD, refused(cause))]);
            assert_eq!(found, (0, vec![(nak, 0x11)], vec![(status, true)], vec![]));
            assert_eq!(rig.seen.operations, 0);
            rig.change(1, true);
        }
    }
}

#[test]
fn behind_a_failure_no_atomic_is_carried_out_nor_told_again() {
    let mut rig = Rig::<64>::new();
    let mut all = vec![request(write(ODD, 8, refused(Cause::Key)))];
    all.extend([Atomic::Add, Atomic::Swap, Atomic::Replay].map(|kind| one(kind, EVEN, 7)));
    ends(&mut rig, &all);
    assert_eq!(rig.seen.operations, 0);
}

#[test]
fn an_operation_waits_until_the_answers_before_it_are_taken() {
    let mut rig = Rig::<64>::new();
    let mut stall = [(); STREAMS].map(|()| Pause::None);
    stall[8] = Pause::Always;
    rig.pause(stall);
    rig.send(&[request(write(EVEN, 8, 7)), one(Atomic::Add, EVEN, 7)]);
    rig.run(100);
    assert_eq!((rig.seen.writes, rig.entered, rig.left), (1, 0, 1));
    rig.pause([(); STREAMS].map(|()| Pause::None));
    rig.finish();
}

#[test]
fn two_operations_wait_untaken_and_their_arrivals_have_left() {
    let mut rig = Rig::<64>::new();
    let mut stall = [(); STREAMS].map(|()| Pause::None);
    stall[12] = Pause::Always;
    rig.pause(stall);
    let answer = (Answer::Acknowledge as u64).into();
    let plain = request((Errand { answer, ..blank(&mut rng()) }, vec![]));
    rig.send(&[one(Atomic::Add, EVEN, 7), one(Atomic::Swap, EVEN, 7), plain, one(Atomic::Replay, EVEN, 7)]);
    rig.run(100);
    assert_eq!((rig.entered, rig.seen.operations, rig.seen.tasks, rig.left), (2, 0, 1, 3));
    assert!(rig.port("busy"));
    rig.pause([(); STREAMS].map(|()| Pause::None));
    rig.finish();
}
