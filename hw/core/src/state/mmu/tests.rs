mod corners;
mod invalidation;
mod windows;

use stroma_abi::desc::Region;
use stroma_abi::desc::region::PAGE_LOGS;
use stroma_verilate::SplitMix64;

use super::model::{Ask, Bond};
use super::rig::{MRS, Rig};
use crate::state::access::Cause;
use crate::testing::stalls;

/// A region that starts and ends anywhere in its pages.
fn region(rng: &mut SplitMix64, pages: u64) -> Region {
    let page = rng.below(3);
    let bytes = 1 << PAGE_LOGS[usize::try_from(page).expect("three sizes")];
    Region {
        base: rng.next_u64() >> (1 + rng.below(30)),
        length: 1 + rng.below(pages * bytes),
        key: rng.next_u32().to_le_bytes()[0],
        page: u8::try_from(page).expect("three sizes"),
        direct: rng.below(5) == 0,
        list: 0,
        pd: u16::try_from(rng.below(4)).expect("small"),
        rights: u8::try_from(rng.below(32)).expect("five bits"),
        ..Region::default()
    }
}

/// The number of the first window; the regions are below.
const FIRST_WINDOW: u32 = 10;
/// A number behind the last window.
const NUMBERS: u32 = (1 << MRS) - 2;

/// Binds a window to a part of some region.
fn bind(rig: &mut Rig, number: u32) {
    let parent = u32::try_from(rig.rng.below(FIRST_WINDOW.into())).expect("small");
    let region = rig.table.regions[&parent];
    let offset = rig.rng.below(region.length);
    let part = Region {
        base: region.base + offset,
        length: 1 + rig.rng.below(region.length - offset),
        key: rig.rng.next_u32().to_le_bytes()[0],
        // Reading is what most requests for windows ask for.
        rights: 4 | rig.rng.next_u32().to_le_bytes()[0] & 0x1e,
        ..region
    };
    let qpn = rig.rng.next_u32() >> 8;
    rig.bind(number, Bond { parent, qpn }, &part);
}

/// Regions and windows in most places of the table.
fn regions(rig: &mut Rig, pages: u64) {
    for number in 0..FIRST_WINDOW {
        let region = region(&mut rig.rng, pages);
        rig.register(number, region);
    }
    for number in FIRST_WINDOW..NUMBERS {
        bind(rig, number);
    }
    rig.settle();
}

/// A request that is right, near the start, the end or a page's end more often than not.
fn good(rig: &mut Rig) -> Ask {
    let number = u32::try_from(rig.rng.below(NUMBERS.into())).expect("small");
    let region = rig.table.regions[&number];
    let bond = rig.table.bonds.get(&number).copied();
    let need = if bond.is_some() { 4 } else { 0 };
    let len = rig.rng.below(4097.min(region.length + 1));
    let room = region.length - len;
    let page_end = (1_u64 << PAGE_LOGS[usize::from(region.page)]) - region.base % 4096;
    let offset = match rig.rng.below(4) {
        0 => 0,
        1 => room,
        2 => page_end.saturating_sub(rig.rng.below(len + 1)).min(room),
        _ => rig.rng.below(room + 1),
    };
    Ask {
        client: rig.rng.next_u32().to_le_bytes()[0] & 7,
        tag: rig.rng.next_u32().to_le_bytes()[0] & 63,
        key: number << 8 | u32::from(region.key),
        pd: region.pd,
        qpn: bond.map_or(rig.rng.next_u32() >> 8, |bond| bond.qpn),
        va: region.base + offset,
        len: u16::try_from(len).expect("at most 4096"),
        need: need | region.rights & rig.rng.next_u32().to_le_bytes()[0],
    }
}

/// A request of which one thing may be wrong.
fn any(rig: &mut Rig) -> Ask {
    let ask = good(rig);
    let Region { base, length, .. } = rig.table.regions[&(ask.key >> 8)];
    match rig.rng.below(22) {
        0 => Ask { key: ask.key ^ 1 << rig.rng.below(32), ..ask },
        1 => Ask { pd: ask.pd ^ 1 << rig.rng.below(16), ..ask },
        2 => Ask { need: 31, ..ask },
        3 => Ask { va: base - 1, ..ask },
        4 => Ask { va: base + length - u64::from(ask.len) + 1, ..ask },
        5 => Ask { va: ask.va ^ 1 << rig.rng.below(64), ..ask },
        6 => Ask { len: u16::try_from(rig.rng.below(8192)).expect("13 bits"), ..ask },
        7 => Ask { qpn: ask.qpn ^ 1 << rig.rng.below(24), ..ask },
        8 => Ask { need: ask.need & 1, ..ask },
        _ => ask,
    }
}

fn batch(rig: &mut Rig, count: usize) -> Vec<Ask> {
    (0..count).map(|_| any(rig)).collect()
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for seed in 0..4 {
        rig.reset(seed);
        regions(&mut rig, 60);
        let asks = batch(&mut rig, 2000);
        rig.agree(&asks);
        let answers: Vec<_> = asks.iter().flat_map(|ask| rig.table.answers(ask)).collect();
        for cause in [Cause::Key, Cause::Domain, Cause::Window, Cause::Rights, Cause::Bounds] {
            let found = answers.iter().filter(|answer| answer.cause == cause as u64).count();
            assert!(found > 5, "seed {seed} tries {cause:?} {found} times");
        }
        assert!(
            answers.iter().filter(|answer| answer.more).count() > 20,
            "seed {seed} crosses too few pages"
        );
        let [hits, misses, walks] = ["hits", "misses", "walks"].map(|name| rig.count(name));
        assert!(hits > 100 && misses > 100, "{hits} hits, {misses} misses");
        assert_eq!(usize::try_from(walks).expect("few"), rig.walked.len());
        assert!(walks <= misses, "{walks} walks for {misses} misses");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        rig.reset(seed);
        let [request, row, invalidate] = [rig.request, rig.row, rig.invalidate];
        let (response, done) = (rig.response, rig.done);
        for source in [request, row, invalidate] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [response, done] {
            rig.bench[sink].pause(pressure.clone());
        }
        rig.slow_memory(&pressure);
        regions(&mut rig, 10);
        let asks = batch(&mut rig, 200);
        rig.agree(&asks);
        // Windows end and are bound elsewhere; then a region that has none ends.
        for number in FIRST_WINDOW..NUMBERS {
            rig.unbind(number);
            rig.settle();
            rig.agree(&asks);
            bind(&mut rig, number);
            rig.settle();
            let asks = batch(&mut rig, 50);
            rig.agree(&asks);
        }
        for number in FIRST_WINDOW..NUMBERS {
            rig.unbind(number);
        }
        rig.settle();
        rig.deregister(1);
        rig.agree(&asks);
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    regions(&mut rig, 10);
    let asks = batch(&mut rig, 300);
    rig.agree(&asks);
    rig.send(&asks);
    rig.run(100);
    assert!(!rig.bench.is_sent(), "nothing was under way when reset came");
    rig.reset(1);
    rig.settle();
    // What was under way is gone, and what follows finds an empty table.
    let refused = rig.responses();
    let tail = refused.iter().rev().take(100);
    assert!(tail.filter(|answer| answer.cause == Cause::Key as u64).count() == 100);
    assert_eq!(["hits", "misses", "walks"].map(|name| rig.count(name)), [0; 3]);
    // The same numbers with other pages: nothing of the old ones is left in the TLB.
    regions(&mut rig, 10);
    let asks = batch(&mut rig, 300);
    rig.agree(&asks);
}
