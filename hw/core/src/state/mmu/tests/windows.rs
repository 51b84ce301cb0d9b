//! Windows onto regions: who may look through, what they share with the region, and how they end.

use stroma_abi::desc::Region;
use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, RPC};
use stroma_verilate::Pause;

use super::super::model::{Ask, Bond};
use super::super::rig::Rig;
use super::corners::plain;
use super::{FIRST_WINDOW, NUMBERS, batch, bind, regions};
use crate::state::access::Cause;

const QPN: u32 = 0x00a5_5a01;

/// The plain region as number 3, and window 7 from its page 9 and 100 bytes to its page 25 and 300; a request through it.
fn with_window(pages: u64) -> (Rig, Region, Region, Ask) {
    let (mut rig, (region, ask)) = (Rig::default(), plain(pages));
    rig.register(3, region);
    let part = Region {
        base: region.base + (9 << 12) + 100,
        length: (16 << 12) + 200,
        key: 0xcd,
        rights: 0x1e,
        ..region
    };
    rig.bind(7, Bond { parent: 3, qpn: QPN }, &part);
    rig.settle();
    let ask = Ask { key: 0x7cd, qpn: QPN, va: part.base, need: REMOTE_READ, ..ask };
    (rig, region, part, ask)
}

#[test]
fn a_window_is_there_for_the_peer_of_its_queue_pair_and_for_nobody_else() {
    let (mut rig, region, part, ask) = with_window(40);
    rig.bind(8, Bond { parent: 3, qpn: QPN }, &Region { rights: REMOTE_READ, ..part });
    rig.settle();
    let end = part.base + part.length;
    let of_reader = Ask { key: 0x8cd, ..ask };
    let cases = [
        (ask, None),
        (Ask { need: REMOTE_WRITE, ..ask }, None),
        (Ask { need: REMOTE_ATOMIC, len: 8, ..ask }, None),
        (Ask { need: RPC, ..ask }, None),
        (Ask { va: end - 64, ..ask }, None),
        (Ask { va: end, len: 0, ..ask }, None),
        // Each refusal is wrong in all that is judged later as well.
        (Ask { key: 0x7ab, pd: 8, qpn: 0, need: 31, va: 0, ..ask }, Some(Cause::Key)),
        (Ask { pd: 8, qpn: 0, need: 31, va: 0, ..ask }, Some(Cause::Domain)),
        (Ask { qpn: QPN ^ 1, need: 31, va: 0, ..ask }, Some(Cause::Window)),
        (Ask { qpn: QPN ^ 0x0080_0000, ..ask }, Some(Cause::Window)),
        (Ask { need: 0, ..ask }, Some(Cause::Window)),
        (Ask { need: LOCAL_WRITE, va: 0, ..ask }, Some(Cause::Window)),
        (Ask { need: REMOTE_WRITE, va: 0, ..of_reader }, Some(Cause::Rights)),
        (Ask { need: LOCAL_WRITE | REMOTE_READ, va: 0, ..of_reader }, Some(Cause::Rights)),
        (Ask { va: part.base - 1, ..ask }, Some(Cause::Bounds)),
        (Ask { va: region.base, ..ask }, Some(Cause::Bounds)),
        (Ask { va: end - 63, ..ask }, Some(Cause::Bounds)),
        // The region itself asks nobody for a queue pair.
        (Ask { key: 0x3ab, qpn: 0, need: 0, va: region.base, ..ask }, None),
    ];
    let asks: Vec<_> = cases.iter().map(|(ask, _)| *ask).collect();
    for (ask, cause) in &cases {
        let expected = cause.map_or(0, |cause| cause as u64);
        assert!(rig.table.answers(ask).iter().all(|answer| answer.cause == expected), "{ask:x?}");
    }
    rig.agree(&asks);
}

#[test]
fn a_window_finds_its_regions_pages_in_the_tlb_and_leaves_them_there_when_it_ends() {
    let (mut rig, region, _, ask) = with_window(40);
    let through_region = |page: u64| Ask { key: 0x3ab, va: region.base + (page << 12), ..ask };
    let through_window = |page: u64| Ask { va: region.base + (page << 12), ..ask };
    // What the region has walked for serves the window.
    rig.agree(&(8..16).map(through_region).collect::<Vec<_>>());
    let walks = rig.count("walks");
    assert_eq!(walks, 1);
    rig.agree(&(10..16).map(through_window).collect::<Vec<_>>());
    assert_eq!(rig.count("walks"), walks);
    // What the window has walked for serves the region, also when the window has ended.
    rig.agree(&(16..24).map(through_window).collect::<Vec<_>>());
    assert_eq!(rig.count("walks"), walks + 1);
    rig.unbind(7);
    rig.settle();
    rig.send(&[ask]);
    rig.settle();
    assert_eq!(rig.responses(), [ask.refusal(Cause::Key)]);
    rig.agree(&(8..24).map(through_region).collect::<Vec<_>>());
    assert_eq!(rig.count("walks"), walks + 1);
}

