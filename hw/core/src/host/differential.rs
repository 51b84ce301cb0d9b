//! Doorbells and scheduler in the differential suite: their blocks mean the same in Rust and in Verilog.

use super::doorbells::{self, decode, windows};
use super::send::{self, act, choose, fetch, look, rows, units, verdict};
use crate::verilog::differential::{Case, assert_agree, differential};

fn doorbells() -> Vec<Case> {
    vec![
        differential!("decode", decode::Decode::<3>::default, [store]),
        differential!(
            "windows",
            windows::Windows::<2, 6>::default,
            clock,
            [reset, page, window, word, data, fills, whole, commits, units, pushed.ready]
        ),
        differential!(
            "doorbells",
            doorbells::Doorbells::<2, 6>::default,
            clock,
            [store.payload, store.valid, send.ready, pushed.ready, receive.ready, cq.ready, discards]
        ),
    ]
}

fn scheduler() -> Vec<Case> {
    vec![
        differential!(
            "choose",
            choose::Choose::<3>::default,
            clock,
            [
                progress,
                progress_qpn,
                change,
                change_qpn,
                kick,
                kick_qpn,
                doorbell,
                doorbell_qpn,
                line,
                line_qpn,
                hold,
                paced
            ]
        ),
        differential!(
            "look",
            look::Look::<23>::default,
            [rings, row, state, doorbell, progress, start, now, pause, fetch_room, push_room]
        ),
        differential!(
            "rows",
            rows::Rows::<3>::default,
            clock,
            [
                begins, index, looks, rings, row, doorbell, progress, now, fetch_room, push_room, pause,
                writes, changed, scrubs
            ]
        ),
        differential!("verdict", verdict::Verdict::default, [sight]),
        differential!(
            "act",
            act::Act::default,
            [
                progresses, changes, kicks, rings, serves, state, sight, doorbell, good, advances, progress,
                delay, resets, is_alone, now
            ]
        ),
        differential!(
            "fetch",
            fetch::Fetch::default,
            clock,
            [reset, starts, base, next_index, capacity, units, read.ready]
        ),
        differential!(
            "units",
            units::Units::default,
            clock,
            [reset, starts, keeps, count, sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "send",
            send::Send::<3>::default,
            clock,
            [
                doorbell.payload,
                doorbell.valid,
                units.payload,
                units.valid,
                row,
                change.payload,
                change.valid,
                progress.payload,
                progress.valid,
                kick.payload,
                kick.valid,
                drain,
                retired,
                retired_colour,
                pause,
                read.ready,
                job.ready,
                pushed.ready
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree_on_doorbells_and_scheduler() {
    assert_agree(doorbells().into_iter().chain(scheduler()), 300);
}
