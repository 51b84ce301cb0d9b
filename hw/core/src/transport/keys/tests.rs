//! Keys against their plain-Rust twin.

mod corners;

use stroma_verilate::SplitMix64;

use super::Keys;
use super::course::Course;
use super::model::Item;
use super::passed::Passed;
use super::rig::{QPS, Rig};
use super::settle::Settle;
use super::tell::Tell;
use crate::host::work::QpChange;
use crate::state::command::KeyVerb;
use crate::testing::{noise, stalls_of};
use crate::verilog::differential::{assert_agree, differential};

/// Works of all kinds, at random; queue pairs whose job failed begin anew.
fn drive(rig: &mut Rig, cycles: u64) {
    for _ in 0..cycles {
        let qpn = usize::try_from(rig.rng.below(1 << QPS)).expect("small");
        match rig.rng.below(40) {
            0 | 1 if rig.is_free(qpn) => {
                let verb = if rig.rng.below(2) == 0 { KeyVerb::Bind } else { KeyVerb::Invalidate };
                let signaled = rig.rng.below(2) == 0;
                rig.send_job(verb, qpn, signaled);
            }
            2 => {
                rig.send_part(qpn);
            }
            3 if rig.is_free(qpn) => rig.begin_anew(qpn),
            4 => {
                let other = |rng: &mut SplitMix64| QpChange { resets: false, ..noise(rng) };
                let change = other(&mut rig.rng);
                rig.send_change(QpChange { qpn: (qpn as u64).into(), ..change });
            }
            _ => {}
        }
        rig.step();
    }
    rig.settle();
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new();
    (rig.refuses, rig.delay) = (5, 12);
    for traffic in [(0, 0), (30, 40), (20, 30), (50, 60)] {
        rig.traffic = traffic;
        drive(&mut rig, 5000);
    }
    let count = |what: &dyn Fn(&Item, u64) -> bool| {
        rig.ended.iter().filter(|(item, cause)| what(item, *cause)).count()
    };
    let verb = |item: &Item, verb: KeyVerb| u64::from(item.work().verb) == verb as u64;
    let is_silent = |item: &Item| matches!(item, Item::Job(job) if !job.signaled);
    for (what, count) in [
        ("binds", count(&|item, cause| verb(item, KeyVerb::Bind) && cause == 0)),
        ("bad binds", count(&|item, cause| verb(item, KeyVerb::Bind) && cause != 0)),
        ("ends", count(&|item, cause| verb(item, KeyVerb::Invalidate) && cause == 0)),
        ("bad ends", count(&|item, cause| verb(item, KeyVerb::Invalidate) && cause != 0)),
        ("parts", count(&|item, cause| verb(item, KeyVerb::Part) && cause == 0)),
        ("bad parts", count(&|item, cause| verb(item, KeyVerb::Part) && cause != 0)),
        ("silent ones", count(&|item, cause| is_silent(item) && cause == 0)),
    ] {
        assert!(count >= 20, "{what}: {count}");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    (rig.refuses, rig.delay, rig.traffic) = (4, 6, (30, 40));
    for stall in stalls_of::<7>() {
        rig.pause(stall);
        drive(&mut rig, 600);
    }
    assert!(rig.ended.len() > 100, "{}", rig.ended.len());
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!(
            "course",
            Course::default,
            clock,
            [has_job, has_part, is_bind, asked, replies, reply, settled, told]
        ),
        differential!("passed", Passed::default, clock, [reset, enters, leaves, begins]),
        differential!(
            "settle",
            Settle::default,
            clock,
            [
                reset,
                arrival_enters,
                arrival_leaves,
                atomic_enters,
                atomic_leaves,
                answer_enters,
                answer_leaves,
                kernel_read_enters,
                kernel_read_leaves,
                kernel_write_enters,
                kernel_write_leaves,
                begins
            ]
        ),
        differential!(
            "tell",
            Tell::default,
            clock,
            [active, is_part, job, part, cause, done.ready, error.ready, nudge.ready]
        ),
        differential!(
            "keys",
            Keys::<QPS>::default,
            clock,
            [
                job.payload,
                job.valid,
                part.payload,
                part.valid,
                work.ready,
                reply.payload,
                reply.valid,
                arrival_enters,
                arrival_leaves,
                atomic_enters,
                atomic_leaves,
                answer_enters,
                answer_leaves,
                kernel_read_enters,
                kernel_read_leaves,
                kernel_write_enters,
                kernel_write_leaves,
                done.ready,
                error.ready,
                nudge.ready,
                look,
                look_index,
                change.payload,
                change.valid,
                drain
            ]
        ),
    ];
    assert_agree(cases, 300);
}
