//! Windows: single cases, and who waits for whom.

use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, RPC};
use stroma_abi::desc::{CommandStatus, Region, Verb};

use super::super::model::Ask;
use super::super::rig::{MRS, Rig, Stage};
use super::super::works::Work;
use super::{DONE, bad};
use crate::state::command::{KeyCause, KeyVerb};

const IN_USE: (u32, u32) = (CommandStatus::InUse as u32, 0);
const QPN: u32 = 0x00ab_cdef;
const BARE: Region = Region {
    base: 0,
    length: 0,
    key: 0,
    page: 0,
    direct: false,
    list: 0,
    pd: 7,
    rights: 0,
    bindable: false,
    window: true,
};
/// Region 2, which takes windows and may be written.
const GROUND: Region = Region {
    base: 0x1234,
    length: 0x5000,
    key: 0x55,
    page: 1,
    direct: true,
    list: 0x4000_0000,
    pd: 7,
    rights: LOCAL_WRITE,
    bindable: true,
    window: false,
};
/// Window 3 onto region 2.
const BIND: Work = Work {
    verb: KeyVerb::Bind,
    qpn: QPN,
    pd: 7,
    key: 0x3_42,
    region: 0x2_55,
    base: 0x2000,
    length: 0x1000,
    rights: REMOTE_READ | REMOTE_WRITE,
};

/// The work that ends what [`BIND`] has begun.
fn end() -> Work {
    Work::ending(KeyVerb::Invalidate, 5, 7, BIND.key)
}

/// Region 2 and window 3.
fn prepared() -> Rig {
    let mut rig = Rig::default();
    assert_eq!(rig.carry_out(Ask::create(2, &GROUND)), DONE);
    assert_eq!(rig.carry_out(Ask::create(3, &BARE)), DONE);
    rig
}

#[test]
fn a_window_is_bound_and_parted_and_bound_again_and_a_query_shows_it() {
    let mut rig = prepared();
    let bound = Region { base: 0x2000, length: 0x1000, key: 0x42, rights: BIND.rights, ..BARE };
    // The rig holds every reply against the model, which is held against thought here.
    let shown = |rig: &mut Rig, expected: Region| {
        assert_eq!(rig.owner.regions[&3], expected);
        assert_eq!(rig.carry_out(Ask::new(Verb::Query, 3)), DONE);
    };
    shown(&mut rig, BARE);
    assert_eq!(rig.do_work(BIND), 0);
    shown(&mut rig, bound);
    assert_eq!(rig.do_work(end()), 0);
    shown(&mut rig, BARE);
    assert_eq!(rig.do_work(Work { key: 0x3_43, ..BIND }), 0);
    shown(&mut rig, Region { key: 0x43, ..bound });
    assert_eq!(rig.do_work(Work::ending(KeyVerb::Part, QPN, 7, 0x3_43)), 0);
    shown(&mut rig, BARE);
}

