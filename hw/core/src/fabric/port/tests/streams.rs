//! Streams that stop, and those that are no more.

use std::cell::RefCell;
use std::rc::Rc;

use stroma_abi::wire::RpcStatus;
use stroma_verilate::SplitMix64;

use crate::fabric::port::rig::kernel::Plan;
use crate::fabric::port::rig::{PEERS, Rig, ask, response, right};

const ABORTED: u32 = RpcStatus::Aborted as u32;

fn aborts_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.set("patience", 300);
    rig.request(0, 5, &[9; 1200], 300);
    rig.run_until(|rig| rig.reserve_cycles.len() == 2);
    rig.peers[0].is_still = true;
    rig.request(1, 2, &[3; 50], 100);
    rig.run(100);
    assert!(!rig.port("room") && rig.port("room_more"), "the slot is the stream's");
    assert_eq!(rig.pulses.invoked, 1);
    rig.run_until(|rig| rig.pulses.aborted == 1);
    // From the last beat on: those before it have given as much as they took.
    let waited = rig.abort_cycles[0] - rig.reserve_cycles[1];
    assert!((300..370).contains(&waited), "{waited} cycles");
    rig.settle();
    assert_eq!((rig.resets, rig.pulses.invoked, rig.twin.statuses.len()), (1, 2, 1));
    // Its rest is thrown away, while others use the slot.
    rig.peers[0].is_still = false;
    rig.request(2, 2, &[3; 3000], 100);
    rig.settle();
    assert_eq!((rig.resets, rig.pulses.aborted, rig.pulses.invoked), (1, 1, 3));
    assert_eq!(rig.twin.statuses.iter().filter(|status| **status == ABORTED).count(), 1);
    assert_eq!(rig.twin.statuses.len(), 3);
}

#[test]
fn a_stream_that_stops_is_aborted_and_its_end_is_told_when_it_comes() {
    aborts_at::<64>();
    aborts_at::<512>();
}

/// Lets a packet of the first peer come every so many cycles, and tells how many came before the stream was ended.
fn drips<const D: usize>(rig: &mut Rig<D>, apart: u64) -> usize {
    rig.request(0, 1, &[9; 12_000], 300);
    while !rig.peers[0].packets.is_empty() && rig.pulses.aborted + rig.pulses.expired == 0 {
        let before = rig.reserve_cycles.len();
        rig.peers[0].is_still = false;
        rig.run_until(|rig| rig.reserve_cycles.len() > before);
        rig.peers[0].is_still = true;
        rig.run(apart);
    }
    let came = rig.reserve_cycles.len();
    rig.peers[0].is_still = false;
    rig.settle();
    came
}

/// Packets of 256 bytes: each gives the stream as many cycles as its beats do, and no more.
#[test]
fn a_stream_that_comes_drop_by_drop_has_a_time_for_all_of_it() {
    for port in ["patience", "limit"] {
        let mut rig = Rig::<512>::new();
        rig.set(port, 3000);
        // 4 beats are 128 cycles: at 400 apart it loses some 270 with each, and a pause of its own is never as long as its time.
        let came = drips(&mut rig, 400);
        assert!((9..14).contains(&came), "{port}: {came} of 47 packets came");
        assert_eq!(rig.twin.statuses, [ABORTED], "{port}");
        // Who is as slow as he may be is served.
        let mut rig = Rig::<512>::new();
        rig.set(port, 3000);
        assert_eq!(drips(&mut rig, 100), 47, "{port}");
        assert_eq!((rig.pulses.aborted, rig.pulses.expired, rig.twin.statuses.len()), (0, 0, 1), "{port}");
    }
}

/// Whether they are of the same queue pair or of another: the kernel is reset when they are answered.
#[test]
fn a_stream_that_stops_takes_nobody_along() {
    for peer in [0, 1] {
        let mut rig = Rig::<512>::new();
        rig.set("patience", 300);
        rig.manners.memory = (2000, 2001);
        rig.planner = Box::new(|rng, command| {
            let reads = if command.request_len.index() < 100 { vec![ask(rng, command)] } else { Vec::new() };
            Plan { reads, writes: Vec::new(), responses: vec![response(command, 0, 0)], ..Plan::default() }
        });
        rig.request(peer, 2, &[3; 50], 100);
        rig.run_until(|rig| rig.pulses.invoked == 1);
        rig.request(0, 5, &[9; 1200], 300);
        rig.run_until(|rig| rig.reserve_cycles.len() == 3);
        rig.peers[0].packets.clear();
        rig.run_until(|rig| rig.pulses.aborted == 1);
        assert_eq!(rig.pulses.invoked, if peer == 0 { 2 } else { 1 }, "one queue pair at a time");
        rig.run_until(|rig| rig.resets == 1);
        rig.settle();
        assert_eq!(rig.twin.statuses, [0], "the call before it, of peer {peer}");
        assert_eq!((rig.pulses.expired, rig.pulses.aborted), (0, 1));
    }
}

#[test]
fn a_stream_that_was_aborted_before_it_came_resets_nobody() {
    let mut rig = Rig::<64>::new();
    rig.set("patience", 100);
    rig.manners.delay = (400, 401);
    rig.request(0, 5, &[9; 600], 300);
    rig.run_until(|rig| rig.reserve_cycles.len() == 1);
    rig.peers[0].is_still = true;
    rig.run_until(|rig| rig.pulses.aborted == 1);
    rig.request(1, 2, &[3; 50], 100);
    rig.run(10);
    rig.peers[0].is_still = false;
    rig.settle();
    assert_eq!((rig.resets, rig.pulses.invoked, rig.twin.statuses.len()), (0, 1, 2));
    assert!(rig.twin.statuses.contains(&ABORTED));
}

