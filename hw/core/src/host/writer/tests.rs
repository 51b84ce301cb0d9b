mod failing;
mod settling;

use stroma_verilate::{Pause, SplitMix64};

use super::model::Write;
use super::rig::{Rig, entry, payload};
use crate::stream::beats;
use crate::testing::{push, read, stalls};

const BASE: u64 = 0x12_3456_0000;

fn always() -> Pause {
    Pause::Script(vec![true])
}

/// Writes of all three clients, over each other's places.
fn writes(rng: &mut SplitMix64, count: u64, shortest: u64) -> Vec<Write> {
    let one = |_| {
        let place = BASE + rng.below(3 * 4096);
        match rng.below(4) {
            0 => Write::Completion(entry(place & !31, true)),
            1 => Write::Event(entry(place & !15, false)),
            _ => {
                let longest = [64, 300, 4096][usize::try_from(rng.below(3)).expect("small")];
                let len = shortest + rng.below(longest + 1 - shortest);
                payload(place, 1 + rng.below(1 << 23), usize::try_from(len).expect("small"))
            }
        }
    };
    (0..count).map(one).collect()
}

fn agrees<const D: usize, const K: usize>() {
    let (mut rig, mut rng) = (Rig::<D, K>::new(), SplitMix64::new(1));
    for round in 0..6 {
        rig.send(&writes(&mut rng, 60, round % 2));
        rig.bad.extend((0..8).map(|_| rng.below(60)));
        rig.finish();
        rig.reset();
    }
}

#[test]
fn agrees_with_the_model() {
    agrees::<64, 8>();
    agrees::<512, 64>();
}

fn survives<const D: usize, const K: usize>() {
    let (mut rig, mut rng) = (Rig::<D, K>::new(), SplitMix64::new(2));
    for (turn, (idle, pressure)) in stalls().into_iter().enumerate() {
        for (at, source) in
            [rig.clients[0], rig.clients[1], rig.clients[2], rig.data, rig.b].into_iter().enumerate()
        {
            rig.bench[source].pause(if (turn + at).is_multiple_of(2) { idle.clone() } else { Pause::None });
        }
        rig.pause_sinks(&pressure);
        rig.send(&writes(&mut rng, 30, 1));
        rig.bad.extend((0..10).map(|_| rng.below(30)));
        for _ in 0..20 {
            rig.settle(usize::try_from(rng.below(3)).expect("small"));
            rig.run(rng.below(30));
        }
        rig.finish();
        assert!(rig.settled.iter().sum::<u64>() > 1, "{:?}", rig.settled);
        rig.reset();
    }
}

#[test]
fn survives_stalls_with_settling_and_failures() {
    survives::<64, 8>();
    survives::<512, 64>();
}

fn pages<const D: usize, const K: usize>() {
    let mut rig = Rig::<D, K>::new();
    let pages: Vec<Write> = (0..16).map(|page| payload(BASE + page * 4096, 1, 4096)).collect();
    let beats = 16 * 4096 / K;
    rig.send(&pages);
    rig.finish();
    assert_eq!(rig.w_cycles.len(), beats);
    assert_eq!(rig.w_cycles[beats - 1] - rig.w_cycles[0] + 1, beats as u64, "a beat in every cycle");
    rig.reset();

    // The same with an entry of each kind behind every page.
    let mixed: Vec<Write> = (0..)
        .zip(&pages)
        .flat_map(|(at, page)| {
            let at = BASE + (1 << 20) + at * 64;
            [page.clone(), Write::Completion(entry(at, true)), Write::Event(entry(at, false))]
        })
        .collect();
    let beats = beats + 16 * (32_usize.div_ceil(K) + 16_usize.div_ceil(K));
    rig.send(&mixed);
    rig.finish();
    assert_eq!(rig.order, [0, 1, 2].repeat(16), "in turn");
    assert_eq!(rig.w_cycles.len(), beats);
    assert_eq!(rig.w_cycles[beats - 1] - rig.w_cycles[0] + 1, beats as u64, "a beat in every cycle");
}

#[test]
fn sixteen_pages_leave_without_a_gap_with_and_without_entries_between_them() {
    pages::<64, 8>();
    pages::<512, 64>();
}

