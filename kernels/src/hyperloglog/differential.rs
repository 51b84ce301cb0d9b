//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{
    HyperLogLogKernel, cut, gather, lane, maximum, mix, pack, parameters, pour, quad, rank, settle, sum,
    sweep,
};

fn widths<const D: usize, const W: usize, const Q: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("cut_{D}"),
            cut::Cut::<D>::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            &format!("pour_{D}"),
            pour::Pour::<D>::default,
            clock,
            [
                piece.payload,
                piece.valid,
                data_in.payload,
                data_in.valid,
                write.ready,
                write_data.ready,
                sweep_ends,
                is_idle,
                entry.ready
            ]
        ),
        differential!(
            &format!("gather_{D}"),
            gather::Gather::<D, W>::default,
            clock,
            [reset, is_there, beat, item]
        ),
        differential!(
            &format!("pack_{D}"),
            pack::Pack::<D>::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            &format!("hyperloglog_{D}"),
            HyperLogLogKernel::<D, W, Q>::default,
            clock,
            [
                command.payload,
                command.valid,
                data_in.payload,
                data_in.valid,
                write.ready,
                write_data.ready,
                write_done.payload,
                write_done.valid,
                data_out.ready,
                response.ready
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree() {
    let parts = vec![
        differential!(
            "decode",
            parameters::Decode::default,
            clock,
            [reset, restart, is_wiped, sink.payload, sink.valid, source.ready]
        ),
        differential!("sum", sum::Sum::default, clock, [reset, is_there, row, item]),
        differential!("mix", mix::Mix::default, clock, [reset, is_there, sum]),
        differential!("rank", rank::Rank::default, clock, [reset, is_there, hash]),
        differential!(
            "lane",
            lane::Lane::default,
            clock,
            [reset, is_there, register, rank, sweeps, wipes, at]
        ),
        differential!("maximum", maximum::Maximum::default, clock, [left, right]),
        differential!("quad", || quad::Quad::new(1), clock, [is_row, row, row_len, item, sweep, merged]),
        differential!("sweep", sweep::Sweep::default, clock, [begins, reads, wipes, has_room]),
        differential!(
            "settle",
            settle::Settle::default,
            clock,
            [sink.payload, sink.valid, write_done.payload, write_done.valid, response.ready]
        ),
    ];
    assert_agree(parts.into_iter().chain(widths::<64, 128, 1>()).chain(widths::<512, 512, 4>()), 300);
}