#[test]
fn the_first_cause_that_applies_refuses() {
    use KeyCause::{Bound, Bounds, Region as NoRegion, Rights, Window};
    let mut rig = prepared();
    assert_eq!(rig.carry_out(Ask::create(4, &Region { bindable: false, ..GROUND })), DONE);
    assert_eq!(rig.carry_out(Ask::create(5, &Region { rights: REMOTE_READ | RPC, ..GROUND })), DONE);
    assert_eq!(rig.carry_out(Ask::create(6, &BARE)), DONE);
    let far = Work { length: 0, ..BIND };
    let greedy = Work { rights: LOCAL_WRITE | REMOTE_READ, ..far };
    let lost = Work { region: 0x1_55, ..greedy };
    let cases = [
        (Work { key: 0x1_42, ..lost }, Some(Window)),
        (Work { key: 0x2_55, ..lost }, Some(Window)),
        (Work { key: 1 << (8 + MRS) | 0x3_42, ..lost }, Some(Window)),
        (Work { key: 0x8000_0342, ..lost }, Some(Window)),
        (Work { pd: 8, ..lost }, Some(Window)),
        (lost, Some(NoRegion)),
        (Work { region: 0x2_54, ..greedy }, Some(NoRegion)),
        (Work { region: 0x4_55, ..greedy }, Some(NoRegion)),
        (Work { region: 0x6_00, ..greedy }, Some(NoRegion)),
        (Work { region: 1 << (8 + MRS) | 0x2_55, ..greedy }, Some(NoRegion)),
        (greedy, Some(Rights)),
        (Work { region: 0x5_55, ..far }, Some(Rights)),
        (Work { region: 0x5_55, rights: REMOTE_ATOMIC, ..BIND }, Some(Rights)),
        (far, Some(Bounds)),
        (Work { base: 0x1233, ..BIND }, Some(Bounds)),
        (Work { base: 0x5235, ..BIND }, Some(Bounds)),
        (Work { base: 0x6234, length: 1, ..BIND }, Some(Bounds)),
        (Work { base: u64::MAX, ..BIND }, Some(Bounds)),
        (Work { length: (1 << 48) - 1, ..BIND }, Some(Bounds)),
        // The last byte is inside; reading and kernels need no right of the region.
        (Work { region: 0x5_55, base: 0x5234, rights: REMOTE_READ | RPC, ..BIND }, None),
        (lost, Some(Bound)),
    ];
    for (work, cause) in cases {
        assert_eq!(rig.do_work(work), cause.map_or(0, |cause| cause as u8), "{work:x?}");
    }
    let part = Work::ending(KeyVerb::Part, QPN + 1, 7, BIND.key);
    let cases = [
        (Work { key: 0x6_00, ..part }, KeyCause::Bound as u8),
        (Work { key: 0x3_41, ..part }, KeyCause::Bound as u8),
        (Work { pd: 8, ..part }, KeyCause::Window as u8),
        (part, KeyCause::QueuePair as u8),
        // Any queue pair of this host may end it.
        (Work { verb: KeyVerb::Invalidate, ..part }, 0),
        (part, KeyCause::Bound as u8),
    ];
    for (work, cause) in cases {
        assert_eq!(rig.do_work(work), cause, "{work:x?}");
    }
}

#[test]
fn a_region_with_windows_does_not_end_and_nothing_has_changed() {
    let mut rig = prepared();
    assert_eq!(rig.carry_out(Ask::create(4, &BARE)), DONE);
    assert_eq!(rig.do_work(BIND), 0);
    assert_eq!(rig.do_work(Work { key: 0x4_42, ..BIND }), 0);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), IN_USE);
    assert_eq!(rig.carry_out(Ask::new(Verb::Query, 2)), DONE);
    // One goes by a work, the other by a command, which takes a cycle more than that of a region.
    assert_eq!(rig.do_work(end()), 0);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), IN_USE);
    rig.patience = 1;
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 4)), DONE);
    assert_eq!(rig.offered_at - rig.taken_at, 12);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), DONE);
    assert_eq!(rig.offered_at - rig.taken_at, 11);
    assert_eq!(rig.do_work(BIND), KeyCause::Region as u8);
    // A window that is not bound ends like one that is; its number may be a region's then, which has no window.
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 3)), DONE);
    assert_eq!(rig.carry_out(Ask::create(3, &GROUND)), DONE);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 3)), DONE);
}

#[test]
fn all_windows_but_one_number_may_be_bound_to_a_region() {
    let mut rig = Rig::default();
    let last = (1 << MRS) - 1;
    assert_eq!(rig.carry_out(Ask::create(last, &GROUND)), DONE);
    let bind = |number: u32| Work { key: number << 8, region: last << 8 | 0x55, ..BIND };
    for number in 0..last {
        assert_eq!(rig.carry_out(Ask::create(number, &BARE)), DONE);
        assert_eq!(rig.do_work(bind(number)), 0);
    }
    for number in 0..last {
        assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, last)), IN_USE);
        assert_eq!(rig.do_work(Work::ending(KeyVerb::Invalidate, 0, 7, number << 8)), 0);
    }
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, last)), DONE);
}

