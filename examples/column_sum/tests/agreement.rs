//! The hardware held against its model: every answer, and every promise of the slot.

use std::collections::BTreeSet;

use column_sum::call::{ColumnSum, Comparison, Rows};
use column_sum::gather::Gather;
use column_sum::judge::Judge;
use column_sum::{ColumnSumKernel, model};
use stroma_abi::desc::SlotCommand;
use stroma_hw::differential;
use stroma_hw::testing::stalls_of;
use stroma_hw::verilog::differential::{Case, assert_agree};
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::{Rig, STREAMS};

/// Cycles from a read to its data: at least, and below.
const LATENCIES: [(u64, u64); 3] = [(10, 11), (10, 2000), (2000, 2001)];
const AT: u64 = 0x1_0ff3;

fn rig<const D: usize>() -> Rig<D> {
    Rig::new("column_sum", ColumnSumKernel::<D>::default, model::run)
}

/// Any of these.
fn one_of<const D: usize, T: Copy>(rig: &mut Rig<D>, choices: &[T]) -> T {
    choices[usize::try_from(rig.rng.below(choices.len() as u64)).expect("small")]
}

/// A table whose filter column has few values, and a request for it.
fn table<const D: usize>(rig: &mut Rig<D>) -> ColumnSum {
    let stride = one_of(rig, &[8, 9, 16, 17, 24, 64, 100, 4095, 4096]);
    let within = |rig: &mut Rig<D>| u16::try_from(rig.rng.below(u64::from(stride) - 7)).expect("small");
    let (column_at, filter_at) = (within(rig), within(rig));
    let count = one_of(rig, &[0, 1, 2, 3, 10, 30]);
    for row in 0..u64::from(count) {
        let value = one_of(rig, &[0, 1, 2, 3, 1 << 63, u64::MAX]);
        rig.host.store(AT + row * u64::from(stride) + u64::from(filter_at), &[value]);
    }
    let (comparison, _) = one_of(rig, Comparison::ALL);
    let operand = one_of(rig, &[0, 1, 2, 3, 1 << 63, u64::MAX]);
    let asked = ColumnSum::new(Rows { address: AT, count, stride }, column_at).expect("within the row");
    asked.only(filter_at, comparison, operand).expect("within the row")
}

/// One byte of the table may be out of reach.
fn spoil<const D: usize>(rig: &mut Rig<D>, asked: &ColumnSum) {
    let bytes = u64::from(asked.rows) * u64::from(asked.stride) + 1;
    let bad = AT + rig.rng.below(bytes);
    match rig.rng.below(6) {
        0 => rig.host.refused.push(bad..bad + 9),
        1 => rig.host.failing.push(bad..bad + 9),
        _ => {}
    }
}

fn ask<const D: usize>(rig: &mut Rig<D>, asked: &ColumnSum) {
    let invocation = rig.invocation(&asked.to_bytes(), 16);
    rig.call(invocation);
}

/// Asks, waits, and gives the status.
fn answer<const D: usize>(rig: &mut Rig<D>, asked: &ColumnSum) -> u32 {
    ask(rig, asked);
    rig.settle();
    *rig.told.last().expect("an answer")
}

