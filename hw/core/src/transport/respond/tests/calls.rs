//! Answers of RPCs: in their turn, from the staging and from the result area.

use rust_hdl::prelude::Bits;
use stroma_abi::wire::opcode;
use stroma_verilate::Pause;

use super::super::rig::{Rig, ack, data, finished, pending, replay, result, staged, value};
use super::corners::{ACCESS, ACK, ATOMIC, GAP, LAST, NOT_READY, ONLY, OPERATIONAL, POSITIVE, aeths, noted};
use crate::fabric::records::ResultRow;
use crate::testing::read;
use crate::transport::records::Task;

pub(super) const MORE: u64 = opcode::RPC_RESPONSE.code as u64;
pub(super) const END: u64 = opcode::RPC_RESPONSE_END.code as u64;
pub(super) const BUSY: u64 = opcode::RPC_BUSY.code as u64;

fn told(rig: &mut Rig, tasks: &[Task]) {
    for task in tasks {
        rig.send(task);
    }
    rig.settle();
}

#[test]
fn an_answer_from_the_area_has_its_bytes_in_order_and_says_at_its_end_what_it_is() {
    let mut rig = Rig::default();
    let area = ResultRow { exists: true, base: 0x123_4560.into(), log: 13.into(), key: 0x77.into() };
    (rig.areas[2], rig.model.areas[2]) = (area, area);
    let call = Task { path_mtu: 1.into(), ..result(2, 0xff_fffe, 5) };
    told(&mut rig, &[call, Task { status: 0x102.into(), ..finished(2, 5, 600) }]);
    assert_eq!(rig.sent(), [(2, MORE, 0xff_fffe), (2, MORE, 0xff_ffff), (2, END, 0)]);
    let pieces: Vec<(u64, u64, u64)> = rig
        .steps
        .iter()
        .map(|(_, step)| (step.address.into(), step.bytes.into(), step.payload_len.into()))
        .collect();
    let place = 0x12_3456_0000 + (5 << 13);
    assert_eq!(pieces, [(place, 256, 256), (place + 256, 256, 256), (place + 512, 88, 88)]);
    assert_eq!(aeths(&rig), [0, 0, 0x1f00_00c6], "the End alone acknowledges");
    let said: Vec<u64> = rig.steps.iter().map(|(_, step)| step.a1.into()).collect();
    assert_eq!(said, [0, 0, (0x102 << 32) + 600]);
    let is_local = |(_, step): &(u64, crate::transport::records::TxStep)| {
        !step.inline && step.need.index() == 0 && step.pd.index() == 9 && step.key.index() == 0x77
    };
    assert!(rig.steps.iter().all(is_local));
}

#[test]
fn an_answer_without_bytes_is_one_end_and_one_of_whole_packets_ends_with_a_full_one() {
    for (length, count, last) in [(0, 1, 0), (1024, 1, 1024), (2048, 2, 1024), (1 << 16, 64, 1024)] {
        let mut rig = Rig::default();
        let area = ResultRow { log: 16.into(), base: 0x100.into(), ..rig.areas[1] };
        (rig.areas[1], rig.model.areas[1]) = (area, area);
        told(&mut rig, &[result(1, 7, 0), finished(1, 0, length)]);
        let expected: Vec<_> =
            (0..count).map(|at| (1, if at + 1 == count { END } else { MORE }, 7 + at)).collect();
        assert_eq!(rig.sent(), expected, "{length} bytes");
        let end = rig.steps[rig.steps.len() - 1].1;
        assert_eq!((u64::from(end.bytes), u64::from(end.payload_len)), (last, last));
    }
}

#[test]
fn answers_leave_in_the_order_of_requests_whoever_is_finished_first() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(0, 10, 0), result(0, 13, 1), finished(0, 1, 5)]);
    assert!(rig.steps.is_empty());
    told(&mut rig, &[finished(0, 0, 5)]);
    assert_eq!(rig.sent(), [(0, END, 10), (0, END, 13)]);
}

#[test]
fn what_stands_behind_an_rpc_waits_for_it_and_what_stands_before_it_does_not() {
    let mut rig = Rig::default();
    told(&mut rig, &[data(0, 1, 5), value(0, 2, 5), ack(0, 3, POSITIVE), result(0, 4, 0)]);
    assert_eq!(rig.sent(), [(0, ONLY, 1), (0, ATOMIC, 2), (0, ACK, 3)]);
    rig.steps.clear();
    told(&mut rig, &[data(0, 5, 5), value(0, 6, 5), result(0, 7, 1), ack(0, 8, GAP), finished(0, 1, 3)]);
    assert!(rig.steps.is_empty());
    told(&mut rig, &[finished(0, 0, 3)]);
    assert_eq!(rig.sent(), [(0, END, 4), (0, ONLY, 5), (0, ATOMIC, 6), (0, END, 7), (0, ACK, 8)]);
}

