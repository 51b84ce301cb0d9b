//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{ConsistencyKernel, attempt, check, parameters, store};

fn widths<const D: usize, const LOG: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("check_{D}"),
            check::Check::<D>::default,
            clock,
            [reset, begins, takes, data, nbytes, ends]
        ),
        differential!(
            &format!("store_{D}"),
            store::Store::<D, 4>::default,
            clock,
            [begins, takes, data, len, is_open, source.ready]
        ),
        differential!(
            &format!("consistency_{D}"),
            ConsistencyKernel::<D, LOG>::default,
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
    let parts = vec![
        differential!(
            "decode",
            parameters::Decode::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "attempt",
            attempt::Attempt::default,
            clock,
            [task.payload, task.valid, closes, ending, is_known, fits, is_over, response.ready]
        ),
    ];
    assert_agree(parts.into_iter().chain(widths::<64, 11>()).chain(widths::<512, 8>()), 300);
}
