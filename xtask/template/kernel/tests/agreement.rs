//! The hardware held against its model: every answer, every byte of memory, every promise of the slot.

use std::collections::BTreeSet;

use kernel_name::call::KernelName;
use kernel_name::{KernelNameKernel, model};
use stroma_hw::differential;
use stroma_hw::testing::stalls_of;
use stroma_hw::verilog::differential::assert_agree;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::{Rig, STREAMS};

/// Cycles from a read to its data, and from a write's data to its end: at least, and below.
const LATENCIES: [(u64, u64); 3] = [(10, 11), (10, 2000), (2000, 2001)];
/// Words that requests are about, at any alignment.
const WORDS: [u64; 4] = [0x1000, 0x1ffd, 0x2_0ff8, 0x3_0001];

fn rig<const D: usize>() -> Rig<D> {
    Rig::with_writes("kernel_name", KernelNameKernel::<D>::default, model::run)
}

/// Any of these.
fn one_of<const D: usize, T: Copy>(rig: &mut Rig<D>, choices: &[T]) -> T {
    choices[usize::try_from(rig.rng.below(choices.len() as u64)).expect("small")]
}

/// A request like others, or a bad one.
fn request<const D: usize>(rig: &mut Rig<D>) -> Invocation {
    let value = one_of(rig, &[0, 1, 5, 6, 7, 0x100, 1 << 63, u64::MAX]);
    let asked = KernelName { address: one_of(rig, &WORDS), value };
    let good = rig.invocation(&asked.to_bytes(), 8);
    let mut head = good.command;
    match rig.rng.below(16) {
        0 => head.flags = 1,
        1 => head.response_max = 7,
        2 => return rig.invocation(&asked.to_bytes()[..12], 8),
        3 => return rig.streamed(&asked.to_bytes(), vec![7; 100], 8),
        4 => head.key ^= 1,
        _ => {}
    }
    Invocation { command: head, ..good }
}

/// Words of small numbers, one of which may be out of reach.
fn prepare<const D: usize>(rig: &mut Rig<D>) {
    for word in WORDS {
        let value = rig.rng.below(8);
        rig.host.store(word, &[value]);
    }
    let (bad, last) = (one_of(rig, &WORDS), rig.rng.below(8));
    let range = bad + last..bad + last + 1;
    match rig.rng.below(4) {
        0 => rig.host.refused.push(range),
        1 => rig.host.failing.push(range),
        2 => rig.host.read_only.push(range),
        _ => {}
    }
}

fn agrees<const D: usize>() {
    let mut rig = rig::<D>();
    let mut told = BTreeSet::new();
    for (seed, pauses) in (0..).zip(stalls_of::<STREAMS>()) {
        for latency in LATENCIES {
            rig.reset(seed);
            rig.latency = latency;
            rig.pause(pauses.clone());
            prepare(&mut rig);
            for _ in 0..8 {
                let request = request(&mut rig);
                rig.call(request);
            }
            rig.settle();
            told.extend(&rig.told);
        }
    }
    assert_eq!(told, BTreeSet::from([0, 2, 6, 0x100]), "every ending came");
}

#[test]
fn agrees_with_the_model_under_stalls_and_latencies_from_10_to_2000() {
    agrees::<64>();
    agrees::<512>();
}

#[test]
fn a_word_is_raised_with_one_read_and_one_write_and_else_only_read() {
    let mut rig = rig::<512>();
    rig.host.store(0x1000, &[5]);
    for (value, writes) in [(9, 1), (9, 1), (3, 1), (10, 2)] {
        let invocation = rig.invocation(&KernelName { address: 0x1000, value }.to_bytes(), 8);
        rig.call(invocation);
        rig.settle();
        assert_eq!(rig.moves.writes.len(), writes, "after {value}");
    }
    assert_eq!((rig.told, rig.moves.reads.len()), (vec![0; 4], 4));
    assert_eq!(rig.host.bytes(0x1000, 8), [10, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn recovers_from_reset() {
    let mut rig = rig::<64>();
    for cycles in 0..60 {
        rig.reset(cycles);
        let invocation = rig.invocation(&KernelName { address: 0x1000, value: u64::MAX }.to_bytes(), 8);
        rig.call(invocation.clone());
        rig.call(invocation);
        rig.run(cycles);
        rig.reset(cycles + 1);
        let invocation = rig.invocation(&KernelName { address: 0x1000, value: 1 }.to_bytes(), 8);
        rig.call(invocation);
        rig.settle();
        assert_eq!(rig.told, [0], "after {cycles} cycles");
    }
}

fn case<const D: usize>() -> stroma_hw::verilog::differential::Case {
    differential!(
        &format!("kernel_name_{D}"),
        KernelNameKernel::<D>::default,
        clock,
        [
            reset,
            command.payload,
            command.valid,
            data_in.payload,
            data_in.valid,
            read.ready,
            read_data.payload,
            read_data.valid,
            write.ready,
            write_data.ready,
            write_done.payload,
            write_done.valid,
            data_out.ready,
            response.ready
        ]
    )
}

#[test]
fn rust_and_verilog_agree() {
    assert_agree([case::<64>(), case::<512>()], 300);
}
