//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{
    PrismKernel, collect, emit, intake, judge, lead, operands, operate, parameters, put, store, swap,
};

fn widths<const D: usize, const LOG: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("intake_{D}"),
            intake::Intake::<D, LOG>::default,
            clock,
            [reset, takes, sink.payload, sink.valid]
        ),
        differential!(
            &format!("collect_{D}"),
            collect::Collect::<D, LOG>::default,
            clock,
            [reset, line, sink.payload, sink.valid]
        ),
        differential!(
            &format!("store_{D}"),
            store::Store::<D, LOG>::default,
            clock,
            [write_enable, write_at, write_data, begins, line, len, source.ready]
        ),
        differential!(
            &format!("operands_{D}"),
            operands::Operands::<D>::default,
            clock,
            [reset, begins, sink.payload, sink.valid]
        ),
        differential!(
            &format!("emit_{D}"),
            emit::Emit::<D>::default,
            clock,
            [
                begins,
                is_answer,
                head,
                head_len,
                len,
                sink.payload,
                sink.valid,
                write_data.ready,
                data_out.ready
            ]
        ),
        differential!(
            &format!("prism_{D}"),
            PrismKernel::<D, LOG>::default,
            clock,
            [
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
            "judge",
            judge::Judge::default,
            clock,
            [reset, begins, request, is_line, line, number, ends, index]
        ),
        differential!(
            "swap",
            swap::Swap::default,
            clock,
            [reset, begins, order, operands, there, fetched, allocated]
        ),
        differential!(
            "operate",
            operate::Operate::default,
            clock,
            [
                ticket,
                begins,
                starts,
                order,
                result_line,
                read.ready,
                is_there,
                words,
                ending,
                loads,
                is_known,
                holds,
                has_put,
                is_settled,
                how
            ]
        ),
        differential!(
            "put",
            put::Put::default,
            clock,
            [
                begins,
                ticket,
                order,
                len,
                target,
                head,
                fresh,
                wants,
                gift,
                write.ready,
                is_free,
                write_done.payload,
                write_done.valid
            ]
        ),
        differential!(
            "lead",
            lead::Lead::default,
            clock,
            [
                task.payload,
                task.valid,
                is_ready,
                is_bad,
                lines,
                is_conditional,
                ends,
                outcome,
                stage,
                applied,
                answered,
                len,
                target,
                has_answered,
                response.ready
            ]
        ),
    ];
    assert_agree(parts.into_iter().chain(widths::<64, 12>()).chain(widths::<512, 9>()), 300);
}
