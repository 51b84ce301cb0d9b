//! The receive side in the differential suite: its blocks mean the same in Rust and in Verilog.

use super::{axis, decode, gate, gather, icrc, merge, preface, raw};
use crate::prim::strip;
use crate::verilog::differential::{Case, assert_agree, differential};

fn cases() -> Vec<Case> {
    vec![
        differential!(
            "gather",
            gather::Gather::<64>::default,
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!("decode", decode::Decode::default, clock, [window, some]),
        differential!(
            "icrc",
            icrc::Icrc::<64>::default,
            clock,
            [sink.payload, sink.valid, plan, source.ready]
        ),
        differential!(
            "strip",
            strip::Strip::<64>::default,
            clock,
            [sink.payload, sink.valid, skip, keep, source.ready]
        ),
        differential!(
            "gate",
            gate::Gate::<64>::default,
            clock,
            [
                verdict.payload,
                verdict.valid,
                head.payload,
                head.valid,
                payload.payload,
                payload.valid,
                good_head.ready,
                judged_payload.ready
            ]
        ),
        differential!(
            "raw",
            raw::Raw::<64, 5>::default,
            clock,
            [moves, beat, frame_class, enable, head.ready, payload.ready]
        ),
        differential!(
            "merge",
            merge::Merge::<64>::default,
            clock,
            [
                roce.payload,
                roce.valid,
                roce_payload.payload,
                roce_payload.valid,
                raw.payload,
                raw.valid,
                raw_payload.payload,
                raw_payload.valid,
                head.ready,
                payload.ready
            ]
        ),
        differential!(
            "preface",
            preface::Preface::<64>::default,
            clock,
            [sink.payload, sink.valid, body.payload, body.valid, head.ready, payload.ready]
        ),
        differential!(
            "preface_of_all",
            preface::Preface::<64>::of_all,
            clock,
            [sink.payload, sink.valid, body.payload, body.valid, head.ready, payload.ready]
        ),
        differential!(
            "axis_in",
            axis::AxisIn::<64, 8>::default,
            clock,
            [tdata, tkeep, tvalid, tlast, tuser, closed, source.ready]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree_on_every_receive_block() {
    assert_agree(cases(), 300);
}