#[test]
fn an_rpc_does_not_speak_for_an_acknowledgement_that_waits() {
    for syndrome in [POSITIVE, GAP, NOT_READY] {
        let mut rig = Rig::default();
        noted(&mut rig, &[ack(0, 4, syndrome), result(0, 5, 0)]);
        rig.settle();
        assert_eq!(rig.sent(), [(0, ACK, 4)], "{syndrome:#x}");
    }
}

#[test]
fn a_queue_pair_whose_rpc_runs_does_not_stand_in_line() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(0, 10, 0), data(0, 13, 5), ack(0, 14, POSITIVE)]);
    rig.notify(0);
    rig.settle();
    assert!(!read::<bool>(&rig.bench, "busy"));
    // Nobody is looked up any more.
    for _ in 0..100 {
        rig.step();
        assert!(!read::<bool>(&rig.bench, "area_enable"));
    }
    told(&mut rig, &[finished(0, 0, 0)]);
    assert_eq!(rig.sent()[1..], [(0, END, 10), (0, ONLY, 13), (0, ACK, 14)]);
}

#[test]
fn a_read_behind_an_rpc_goes_however_far_the_tickets_run_meanwhile() {
    let mut rig = Rig::default();
    // A READ of long ago, whose ticket looks like one to come.
    told(&mut rig, &[data(0, 1, 5)]);
    rig.done += 0x9000;
    rig.ticket = rig.done + 3;
    let late = Task { ticket: (rig.ticket & 0xffff).into(), ..data(0, 13, 5) };
    told(&mut rig, &[value(0, 9, 1), result(0, 10, 0)]);
    assert!(!read::<bool>(&rig.bench, "busy"), "nor does it wait for that ticket");
    rig.send(&late);
    rig.run(50);
    assert!(read::<bool>(&rig.bench, "busy"), "in line until the ticket is done");
    rig.done += 3;
    rig.settle();
    for _ in 0..20 {
        rig.done += 0x1000;
        rig.run(10);
    }
    rig.done += 0x9003;
    rig.steps.clear();
    told(&mut rig, &[finished(0, 0, 0)]);
    assert_eq!(rig.sent(), [(0, END, 10), (0, ONLY, 13)]);
}

#[test]
fn an_answer_in_the_staging_goes_from_there_and_that_it_is_kept_changes_nothing() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(3, 10, 0), staged(3, 0, 1024, 17)]);
    assert_eq!((rig.sent(), rig.sent_stages.as_slice()), (vec![(3, END, 10)], &[17][..]));
    let step = rig.steps[0].1;
    assert_eq!((step.inline, step.payload_len.index(), step.bytes.index()), (true, 1024, 0));
    assert_eq!(u64::from(step.a1) & 0xffff_ffff, 1024);
    assert_eq!(rig.answered[3], [0, 1]);
    told(&mut rig, &[finished(3, 0, 1024)]);
    assert_eq!((rig.steps.len(), rig.freed_stages.len()), (1, 0));
    // Nor does it count for the next that has the place.
    told(&mut rig, &[result(3, 11, 0)]);
    assert_eq!(rig.steps.len(), 1);
    told(&mut rig, &[finished(3, 0, 2)]);
    assert_eq!(rig.sent()[1..], [(3, END, 11)]);
}

#[test]
fn an_answer_without_bytes_gives_its_stage_back() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(3, 10, 0), staged(3, 0, 0, 31)]);
    assert_eq!((rig.sent(), rig.freed_stages.as_slice()), (vec![(3, END, 10)], &[31][..]));
    assert!(rig.sent_stages.is_empty() && !rig.steps[0].1.inline);
}

