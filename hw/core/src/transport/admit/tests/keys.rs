use rust_hdl::prelude::Bits;
use stroma_abi::desc::wqe::BODY_AT;
use stroma_abi::desc::{Status, WindowBind, WorkOp, WqeHead};
use stroma_verilate::Pause;

use super::corners::{QPN, job, locals, nop, report, write};
use crate::state::command::KeyVerb;
use crate::transport::admit::rig::{Case, Rig};
use crate::transport::records::{KeyJob, KeyedRow};

/// Among the outputs.
const KEY: usize = 7;

fn bind(index: u64) -> Case {
    Case::new(WorkOp::Bind, QPN, index, 0)
}

fn invalidate(index: u64) -> Case {
    Case::new(WorkOp::Invalidate, QPN, index, 0)
}

/// The first, third, fifth work on a key has ended, or one of the others.
fn end(rig: &mut Rig, is_odd: bool) {
    rig.end_key(QPN, KeyedRow { turn: is_odd, failed: false });
    rig.run(1);
}

#[test]
fn what_a_window_is_to_stand_for_goes_along() {
    let mut rig = Rig::new();
    let stands = WindowBind {
        base: 0x1234_5678_9abc_def0,
        length: 0xfedc_ba98_7654,
        rights: 0x16,
        region: 0x8765_4321,
    };
    let mut unit = [0xff; 64];
    WqeHead::default().emit(&mut unit);
    stands.emit(&mut unit[BODY_AT..]);
    let mut case = bind(0).with(|work| {
        work.units = 2.into();
        work.key = 0x0bad_cafe_u64.into();
        work.signaled = true;
    });
    case.units[0] = num_bigint::BigUint::from_bytes_le(&unit).into();
    let (cq, pd) = (case.work.cq, case.work.pd);
    let seen = job(&mut rig, [case]);
    let expected = KeyJob {
        verb: (KeyVerb::Bind as u64).into(),
        qpn: QPN.into(),
        pd,
        key: 0x0bad_cafe_u64.into(),
        region: 0x8765_4321_u64.into(),
        base: 0x1234_5678_9abc_def0_u64.into(),
        length: 0xfedc_ba98_7654_u64.into(),
        rights: 0x16_u64.into(),
        cq,
        index: Bits::from(0_u64),
        signaled: true,
        turn: true,
    };
    assert_eq!(seen.key, [expected]);
    // Its units go nowhere.
    assert_eq!((report(&seen), seen.local_units.len(), seen.message_units.len()), ((2, false, 0), 0, 0));
    end(&mut rig, true);
    let seen = job(&mut rig, [invalidate(2)]);
    let [ended] = seen.key[..] else { panic!("one work goes") };
    assert_eq!((u64::from(ended.verb), ended.turn), (KeyVerb::Invalidate as u64, false));
    assert_eq!((u64::from(ended.region), u64::from(ended.base), u64::from(ended.length)), (0, 0, 0));
}

#[test]
fn work_on_a_key_waits_for_all_before_it() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, [write(0), bind(1)]);
    assert_eq!((seen.message.len(), seen.key.len(), report(&seen)), (1, 0, (1, true, 10)), "it is blocked");
    rig.acknowledge(QPN, 1, 0);
    let seen = job(&mut rig, [nop(1), bind(2)]);
    // The NOP has not ended: nobody would tell when, so it comes again.
    assert_eq!((seen.local.len(), seen.key.len(), report(&seen)), (2, 0, (2, false, 0)));
    rig.ended = 4;
    rig.run(2);
    let seen = job(&mut rig, [bind(2)]);
    assert_eq!((seen.key.len(), report(&seen)), (1, (3, false, 0)));
}

#[test]
fn all_behind_work_on_a_key_waits_for_its_end_and_tries_again() {
    let mut rig = Rig::new();
    for (round, behind) in [write(1), nop(1), bind(1), invalidate(1)].into_iter().enumerate() {
        rig.ended = 0;
        let seen = job(&mut rig, [bind(0), behind.clone()]);
        assert_eq!((seen.key.len(), seen.message.len(), locals(&seen).0.len()), (1, 0, 0), "{round}");
        assert_eq!(report(&seen), (1, false, 0));
        end(&mut rig, true);
        let seen = job(&mut rig, [behind]);
        assert_eq!(seen.key.len() + seen.message.len() + locals(&seen).0.len(), 1, "{round}");
        assert_eq!(report(&seen).0, 2);
        rig.reset();
    }
    // Those of other queue pairs do not.
    rig.send(bind(0));
    rig.send(Case::new(WorkOp::Write, QPN + 1, 0, 10));
    let seen = rig.outcome();
    assert_eq!((seen.key.len(), seen.message.len()), (1, 1));
}

#[test]
fn behind_a_failed_one_all_is_flushed_before_anybody_says_so() {
    let mut rig = Rig::new();
    job(&mut rig, [bind(0)]);
    rig.end_key(QPN, KeyedRow { turn: true, failed: true });
    rig.run(1);
    let seen = job(&mut rig, [write(1), bind(2), invalidate(3)]);
    let flushed = Status::Flushed as u64;
    assert_eq!(locals(&seen), (vec![(1, flushed, 0), (2, flushed, 0), (3, flushed, 0)], 0));
    assert!(seen.key.is_empty() && seen.message.is_empty());
    // Until it begins anew.
    rig.change(QPN, true, false);
    rig.end_key(QPN, KeyedRow::default());
    rig.outcome();
    assert_eq!(job(&mut rig, [bind(0)]).key.len(), 1);
}

#[test]
fn a_stopped_queue_pair_flushes_work_on_keys_behind_the_one_under_way() {
    let mut rig = Rig::new();
    job(&mut rig, [bind(0)]);
    rig.change(QPN, false, true);
    rig.outcome();
    let seen = job(&mut rig, [invalidate(1), bind(2)]);
    assert_eq!((locals(&seen).0.len(), report(&seen)), (0, (1, false, 0)), "completions keep their order");
    end(&mut rig, true);
    let seen = job(&mut rig, [invalidate(1), bind(2)]);
    let flushed = Status::Flushed as u64;
    assert_eq!(locals(&seen), (vec![(1, flushed, 0), (2, flushed, 0)], 0));
}

#[test]
fn without_room_work_on_a_key_does_not_go_and_keeps_nobody_waiting() {
    let mut rig = Rig::new();
    rig.bench[rig.outputs[KEY]].pause(Pause::Always);
    let of = |qpn, op| Case::new(op, qpn, 0, 0);
    for qpn in 0..4 {
        rig.send(of(qpn, WorkOp::Invalidate));
        rig.send(Case::end(qpn, 1));
    }
    rig.run(100);
    // Two find room; the others come again, and their jobs end.
    let next: Vec<u64> = rig.seen.progress.iter().map(|progress| progress.next_index.into()).collect();
    assert_eq!(next, [1, 1, 0, 0]);
    assert!(rig.seen.progress.iter().all(|progress| !progress.blocked));
    rig.bench[rig.outputs[KEY]].pause(Pause::None);
    assert_eq!(rig.outcome().key.len(), 2);
}

#[test]
fn work_on_a_key_goes_after_three_cycles() {
    let mut rig = Rig::new();
    rig.send(invalidate(0));
    let steps = (1..50).find(|_| {
        rig.step();
        rig.get("key$valid")
    });
    // The queue behind shows it a cycle later.
    assert_eq!(steps, Some(4));
    rig.finish();
}