#[test]
fn a_stream_without_patience_waits_for_ever() {
    let mut rig = Rig::<512>::new();
    rig.request(0, 5, &[9; 600], 300);
    rig.run_until(|rig| rig.reserve_cycles.len() == 1);
    rig.peers[0].is_still = true;
    rig.run(20_000);
    rig.peers[0].is_still = false;
    rig.settle();
    assert_eq!((rig.resets, rig.pulses.aborted, rig.twin.statuses.len()), (0, 0, 1));
}

#[test]
fn what_gives_up_returns_its_room_and_aborts_its_stream() {
    let mut rig = Rig::<512>::new();
    for from in 0..3 {
        rig.request(0, 5, &[9; 600], 300);
        rig.give_up(0, from);
        rig.settle();
    }
    // With the first nothing has begun; with the others a kernel had its command.
    assert_eq!((rig.resets, rig.pulses.invoked), (2, 2));
    rig.request(1, 5, &[9; 100], 300);
    rig.give_up(1, 0);
    rig.settle();
    assert!(rig.twin.statuses.is_empty());
    rig.planner = Box::new(right);
    rig.request(0, 5, &[9; 600], 300);
    rig.settle();
    assert_eq!(rig.twin.statuses.len(), 1);
}

#[test]
fn a_stream_that_gives_up_with_its_first_packet_leaves_the_slot_to_others() {
    let mut rig = Rig::<512>::new();
    rig.request(0, 5, &[9; 600], 300);
    rig.give_up(0, 0);
    rig.run_until(|rig| rig.reserve_cycles.len() == 1);
    rig.peers[0].packets.clear();
    rig.request(1, 5, &[9; 100], 300);
    rig.settle();
    assert_eq!((rig.resets, rig.twin.statuses.len()), (0, 1));
}

#[test]
fn half_of_the_room_is_for_those_who_have_nothing_there() {
    let mut rig = Rig::<512>::new();
    rig.kernel.is_dull = true;
    for _ in 0..40 {
        rig.request(0, 0, &[], 10);
    }
    rig.run(300);
    // One is with the kernel, eight of sixteen wait.
    assert_eq!(rig.reserve_cycles.len(), 9);
    for peer in 1..PEERS {
        for _ in 0..3 {
            rig.request(peer, 0, &[], 10);
        }
        rig.run(300);
        assert_eq!(rig.reserve_cycles.len(), 9 + peer, "one of each other");
    }
    rig.kernel.is_dull = false;
    rig.settle();
    assert_eq!(rig.twin.statuses.len(), 49);

    // The same of packets, of which there are eight.
    let mut rig = Rig::<512>::new();
    rig.kernel.is_dull = true;
    for _ in 0..20 {
        rig.request(0, 0, &[1; 100], 10);
    }
    rig.run(300);
    let held = rig.reserve_cycles.len();
    assert_eq!(held, 4, "half of them");
    rig.request(1, 0, &[1; 100], 10);
    rig.run(300);
    assert_eq!(rig.reserve_cycles.len(), held + 1);
    rig.kernel.is_dull = false;
    rig.settle();
}

/// Two streams of one peer, and a call of another that is refused while the first comes: who has had the slot lets him go first.
#[test]
fn who_has_streamed_lets_one_go_first_who_was_refused_meanwhile() {
    for seed in 0..8 {
        let mut rig = Rig::<512>::new();
        rig.rng = SplitMix64::new(seed);
        let order = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&order);
        rig.planner = Box::new(move |_, command| {
            seen.borrow_mut().push(command.qpn.index() - 0x10_0000);
            Plan { responses: vec![response(command, 0, 0)], ..Plan::default() }
        });
        for _ in 0..3 {
            rig.request(0, 5, &[9; 1200], 300);
        }
        rig.run_until(|rig| rig.reserve_cycles.len() == 2);
        rig.peers[0].is_still = true;
        rig.request(1, 2, &[3; 50], 100);
        rig.run(50);
        rig.peers[0].is_still = false;
        rig.settle();
        assert_eq!(*order.borrow(), [0, 1, 0, 0], "seed {seed}");
    }
    // He who was refused does not come.
    let mut rig = Rig::<512>::new();
    for _ in 0..2 {
        rig.request(0, 5, &[9; 1200], 300);
    }
    rig.run_until(|rig| rig.reserve_cycles.len() == 2);
    rig.peers[0].is_still = true;
    rig.request(1, 2, &[3; 50], 100);
    rig.run(50);
    rig.peers[1].packets.clear();
    rig.peers[0].is_still = false;
    rig.settle();
    let waited = rig.reserve_cycles[5] - rig.reserve_cycles[4];
    assert!((1 << 18..(1 << 18) + 10).contains(&waited), "{waited} cycles");
    assert_eq!(rig.twin.statuses.len(), 2);
}

#[test]
fn room_is_counted_in_packets_and_headers() {
    let mut rig = Rig::<512>::new();
    rig.kernel.is_dull = true;
    for _ in 0..20 {
        rig.request(0, 0, &[], 10);
    }
    rig.run(200);
    // One is offered to the kernel, eight wait.
    assert_eq!(rig.reserve_cycles.len(), 9);
    assert!(!rig.port("room") && rig.port("room_more"));
    rig.kernel.is_dull = false;
    rig.settle();

    let mut rig = Rig::<512>::new();
    rig.kernel.is_dull = true;
    rig.request(0, 0, &[1; 10_000], 10);
    rig.run(200);
    // The beat of the first has not left the buffer.
    assert_eq!(rig.reserve_cycles.len(), 8);
    assert!(!rig.port("room_more"));
    rig.kernel.is_dull = false;
    rig.settle();
    assert_eq!(rig.twin.statuses.len(), 1);
}
