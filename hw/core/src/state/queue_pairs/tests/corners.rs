//! Stories with names, and the cycles that the contract promises.

use stroma_abi::desc::queue_pair::{TRANSITIONS, attribute, transition};
use stroma_abi::desc::{CommandStatus, QueuePair, QueuePairKind, QueuePairState, Verb};

use super::super::model::Ask;
use super::super::rig::{QPS, Rig};
use crate::host::work::QpChange;

const DONE: u64 = CommandStatus::Done as u64;

/// Creates a queue pair of this kind.
fn created(rig: &mut Rig, object: u32, kind: QueuePairKind) {
    let body = QueuePair {
        kind: kind as u8,
        pd: 7,
        send_cq: 1,
        send_log: 4,
        receive_cq: 3,
        page: 2,
        send_base: 0x1234_5000,
        ..QueuePair::default()
    };
    let command = Ask { body: body.to_bytes(), ..Ask::new(Verb::Create, object) };
    assert_eq!(rig.carry_out(command), DONE);
}

/// A command that asks for a state and gives these attributes: the longest path MTU, and 1 elsewhere.
fn to(object: u32, state: QueuePairState, attributes: u64) -> Ask {
    let body = QueuePair { state: state as u8, path_mtu: 5, pace: 1, ..QueuePair::default() };
    let attributes = attributes | attribute::STATE;
    Ask { attributes, body: body.to_bytes(), ..Ask::new(Verb::Modify, object) }
}

/// Leads a queue pair from RESET to a state, the shortest way that has all that is required.
fn led(rig: &mut Rig, object: u32, kind: QueuePairKind, state: QueuePairState) {
    use QueuePairState::{Drained, Error, Init, ReadyToReceive, ReadyToSend, Reset};
    let way = [Reset, Init, ReadyToReceive, ReadyToSend, Drained];
    if state == Error {
        assert_eq!(rig.carry_out(to(object, Error, 0)), DONE);
        return;
    }
    let end = way.iter().position(|place| *place == state).expect("a state on the way");
    for step in way[..=end].windows(2) {
        let is_row = |row: &&stroma_abi::desc::queue_pair::Transition| {
            (row.from, row.to) == (step[0], step[1]) && row.kinds >> kind as u8 & 1 == 1
        };
        let row = TRANSITIONS.iter().find(is_row).expect("the way is in the table");
        assert_eq!(rig.carry_out(to(object, row.to, row.required)), DONE);
    }
}

#[test]
fn results_have_places_of_4_to_64_kib_that_begin_at_a_multiple_of_all_their_bytes() {
    let mut rig = Rig::default();
    for (result_base, result_log, is_good) in [
        (0x7_0000, 12, true),
        (0x7_8000, 12, false),
        (0x10_0000, 16, true),
        (0x18_0000, 16, false),
        (0x8_0000, 11, false),
        (0x40_0000, 17, false),
        (0x7_0001, 12, false),
        (0x1234, 0, true),
    ] {
        created(&mut rig, 3, QueuePairKind::Reliable);
        let state = QueuePairState::Init as u8;
        let body = QueuePair { result_base, result_log, result_key: 0x77, state, ..QueuePair::default() };
        let attributes = attribute::STATE | attribute::RIGHTS | attribute::P_KEY | attribute::RESULT_AREA;
        let command = Ask { attributes, body: body.to_bytes(), ..Ask::new(Verb::Modify, 3) };
        let expected = if is_good { DONE } else { CommandStatus::BadField as u64 };
        assert_eq!(rig.carry_out(command), expected, "{result_base:x}, {result_log}");
        assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 3)), DONE);
    }
}

#[test]
fn a_raw_queue_pair_has_the_longest_path_mtu_and_no_other() {
    let mut rig = Rig::default();
    for path_mtu in 0..8 {
        created(&mut rig, 5, QueuePairKind::Raw);
        led(&mut rig, 5, QueuePairKind::Raw, QueuePairState::Init);
        let state = QueuePairState::ReadyToReceive as u8;
        let body = QueuePair { state, path_mtu, ..QueuePair::default() };
        let attributes = attribute::STATE | attribute::PATH_MTU;
        let command = Ask { attributes, body: body.to_bytes(), ..Ask::new(Verb::Modify, 5) };
        let expected = if path_mtu == 5 { DONE } else { CommandStatus::BadField as u64 };
        assert_eq!(rig.carry_out(command), expected, "{path_mtu}");
        assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 5)), DONE);
    }
}

