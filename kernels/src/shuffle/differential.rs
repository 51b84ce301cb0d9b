//! The kernel in the differential suite: its blocks mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::{Case, assert_agree};

use super::{
    Shuffle64, Shuffle512, bank, control, drain, fill, finish, open, parameters, pick, replay, route, send,
    table,
};

/// Memories are small here: RustHDL's simulator copies them.
fn widths<const D: usize, const L: usize, const T: usize, const F: usize>() -> Vec<Case> {
    vec![
        differential!(
            &format!("route_{D}"),
            route::Route::<D, L>::default,
            clock,
            [reset, sink.payload, sink.valid, request, passes, drops, keeps, rewinds]
        ),
        differential!(
            &format!("replay_{D}"),
            replay::Replay::<D>::default,
            clock,
            [sink.payload, sink.valid, source.ready, keeps, rewinds]
        ),
        differential!(
            &format!("pick_{D}"),
            pick::Pick::<D, L>::default,
            clock,
            [sink.payload, sink.valid, request, begins, source.ready]
        ),
        differential!(
            &format!("drain_{D}"),
            drain::Drain::<D, 2, 8, F>::default,
            clock,
            [
                is_open,
                opened,
                bank,
                jobs.payload,
                jobs.valid,
                read_data,
                headers.ready,
                beats.ready,
                releases
            ]
        ),
        differential!(
            &format!("bank_{D}"),
            bank::Bank::<D, L, 2, 8, F>::default,
            clock,
            [
                request,
                bank,
                is_there,
                entry,
                index,
                begins,
                data,
                lanes,
                valid,
                flushes,
                last,
                is_used,
                releases,
                asked,
                headers.ready,
                beats.ready
            ]
        ),
        differential!(
            &format!("send_{D}"),
            send::Send::<D, L>::default,
            clock,
            [
                ticket,
                key,
                begins,
                is_saving,
                table_header.payload,
                table_header.valid,
                table_beats.payload,
                table_beats.valid,
                write.ready,
                write_data.ready,
                write_done.payload,
                write_done.valid
            ]
        ),
        differential!(
            &format!("table_{D}"),
            table::Table::<D, L, T>::default,
            clock,
            [
                request,
                begins,
                read.ready,
                read_data.payload,
                read_data.valid,
                saves,
                header.ready,
                beats.ready
            ]
        ),
    ]
}

/// Those without a width.
fn parts() -> Vec<Case> {
    vec![
        differential!(
            "decode",
            parameters::Decode::default,
            clock,
            [reset, sink.payload, sink.valid, source.ready]
        ),
        differential!("open", open::Open::default, clock, [reset, is_there, entry, index, wide]),
        differential!(
            "fill",
            fill::Fill::<2, 8>::default,
            clock,
            [
                is_open,
                opened,
                sink.payload,
                sink.valid,
                flushes,
                last,
                jobs.ready,
                is_freed,
                freed,
                is_used,
                asked
            ]
        ),
        differential!(
            "control",
            control::Control::default,
            clock,
            [
                tasks.payload,
                tasks.valid,
                is_open,
                is_refused,
                has_failed,
                has_passed,
                is_taken,
                overflows,
                is_resting,
                may_follow,
                concludes,
                forgets
            ]
        ),
        differential!(
            "finish",
            finish::Finish::default,
            clock,
            [
                now,
                is_ahead,
                judges,
                flushes,
                has_overflowed,
                tells,
                is_settled,
                is_saved,
                is_refused,
                has_failed,
                response.ready
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree() {
    let whole = vec![
        differential!(
            "shuffle_64",
            Shuffle64::default,
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
        differential!(
            "shuffle_512",
            Shuffle512::default,
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
    ];
    let all =
        parts().into_iter().chain(whole).chain(widths::<64, 1, 11, 6>()).chain(widths::<512, 8, 8, 4>());
    assert_agree(all, 300);
}