#[test]
fn a_stage_is_given_back_at_once_where_it_is_not_the_turn_of_its_rpc() {
    let mut rig = Rig::default();
    // Nobody waits; another RPC is before it; a READ is.
    told(&mut rig, &[staged(0, 0, 5, 1)]);
    assert_eq!(rig.freed_stages, [1]);
    told(&mut rig, &[result(0, 10, 0), result(0, 11, 1), staged(0, 1, 5, 2)]);
    assert_eq!(rig.freed_stages, [1, 2]);
    noted(&mut rig, &[data(1, 10, 5), result(1, 11, 0), staged(1, 0, 5, 3)]);
    assert_eq!(rig.freed_stages, [1, 2, 3]);
    rig.settle();
    told(&mut rig, &[finished(0, 1, 5), finished(0, 0, 5), finished(1, 0, 5)]);
    assert!(rig.sent_stages.is_empty());
    let of = |number| rig.sent().into_iter().filter(move |sent| sent.0 == number).collect::<Vec<_>>();
    assert_eq!(of(0), [(0, END, 10), (0, END, 11)]);
    assert_eq!(of(1), [(1, ONLY, 10), (1, END, 11)]);
}

#[test]
fn an_acknowledgement_before_it_goes_before_what_is_in_the_staging() {
    let mut rig = Rig::default();
    noted(&mut rig, &[ack(0, 9, POSITIVE), result(0, 10, 0), staged(0, 0, 5, 1), finished(0, 0, 5)]);
    rig.settle();
    assert_eq!(rig.sent(), [(0, ACK, 9), (0, END, 10)]);
    assert_eq!((rig.sent_stages.as_slice(), rig.freed_stages.len()), (&[1][..], 0));
}

#[test]
fn a_second_stage_for_the_same_answer_is_given_back() {
    let mut rig = Rig::default();
    noted(&mut rig, &[result(0, 10, 0), staged(0, 0, 5, 1), staged(0, 0, 5, 2)]);
    rig.settle();
    noted_again(&mut rig, &[result(1, 10, 0), finished(1, 0, 5), staged(1, 0, 5, 3)]);
    rig.settle();
    assert_eq!((rig.sent_stages.as_slice(), rig.freed_stages.as_slice()), (&[1][..], &[2, 3][..]));
    assert_eq!(rig.sent(), [(0, END, 10), (1, END, 10)]);
}

fn noted_again(rig: &mut Rig, tasks: &[Task]) {
    rig.pause = true;
    for task in tasks {
        rig.send(task);
    }
    rig.run(60);
    rig.pause = false;
}

#[test]
fn a_stop_an_end_a_reset_and_a_failure_give_the_stage_back() {
    for case in 0..4 {
        let mut rig = Rig::default();
        noted(&mut rig, &[result(0, 10, 0), staged(0, 0, 5, 9)]);
        rig.pause = true;
        match case {
            0 => rig.tell(0, true, false),
            1 => rig.end(0),
            2 => rig.tell(0, false, true),
            _ => rig.fail(0, 10.into()),
        }
        rig.run(20);
        rig.pause = false;
        rig.settle();
        assert_eq!((rig.freed_stages.as_slice(), rig.sent_stages.len()), (&[9][..], 0));
        let told: &[_] = if case == 3 { &[(0, ACK, 10)] } else { &[] };
        assert_eq!(rig.sent(), told, "case {case}");
    }
}

#[test]
fn a_stop_and_a_reset_forget_what_is_finished_and_what_is_busy() {
    for resets in [false, true] {
        let mut rig = Rig::default();
        noted(&mut rig, &[result(0, 10, 0), result(0, 11, 1), pending(0, 10, 0), finished(0, 1, 5)]);
        rig.tell(0, !resets, resets);
        rig.settle();
        assert!(rig.steps.is_empty());
        assert_eq!(rig.answered[0], if resets { vec![0] } else { vec![0, 2] });
        // What was under way comes to its end.
        told(&mut rig, &[finished(0, 0, 5), staged(0, 1, 5, 4), pending(0, 11, 1), result(0, 12, 2)]);
        rig.tell(0, false, true);
        rig.settle();
        told(&mut rig, &[result(0, 20, 0), result(0, 21, 1)]);
        assert!(rig.steps.is_empty(), "nothing is known of the new ones");
        assert_eq!(rig.freed_stages, [4]);
        told(&mut rig, &[finished(0, 1, 5), finished(0, 0, 5)]);
        assert_eq!(rig.sent(), [(0, END, 20), (0, END, 21)]);
    }
}

#[test]
fn a_refusal_behind_an_rpc_that_runs_is_told_at_once_when_the_queue_pair_stops() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(0, 10, 0), data(0, 13, 5), ack(0, 14, ACCESS)]);
    assert!(rig.steps.is_empty());
    rig.tell(0, true, false);
    rig.settle();
    assert_eq!(rig.sent(), [(0, ACK, 14)]);
}