#[test]
fn every_kind_in_every_state_may_go_where_the_table_lets_it_and_nowhere_else() {
    use QueuePairState::{Drained, Error, Init, ReadyToReceive, ReadyToSend, Reset};
    let mut rig = Rig::default();
    for (kind, _) in QueuePairKind::ALL {
        for from in [Reset, Init, ReadyToReceive, ReadyToSend, Drained, Error] {
            for (target, _) in QueuePairState::ALL {
                let required = TRANSITIONS
                    .iter()
                    .find(|row| (row.from, row.to) == (from, *target) && row.kinds >> *kind as u8 & 1 == 1)
                    .map_or(0, |row| row.required);
                created(&mut rig, 5, *kind);
                led(&mut rig, 5, *kind, from);
                let expected = transition(*kind, from, *target, required | attribute::STATE);
                let expected = expected.map_or_else(|status| status as u64, |()| DONE);
                assert_eq!(rig.carry_out(to(5, *target, required)), expected, "{kind:?} {from:?} {target:?}");
                assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 5)), DONE);
            }
        }
    }
}

#[test]
fn errors_are_served_while_a_drain_is_awaited() {
    let mut rig = Rig::default();
    rig.drain_cycles = 1;
    for object in [1, 2] {
        created(&mut rig, object, QueuePairKind::Local);
        led(&mut rig, object, QueuePairKind::Local, QueuePairState::ReadyToSend);
    }
    for command in [to(1, QueuePairState::Reset, 0), Ask::new(Verb::Destroy, 1)] {
        rig.command(command);
        rig.reach_drain();
        // Drained does not come for a long time.
        rig.drained_at = Some(rig.bench.cycle() + 200);
        rig.error(2, 3, true);
        rig.error(1, 4, true);
        rig.error(2, 5, true);
        for _ in 0..20 {
            rig.step();
        }
        assert_eq!(rig.errors_waiting(), 0);
        assert!(rig.drained_at.is_some());
        // The one that ends stays as it is, the other is in error.
        for number in [1, 2] {
            rig.step_with(Some(number));
            rig.agree_on_row(number);
        }
        assert_eq!(u64::from(rig.owner.row(2).expect("it exists").state), QueuePairState::Error as u64);
        rig.settle();
    }
}

#[test]
fn errors_wait_for_the_change_before_them_and_bring_their_own() {
    let mut rig = Rig::default();
    created(&mut rig, 1, QueuePairKind::Local);
    led(&mut rig, 1, QueuePairKind::Local, QueuePairState::ReadyToReceive);
    rig.hold_changes(true);
    rig.command(to(1, QueuePairState::ReadyToSend, 0));
    for _ in 0..10 {
        rig.step();
    }
    assert!(rig.port::<bool>("change$valid"));
    rig.error(1, 9, true);
    for _ in 0..10 {
        rig.step();
    }
    assert_eq!(rig.errors_waiting(), 1, "the change on offer stays as it is");
    rig.hold_changes(false);
    rig.settle();
    assert_eq!(rig.errors_waiting(), 0);
    assert_eq!(u64::from(rig.owner.row(1).expect("it exists").state), QueuePairState::Error as u64);
}

#[test]
fn a_change_of_an_error_goes_before_that_of_the_command_behind_it() {
    let mut rig = Rig::default();
    for object in [1, 2] {
        created(&mut rig, object, QueuePairKind::Local);
        led(&mut rig, object, QueuePairKind::Local, QueuePairState::Drained);
    }
    for (told, untold) in [(0, true), (1, false)] {
        rig.hold_changes(true);
        rig.error(1 + told, 9, untold);
        rig.command(to(1 + told, QueuePairState::Reset, 0));
        for _ in 0..200 {
            rig.step();
        }
        // All that the command waits for has come; one change is on offer, and it is the error's.
        let change: QpChange = rig.port("change$payload");
        assert_eq!(change, QpChange { qpn: u64::from(1 + told).into(), stops: true, ..QpChange::default() });
        assert!(rig.is_ended() && rig.port::<bool>("change$valid") && rig.errors_waiting() == 0);
        rig.hold_changes(false);
        rig.settle();
    }
}