#[test]
fn windows_move_from_region_to_region_with_the_tlb_warm() {
    let mut rig = Rig::default();
    for seed in 0..3 {
        rig.reset(seed);
        regions(&mut rig, 10);
        let mut sizes = [0; 6];
        for round in 0..30 {
            let number = FIRST_WINDOW + round % (NUMBERS - FIRST_WINDOW);
            rig.unbind(number);
            bind(&mut rig, number);
            let region = rig.table.regions[&number];
            sizes[2 * usize::from(region.page) + usize::from(region.direct)] += 1;
            rig.settle();
            let asks = batch(&mut rig, 60);
            rig.agree(&asks);
        }
        assert!(
            sizes.iter().filter(|count| **count > 0).count() >= 4,
            "page sizes, listed and direct: {sizes:?}"
        );
        assert!(rig.count("hits") > 100);
    }
}

#[test]
fn a_key_that_ends_serves_no_request_that_enters_after_its_row_was_taken() {
    let (mut rig, _, part, ask) = with_window(40);
    rig.agree(&[ask]);
    for pressure in [Pause::None, Pause::Random { seed: 1, percent: 60 }] {
        let response = rig.response;
        rig.bench[response].pause(pressure);
        rig.send(&[ask; 100]);
        rig.run(20);
        rig.unbind(7);
        let (row, request) = (rig.row, rig.request);
        let rows = rig.bench[row].sent();
        let mut entered = 0;
        while rig.bench[row].sent() == rows {
            rig.step();
            entered = rig.bench[request].sent();
        }
        let begun = rig.bench[request].sent();
        rig.settle();
        let after = usize::try_from(rig.bench[request].sent() - begun).expect("few");
        assert!(after > 20, "{after} requests came after the row");
        assert_eq!(entered, begun);
        let responses = rig.responses();
        let refused = responses.iter().filter(|answer| answer.cause == Cause::Key as u64).count();
        assert_eq!(refused, after, "the request that entered with the row found the old one");
        assert!(responses[..100 - after].iter().all(|answer| answer.ok));
        rig.bind(7, Bond { parent: 3, qpn: QPN }, &part);
        rig.settle();
    }
}

#[test]
fn rows_of_windows_go_on_while_a_region_ends() {
    let (mut rig, region, part, ask) = with_window(40);
    rig.register(4, region);
    rig.settle();
    // Answers that nobody takes: the end of region 4 has to wait for them.
    let response = rig.response;
    rig.bench[response].pause(Pause::Always);
    rig.send(&[ask; 4]);
    rig.run(60);
    let invalidate = rig.invalidate;
    rig.bench[invalidate].send(vec![4]);
    rig.table.regions.remove(&4);
    rig.run(3);
    assert!(rig.bench[invalidate].is_empty());
    rig.unbind(7);
    rig.bind(7, Bond { parent: 3, qpn: QPN + 1 }, &part);
    rig.run(3);
    let row = rig.row;
    assert!(rig.bench[row].is_empty(), "a row waits");
    rig.run(50);
    assert!(rig.bench[rig.done].take().is_empty(), "nothing was waited for");
    rig.bench[response].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.bench[rig.done].take().len(), 1);
    assert!(rig.responses().iter().all(|answer| answer.ok));
    rig.agree(&[ask, Ask { qpn: QPN + 1, ..ask }, Ask { key: 0x4ab, ..ask }]);
}

#[test]
fn a_window_that_ends_like_a_region_takes_none_of_its_pages_along() {
    let (mut rig, region, _, ask) = with_window(40);
    rig.agree(&[ask]);
    let walks = rig.count("walks");
    rig.table.bonds.remove(&7);
    rig.deregister(7);
    rig.agree(&[ask, Ask { key: 0x3ab, va: region.base + (9 << 12), ..ask }]);
    assert_eq!(rig.count("walks"), walks);
}