#[test]
fn of_a_window_the_first_field_that_is_not_zero_is_told() {
    let mut rig = Rig::default();
    let cases = [
        (Region { base: 1 << 63, length: 1, ..BARE }, bad(0)),
        (Region { length: 1 << 47, key: 1, ..BARE }, bad(8)),
        (Region { key: 0x80, page: 3, ..BARE }, bad(14)),
        (Region { page: 3, list: 1, ..BARE }, bad(15)),
        (Region { direct: true, list: 1, ..BARE }, bad(15)),
        (Region { list: 1 << 63, rights: 1, ..BARE }, bad(16)),
        (Region { rights: 16, ..BARE }, bad(26)),
        (Region { bindable: true, ..BARE }, bad(26)),
        (Region { pd: 0xffff, ..BARE }, DONE),
    ];
    for (region, expected) in cases {
        assert_eq!(rig.carry_out(Ask::create(1, &region)), expected, "{region:x?}");
    }
}

#[test]
fn works_go_on_at_every_wait_of_a_region_that_ends() {
    let mut rig = prepared();
    // An MMU, a drain and a DMA that mostly take longer than all of the works.
    rig.patience = 500;
    let mut waits = [0; 3];
    for object in [4, 5, 4, 5, 4, 5] {
        let made = if object == 4 { GROUND } else { BARE };
        assert_eq!(rig.carry_out(Ask::create(object, &made)), DONE);
        let key = (object << 8) | 0x55;
        if object == 5 {
            assert_eq!(rig.do_work(Work { key, ..BIND }), 0);
        }
        rig.command(Ask::new(Verb::Destroy, object));
        while rig.stage == Stage::Open {
            rig.step();
        }
        while rig.stage != Stage::Settled {
            let stage = rig.stage;
            assert_eq!(rig.do_work(BIND), 0);
            // What ends takes no window, and is none any more.
            for verb in [KeyVerb::Invalidate, KeyVerb::Part] {
                assert_eq!(rig.do_work(Work::ending(verb, QPN, 7, key)), KeyCause::Window as u8);
            }
            assert_eq!(rig.do_work(Work { key, ..BIND }), KeyCause::Window as u8);
            assert_eq!(rig.do_work(end()), 0);
            assert_eq!(rig.do_work(Work { region: 0x4_55, ..BIND }), KeyCause::Region as u8);
            if rig.stage == stage {
                match stage {
                    Stage::Invalidated => waits[0] += 1,
                    Stage::Draining(_) => waits[1] += 1,
                    Stage::Settling(_) => waits[2] += 1,
                    _ => {}
                }
            }
        }
        rig.settle();
    }
    assert!(waits.iter().all(|count| *count > 5), "works in each wait: {waits:?}");
}

#[test]
fn works_take_the_cycles_promised_and_commands_and_works_wait_their_turn() {
    let mut rig = prepared();
    let cycles = |rig: &Rig| rig.work_offered_at - rig.work_taken_at;
    assert_eq!(rig.do_work(BIND), 0);
    assert_eq!(cycles(&rig), 6);
    assert_eq!(rig.do_work(BIND), KeyCause::Bound as u8);
    assert_eq!(cycles(&rig), 5);
    assert_eq!(rig.do_work(end()), 0);
    assert_eq!(cycles(&rig), 6);
    // A command that comes so many cycles after the work.
    let mut waited = [0; 2];
    let mut first = BIND;
    for distance in 0..9 {
        rig.settle();
        rig.work(first);
        (0..distance).for_each(|_| rig.step());
        rig.command(Ask::new(Verb::Query, 3));
        rig.settle();
        assert_eq!(rig.taken_at - rig.work_taken_at, distance);
        waited[0] = waited[0].max(rig.offered_at - rig.taken_at - 5);
        first = if first.verb == KeyVerb::Bind { end() } else { BIND };
    }
    // And a work that comes so many cycles after the command.
    for distance in 0..9 {
        rig.settle();
        rig.command(Ask::create(4, &GROUND));
        (0..distance).for_each(|_| rig.step());
        rig.work(first);
        rig.settle();
        assert_eq!(rig.work_taken_at - rig.taken_at, distance);
        waited[1] = waited[1].max(rig.work_offered_at - rig.work_taken_at - 6);
        first = if first.verb == KeyVerb::Bind { end() } else { BIND };
        assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 4)), DONE);
    }
    assert_eq!(waited, [4, 5]);
}