#[test]
fn a_queue_pair_ends_when_its_last_entry_was_accepted_and_is_visible() {
    let mut rig = Rig::default();
    rig.drain_cycles = 1;
    created(&mut rig, 1, QueuePairKind::Local);
    for command in [to(1, QueuePairState::Reset, 0), Ask::new(Verb::Destroy, 1)] {
        rig.entry_percent = 100;
        rig.command(command);
        rig.reach_drain();
        for _ in 0..50 {
            rig.step();
        }
        assert_eq!(rig.settle_due, Some(false), "an entry is on offer all the time");
        rig.entry_percent = 0;
        rig.step();
        rig.entry_percent = 100;
        while rig.settled_at.is_none() {
            rig.step();
        }
        // Settled does not come for a long time.
        rig.settled_at = Some(rig.bench.cycle() + 100);
        for _ in 0..90 {
            rig.step();
            assert!(!rig.port::<bool>("reply$valid") && !rig.port::<bool>("settle"));
        }
        rig.settle();
    }
}

#[test]
fn an_event_that_nobody_takes_stalls_errors_and_not_commands() {
    let mut rig = Rig::default();
    for object in [1, 2] {
        created(&mut rig, object, QueuePairKind::Local);
        led(&mut rig, object, QueuePairKind::Local, QueuePairState::ReadyToSend);
    }
    rig.hold_events(true);
    rig.error(1, 9, true);
    rig.error(2, 9, true);
    rig.command(Ask::new(Verb::Query, 2));
    for _ in 0..30 {
        rig.step();
    }
    assert_eq!(rig.errors_waiting(), 1);
    assert!(!rig.port::<bool>("reply$valid") && rig.port::<bool>("command$ready"));
    rig.hold_events(false);
    rig.settle();
}

#[test]
fn whoever_looks_from_the_cycle_of_drain_on_finds_the_new_row() {
    let mut rig = Rig::default();
    created(&mut rig, 6, QueuePairKind::Local);
    led(&mut rig, 6, QueuePairKind::Local, QueuePairState::ReadyToSend);
    for command in [to(6, QueuePairState::Reset, 0), Ask::new(Verb::Destroy, 6)] {
        rig.command(command);
        while !rig.port::<bool>("drain") {
            rig.step_with(Some(6));
        }
        rig.step_with(Some(6));
        rig.agree_on_row(6);
        assert!(!rig.port::<bool>("drain"), "the pulse lasts one cycle");
        rig.settle();
    }
}

#[test]
fn a_row_is_shown_until_the_next_look_and_beyond_the_table_there_is_none() {
    let mut rig = Rig::default();
    created(&mut rig, 3, QueuePairKind::Reliable);
    for _ in 0..10 {
        rig.step_with(None);
    }
    rig.step_with(Some(3));
    for _ in 0..5 {
        rig.agree_on_row(3);
        rig.step_with(None);
    }
    for beyond in [3 + (1 << QPS), 3 + (1 << 23)] {
        rig.step_with(Some(beyond));
        rig.agree_on_row(beyond);
    }
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::default();
    (rig.drain_cycles, rig.entry_percent, rig.told_percent) = (1, 0, 100);
    let cycles = |rig: &Rig| rig.offered_at - rig.taken_at;
    created(&mut rig, 0, QueuePairKind::Local);
    assert_eq!(cycles(&rig), 7);
    assert_eq!(rig.carry_out(Ask::new(Verb::Query, 0)), DONE);
    assert_eq!(cycles(&rig), 5);
    assert_eq!(rig.carry_out(to(0, QueuePairState::Init, 0)), DONE);
    assert_eq!(cycles(&rig), 5);
    for state in [QueuePairState::ReadyToReceive, QueuePairState::ReadyToSend] {
        assert_eq!(rig.carry_out(to(0, state, 0)), DONE);
    }
    assert_eq!(rig.carry_out(to(0, QueuePairState::Drained, 0)), DONE);
    assert_eq!(cycles(&rig), 9);
    assert_eq!(rig.carry_out(to(0, QueuePairState::Error, 0)), DONE);
    assert_eq!(cycles(&rig), 7);
    assert_eq!(rig.carry_out(to(0, QueuePairState::Reset, 0)), DONE);
    assert_eq!(cycles(&rig), 14);
    rig.error(0, 1, true);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 0)), DONE);
    assert_eq!(cycles(&rig), 13, "an end, and an error taken together with the command");
}

