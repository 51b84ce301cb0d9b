//! The sequence against its plain-Rust twin.

mod calls;
mod corners;
mod deferred;
mod parts;
mod peer;
mod raw;
mod receives;
mod resources;
mod timing;
mod unreliable;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::WorkOp;
use stroma_abi::wire::RpcStatus;
use stroma_verilate::{Pause, SplitMix64};

use peer::{Peer, code};

use super::Sequence;
use super::account::Account;
use super::callee::Callees;
use super::classify::Classify;
use super::fit::Fitting;
use super::judge::Judge;
use super::measure::Measure;
use super::model::Outcome;
use super::rig::{OPERATIONS, QPS, Rig};
use super::wait::Waiting;
use crate::fabric::records::Calling;
use crate::host::work::QpChange;
use crate::testing::{noise, stalls_of};
use crate::transport::records::{Answer, Arrival, Atomic, List};
use crate::verilog::differential::{assert_agree, differential};

/// Rounds of requests, and of resets for the queue pairs that have failed, in a world that moves.
fn converse(rig: &mut Rig, peer: &mut Peer, rounds: usize, rarely: u64) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    rig.drifts = true;
    for _ in 0..rounds {
        let requests: Vec<Arrival> = (0..16).map(|_| peer.request(rarely)).collect();
        rig.send(&requests);
        rig.settle();
        outcomes.extend(rig.compare());
        peer.listen(rig);
        outcomes.extend(rig.look_again());
        peer.listen(rig);
        let changes = peer.revive();
        rig.send_changes(&changes);
        rig.settle();
        peer.listen(rig);
    }
    outcomes
}

