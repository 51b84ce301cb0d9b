use stroma_abi::desc::{CompletionQueue, Cqe, Verb};

use super::super::model::order;
use super::super::patrol::PACE;
use super::super::rig::{CLOCK_KHZ, CQS, Rig};
use crate::host::work::Done;
use crate::testing::{noise, read};

/// Cycles by which an event may be late for each queue in line, and on its own way.
const ROUND: u64 = PACE as u64;
const WAY: u64 = 10;

/// A rig with queues of sixteen entries, moderated like this from 0 on.
fn moderated(rules: &[(u16, u16)]) -> Rig {
    let mut rig = Rig::default();
    for (cq, (count, period)) in (0..).zip(rules) {
        rig.create(cq, cq << 12, 4, 0);
        rig.moderate(cq, *count, *period);
    }
    rig
}

fn fill(rig: &mut Rig, cq: u64, count: u64) {
    for _ in 0..count {
        let done = rig.success(cq);
        rig.complete(done);
    }
    rig.finish();
}

fn ring(rig: &mut Rig, cq: u64, takes: u64, arm: u64) {
    rig.ring(rig.takes(cq, takes, arm));
    rig.finish();
}

/// Cycles from now until an event arrives.
fn event(rig: &mut Rig) -> u64 {
    let (start, told) = (rig.bench.cycle(), rig.told);
    while rig.told == told {
        assert!(rig.bench.cycle() - start < 50_000, "no event");
        rig.step();
    }
    rig.bench.cycle() - start
}

/// So many microseconds, rounded up.
fn cycles(period: u64) -> u64 {
    (period * CLOCK_KHZ).div_ceil(1000)
}

#[test]
fn the_last_of_the_count_is_told_and_none_before() {
    let mut rig = moderated(&[(5, 0)]);
    for round in 1..4 {
        ring(&mut rig, 0, if round == 1 { 0 } else { 6 }, 1);
        fill(&mut rig, 0, 4);
        rig.run(1000);
        assert_eq!(
            (rig.told, read::<bool>(&rig.bench, "patrols")),
            (round - 1, false),
            "nobody waits for a time"
        );
        fill(&mut rig, 0, 1);
        assert_eq!(rig.told, round);
        fill(&mut rig, 0, 1);
        assert_eq!(rig.told, round, "disarmed");
    }
}

#[test]
fn counts_of_zero_and_one_tell_at_once_whatever_the_period() {
    let mut rig = moderated(&[(0, 0), (1, 0), (0, 900), (1, 900)]);
    for cq in 0..4 {
        ring(&mut rig, cq, 0, 1);
        rig.arrivals.clear();
        let start = rig.bench.cycle();
        fill(&mut rig, cq, 1);
        assert_eq!(rig.arrivals, [("entry", start + 3), ("event", start + 5)]);
        ring(&mut rig, cq, 0, 1);
        assert_eq!((rig.told, rig.visits.len()), (2 * (cq + 1), 0), "an entry is left");
    }
}

#[test]
fn a_period_is_never_early_and_hardly_late() {
    for period in [1, 2, 3, 100, 1000] {
        let mut rig = moderated(&[(9, period)]);
        ring(&mut rig, 0, 0, 1);
        fill(&mut rig, 0, 1);
        let first = rig.arrivals.iter().rfind(|(kind, _)| *kind == "entry").expect("an entry came").1;
        rig.run(20);
        fill(&mut rig, 0, 1);
        if rig.told == 0 {
            event(&mut rig);
        }
        let waited =
            rig.arrivals.iter().rfind(|(kind, _)| *kind == "event").expect("an event came").1 - first;
        let due = cycles(period.into());
        assert!((due..=due + due / 16 + ROUND + WAY).contains(&waited), "{waited} cycles for {period} us");
        fill(&mut rig, 0, 3);
        rig.rest();
        assert_eq!(rig.told, 1, "disarmed");
    }
}

#[test]
fn those_in_line_are_visited_in_turn_and_each_has_its_own_time() {
    let periods: [u16; 1 << CQS] = [900, 300, 700, 100, 800, 200, 600, 400];
    let mut rig = moderated(&periods.map(|period| (9, period)));
    for cq in 0..1 << CQS {
        ring(&mut rig, cq, 0, 1);
    }
    let start = rig.bench.cycle();
    for cq in 0..1 << CQS {
        let done = rig.success(cq);
        rig.complete(done);
    }
    rig.rest();
    let mut sorted = periods;
    sorted.sort_unstable();
    let events: Vec<u64> =
        rig.arrivals.iter().filter(|(kind, _)| *kind == "event").map(|(_, cycle)| cycle - start).collect();
    assert_eq!(events.len(), periods.len());
    for (period, told) in sorted.iter().zip(events) {
        let due = cycles((*period).into());
        let last = due + due / 16 + (ROUND + WAY) * periods.len() as u64 + 3 * periods.len() as u64;
        assert!((due..=last).contains(&told), "{told} cycles for {period} us");
    }
    assert!(rig.visits.windows(2).all(|pair| pair[1] - pair[0] >= ROUND - 9), "completions keep their rate");
    let gaps = rig.visits.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert_eq!(gaps, Some(ROUND), "nobody is forgotten");
}

