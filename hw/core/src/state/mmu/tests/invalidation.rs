//! A region ends while it is in use.

use stroma_verilate::{Pause, SplitMix64};

use super::super::XlatResponse;
use super::super::model::Ask;
use super::super::rig::{Rig, TLB_PAGES};
use super::corners::plain;
use crate::state::access::Cause;

/// Regions 3 and 5 under load of four clients each; region 3 ends in the middle.
fn ends_under_load(rig: &mut Rig, seed: u64, pressure: Pause) {
    rig.rng = SplitMix64::new(seed);
    let (region, ask) = plain(2 * TLB_PAGES);
    rig.register(3, region);
    rig.register(5, region);
    rig.settle();
    let response = rig.response;
    rig.bench[response].pause(pressure);
    let mut next = |index: u8| {
        let number = 3 + 2 * u32::from(index % 2);
        let va = region.base + rig.rng.below(region.length - 4096);
        let len = u16::try_from(rig.rng.below(4097)).expect("small");
        Ask { client: index % 8, tag: index % 64, key: number << 8 | 0xab, va, len, ..ask }
    };
    let asks: Vec<_> = (0..=255).chain(0..=255).chain(0..=255).map(&mut next).collect();
    rig.send(&asks);
    rig.run(150);
    rig.bench[rig.invalidate].send(vec![3]);
    let (invalidate, done) = (rig.invalidate, rig.done);
    let mut answered_late = 0;
    let mut before = rig.responses();
    while rig.bench[done].take().is_empty() {
        rig.step();
        let is_taken = rig.bench[invalidate].is_empty();
        let new = rig.responses();
        answered_late +=
            new.iter().filter(|answer| is_taken && answer.ok && !answer.client.get_bit(0)).count();
        before.extend(new);
    }
    assert!(answered_late > 0, "no request was under way");
    assert!(!rig.bench.is_sent(), "the load was over before the region ended");
    rig.settle();
    let after = rig.responses();
    let is_of_three = |answer: &&XlatResponse| !answer.client.get_bit(0);
    assert!(after.iter().filter(is_of_three).count() > 20, "too few came after");
    assert!(after.iter().filter(is_of_three).all(|answer| answer.cause == Cause::Key as u64));

    // Client by client: the right answers, from some request on refusals; and the other region never notices.
    let all: Vec<_> = before.into_iter().chain(after).collect();
    for client in 0..8_u8 {
        let mut got = all.iter().filter(|answer| answer.client == u64::from(client)).peekable();
        let mut is_refused = false;
        for ask in asks.iter().filter(|ask| ask.client == client) {
            let refusal = ask.refusal(Cause::Key);
            is_refused |= client % 2 == 0 && got.peek().is_some_and(|answer| **answer == refusal);
            let expected = if is_refused { vec![refusal] } else { rig.table.answers(ask) };
            for expected in expected {
                assert_eq!(got.next(), Some(&expected), "client {client}");
            }
        }
        assert_eq!(got.next(), None);
        assert_eq!(is_refused, client % 2 == 0);
    }

    // The number serves again, with the same key and other pages.
    rig.register(3, region);
    rig.settle();
    let asks: Vec<_> = asks.into_iter().step_by(3).collect();
    rig.agree(&asks);
    // An odd number of ends a run: the next one begins in the other colour.
    rig.deregister(3);
    rig.deregister(5);
}

#[test]
fn no_answer_after_done_stems_from_the_row_that_ended() {
    let mut rig = Rig::default();
    for seed in 0..10 {
        ends_under_load(&mut rig, seed, Pause::None);
        ends_under_load(&mut rig, seed, Pause::Random { seed, percent: 60 });
    }
}