#[test]
fn what_cannot_be_read_from_the_area_is_refused_once() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(1, 10, 0), result(1, 20, 1), finished(1, 0, 3000)]);
    rig.fail(1, 11.into());
    rig.fail(1, 12.into());
    rig.settle();
    assert_eq!(rig.sent()[3..], [(1, ACK, 11)]);
    assert_eq!(aeths(&rig)[3] >> 24, u64::from(OPERATIONAL));
    assert_eq!(rig.errors.len(), 1);
    told(&mut rig, &[finished(1, 1, 5)]);
    assert_eq!(rig.steps.len(), 4);
}

#[test]
fn rpcs_count_as_reads_do_and_not_when_they_come_again() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(1, 10, 0), finished(1, 0, 3000), replay(1, 10, 0, 3000, 0)]);
    assert_eq!(rig.answered[1], [0, 1]);
    let many: Vec<Task> = (0..16).map(|place| result(1, 20 + place, (1 + place) % 16)).collect();
    told(&mut rig, &many);
    told(&mut rig, &[result(1, 50, 1), data(1, 51, 1)]);
    assert_eq!((rig.answered[1].as_slice(), rig.dropped), (&[0, 1, 2, 3][..], 2));
    let ends: Vec<Task> = (0..16).map(|place| finished(1, place, 1)).collect();
    told(&mut rig, &ends);
    assert_eq!(rig.answered[1].last(), Some(&19));
}

#[test]
fn one_whose_place_still_waits_is_dropped() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(1, 10, 0), result(1, 20, 0)]);
    assert_eq!((rig.dropped, rig.answered[1].as_slice()), (1, &[0, 1][..]));
    told(&mut rig, &[finished(1, 0, 1)]);
    assert_eq!(rig.sent(), [(1, END, 10)]);
}

#[test]
fn one_that_runs_is_told_to_be_busy_each_time_it_comes_again() {
    let mut rig = Rig::default();
    told(&mut rig, &[ack(0, 9, POSITIVE), result(0, 10, 0)]);
    for behind in [0, 2, 0] {
        told(&mut rig, &[pending(0, 10 + behind, 0)]);
    }
    assert_eq!(rig.sent()[1..], [(0, BUSY, 10), (0, BUSY, 12), (0, BUSY, 10)]);
    let step = rig.steps[1].1;
    assert_eq!((u64::from(step.aeth), step.payload_len.index()), (0x1f00_00d2, 0), "the MSN of the RPC");
    told(&mut rig, &[finished(0, 0, 5)]);
    assert_eq!(rig.sent()[4..], [(0, END, 10)]);
    assert_eq!(rig.answered[0], [0, 1]);
}

#[test]
fn one_busy_waits_and_a_newer_takes_its_place_in_its_turn() {
    let mut rig = Rig::default();
    noted(&mut rig, &[ack(0, 9, GAP), result(0, 10, 0), pending(0, 10, 0), pending(0, 11, 0)]);
    rig.settle();
    assert_eq!(rig.sent(), [(0, ACK, 9), (0, BUSY, 11)]);
    rig.steps.clear();
    noted(&mut rig, &[pending(0, 10, 0), finished(0, 0, 3000)]);
    rig.settle();
    assert_eq!(rig.sent(), [(0, BUSY, 10), (0, MORE, 10), (0, MORE, 11), (0, END, 12)]);
}

#[test]
fn where_something_before_it_is_not_answered_nobody_is_told_to_be_busy() {
    let mut rig = Rig::default();
    told(&mut rig, &[result(0, 10, 0), result(0, 13, 1), pending(0, 13, 1), pending(0, 14, 1)]);
    assert!(rig.steps.is_empty());
    // Nor when the first of it has gone.
    rig.bench[rig.step].pause(Pause::Always);
    rig.send(&finished(0, 0, 20 * 1024));
    rig.run(60);
    rig.send(&pending(0, 10, 0));
    rig.run(20);
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    assert!(rig.sent().iter().all(|sent| sent.1 != BUSY) && rig.steps.len() == 20);
}

