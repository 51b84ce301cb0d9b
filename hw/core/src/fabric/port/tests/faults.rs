//! What a kernel can do wrong, one by one.

use stroma_abi::desc::region::rights::{REMOTE_READ, REMOTE_WRITE, RPC};
use stroma_abi::wire::RpcStatus;
use stroma_verilate::SplitMix64;

use crate::fabric::port::rig::kernel::{Out, Plan, noise_bytes};
use crate::fabric::port::rig::{Rig, ask, response, right};
use crate::fabric::records::Access;
use crate::slot::{SlotCommand, SlotRead};
use crate::stream::{Beat, beats};

const OK: u32 = RpcStatus::Ok as u32;
const LIMIT: u32 = RpcStatus::Limit as u32;
const ABORTED: u32 = RpcStatus::Aborted as u32;

/// A kernel that answers with as many bytes, and `OK`.
fn plain<const D: usize>(rng: &mut SplitMix64, command: &SlotCommand, count: usize) -> Plan<D> {
    let bytes = noise_bytes(rng, count);
    let beats = if bytes.is_empty() { Vec::new() } else { beats(&bytes) };
    Plan { beats, responses: vec![response(command, OK, count)], ..Plan::default() }
}

fn expires_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.set("limit", 500);
    let mut count = 0;
    rig.planner = Box::new(move |rng, command| {
        count += 1;
        let plan = plain(rng, command, 40);
        // Half an answer, which is thrown away.
        if count == 1 { Plan { responses: Vec::new(), ..plan } } else { plan }
    });
    for _ in 0..3 {
        rig.request(0, 2, &[1; 20], 300);
    }
    rig.run(300);
    assert_eq!(rig.pulses.invoked, 3);
    rig.request(1, 0, &[], 300);
    rig.run_until(|rig| rig.resets == 1);
    // Its payload is taken a few cycles behind the command, and the limit counts from there.
    let waited = rig.expire_cycles[0] - rig.command_cycles[0];
    assert!((498..=508).contains(&waited), "{waited} cycles");
    rig.request(1, 1, &[3; 40], 300);
    rig.settle();
    // The offender loses what he had begun; the other's call waited meanwhile, and runs.
    assert_eq!(rig.twin.statuses, [LIMIT, ABORTED, ABORTED, OK, OK]);
    assert_eq!((rig.pulses.expired, rig.resets, rig.pulses.invoked), (1, 1, 5));
    assert_eq!((rig.pulses.answered_ok, rig.pulses.answered_failed), (2, 3));
}

#[test]
fn a_kernel_that_never_answers_is_ended_by_the_watchdog() {
    expires_at::<64>();
    expires_at::<512>();
}

#[test]
fn invocations_without_a_command_go_on_when_the_kernel_runs_again() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 500);
    let mut count = 0;
    rig.planner = Box::new(move |rng, command| {
        count += 1;
        if count == 1 { Plan::default() } else { plain(rng, command, 100) }
    });
    rig.request(2, 3, &[5; 300], 300);
    rig.run_until(|rig| rig.pulses.invoked == 1);
    rig.kernel.is_dull = true;
    rig.request(0, 3, &[6; 100], 300);
    rig.request(1, 3, &[7; 200], 300);
    rig.run_until(|rig| rig.resets == 1);
    rig.kernel.is_dull = false;
    rig.settle();
    assert_eq!(rig.twin.statuses, [LIMIT, OK, OK]);
    assert_eq!(rig.pulses.invoked, 3);
}

#[test]
fn a_kernel_that_takes_no_command_is_ended_too() {
    let mut rig = Rig::<64>::new();
    rig.set("limit", 400);
    rig.kernel.is_dull = true;
    rig.request(2, 3, &[5; 300], 300);
    rig.request(0, 0, &[], 0);
    rig.settle();
    assert_eq!(rig.twin.statuses, [LIMIT, LIMIT]);
    assert_eq!((rig.pulses.expired, rig.pulses.invoked), (2, 0));
}

#[test]
fn a_kernel_that_takes_no_data_is_ended_and_its_stream_told_at_its_end() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 2000);
    rig.planner = Box::new(|rng, command| Plan {
        is_deaf: command.request_len.index() > 10_000,
        ..plain(rng, command, 9)
    });
    rig.request(2, 3, &vec![5; 60_000], 300);
    rig.run_until(|rig| !rig.port("room_more"));
    rig.request(1, 3, &[5; 100], 300);
    rig.settle();
    let mut statuses = rig.twin.statuses.clone();
    statuses.sort_unstable();
    assert_eq!(statuses, [OK, ABORTED]);
    assert_eq!((rig.pulses.expired, rig.resets), (1, 1));
}

