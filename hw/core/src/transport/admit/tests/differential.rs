use crate::transport::admit::{
    Admit, advance, amend, catch_up, desk, extent, intake, job, judge, keyed, kind, leads, measure, nudges,
    onward, pace, remain, route, rows, tickets,
};
use crate::verilog::differential::{Case, assert_agree, differential};

fn logic() -> Vec<Case> {
    vec![
        differential!("catch_up", catch_up::CatchUp::default, [row, acked, work, follows]),
        differential!("sort", kind::Sort::default, [work]),
        differential!("onward", onward::Onward::default, [row, verdict, after, acked]),
        differential!("remain", remain::Remain::default, [length, sent, path_mtu]),
        differential!("extent", extent::Extent::default, [work, opening]),
        differential!("measure", measure::Measure::default, [length, path_mtu]),
        differential!(
            "judge",
            judge::Judge::default,
            [row, resumes, pending, reads, found, work, opening, lengths, local_ended, keys, bytes]
        ),
        differential!(
            "advance",
            advance::Advance::default,
            [row, verdict, work, opening, lengths, ahead, skips, left, ticket, colour]
        ),
    ]
}

fn parts() -> Vec<Case> {
    vec![
        differential!(
            "job",
            job::Job::default,
            clock,
            [reset, acts, work, verdict, bytes, rewound, forgotten, qpn]
        ),
        differential!("keyed", keyed::Keyed::default, clock, [looks, turn, keyed, room]),
        differential!("leads", leads::Leads::default, clock, [reset, enters, lead, takes, units]),
        differential!("pace", pace::Pace::default, clock, [reset, coming, free, room, same, onward, alone]),
        differential!("tickets", tickets::Tickets::default, clock, [reset, ended, asks, asked, issues]),
        differential!(
            "rows",
            rows::Rows::<3>::default,
            clock,
            [look, look_index, write, write_index, write_row]
        ),
        differential!(
            "amend",
            amend::Amend::<3>::default,
            clock,
            [
                rewind.payload,
                rewind.valid,
                change.payload,
                change.valid,
                free,
                row,
                progress.ready,
                flush.ready
            ]
        ),
        differential!(
            "nudges",
            nudges::Nudges::<2>::default,
            clock,
            [failure.payload, failure.valid, flush.payload, flush.valid, nudge.ready]
        ),
        differential!(
            "route",
            route::Route::default,
            clock,
            [order.payload, order.valid, units.payload, units.valid, local.ready, message.ready]
        ),
        differential!(
            "intake",
            intake::Intake::default,
            clock,
            [work.payload, work.valid, units.payload, units.valid, takes, held.ready]
        ),
    ]
}

fn wholes() -> Vec<Case> {
    vec![
        differential!(
            "desk",
            desk::Desk::default,
            clock,
            [
                coming,
                work,
                opening,
                free,
                room,
                same,
                row,
                acked,
                out_found,
                ended,
                keyed,
                key.ready,
                colour,
                rewound,
                forgotten,
                changed,
                local.ready,
                order.ready,
                message.ready,
                alarm.ready,
                progress.ready,
                failure.ready
            ]
        ),
        differential!(
            "admit",
            Admit::<2, 7>::default,
            clock,
            [
                work.payload,
                work.valid,
                units.payload,
                units.valid,
                rewind.payload,
                rewind.valid,
                change.payload,
                change.valid,
                local.ready,
                local_units.ready,
                message.ready,
                message_units.ready,
                progress.ready,
                nudge.ready,
                alarm.ready,
                colour,
                out_found,
                acked,
                keyed,
                key.ready,
                ended
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree() {
    assert_agree(logic().into_iter().chain(parts()).chain(wholes()), 300);
}