#[test]
fn one_that_was_thrown_away_while_it_ran_comes_in_again_and_waits() {
    for is_staged in [false, true] {
        let mut rig = Rig::default();
        rig.bench[rig.step].pause(Pause::Always);
        rig.send(&data(0, 0, 1024 * 20));
        rig.run(60);
        rig.send(&result(0, 20, 0));
        rig.send(&result(0, 23, 1));
        // The READ goes back behind its third packet.
        rig.send(&Task { fresh: false, ..data(0, 3, 1024 * 17) });
        rig.run(60);
        assert_eq!(rig.answered[0], [0, 3]);
        // One is finished before it comes again, and so its answer is in the area; the other still runs.
        rig.send(&finished(0, 0, 5));
        rig.send(&replay(0, 20, 0, 5, 0));
        rig.send(&pending(0, 23, 1));
        rig.send(&pending(0, 23, 1));
        rig.bench[rig.step].pause(Pause::None);
        rig.settle();
        assert_eq!(rig.sent()[rig.steps.len() - 2..], [(0, LAST, 19), (0, END, 20)]);
        let task = if is_staged { staged(0, 1, 5, 0) } else { finished(0, 1, 5) };
        told(&mut rig, &[task]);
        assert_eq!(rig.sent().last(), Some(&(0, END, 23)));
        assert_eq!(rig.sent_stages.len(), usize::from(is_staged));
        assert_eq!(rig.answered[0], [0, 3], "neither is new");
    }
}

#[test]
fn an_answer_that_is_asked_for_again_begins_with_the_packet_asked_for() {
    for packet in 0..3 {
        let mut rig = Rig::default();
        told(&mut rig, &[result(0, 10, 0), finished(0, 0, 3000)]);
        rig.steps.clear();
        told(&mut rig, &[replay(0, 10 + packet, 0, 3000, packet)]);
        let all = [(0, MORE, 10), (0, MORE, 11), (0, END, 12)];
        assert_eq!(rig.sent(), all[usize::try_from(packet).expect("small")..]);
        let end = rig.steps[rig.steps.len() - 1].1;
        assert_eq!((u64::from(end.a1) & 0xffff_ffff, end.bytes.index()), (3000, 3000 - 2048));
        let base = u64::from(rig.areas[0].base) << 12;
        assert_eq!(u64::from(end.address), base + 2048);
    }
}

/// Eight of the 20 packets of an answer have gone, and those behind them have no room. Then these tasks come.
fn under_way(tasks: &[Task]) -> Rig {
    let mut rig = Rig::default();
    let area = ResultRow { log: 16.into(), base: 0x1_0000.into(), ..rig.areas[0] };
    (rig.areas[0], rig.model.areas[0]) = (area, area);
    rig.bench[rig.step].pause(Pause::Always);
    rig.send(&result(0, 0, 0));
    rig.send(&finished(0, 0, 1024 * 20));
    rig.run(60);
    for task in tasks {
        rig.send(task);
    }
    rig.run(20 + 20 * tasks.len() as u64);
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    rig
}

fn answer(from: u64) -> Vec<(u64, u64, u64)> {
    (from..20).map(|psn| (0, if psn == 19 { END } else { MORE }, psn)).collect()
}

#[test]
fn an_answer_from_behind_its_first_packet_that_has_gone_replaces_the_one_under_way() {
    for from in [1, 5, 7, 8] {
        let again = replay(0, from, 0, 1024 * 20, from);
        let rig = under_way(&[result(0, 20, 1), ack(0, 21, POSITIVE), again, finished(0, 1, 5)]);
        assert_eq!(rig.sent()[8..], answer(from), "from {from}");
        assert_eq!(rig.model.gone_back, 1);
        assert_eq!(rig.answered[0], [0, 2], "the one behind was given up: it is asked for again as well");
    }
}

#[test]
fn an_answer_that_begins_elsewhere_waits_for_its_turn() {
    for from in [0, 9, 12] {
        let rig = under_way(&[result(0, 20, 1), replay(0, from, 0, 1024 * 20, from), finished(0, 1, 5)]);
        let expected = [answer(8), vec![(0, END, 20)], answer(from)].concat();
        assert_eq!(rig.sent()[8..], expected, "from {from}");
        assert_eq!(rig.model.gone_back, 0);
    }
}

#[test]
fn an_answer_whose_place_is_taken_ends_though_it_is_under_way() {
    let newer = |first: u64, count: u64| (0..count).map(move |at| result(0, 100 + at, (first + at) % 16));
    // Eight packets of it have gone when the sixteenth behind it comes.
    let mut rig = under_way(&[]);
    rig.steps.clear();
    rig.bench[rig.step].pause(Pause::Always);
    rig.send(&replay(0, 0, 0, 1024 * 20, 0));
    rig.run(60);
    for task in &newer(1, 14).collect::<Vec<_>>() {
        rig.send(task);
    }
    rig.run(100);
    assert_eq!(rig.outdated, 0);
    rig.send(&result(0, 120, 15));
    rig.run(20);
    assert_eq!(rig.dropped, 0);
    rig.send(&result(0, 121, 0));
    rig.run(20);
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    assert_eq!((rig.outdated, rig.dropped), (1, 1), "sixteen wait: there was no room for the newest");
    assert_eq!(rig.sent(), answer(0)[..8], "nothing more of either");
    let ends: Vec<Task> = (1..16).map(|place| finished(0, place, 1)).collect();
    told(&mut rig, &ends);
    assert_eq!(rig.steps.len(), 8 + 15);
}

