//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{GetKernel, choose, inspect, parameters, value, walk};
use crate::ask;

fn widths<const D: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("inspect_{D}"),
            inspect::Inspect::<D>::default,
            clock,
            [begins, length, wanted, takes, data]
        ),
        differential!(
            &format!("value_{D}"),
            value::Value::<D>::default,
            clock,
            [reset, begins, head_words, passes, is_last, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            &format!("get_{D}"),
            GetKernel::<D>::default,
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
            "ask",
            ask::Ask::default,
            clock,
            [begins, va, len, ticket, key, stops, read.ready, closes]
        ),
        differential!("choose", choose::Choose::default, clock, [reset, wanted, is_there, bucket, takes]),
        differential!(
            "walk",
            walk::Walk::default,
            clock,
            [
                task.payload,
                task.valid,
                is_known,
                bucket_ending,
                is_some,
                candidate,
                successor,
                is_over,
                object_ending,
                is_malformed,
                is_other,
                given,
                response.ready
            ]
        ),
    ];
    assert_agree(parts.into_iter().chain(widths::<64>()).chain(widths::<512>()), 300);
}