#[test]
fn a_stream_may_come_for_longer_than_an_invocation_may_take() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 400);
    rig.planner = Box::new(|rng, command| plain(rng, command, 9));
    rig.manners.reserves = 2;
    rig.request(2, 3, &vec![5; 60_000], 300);
    rig.settle();
    assert_eq!((rig.twin.statuses.as_slice(), rig.pulses.expired), ([OK].as_slice(), 0));
    let took = rig.chunk_cycles[0] - rig.command_cycles[0];
    assert!(took > 800, "{took} cycles are no test of it");
}

#[test]
fn a_kernel_that_answers_and_leaves_its_data_is_ended() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 400);
    let mut count = 0;
    rig.planner = Box::new(move |rng, command| {
        count += 1;
        Plan { is_deaf: count == 1, skips_data: true, ..plain(rng, command, 9) }
    });
    rig.request(2, 3, &[5; 300], 300);
    rig.request(2, 3, &[5; 300], 300);
    rig.settle();
    assert_eq!(rig.twin.statuses, [LIMIT, OK]);
}

fn cuts_at<const D: usize>() {
    for status in [OK, 0x123] {
        let mut rig = Rig::<D>::new();
        rig.planner = Box::new(move |rng, command| {
            let most = command.response_max.index();
            let count = most + 1 + usize::try_from(rng.below(700)).expect("few");
            Plan { responses: vec![response(command, status, most)], ..plain(rng, command, count) }
        });
        let most = [0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 300, 512, 1000];
        for response_max in most {
            rig.request(0, 1, &[1; 4], response_max);
        }
        rig.settle();
        let told = if status == OK { LIMIT } else { status };
        assert_eq!(rig.twin.statuses, vec![told; most.len()]);
    }
}

#[test]
fn an_answer_that_is_too_long_is_cut_and_told() {
    cuts_at::<64>();
    cuts_at::<512>();
}

#[test]
fn an_answer_of_just_what_is_allowed_is_not_cut() {
    let mut rig = Rig::<64>::new();
    rig.planner = Box::new(|rng, command| plain(rng, command, command.response_max.index()));
    for response_max in [0, 1, 8, 255, 256, 257, 512, 1024] {
        rig.request(0, 1, &[1; 4], response_max);
    }
    rig.settle();
    assert_eq!(rig.twin.statuses, [OK; 8]);
}

#[test]
fn a_length_that_the_response_tells_is_not_looked_at() {
    let mut rig = Rig::<512>::new();
    rig.planner = Box::new(|rng, command| {
        let told = usize::try_from(rng.below(2) * rng.below(500)).expect("few");
        Plan { responses: vec![response(command, OK, told)], ..plain(rng, command, 200) }
    });
    for _ in 0..10 {
        rig.request(0, 1, &[1; 4], 300);
    }
    rig.settle();
    assert_eq!(rig.twin.statuses, [OK; 10]);
}

/// The same of another length.
fn of(read: SlotRead, len: u64) -> SlotRead {
    SlotRead { len: len.into(), ..read }
}

fn refuses_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.planner = Box::new(|rng, command| {
        let good = ask(rng, command);
        let foreign = SlotRead { ticket: command.ticket + 5, ..good };
        let asks =
            vec![good, foreign, of(good, 0), of(good, 1), of(good, 4096), of(good, 4097), of(good, 8191)];
        Plan { reads: asks.clone(), writes: asks, ..plain(rng, command, 5) }
    });
    for _ in 0..3 {
        rig.request(0, 1, &[1; 4], 300);
        rig.settle();
    }
    assert_eq!(rig.accesses.len(), 3 * 14);
    assert_eq!(rig.accesses.iter().filter(|access| access.refused).count(), 3 * 8);
    assert_eq!(rig.twin.statuses, [OK; 3]);
}

#[test]
fn reads_and_writes_with_a_foreign_ticket_or_a_bad_length_are_refused() {
    refuses_at::<64>();
    refuses_at::<512>();
}

#[test]
fn a_kernel_reads_and_writes_for_its_caller_as_his_connection_lets_him() {
    let mut rig = Rig::<512>::new();
    rig.planner = Box::new(|rng, command| {
        let one = ask(rng, command);
        Plan { reads: vec![one], writes: vec![one], ..plain(rng, command, 5) }
    });
    for rights in 0..32 {
        rig.peers[0].rights = rights;
        rig.accesses.clear();
        rig.request(0, 1, &[1; 4], 300);
        rig.settle();
        for right in [REMOTE_READ, REMOTE_WRITE] {
            let of_it = |access: &&Access| u64::from(access.need) == u64::from(right | RPC);
            let access = rig.accesses.iter().find(of_it).expect("one of each");
            assert_eq!(access.refused, rights & right == 0, "{rights:#x}");
        }
        assert_eq!(rig.accesses.len(), 2);
    }
}

