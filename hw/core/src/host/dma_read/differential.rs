//! The read engine's parts in the differential suite: RustHDL's simulator against the Verilated text.

use super::deliver::Deliver;
use super::ids::Ids;
use super::reorder::Reorder;
use super::split::Split;
use crate::verilog::differential::{Case, assert_agree, differential};

fn cases() -> Vec<Case> {
    vec![
        differential!("read_split", Split::<64>::default, clock, [sink.payload, sink.valid, source.ready]),
        differential!(
            "read_ids",
            || Ids::<64>::new(5),
            clock,
            [reset, sink.payload, sink.valid, ar.ready, r.payload, r.valid]
        ),
        differential!(
            "read_reorder",
            || Reorder::<64, 9>::new(3),
            clock,
            [reset, sink.payload, sink.valid, request.ready, arrival, arrived, source.ready]
        ),
        differential!(
            "read_deliver",
            Deliver::<64>::default,
            clock,
            [command.payload, command.valid, sink.payload, sink.valid, data.ready]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree_on_every_part() {
    assert_agree(cases(), 500);
}