#[test]
fn a_queue_pair_that_has_drained_says_so_once_and_only_if_it_was_asked_to() {
    use QueuePairState::{Drained, ReadyToSend};
    let mut rig = Rig::default();
    created(&mut rig, 3, QueuePairKind::Reliable);
    led(&mut rig, 3, QueuePairKind::Reliable, ReadyToSend);
    // Nobody has asked, or it is not draining.
    rig.emptied(3);
    assert_eq!(rig.carry_out(to(3, Drained, 0)), DONE);
    assert!(rig.owner.queue_pairs[&3].draining);
    rig.emptied(3);
    rig.settle();
    assert!(!rig.owner.queue_pairs[&3].draining && rig.drains_told == 0);
    assert_eq!(rig.carry_out(Ask::new(Verb::Query, 3)), DONE);
    assert_eq!(rig.carry_out(to(3, ReadyToSend, 0)), DONE);
    // Asked for: once, and not again by changes within the state.
    let body = QueuePair { state: Drained as u8, notify: true, draining: true, ..QueuePair::default() };
    let notified = Ask { body: body.to_bytes(), ..to(3, Drained, 0) };
    for told in [1, 1] {
        assert_eq!(rig.carry_out(notified), DONE);
        rig.emptied(3);
        rig.emptied(3);
        rig.settle();
        assert_eq!(rig.drains_told, told);
    }
    // An error ends a drain, and what comes late is not meant.
    assert_eq!(rig.carry_out(to(3, ReadyToSend, 0)), DONE);
    assert_eq!(rig.carry_out(notified), DONE);
    rig.error(3, 9, false);
    rig.emptied(3);
    rig.settle();
    assert_eq!(rig.drains_told, 1);
    assert_eq!(rig.carry_out(Ask::new(Verb::Query, 3)), DONE);
}

#[test]
fn recovers_from_reset_and_finds_no_queue_pair() {
    let mut rig = Rig::default();
    for object in 0..1 << QPS {
        created(&mut rig, object, QueuePairKind::Local);
    }
    // Under way: a drain that never ends, an event and a change that nobody takes.
    led(&mut rig, 4, QueuePairKind::Local, QueuePairState::ReadyToSend);
    rig.drain_cycles = 1_000_000;
    rig.command(Ask::new(Verb::Destroy, 0));
    rig.reach_drain();
    rig.hold_events(true);
    rig.hold_changes(true);
    rig.error(4, 1, true);
    (0..5).for_each(|_| rig.step());
    assert!(rig.port::<bool>("event$valid") && rig.port::<bool>("change$valid"));
    rig.drain_cycles = 1;
    rig.hold_events(false);
    rig.hold_changes(false);
    rig.reset(1);
    let start = rig.bench.cycle();
    while !rig.port::<bool>("ready") {
        assert!(
            rig.port::<bool>("busy")
                && !rig.port::<bool>("command$ready")
                && !rig.port::<bool>("error$ready")
        );
        rig.step_with(None);
    }
    assert_eq!(rig.bench.cycle() - start, 1 << QPS, "a place a cycle");
    assert!(!rig.port::<bool>("busy"));
    for object in 0..1 << QPS {
        rig.step_with(Some(object));
        rig.agree_on_row(object);
        assert_eq!(rig.carry_out(Ask::new(Verb::Query, object)), CommandStatus::NoObject as u64);
    }
    created(&mut rig, 4, QueuePairKind::Local);
}