#[test]
fn entries_left_when_a_queue_is_armed_count_and_their_time_begins() {
    let mut rig = moderated(&[(3, 200)]);
    for arm in [1, 2, 3] {
        fill(&mut rig, 0, 2);
        ring(&mut rig, 0, 0, arm);
        let told = rig.told;
        let waited = event(&mut rig);
        assert!(waited >= cycles(200) - 5 && waited < cycles(200) + 50 + ROUND + WAY, "{waited} cycles");
        ring(&mut rig, 0, 0, 0);
        fill(&mut rig, 0, 1);
        ring(&mut rig, 0, 0, arm);
        assert_eq!(rig.told, told + 2, "three are left: at once");
        ring(&mut rig, 0, 3, arm);
        rig.rest();
        assert_eq!(rig.told, told + 2, "none is left");
        rig.destroy(0);
        rig.finish();
        rig.create(0, 0x1000, 4, 0);
        rig.moderate(0, 3, 200);
    }
}

#[test]
fn arming_again_and_again_puts_nothing_off() {
    let mut rig = moderated(&[(9, 400)]);
    ring(&mut rig, 0, 0, 1);
    fill(&mut rig, 0, 1);
    let start = rig.bench.cycle();
    while rig.told == 0 {
        ring(&mut rig, 0, 0, 1);
        rig.run(7);
        assert!(rig.bench.cycle() - start < cycles(400) + 100 + ROUND + WAY, "the event is late");
    }
    // Arming behind the last one begins anew: two are not enough, and the time is that of the second.
    ring(&mut rig, 0, 1, 1);
    fill(&mut rig, 0, 1);
    rig.run(cycles(300));
    ring(&mut rig, 0, 1, 1);
    fill(&mut rig, 0, 1);
    let told = rig.told;
    rig.run(cycles(300));
    assert_eq!(rig.told, told, "too early");
    event(&mut rig);
}

#[test]
fn a_queue_armed_for_solicited_entries_counts_those_alone() {
    let mut rig = moderated(&[(2, 0)]);
    ring(&mut rig, 0, 0, 2);
    fill(&mut rig, 0, 5);
    for expected in [0, 1] {
        let plain = rig.success(0);
        rig.complete(Done { flags: (1_u64 << Cqe::SOLICITED.bit).into(), ..plain });
        fill(&mut rig, 0, 1);
        assert_eq!(rig.told, expected);
    }
}

#[test]
fn a_queue_that_waits_is_told_by_the_new_rule() {
    // From, to, and whether the event comes of itself.
    let cases = [
        ((9, 0), (9, 50), true),
        ((9, 0), (0, 0), true),
        ((9, 0), (2, 0), true),
        ((9, 0), (3, 0), false),
        ((9, 20_000), (9, 50), true),
        ((9, 20_000), (1, 20_000), true),
        ((9, 20_000), (2, 0), true),
        ((9, 20_000), (9, 0), false),
    ];
    for (from, (count, period), comes) in cases {
        let mut rig = moderated(&[from]);
        ring(&mut rig, 0, 0, 1);
        fill(&mut rig, 0, 2);
        rig.run(90);
        assert_eq!(rig.told, 0, "{from:?}");
        rig.moderate(0, count, period);
        rig.run(cycles(50) + 20 + 2 * ROUND);
        assert_eq!(rig.told, u64::from(comes), "{from:?} to {count}, {period}");
        assert!(!read::<bool>(&rig.bench, "patrols"), "nobody waits for a time");
        // Whoever has no time is told by the next entries.
        fill(&mut rig, 0, 7);
        assert_eq!(rig.told, 1, "{from:?} to {count}, {period}");
    }
}

#[test]
fn a_place_in_line_is_kept_by_the_number_and_nobody_stands_there_twice() {
    let mut rig = moderated(&[(9, 3000)]);
    ring(&mut rig, 0, 0, 1);
    fill(&mut rig, 0, 1);
    // The next life of the number, in the same place: its own time counts.
    let asked = CompletionQueue { base: 0x5000, log: 4, count: 9, period: 600, ..CompletionQueue::default() };
    rig.settling_takes = 1;
    rig.destroy(0);
    let command = order(Verb::Create as u8, 0, &asked, &noise(&mut rig.rng));
    rig.order(&command);
    rig.finish();
    rig.run(20);
    ring(&mut rig, 0, 0, 1);
    fill(&mut rig, 0, 1);
    assert_eq!((rig.queues.line.len(), rig.told), (1, 0));
    let waited = event(&mut rig);
    assert!(waited >= cycles(600) - 5 && waited < cycles(600) + 100 + ROUND + WAY, "{waited} cycles");
    rig.rest();
    // A queue that ends in line leaves it without an event.
    ring(&mut rig, 0, 1, 1);
    fill(&mut rig, 0, 1);
    rig.destroy(0);
    rig.rest();
    assert_eq!(rig.told, 1);
    rig.create(0, 0x5000, 4, 0);
    rig.query(0);
}

/// Patrols keep nothing that was begun outside waiting for long, and are no work themselves.
#[test]
fn a_visit_costs_an_operation_six_cycles_at_most() {
    let mut rig = moderated(&[(9, 20_000), (0, 0)]);
    ring(&mut rig, 0, 0, 1);
    fill(&mut rig, 0, 1);
    let mut waits = Vec::new();
    for pause in 0..200 {
        rig.arrivals.clear();
        let start = rig.bench.cycle();
        fill(&mut rig, 1, 1);
        waits.push(rig.arrivals[0].1 - start);
        ring(&mut rig, 1, 1, 0);
        for _ in 0..pause % 64 {
            assert!(!read::<bool>(&rig.bench, "busy"), "a visit is no work");
            rig.step();
        }
    }
    assert_eq!((waits.iter().min(), waits.iter().max()), (Some(&3), Some(&9)));
}
