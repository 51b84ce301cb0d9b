//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{TraversalKernel, compare, fetch_value, gather, parameters, walk};

fn widths<const D: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("gather_{D}"),
            gather::Gather::<D>::default,
            clock,
            [reset, sink.payload, sink.valid]
        ),
        differential!(
            &format!("fetch_value_{D}"),
            fetch_value::FetchValue::<D>::default,
            clock,
            [begins, va, len, ticket, key, read.ready, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            &format!("traversal_{D}"),
            TraversalKernel::<D>::default,
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
            "compare",
            compare::Compare::default,
            clock,
            [reset, wanted, is_there, element, ending, at]
        ),
        differential!(
            "walk",
            walk::Walk::default,
            clock,
            [
                task.payload,
                task.valid,
                read.ready,
                is_judged,
                verdict,
                value_ends,
                value_ending,
                value_len,
                response.ready
            ]
        ),
    ];
    assert_agree(parts.into_iter().chain(widths::<64>()).chain(widths::<512>()), 300);
}