#[test]
fn one_short_packet_leaves_per_cycle() {
    let mut rig = Rig::<512, 64>::new();
    rig.send(&(0..40).map(|at| payload(BASE + at * 64, 1, 64)).collect::<Vec<_>>());
    rig.finish();
    assert_eq!(rig.w_cycles[39] - rig.w_cycles[0], 39);
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::<512, 64>::new();
    for (write, to_w) in [(payload(BASE, 1, 64), 5), (Write::Completion(entry(BASE, true)), 6)] {
        rig.reset();
        let start = rig.bench.cycle();
        rig.send(&[write]);
        while !read::<bool>(&rig.bench, "aw$valid") {
            rig.step();
        }
        assert_eq!(rig.bench.cycle() - start, 2, "to aw");
        while !read::<bool>(&rig.bench, "w$valid") {
            rig.step();
        }
        assert_eq!(rig.bench.cycle() - start, to_w, "to w");
        rig.finish();
    }
    // Data behind its command.
    rig.reset();
    rig.bench[rig.data].pause(always());
    rig.send(&[payload(BASE, 1, 64)]);
    rig.run(20);
    rig.bench[rig.data].pause(Pause::None);
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "w$valid") {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 4, "from data to w");
    rig.finish();
}

#[test]
fn a_client_without_commands_holds_nobody_up() {
    for lone in 0..3 {
        let mut rig = Rig::<512, 64>::new();
        let write = |at: u64| match lone {
            0 => payload(BASE + at * 64, 1, 64),
            1 => Write::Completion(entry(BASE + at * 64, true)),
            _ => Write::Event(entry(BASE + at * 64, false)),
        };
        // Data without a command, of another client.
        if lone > 0 {
            push(&mut rig.bench, rig.data, &beats::<512>(&[7; 64]));
        }
        let start = rig.bench.cycle();
        rig.send(&(0..20).map(write).collect::<Vec<_>>());
        while rig.order.len() < 20 {
            rig.step();
        }
        assert_eq!(rig.bench.cycle() - start, 20, "client {lone}: a command a cycle");
        if lone > 0 {
            rig.run(40);
            assert_eq!(rig.bench[rig.data].sent(), 0, "data wait for their command");
            // Now the command comes, and its data are those that waited.
            push(&mut rig.bench, rig.clients[0], &[payload(BASE, 5, 64).command()]);
            rig.bench.run(20);
            assert!(rig.bench.is_sent());
        }
    }
}

#[test]
fn every_client_gets_every_third_command() {
    let mut rig = Rig::<64, 8>::new();
    let mut all = Vec::new();
    for at in 0..40 {
        all.push(payload(BASE + at * 8, 1, 8));
        all.push(Write::Completion(entry(BASE + at * 32, true)));
        all.push(Write::Event(entry(BASE + at * 16, false)));
    }
    rig.send(&all);
    rig.finish();
    assert_eq!(rig.order, [0, 1, 2].repeat(40));
}

#[test]
fn a_packet_that_does_not_come_stalls_and_loses_nothing() {
    let mut rig = Rig::<64, 8>::new();
    rig.bench[rig.data].pause(always());
    let mut all = vec![payload(BASE, 1, 100)];
    for at in 0..60 {
        all.push(Write::Completion(entry(BASE + at * 32, true)));
        all.push(Write::Event(entry(BASE + at * 16, false)));
    }
    all.push(payload(BASE + 50, 1, 100));
    rig.send(&all);
    rig.run(300);
    assert_eq!(rig.w_cycles.len(), 0);
    assert!((30..40).contains(&rig.order.len()), "{} commands are ahead of their data", rig.order.len());
    rig.bench[rig.data].pause(Pause::None);
    rig.finish();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64, 8>::new();
    let mut rng = SplitMix64::new(9);
    for round in 0..4 {
        rig.bench[rig.b].pause(always());
        rig.bench[rig.event].pause(always());
        if round % 2 == 0 {
            rig.bench[rig.w].pause(Pause::Random { seed: round, percent: 95 });
        }
        // A failure not told or, with `w` slow, beats not gone; and somebody who waits for it.
        rig.send(&[payload(BASE, 1, 8), Write::Completion(entry(BASE, true)), payload(BASE + 3, 2, 20)]);
        rig.bad.insert(0);
        rig.run(8 + round);
        rig.settle(0);
        rig.bench[rig.b].pause(Pause::None);
        while !rig.bench[rig.data].is_empty() || rig.order.len() < 3 {
            rig.step();
        }
        assert!(read::<bool>(&rig.bench, "busy"), "nothing was inside when reset came");
        rig.pause_sinks(&Pause::None);
        drop_responses(&mut rig);
        rig.reset();
        for port in
            ["aw$valid", "w$valid", "event$valid", "error$valid", "issued", "done", "busy", "settled$0"]
        {
            assert_eq!(rig.count(port), 0, "{port}");
        }
        rig.send(&writes(&mut rng, 10, 1));
        rig.finish();
        rig.reset();
    }
}

/// Lets the responses that are queued move, for a source may keep none over a reset.
fn drop_responses(rig: &mut Rig<64, 8>) {
    while !rig.bench.is_sent() {
        rig.bench.step();
    }
}
