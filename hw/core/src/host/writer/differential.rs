//! The writer and its parts in the differential suite: RustHDL's simulator against the Verilated text.

use super::HostWriter;
use super::accept::Accept;
use super::failures::Failures;
use super::feed::Feed;
use super::settle::Settle;
use crate::verilog::differential::{Case, assert_agree, differential};

#[test]
fn rust_and_verilog_agree_on_every_part() {
    let cases = vec![
        differential!("settle_block", Settle::default, clock, [reset, issued, done, begins]),
        Case::clocked(
            "accept_block",
            Accept::default,
            |block, draw| {
                block.write.payload.next = draw.value("write$payload");
                block.write.valid.next = draw.value("write$valid");
                for (at, entries) in block.entries.iter_mut().enumerate() {
                    entries.payload.next = draw.value(&format!("entries${at}$payload"));
                    entries.valid.next = draw.value(&format!("entries${at}$valid"));
                }
                block.room.next = draw.value("room");
                block.entry_room.next = draw.value("entry_room");
                block.command.ready.next = draw.value("command$ready");
            },
            |block, level| block.clock.next = level.into(),
        ),
        differential!(
            "feed_block",
            Feed::<64>::default,
            clock,
            [enters, is_entry, entry, data.payload, data.valid, source.ready]
        ),
        differential!(
            "failures_block",
            Failures::default,
            clock,
            [accepted, ticket, owner, sink.payload, sink.valid, missed, event.ready, error.ready]
        ),
        differential!(
            "host_writer",
            HostWriter::<64, 8>::default,
            clock,
            [
                write.payload,
                write.valid,
                data.payload,
                data.valid,
                aw.ready,
                w.ready,
                b.payload,
                b.valid,
                event.ready,
                error.ready
            ]
        ),
    ];
    assert_agree(cases, 500);
}
