//! Single cases: each cause of refusal, limits, latency, and who waits for whom.

use stroma_abi::desc::Region;
use stroma_abi::desc::region::rights;

use super::super::model::Ask;
use super::super::rig::{MRS, Rig, TLB_PAGES};
use crate::state::access::Cause;

/// A region of 4 KiB pages in which everything is allowed, and a request for it.
pub(super) fn plain(pages: u64) -> (Region, Ask) {
    let base = 0x7000_0000_0000;
    let region = Region { base, length: pages << 12, key: 0xab, pd: 9, rights: 31, ..Region::default() };
    (region, Ask { client: 0, tag: 0, key: 0x3ab, pd: 9, qpn: 0, va: base, len: 64, need: 0 })
}

/// An MMU that knows the plain region as number 3.
fn with_plain(pages: u64) -> (Rig, Region, Ask) {
    let (mut rig, (region, ask)) = (Rig::default(), plain(pages));
    rig.register(3, region);
    rig.settle();
    (rig, region, ask)
}

#[test]
fn whatever_fails_the_check_starts_no_walk() {
    let (mut rig, region, ask) = with_plain(4);
    let limited = Region { rights: 0, ..region };
    rig.register(4, limited);
    rig.settle();
    let end = region.base + region.length;
    let of_limited = Ask { key: 0x4ab, ..ask };
    let mut wrong = vec![
        (Ask { key: 0x3aa, ..ask }, Cause::Key),
        (Ask { key: 0x2ab, ..ask }, Cause::Key),
        (Ask { key: (3 + (1 << MRS)) << 8 | 0xab, ..ask }, Cause::Key),
        (Ask { key: 0x8000_03ab, ..ask }, Cause::Key),
        (Ask { pd: 8, ..ask }, Cause::Domain),
        (Ask { va: region.base - 1, ..ask }, Cause::Bounds),
        (Ask { va: region.base - 64, ..ask }, Cause::Bounds),
        (Ask { va: end - 63, ..ask }, Cause::Bounds),
        (Ask { va: end + 1, len: 0, ..ask }, Cause::Bounds),
        (Ask { va: u64::MAX - 3, ..ask }, Cause::Bounds),
        (Ask { va: 0, ..ask }, Cause::Bounds),
        (Ask { len: 4097, ..ask }, Cause::Bounds),
        (Ask { len: 8191, ..ask }, Cause::Bounds),
    ];
    for right in
        [rights::LOCAL_WRITE, rights::REMOTE_WRITE, rights::REMOTE_READ, rights::REMOTE_ATOMIC, rights::RPC]
    {
        wrong.push((Ask { need: right, ..of_limited }, Cause::Rights));
    }
    let asks: Vec<_> = wrong.iter().map(|(ask, _)| *ask).collect();
    rig.send(&asks);
    rig.settle();
    let expected: Vec<_> = wrong.iter().map(|(ask, cause)| ask.refusal(*cause)).collect();
    assert_eq!(rig.responses(), expected);
    rig.deregister(3);
    rig.send(&[ask]);
    rig.settle();
    assert_eq!(rig.responses(), [ask.refusal(Cause::Key)]);
    assert!(rig.walked.is_empty(), "walks at {:x?}", rig.walked);
    assert_eq!(["hits", "misses", "walks"].map(|name| rig.count(name)), [0; 3]);
}

#[test]
fn the_last_byte_is_inside_and_nothing_needs_no_page() {
    let (mut rig, region, ask) = with_plain(4);
    let end = region.base + region.length;
    let asks = [
        Ask { va: end - 64, ..ask },
        Ask { va: end - 1, len: 1, ..ask },
        Ask { va: end - 4096, len: 4096, ..ask },
        Ask { va: end - 4097, len: 4096, ..ask },
        Ask { va: end, len: 0, ..ask },
    ];
    rig.agree(&asks);
    rig.send(&asks[4..]);
    rig.settle();
    assert!(rig.responses()[0].ok);
}

#[test]
fn more_pages_than_the_tlb_holds_come_and_go() {
    let pages = 4 * TLB_PAGES;
    let (mut rig, region, ask) = with_plain(pages);
    let at = |page: u64| Ask { va: region.base + (page << 12), client: (page % 8) as u8, ..ask };
    let asks: Vec<_> = (0..2 * pages).map(|index| at(index % pages)).collect();
    rig.agree(&asks);
    assert!(u64::from(rig.count("walks")) > pages / 8, "the second round found everything");
    // What fits stays.
    let asks: Vec<_> = (0..TLB_PAGES).map(at).collect();
    rig.agree(&asks);
    let walks = rig.count("walks");
    rig.agree(&asks);
    assert_eq!(rig.count("walks"), walks);
}

#[test]
fn a_line_that_cannot_be_read_refuses_its_pages_and_is_not_kept() {
    let (mut rig, region, ask) = with_plain(32);
    let list = rig.table.regions[&3].list;
    rig.table.faults.insert(list + 64);
    let across = Ask { va: region.base + 8 * 4096 - 100, len: 200, ..ask };
    let back = Ask { va: region.base + 16 * 4096 - 100, len: 200, ..ask };
    let inside = Ask { va: region.base + 9 * 4096, ..ask };
    rig.agree(&[across, back, inside, ask]);
    rig.table.faults.clear();
    rig.agree(&[across, back, inside, ask]);
}

