//! The way of doorbells into the card.

use stroma_abi::regs::map::{BAR2_AT, events, identity};

use super::super::model::Effect;
use super::super::rig::Rig;
use super::{NEVER, always};
use crate::host::work::PageStore;

/// Stores that the queue holds.
const QUEUE: usize = 64;

fn page_store(page: u64, offset: u64, data: u64, strb: u64) -> Effect {
    Effect::Page(PageStore { page: page.into(), offset: offset.into(), data: data.into(), strb: strb.into() })
}

#[test]
fn a_store_to_a_page_keeps_its_page_place_and_strobe() {
    let mut rig = Rig::default();
    rig.raw_store(BAR2_AT + 0xfff_ffc, 0x0123_4567_89ab_cdef, 0xf0);
    rig.raw_store(BAR2_AT + 0x1018, 7, 0xff);
    rig.raw_store(BAR2_AT + 0x1018, 8, 0);
    rig.run(2);
    let expected = [page_store(0xfff, 0xff8, 0x0123_4567_89ab_cdef, 0xf0), page_store(1, 0x18, 7, 0xff)];
    assert_eq!(rig.effects, expected, "and a store of no byte is none");
}

#[test]
fn when_the_queue_is_full_stores_wait_and_reads_do_not() {
    let mut rig = Rig::default();
    rig.bench[rig.store].pause(always());
    for index in 0..QUEUE + 3 {
        rig.push_store(BAR2_AT + 8 * index, index as u64, 0xff);
    }
    rig.push_store(events::BLOCK.address(&events::BASE), 0x5000, 0xff);
    rig.run(300);
    assert_eq!(rig.bench[rig.b].received().len(), QUEUE, "the next one waits");
    assert_eq!(
        rig.raw_load(events::BLOCK.address(&events::BASE)),
        0,
        "and so does a store to BAR0 behind it"
    );
    assert_eq!(rig.raw_load(identity::BLOCK.offset) & 0xffff_ffff, u64::from(identity::KIND));
    rig.bench[rig.store].pause(NEVER);
    rig.run(100);
    let expected: Vec<_> = (0..QUEUE as u64 + 3).map(|index| page_store(0, 8 * index, index, 0xff)).collect();
    assert_eq!((rig.effects.len(), rig.bench[rig.b].received().len()), (QUEUE + 3, QUEUE + 4));
    assert_eq!(rig.effects, expected);
    assert_eq!(rig.raw_load(events::BLOCK.address(&events::BASE)), 0x5000);
    assert!(!rig.port::<bool>("busy"));
}