#[test]
fn recovers_from_reset_and_finds_no_bond() {
    let mut rig = prepared();
    assert_eq!(rig.do_work(BIND), 0);
    // Reset meets a work in each of its steps.
    for steps in 0..8 {
        rig.work(end());
        (0..steps).for_each(|_| rig.step());
        rig.reset(steps);
        while !rig.port::<bool>("ready") {
            assert!(!rig.port::<bool>("work$ready"), "a work was taken by a table that is not clean");
            rig.step();
        }
        rig.settle();
        assert_eq!(rig.do_work(BIND), KeyCause::Window as u8);
        assert_eq!(rig.carry_out(Ask::create(2, &GROUND)), DONE);
        assert_eq!(rig.carry_out(Ask::create(3, &BARE)), DONE);
        // No count is left from before.
        assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), DONE);
        assert_eq!(rig.carry_out(Ask::create(2, &GROUND)), DONE);
        assert_eq!(rig.do_work(BIND), 0);
    }
}

/// Regions 2 and 7, and windows 0, 1, 3 and 6 on them, of two queue pairs; the last is bound to nothing.
fn crowded() -> Rig {
    let mut rig = prepared();
    assert_eq!(rig.carry_out(Ask::create(7, &GROUND)), DONE);
    for number in [0, 1, 6] {
        assert_eq!(rig.carry_out(Ask::create(number, &BARE)), DONE);
    }
    for (number, region, qpn) in [(0, 2, QPN), (1, 2, 5), (3, 7, QPN)] {
        let (key, region) = ((number << 8) | 0x42, (region << 8) | 0x55);
        assert_eq!(rig.do_work(Work { qpn, key, region, ..BIND }), 0);
    }
    rig
}

#[test]
fn windows_end_with_their_queue_pair_and_those_of_others_do_not() {
    let mut rig = crowded();
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 7)), IN_USE);
    rig.leave(QPN);
    assert_eq!(rig.owner.bonds.keys().copied().collect::<Vec<u32>>(), [1]);
    for number in [0, 1, 3, 6] {
        assert_eq!(rig.carry_out(Ask::new(Verb::Query, number)), DONE);
    }
    // The key is over, the region is free, and the window may be bound again.
    assert_eq!(rig.do_work(end()), KeyCause::Bound as u8);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), IN_USE);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 7)), DONE);
    assert_eq!(rig.do_work(BIND), 0);
    rig.leave(QPN);
    rig.leave(5);
    assert!(rig.owner.bonds.is_empty());
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), DONE);
}

#[test]
fn the_end_of_a_queue_pair_takes_the_cycles_promised_and_none_where_no_window_is_bound() {
    let mut rig = prepared();
    assert_eq!(rig.leave(QPN), 1, "none was ever bound");
    assert_eq!(rig.do_work(BIND), 0);
    let none = rig.leave(5);
    assert_eq!(none, 1 + 2 * (1 << MRS) + 1, "another's");
    // Window 3 is the last that is bound: the places behind it are not looked at.
    assert_eq!(rig.leave(QPN), 1 + 2 * 4 + 6);
    assert_eq!(rig.leave(QPN), 1, "none is bound any more");
    assert_eq!(rig.do_work(BIND), 0);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 3)), DONE);
    assert_eq!(rig.leave(QPN), 1, "the window has ended by itself");
}

#[test]
fn works_go_on_while_the_windows_of_a_queue_pair_end() {
    let mut rig = crowded();
    // Refused, they leave the table as it is, whenever they come.
    for _ in 0..20 {
        rig.work(Work { key: 0x1_42, qpn: 5, ..BIND });
    }
    rig.leave(QPN);
    rig.settle();
    let refused = (KeyVerb::Bind as u8, KeyCause::Bound as u8);
    assert_eq!(rig.answers.get(&refused), Some(&20));
    assert_eq!(rig.owner.bonds.keys().copied().collect::<Vec<u32>>(), [1]);
}