#[test]
fn a_response_of_another_ticket_is_thrown_away_with_its_bytes() {
    let mut rig = Rig::<512>::new();
    rig.planner = Box::new(|rng, command| {
        let other = SlotCommand { ticket: command.ticket + 1, ..*command };
        let responses = vec![response(&other, 0x200, 100), response(command, OK, 0)];
        Plan { responses, ..plain(rng, command, 100) }
    });
    for _ in 0..3 {
        rig.request(0, 1, &[1; 4], 300);
    }
    rig.settle();
    assert_eq!(rig.twin.statuses, [OK; 3]);
    assert!(rig.chunk_data_cycles.is_empty());
}

#[test]
fn what_comes_without_a_command_is_thrown_away() {
    let mut rig = Rig::<64>::new();
    let stray = SlotCommand::default();
    rig.kernel.out.extend(beats(&[7; 100]).into_iter().map(Out::Beat));
    rig.kernel.out.push_back(Out::Response(response(&stray, OK, 100)));
    let read = ask(&mut SplitMix64::new(1), &stray);
    rig.kernel.reads.push_back((0, read));
    rig.run(100);
    assert!(rig.accesses[0].refused);
    rig.request(0, 1, &[1; 4], 300);
    rig.settle();
    assert_eq!(rig.twin.statuses.len(), 1);
}

#[test]
fn a_response_waits_for_reads_and_writes_of_its_ticket_alone() {
    let mut rig = Rig::<512>::new();
    rig.manners.memory = (200, 201);
    let mut count = 0;
    rig.planner = Box::new(move |rng, command| {
        count += 1;
        let asks = if count == 1 { Vec::new() } else { vec![ask(rng, command)] };
        Plan { reads: asks.clone(), writes: asks, is_hasty: true, ..plain(rng, command, 70) }
    });
    rig.request(0, 1, &[1; 4], 300);
    rig.request(0, 1, &[1; 4], 300);
    rig.settle();
    assert_eq!(rig.twin.statuses, [OK; 2]);
    let back = *rig.back_cycles.last().expect("they came back");
    assert!(rig.chunk_cycles[0] + 100 < back, "the first waits for nothing");
    assert_eq!(rig.chunk_cycles[1], back + 2);
}

#[test]
fn a_kernel_reset_waits_for_memory() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 300);
    rig.manners.memory = (100_000, 100_001);
    rig.planner = Box::new(|rng, command| Plan { reads: vec![ask(rng, command)], ..plain(rng, command, 8) });
    rig.request(0, 1, &[1; 4], 300);
    rig.run_until(|rig| rig.resets == 1);
    rig.manners.memory = (0, 1);
    let start = rig.bench.cycle();
    rig.settle();
    assert_eq!(rig.twin.statuses, [LIMIT]);
    assert!(rig.chunk_cycles[0] >= start + 8);
    rig.request(0, 1, &[1; 4], 300);
    rig.settle();
    assert_eq!(rig.twin.statuses, [LIMIT, OK]);
}

fn mends_at<const D: usize>() {
    let spoils: [fn(&mut Vec<Beat<D>>); 5] = [
        |beats| beats[1].nbytes = 3.into(),
        |beats| beats[1].eop = true,
        |beats| beats[1].nbytes = 0.into(),
        |beats| beats[1].nbytes = 127.into(),
        |beats| beats.last_mut().expect("there are").eop = false,
    ];
    let mut rig = Rig::<D>::new();
    let mut count = 0;
    rig.planner = Box::new(move |rng, command| {
        let mut plan = plain(rng, command, 3 * D / 8 + 5);
        if count % 2 == 0 {
            spoils[count / 2](&mut plan.beats);
        }
        count += 1;
        plan
    });
    for _ in 0..10 {
        rig.request(0, 1, &[1; 4], 300);
    }
    rig.settle();
    assert_eq!(rig.twin.statuses, [OK; 10]);
}

#[test]
fn beats_that_are_no_packet_spoil_their_own_answer_alone() {
    mends_at::<64>();
    mends_at::<512>();
}

#[test]
fn an_answer_before_the_end_of_its_request_waits_for_it() {
    let mut rig = Rig::<512>::new();
    rig.planner = Box::new(|rng, command| Plan { skips_data: true, ..right(rng, command) });
    rig.request(0, 1, &[1; 600], 300);
    rig.run_until(|rig| rig.reserve_cycles.len() == 2);
    rig.peers[0].is_still = true;
    rig.run(300);
    assert!(rig.chunk_cycles.is_empty() && rig.response_cycles.len() == 1);
    rig.peers[0].is_still = false;
    rig.settle();
    assert_eq!(rig.twin.statuses.len(), 1);
}