#[test]
fn an_answer_that_waits_ends_with_its_place_and_another_does_not() {
    let mut rig = Rig::default();
    for place in 0..16 {
        told(&mut rig, &[result(0, place, place), finished(0, place, 5)]);
    }
    rig.steps.clear();
    let tasks = [
        replay(0, 1, 1, 5, 0),
        replay(0, 0, 0, 5, 0),
        replay(0, 15, 15, 5, 0),
        result(0, 16, 0),
        replay(0, 15, 15, 5, 0),
        ack(0, 17, GAP),
        finished(0, 0, 5),
    ];
    noted(&mut rig, &tasks);
    rig.settle();
    assert_eq!(rig.sent(), [(0, END, 1), (0, END, 15), (0, END, 16), (0, END, 15), (0, ACK, 17)]);
    assert_eq!(rig.outdated, 1);
    rig.steps.clear();
    told(&mut rig, &[replay(0, 16, 0, 5, 0)]);
    assert_eq!(rig.sent(), [(0, END, 16)], "the newer one may be asked for");
}

#[test]
fn queue_pairs_with_long_answers_take_turns_of_four_packets() {
    let mut rig = Rig::default();
    for number in 0..4 {
        let area = ResultRow { log: 16.into(), base: 0x100.into(), ..rig.areas[0] };
        (rig.areas[number], rig.model.areas[number]) = (area, area);
    }
    let calls = (0..4).map(|number| result(number, 0, 0));
    let tasks: Vec<Task> = calls.chain((0..4).map(|number| finished(number, 0, 1024 * 9))).collect();
    noted(&mut rig, &tasks);
    rig.settle();
    let turns: Vec<u64> = rig.sent().iter().map(|sent| sent.0).collect();
    let expected: Vec<u64> =
        [4, 4, 1].iter().flat_map(|burst| (0..4).flat_map(|n| vec![n; *burst])).collect();
    assert_eq!(turns, expected);
}

/// Cycles from the one in which a task is offered to that in which its step is, behind the `Result`.
fn latency(task: &Task) -> u64 {
    let mut rig = Rig::default();
    told(&mut rig, &[result(1, 1, 0)]);
    rig.run(20);
    rig.send(task);
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "step$valid") {
        rig.step();
    }
    rig.bench.cycle() - start
}

#[test]
fn an_rpc_that_is_finished_is_answered_in_seven_cycles() {
    let cycles = [staged(1, 0, 5, 0), staged(1, 0, 0, 0), finished(1, 0, 5), pending(1, 1, 0)];
    assert_eq!(cycles.map(|task| latency(&task)), [7; 4]);
    let mut rig = Rig::default();
    let many: Vec<Task> = (0..16).map(|place| result(1, place, place)).collect();
    let ends: Vec<Task> = (0..16).map(|place| finished(1, place, 64)).collect();
    noted(&mut rig, &[many, ends].concat());
    rig.settle();
    assert_eq!(rig.steps[15].0 - rig.steps[0].0, 15 * 5, "RPCs of one queue pair");
    let mut rig = Rig::default();
    let area = ResultRow { log: 16.into(), base: 0x100.into(), ..rig.areas[1] };
    (rig.areas[1], rig.model.areas[1]) = (area, area);
    noted(&mut rig, &[result(1, 1, 0), finished(1, 0, 1024 * 40)]);
    rig.settle();
    assert_eq!(rig.steps[39].0 - rig.steps[0].0, 9 * 8 + 3, "four packets in eight cycles");
}

#[test]
fn numbers_of_places_wrap_and_each_answer_is_that_of_its_own() {
    let mut rig = Rig::default();
    for count in 0..40 {
        let place = count % 16;
        told(&mut rig, &[result(1, count, place), finished(1, place, count)]);
        let said: Bits<64> = rig.steps[rig.steps.len() - 1].1.a1;
        assert_eq!(u64::from(said) & 0xffff_ffff, count);
    }
    assert_eq!(rig.steps.len(), 40);
}
