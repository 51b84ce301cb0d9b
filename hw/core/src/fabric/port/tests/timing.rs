//! Cycles.

use crate::fabric::port::rig::kernel::{Plan, noise_bytes};
use crate::fabric::port::rig::{Rig, response};
use crate::stream::beats;

fn answers<const D: usize>(rig: &mut Rig<D>, count: usize) {
    rig.planner = Box::new(move |rng, command| {
        let bytes = noise_bytes(rng, count);
        Plan { beats: beats(&bytes), responses: vec![response(command, 0, count)], ..Plan::default() }
    });
}

/// From call to command, from there to data; from response to chunk, and to its bytes.
fn cycles_of<const D: usize>(words: usize) -> [u64; 4] {
    let mut rig = Rig::<D>::new();
    answers(&mut rig, 8);
    rig.request(2, words, &[1; 100], 300);
    rig.settle();
    [
        rig.command_cycles[0] - rig.call_cycles[0],
        rig.data_cycles[0] - rig.command_cycles[0],
        rig.chunk_cycles[0] - rig.response_cycles[0],
        rig.chunk_data_cycles[0] - rig.response_cycles[0],
    ]
}

#[test]
fn a_small_invocation_takes_as_many_cycles_as_the_contract_says() {
    assert_eq!(cycles_of::<512>(2), [4, 2, 2, 4]);
    // Each beat of parameters takes a cycle. Data that begins with a beat goes through the place where others wait.
    assert_eq!(cycles_of::<64>(1), [4, 2, 2, 4]);
    assert_eq!(cycles_of::<64>(2), [4, 3, 2, 4]);
    assert_eq!(cycles_of::<64>(3), [5, 2, 2, 4]);
    assert_eq!(cycles_of::<64>(16), [11, 3, 2, 4]);
    assert_eq!(cycles_of::<512>(0), [3, 3, 2, 4]);
}

/// What its caller wrote before has to be visible; tickets count round.
#[test]
fn a_request_waits_for_its_ticket_and_those_behind_for_it() {
    for (ticket, short) in [(1, 0), (0, 0xffff), (0x8000, 0x7fff), (5, 0xfff0)] {
        let mut rig = Rig::<512>::new();
        answers(&mut rig, 8);
        rig.set("visible", short);
        rig.ticket = ticket;
        rig.request(2, 2, &[1; 8], 300);
        rig.ticket = ticket.wrapping_sub(100);
        rig.request(1, 2, &[1; 8], 300);
        rig.run(500);
        assert_eq!((rig.call_cycles.len(), rig.command_cycles.len()), (2, 0), "{ticket}");
        rig.set("visible", ticket.into());
        let start = rig.bench.cycle();
        rig.settle();
        assert_eq!((rig.twin.statuses.len(), rig.command_cycles[0] - start), (2, 3), "{ticket}");
    }
}

#[test]
fn a_stream_of_small_packets_is_fed_a_beat_in_every_cycle() {
    let mut rig = Rig::<512>::new();
    answers(&mut rig, 8);
    // 400 packets of 256 bytes, behind three words of parameters.
    let payload: Vec<u8> = (0..400 * 256_u32).map(|at| at.to_le_bytes()[0]).collect();
    rig.request(0, 3, &payload, 300);
    rig.settle();
    let cycles = &rig.data_cycles;
    assert_eq!(cycles.len(), 1600);
    let (first, last) = (cycles[100], cycles[1500]);
    assert_eq!(last - first, 1400, "a beat in every cycle");
}

fn pours_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    answers(&mut rig, 20_000);
    rig.request(0, 1, &[1; 4], 65_536);
    rig.settle();
    let count = 20_000_usize.div_ceil(D / 8);
    let cycles = &rig.chunk_data_cycles;
    assert_eq!(cycles.len(), count);
    assert_eq!(cycles[count - 40] - cycles[20], count as u64 - 60, "a beat in every cycle");
}

#[test]
fn an_answer_leaves_a_beat_in_every_cycle() {
    pours_at::<64>();
    pours_at::<512>();
}

#[test]
fn small_invocations_follow_each_other() {
    let mut rig = Rig::<512>::new();
    answers(&mut rig, 8);
    for _ in 0..100 {
        rig.request(2, 4, &[1; 16], 300);
    }
    rig.settle();
    let cycles = &rig.command_cycles;
    assert_eq!(cycles[90] - cycles[10], 80 * 3, "one in 3 cycles");
}