/// Cycles from a request to its answer, in an MMU that is at rest.
fn latency(rig: &mut Rig, ask: Ask) -> u32 {
    rig.send(&[ask]);
    for cycle in 0..100 {
        rig.step();
        // The step that takes the answer began with the answer on offer.
        if !rig.responses().is_empty() {
            return cycle;
        }
    }
    panic!("no answer to {ask:?}");
}

#[test]
fn an_answer_that_needs_no_walk_takes_six_cycles_and_one_comes_every_cycle() {
    let (mut rig, region, ask) = with_plain(8);
    rig.register(4, Region { direct: true, ..region });
    rig.agree(&[ask]);
    assert_eq!(latency(&mut rig, ask), 6);
    assert_eq!(latency(&mut rig, Ask { key: 0x4ab, ..ask }), 6);
    assert_eq!(latency(&mut rig, Ask { key: 0x5ab, ..ask }), 6);
    rig.send(&[ask; 100]);
    rig.run(6 + 100);
    assert_eq!(rig.responses().len(), 100);
    assert_eq!((rig.count("hits"), rig.count("misses")), (101, 1));
}

#[test]
fn a_miss_takes_five_cycles_to_its_walk_and_four_back_and_those_that_waited_come_every_cycle() {
    let (mut rig, region, ask) = with_plain(64);
    // The line is on offer in the cycle behind that in which it was asked for.
    rig.latency = 0;
    assert_eq!(latency(&mut rig, ask), 5 + 1 + 4);
    // One client, pages of two lines in turn, and a hit behind them.
    rig.latency = 200;
    let at = |page: u64| Ask { va: region.base + (page << 12), ..ask };
    let mut asks: Vec<_> = (0..20).map(|index| at(8 + 8 * (index % 2))).collect();
    asks.push(ask);
    rig.send(&asks);
    let mut cycles = Vec::new();
    for cycle in 0..400 {
        rig.step();
        cycles.extend(rig.responses().iter().map(|_| cycle));
    }
    assert_eq!(cycles.len(), 21);
    assert_eq!((rig.count("misses"), rig.count("walks")), (21, 3));
    // All but perhaps the first had to wait for the line that came last.
    assert!(cycles[1..].windows(2).all(|pair| pair[1] == pair[0] + 1), "{cycles:?}");
}

#[test]
fn a_client_with_too_many_answers_waiting_is_held_back_and_loses_none() {
    let (mut rig, region, ask) = with_plain(64);
    rig.agree(&[ask]);
    rig.latency = 1000;
    // All of them cross a page, the first into a line that is far away: as many pieces as can be.
    let across = Ask { va: region.base + 4096 - 10, len: 20, ..ask };
    let mut asks = vec![Ask { va: region.base + (16 << 12), ..ask }];
    asks.extend((1..60).map(|tag| Ask { tag, ..across }));
    rig.send(&asks);
    rig.run(300);
    // Twelve requests with the one piece before them make 24 waiting pieces; some more were in the pipeline.
    let sent = rig.bench[rig.request].sent() - 1;
    assert!((13..=16).contains(&sent), "{sent} requests taken");
    rig.settle();
    let expected: Vec<_> = asks.iter().flat_map(|ask| rig.table.answers(ask)).collect();
    assert_eq!(rig.responses(), expected);
}

#[test]
fn hits_of_other_clients_pass_a_walk_and_those_of_its_own_wait() {
    let (mut rig, region, ask) = with_plain(64);
    rig.agree(&[ask]);
    rig.latency = 2000;
    let miss = Ask { va: region.base + (16 << 12), tag: 1, ..ask };
    let behind = Ask { tag: 2, ..ask };
    let other = Ask { client: 1, ..ask };
    rig.send(&[miss, behind]);
    rig.send(&[other; 50]);
    rig.run(70);
    let responses = rig.responses();
    assert_eq!(responses.len(), 50);
    assert!(responses.iter().all(|response| response.client == 1 && response.ok));
    rig.settle();
    let tags: Vec<_> = rig.responses().iter().map(|response| response.tag).collect();
    assert_eq!(tags, [1_u64, 2]);
}

#[test]
fn misses_of_one_line_share_a_walk() {
    let (mut rig, region, ask) = with_plain(8);
    let asks: Vec<_> = (0..24_u8)
        .map(|index| Ask { client: index % 8, va: region.base + (u64::from(index % 8) << 12), ..ask })
        .collect();
    rig.latency = 100;
    rig.agree(&asks);
    assert_eq!((rig.count("misses"), rig.count("walks")), (24, 1));
}

#[test]
fn eight_walks_run_at_once_and_a_ninth_waits() {
    let (mut rig, region, ask) = with_plain(128);
    rig.latency = 400;
    let asks: Vec<_> = (0..9_u8)
        .map(|index| Ask { client: index % 8, va: region.base + (u64::from(index) << 15), ..ask })
        .collect();
    rig.send(&asks);
    rig.run(100);
    assert_eq!(rig.walked.len(), 8);
    rig.settle();
    assert_eq!((rig.walked.len(), rig.responses().len()), (9, 9));
}