#[test]
fn agrees_with_the_model() {
    let mut met = Vec::new();
    for seed in 0..64 {
        let mut rig = Rig::new();
        met.extend(converse(&mut rig, &mut Peer::new(seed), 60, 15));
    }
    let count = |what: &dyn Fn(&Outcome) -> bool| met.iter().filter(|outcome| what(outcome)).count();
    let answered = |answer: Answer| {
        let same = move |outcome: &Outcome| outcome.errand.answer.index() == answer as usize;
        (
            count(&|outcome| !outcome.duplicate && same(outcome)),
            count(&|outcome| outcome.duplicate && same(outcome)),
        )
    };
    let atomic = |atomic: Atomic| count(&|outcome| outcome.errand.atomic.index() == atomic as usize);
    let list = |list: List| count(&|outcome| outcome.errand.list.index() == list as usize);
    let flushed = |outcome: &Outcome| outcome.errand.completes && outcome.errand.status != Bits::from(0_u64);
    let call = |calling: Calling| count(&|outcome| outcome.errand.call.index() == calling as usize);
    let refusal = |status: RpcStatus| {
        count(&|outcome| outcome.errand.call_ends && outcome.errand.refusal.index() == status as usize)
    };
    let is_key = |outcome: &Outcome| {
        let is_end = outcome.errand.opcode.index() == WorkOp::SendInv as usize;
        outcome.errand.completes && is_end && !outcome.errand.fails
    };
    for (what, count) in [
        ("WRITEs placed", count(&|outcome| outcome.errand.places && outcome.errand.list.index() == 0)),
        ("WRITEs begun", count(&|outcome| outcome.errand.span.index() > outcome.errand.payload_len.index())),
        ("SENDs placed", list(List::Receive)),
        ("SENDs placed for an SRQ", list(List::Shared)),
        (
            "SENDs that go on",
            count(&|outcome| outcome.errand.list.index() != 0 && outcome.errand.offset.index() != 0),
        ),
        ("messages ended", count(&|outcome| outcome.errand.counts)),
        ("receives completed", count(&|outcome| outcome.errand.completes && !flushed(outcome))),
        ("receives given up", count(&flushed)),
        ("of them not begun", count(&|outcome| flushed(outcome) && outcome.takes)),
        ("raw frames taken", count(&|outcome| outcome.raw_taken)),
        ("raw frames lost", count(&|outcome| outcome.raw_lost)),
        ("last receives", count(&|outcome| outcome.errand.last_receive)),
        ("no receives", count(&|outcome| outcome.rnr)),
        ("thrown away on unreliable connections", count(&|outcome| outcome.dropped)),
        (
            "receives used again",
            count(&|outcome| outcome.errand.unreliable && outcome.errand.completes && !outcome.takes),
        ),
        ("begun on unreliable connections", count(&|outcome| outcome.errand.begins && outcome.errand.places)),
        ("before their turn, and not told", count(&|outcome| outcome.early && !outcome.nak)),
        ("for queue pairs that have failed", count(&|outcome| outcome.unwanted)),
        ("new READs", count(&|outcome| outcome.errand.fresh)),
        ("old READs", answered(Answer::Data).1),
        ("old SENDs and WRITEs", answered(Answer::Acknowledge).1),
        ("old, and nothing", answered(Answer::None).1),
        ("thrown away", answered(Answer::None).0),
        ("additions", atomic(Atomic::Add)),
        ("swaps", atomic(Atomic::Swap)),
        ("old atomics", atomic(Atomic::Replay)),
        ("RPCs begun", count(&|outcome| outcome.reserves.is_some_and(|reservation| reservation.begins))),
        ("RPCs that go on", call(Calling::GoesOn)),
        ("RPCs for a kernel", count(&|outcome| outcome.reserves.is_some_and(|reservation| reservation.ends))),
        ("answers too long", refusal(RpcStatus::TooLong)),
        ("kernels that nobody has", refusal(RpcStatus::UnknownOperation)),
        ("RPCs without room", count(&|outcome| outcome.no_room)),
        ("old RPCs", call(Calling::Again)),
        ("refusals that wait for an RPC", count(&|outcome| outcome.waits_for_call)),
        ("keys to be ended", count(&|outcome| outcome.part.is_some())),
        ("keys ended", count(&|outcome| is_key(outcome) && !outcome.nak)),
        ("keys ended, and something asked for again", count(&|outcome| is_key(outcome) && outcome.nak)),
        ("keys not ended", count(&|outcome| outcome.errand.completes && outcome.errand.fails)),
        ("deferred", count(&|outcome| outcome.errand.stores && !outcome.follows)),
        ("deferred after others", count(&|outcome| outcome.errand.stores && outcome.follows)),
        ("looked at again in vain", count(&|outcome| outcome.errand.loads && outcome.stays)),
        ("deferred, and carried out", count(&|outcome| outcome.errand.loads && outcome.errand.is_awaited)),
        ("deferred, and too early", count(&|outcome| outcome.errand.loads && outcome.early)),
        ("deferred without room", count(&|outcome| outcome.early && !outcome.stays && outcome.nak)),
        ("gaps told", count(&|outcome| outcome.nak && !outcome.errand.fails)),
        ("refusals", count(&|outcome| outcome.errand.fails)),
    ] {
        assert!(count >= 20, "{what}: {count}");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    let mut peer = Peer::new(9);
    for stall in stalls_of::<4>() {
        rig.pause(stall);
        converse(&mut rig, &mut peer, 6, 30);
    }
}

#[test]
fn changes_come_between_requests() {
    let mut rig = Rig::new();
    let mut peer = Peer::new(4);
    rig.drifts = true;
    rig.pause([Pause::None, Pause::Random { seed: 5, percent: 90 }, Pause::None, Pause::None]);
    for _ in 0..20 {
        let requests: Vec<Arrival> = (0..30).map(|_| peer.request(40)).collect();
        rig.send(&requests);
        let change = |rng: &mut SplitMix64| QpChange { qpn: rng.below(1 << QPS).into(), ..noise(rng) };
        let changes: Vec<QpChange> = (0..6).map(|_| change(&mut peer.rng)).collect();
        rig.send_changes(&changes);
        rig.settle();
        rig.compare();
        peer.listen(&rig);
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!("classify", Classify::default, [arrival]),
        differential!("fitting", Fitting::default, [arrival, kind, standing]),
        differential!(
            "measure",
            Measure::default,
            [arrival, kind, standing, stock, answered, finished, part_room]
        ),
        differential!(
            "callees",
            || Callees::new(&OPERATIONS.map(Some)),
            [arrival, kind, standing, room, room_more, behind]
        ),
        differential!("waiting", Waiting::default, [arrival, kind, measured, standing, roomy]),
        differential!(
            "judge",
            Judge::default,
            [arrival, kind, fit, measured, callee, reasons, standing, place]
        ),
        differential!("account", Account::default, [kind, measured, verdict, standing]),
        differential!(
            "sequence",
            || Sequence::<QPS>::new(&OPERATIONS.map(Some)),
            clock,
            [
                arrival.payload,
                arrival.valid,
                change.payload,
                change.valid,
                stock,
                answered,
                finished,
                roomy,
                place,
                room,
                room_more,
                part.ready,
                errand.ready
            ]
        ),
    ];
    assert_agree(cases, 300);
}
