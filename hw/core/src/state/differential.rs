//! The tables in the differential suite: their blocks mean the same in Rust and in Verilog.

use super::{
    access, heard, lookup, maintain, memory_keys, mmu, order, pages, queue_pairs, regions, tlb, walker,
};
use crate::verilog::differential::{Case, assert_agree, differential};

/// The TLB, with more regions than sets or fewer.
fn cache<const MRS: usize, const SETS: usize>(name: &str) -> Case {
    differential!(
        name,
        tlb::Tlb::<MRS, SETS>::default,
        clock,
        [
            reset,
            read_enable,
            region,
            line,
            at,
            fill,
            fill_region,
            fill_line,
            fill_data,
            forget,
            forget_region
        ]
    )
}

/// The parts.
fn parts() -> Vec<Case> {
    vec![
        differential!("access", access::Access::default, [request, row]),
        differential!("pages", pages::Pages::default, [request, row]),
        differential!("page_frame", pages::Frame::default, [entry, page, offset]),
        differential!("page_entry", pages::Entry::default, [line, at]),
        differential!(
            "memory_keys",
            memory_keys::MemoryKeys::<3>::default,
            clock,
            [read_enable, index, write_enable, write_index, write_row]
        ),
        cache::<3, 2>("tlb"),
        cache::<2, 3>("tlb_of_few"),
        differential!(
            "walker",
            walker::Walker::<3>::default,
            clock,
            [
                reset,
                ask,
                region,
                line,
                list,
                moves,
                next_region,
                next_line,
                look,
                gone,
                gone_walk,
                line_request.ready,
                answer.payload,
                answer.valid
            ]
        ),
        differential!(
            "maintain",
            maintain::Maintain::<3>::default,
            clock,
            [
                row.payload,
                row.valid,
                invalidate.payload,
                invalidate.valid,
                done.ready,
                enters,
                leaves,
                leaves_colour,
                forgetting
            ]
        ),
        differential!(
            "order",
            order::Order::default,
            clock,
            [valid, answer, source.ready, arrived, failed, line]
        ),
    ]
}

/// What they are joined to.
fn joined() -> Vec<Case> {
    vec![
        differential!(
            "lookup",
            lookup::Lookup::<3, 2>::default,
            clock,
            [
                request.payload,
                request.valid,
                colour,
                room,
                open,
                go,
                write,
                write_index,
                write_row,
                fill,
                fill_region,
                fill_line,
                fill_data,
                forget,
                forget_region
            ]
        ),
        differential!(
            "mmu",
            mmu::Mmu::<3, 2>::default,
            clock,
            [
                request.payload,
                request.valid,
                response.ready,
                line_request.ready,
                line.payload,
                line.valid,
                row.payload,
                row.valid,
                invalidate.payload,
                invalidate.valid,
                done.ready
            ]
        ),
    ]
}

/// The parts of the owners.
fn owners_parts() -> Vec<Case> {
    vec![
        differential!(
            "transitions",
            queue_pairs::transitions::Transitions::default,
            [kind, from, to, attributes]
        ),
        differential!("queue_pair_creation", queue_pairs::creation::Creation::<3, 2>::default, [body]),
        differential!(
            "modification",
            queue_pairs::modification::Modification::default,
            [present, body, attributes]
        ),
        differential!(
            "queue_pair_judge",
            queue_pairs::judge::Judge::<3, 2>::default,
            clock,
            [verb, attributes, body, present, beyond]
        ),
        differential!(
            "queue_pair_tables",
            queue_pairs::tables::Tables::<3>::default,
            clock,
            [read, index, write, write_index, write_body, row_enable, row_index, probe]
        ),
        differential!(
            "failures",
            queue_pairs::failures::Failures::<3>::default,
            clock,
            [error.payload, error.valid, event.ready, change.ready, open, body, beyond]
        ),
        differential!("heard", heard::Heard::<3>::default, clock, [begins, offered, mixed]),
        differential!("region_creation", regions::creation::Creation::default, clock, [body]),
        differential!(
            "region_judge",
            regions::judge::Judge::default,
            clock,
            [verb, attributes, body, exists, is_bound, in_use, beyond]
        ),
        differential!("region_table", regions::table::Table::<3>::default, clock, [turn]),
        differential!("region_row_of", regions::row_of::RowOf::default, [number, body]),
        differential!("region_consent", regions::consent::Consent::<3>::default, [work, window, region]),
        differential!(
            "region_ending",
            regions::ending::Ending::<3>::default,
            clock,
            [begins, region, invalidate.ready, done.payload, done.valid, drained, settled]
        ),
        differential!(
            "region_windows",
            regions::windows::Windows::<3>::default,
            clock,
            [
                work.payload,
                work.valid,
                reply.ready,
                row.ready,
                open,
                free,
                kept,
                bound_count,
                leaves,
                leaver,
                parts
            ]
        ),
    ]
}

/// The owners.
fn owners() -> Vec<Case> {
    vec![
        differential!(
            "queue_pairs",
            queue_pairs::QueuePairs::<3, 3, 2>::default,
            clock,
            [
                command.payload,
                command.valid,
                reply.ready,
                error.payload,
                error.valid,
                event.ready,
                row_enable,
                row_index,
                change.ready,
                drained,
                entry_waits,
                settled
            ]
        ),
        differential!(
            "regions",
            regions::Regions::<3>::default,
            clock,
            [
                command.payload,
                command.valid,
                reply.ready,
                work.payload,
                work.valid,
                answer.ready,
                row.ready,
                invalidate.ready,
                done.payload,
                done.valid,
                drained,
                settled,
                leaves,
                leaver
            ]
        ),
    ]
}

#[test]
fn rust_and_verilog_agree_on_every_owner() {
    assert_agree(owners_parts().into_iter().chain(owners()), 300);
}

#[test]
fn rust_and_verilog_agree_on_every_table() {
    assert_agree(parts().into_iter().chain(joined()), 300);
}