fn agrees<const D: usize>() {
    let mut rig = rig::<D>();
    let mut told = BTreeSet::new();
    for (seed, pauses) in (0..).zip(stalls_of::<STREAMS>()) {
        for (part, latency) in (0..).zip(LATENCIES) {
            rig.reset(100 * seed + part);
            rig.latency = latency;
            rig.pause(pauses.clone());
            let asked = table(&mut rig);
            spoil(&mut rig, &asked);
            for _ in 0..3 {
                ask(&mut rig, &asked);
            }
            ask(&mut rig, &ColumnSum { comparison: 0, ..asked });
            ask(&mut rig, &ColumnSum { comparison: 7, ..asked });
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

fn comparisons<const D: usize>() {
    let mut rig = rig::<D>();
    for seed in 0..40 {
        rig.reset(seed);
        let asked = table(&mut rig);
        for (comparison, _) in Comparison::ALL {
            for operand in [0, 2, 1 << 63, u64::MAX] {
                ask(&mut rig, &ColumnSum { comparison: *comparison as u8, operand, ..asked });
            }
        }
        rig.settle();
        assert_eq!(rig.told, vec![0; 28]);
    }
}

#[test]
fn every_comparison_chooses_its_rows() {
    comparisons::<64>();
    comparisons::<512>();
}

/// Two rows of 24 bytes: the filter in the middle, the column at the end.
fn two_rows() -> ColumnSum {
    let asked = ColumnSum::new(Rows { address: AT, count: 2, stride: 24 }, 16).expect("within the row");
    asked.only(8, Comparison::Equal, 7).expect("within the row")
}

#[test]
fn bad_requests_are_refused_before_anything_is_read() {
    let mut rig = rig::<512>();
    let good = two_rows();
    let tasks = [
        ColumnSum { stride: 7, column_at: 0, filter_at: 0, ..good },
        ColumnSum { stride: 0, ..good },
        ColumnSum { stride: 4097, ..good },
        ColumnSum { stride: u16::MAX, ..good },
        ColumnSum { column_at: 17, ..good },
        ColumnSum { column_at: u16::MAX - 7, ..good },
        ColumnSum { filter_at: 17, ..good },
        ColumnSum { filter_at: u16::MAX, ..good },
        ColumnSum { comparison: 0, ..good },
        ColumnSum { comparison: 8, ..good },
        ColumnSum { comparison: 0x82, ..good },
    ];
    let whole = rig.invocation(&good.to_bytes(), 16);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = whole.clone();
        change(&mut bad.command);
        bad
    };
    let heads = [
        edit(|head| head.flags = 0x80),
        edit(|head| head.parameter_words = 6),
        edit(|head| head.request_length = 27),
        edit(|head| head.response_max = 15),
        Invocation::new(whole.command, whole.parameters, vec![1; 300]),
    ];
    let tasks: Vec<Invocation> = tasks.iter().map(|task| rig.invocation(&task.to_bytes(), 16)).collect();
    for bad in tasks.into_iter().chain(heads) {
        rig.call(bad.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x100), "{bad:?}");
    }
    assert_eq!(rig.moves.reads.len(), 0);
    assert_eq!(answer(&mut rig, &good), 0);
    // The widest rows, and columns at both of their ends.
    let widest = ColumnSum { stride: 4096, column_at: 4088, filter_at: 0, ..good };
    assert_eq!(answer(&mut rig, &widest), 0);
}

fn failures<const D: usize>() {
    let mut rig = rig::<D>();
    let asked = ColumnSum { rows: 100, ..two_rows() };
    for (is_refused, status) in [(true, 2), (false, 6)] {
        for (row, at) in [(0, 8), (0, 16), (50, 15), (99, 8), (99, 23)] {
            rig.reset(row);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 2 == 0)];
            let bad = AT + row * 24 + at;
            let ranges = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            ranges.push(bad..bad + 1);
            assert_eq!(answer(&mut rig, &asked), status, "byte {at} of row {row}");
            rig.host.refused.clear();
            rig.host.failing.clear();
            assert_eq!(answer(&mut rig, &asked), 0, "it lives on");
        }
    }
    // Bytes of a row that nobody asks for may be out of reach.
    rig.reset(1);
    rig.host.refused.push(AT..AT + 8);
    assert_eq!(answer(&mut rig, &asked), 0);
}

#[test]
fn a_row_out_of_reach_ends_it_with_the_status_of_its_read() {
    failures::<64>();
    failures::<512>();
}

#[test]
fn of_two_failures_the_first_row_is_told_of() {
    let mut rig = rig::<64>();
    rig.host.failing.push(AT + 24 + 8..AT + 24 + 9);
    rig.host.refused.push(AT + 48..AT + 72);
    assert_eq!(answer(&mut rig, &ColumnSum { rows: 9, ..two_rows() }), 6);
}

#[test]
fn no_rows_are_answered_without_a_read() {
    let mut rig = rig::<64>();
    assert_eq!(answer(&mut rig, &ColumnSum { rows: 0, ..two_rows() }), 0);
    assert_eq!(rig.moves.reads.len(), 0);
}

#[test]
fn a_row_takes_two_cycles_however_late_memory_is() {
    let mut rig = rig::<512>();
    rig.latency = (2000, 2001);
    assert_eq!(answer(&mut rig, &ColumnSum { rows: 1500, ..two_rows() }), 0);
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.commands[0], 2, "to the first read");
    assert_eq!(moves.reads.last().map(|last| last - moves.reads[0]), Some(2999), "a read in each cycle");
    assert_eq!(moves.beats_out[0] - moves.beats_in[2999], 2, "from the last word to the answer");
}

#[test]
fn recovers_from_reset() {
    let mut rig = rig::<64>();
    for cycles in 0..80 {
        rig.reset(cycles);
        let asked = ColumnSum { rows: 20, ..two_rows() };
        ask(&mut rig, &asked);
        ask(&mut rig, &asked);
        rig.run(cycles);
        rig.reset(cycles + 1);
        assert_eq!(answer(&mut rig, &two_rows()), 0, "after {cycles} cycles");
        assert_eq!(rig.told.len(), 1);
    }
}

fn cases<const D: usize>() -> [Case; 2] {
    [
        differential!(
            &format!("gather_{D}"),
            Gather::<D>::default,
            clock,
            [reset, begins, wanted, read.ready, read_data.payload, read_data.valid]
        ),
        differential!(
            &format!("column_sum_{D}"),
            ColumnSumKernel::<D>::default,
            clock,
            [
                command.payload,
                command.valid,
                data_in.payload,
                data_in.valid,
                read.ready,
                read_data.payload,
                read_data.valid,
                data_out.ready,
                response.ready
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree() {
    let judge =
        differential!("judge", Judge::default, clock, [reset, sink.payload, sink.valid, source.ready]);
    assert_agree([judge].into_iter().chain(cases::<64>()).chain(cases::<512>()), 300);
}
