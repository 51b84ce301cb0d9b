use stroma_verilate::{Pause, SplitMix64};

use super::CLIENTS;
use super::gather::{Gather, Gathered};
use super::rig::{Answers, Asked, Rig, command, random};
use crate::host::dma_read::ReadData;
use crate::host::read_memory::{Pick, broken};
use crate::state::walker::LineRequest;
use crate::testing::{Follower, collect, push, read, stalls, verilated};
use crate::verilog::differential::{assert_agree, differential};

fn agrees<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(), SplitMix64::new(1));
    let mut failures = 0;
    for (pick, latency) in [(Pick::Oldest, (10, 11)), (Pick::Youngest, (200, 201)), (Pick::Any, (0, 300))] {
        (rig.memory.pick, rig.memory.latency) = (pick, latency);
        let asked = random(&mut rng, 25);
        failures += Answers::<D>::to(&asked).failures();
        rig.send(&asked);
        rig.check(&asked);
    }
    assert!(failures > 5, "{failures} commands failed");
}

#[test]
fn agrees_with_the_model() {
    agrees::<64, 9>();
    agrees::<512, 7>();
}

fn survives<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(), SplitMix64::new(2));
    (rig.memory.pick, rig.memory.latency) = (Pick::Any, (0, 80));
    for (turn, (idle, pressure)) in stalls().into_iter().enumerate() {
        for client in 0..CLIENTS {
            let is_odd = (turn + client) % 2 == 1;
            rig.bench[rig.commands[client]].pause(if is_odd { idle.clone() } else { Pause::None });
            rig.bench[rig.answers[client]].pause(if is_odd { Pause::None } else { pressure.clone() });
        }
        rig.memory.idle = [0, 30, 80][turn % 3];
        let asked = random(&mut rng, 5);
        rig.send(&asked);
        rig.check(&asked);
    }
}

#[test]
fn survives_stalls() {
    survives::<64, 9>();
    survives::<512, 7>();
}

fn full_rate<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    rig.memory.latency = (20, 21);
    let beats = 16 * 4096 * 8 / D as u64;
    let fetch: Vec<_> = (0..32).map(|at| command(0x10_0000 + at * 2048, 2048, 0)).collect();
    // One unit gathered costs one cycle more than one beat of payload.
    for (asked, more) in
        [(Asked { payload: fetch.clone(), ..Asked::default() }, 0), (Asked { fetch, ..Asked::default() }, 1)]
    {
        rig.send(&asked);
        // 10 cycles in the engine, 22 in the memory and for the command to move; then beat after beat.
        assert_eq!(rig.check(&asked), beats + 31 + more);
    }
}

#[test]
fn sixteen_pages_come_without_a_gap() {
    full_rate::<64, 9>();
    full_rate::<512, 7>();
}

#[test]
fn a_line_takes_a_cycle_more_than_the_engine() {
    let mut rig = Rig::<512, 7>::new();
    let asked = Asked { lines: vec![LineRequest { addr: 0x40.into(), id: 5.into() }], ..Asked::default() };
    rig.send(&asked);
    // The command moves in the first cycle, and the memory answers in the one after the address moved.
    assert_eq!(rig.check(&asked), 1 + 3 + 1 + 8);
}

fn stalled<const D: usize, const LOG: usize>() {
    for client in 0..CLIENTS {
        let (mut rig, mut rng) = (Rig::<D, LOG>::new(), SplitMix64::new(3));
        rig.bench[rig.answers[client]].pause(Pause::Script(vec![true]));
        let asked = random(&mut rng, 20);
        let mut counts = Answers::<D>::to(&asked).counts();
        counts[client] = 0;
        rig.send(&asked);
        rig.wait(counts);
        assert!(rig.bench[rig.answers[client]].received().is_empty());
        rig.bench[rig.answers[client]].pause(Pause::None);
        rig.check(&asked);
    }
}

#[test]
fn a_client_that_takes_nothing_stops_nobody_else() {
    stalled::<64, 9>();
    stalled::<512, 7>();
}

#[test]
fn failures_of_all_clients_in_one_cycle_are_all_counted() {
    let mut rig = Rig::<512, 7>::new();
    let at = (0..1000).map(|block| block * 512).find(|at| broken(*at)).expect("some block is broken");
    for answer in rig.answers {
        rig.bench[answer].pause(Pause::Script(vec![true]));
    }
    let asked = Asked {
        fetch: vec![command(at, 64, 0); 10],
        payload: vec![command(at, 1, 1); 10],
        lines: vec![LineRequest { addr: at.into(), id: 1.into() }; 10],
        packets: vec![command(at, 1, 2); 10],
        lists: vec![command(at, 64, 0); 10],
        words: vec![command(at, 8, 3); 10],
        kernels: vec![command(at, 2, 4); 10],
    };
    rig.send(&asked);
    rig.run(200);
    for answer in rig.answers {
        rig.bench[answer].pause(Pause::None);
    }
    assert_eq!(Answers::<512>::to(&asked).failures(), 70);
    rig.check(&asked);
}

fn recovers<const D: usize, const LOG: usize>() {
    let (mut rig, mut rng) = (Rig::<D, LOG>::new(), SplitMix64::new(5));
    for cycles in [10, 40, 90] {
        let before = rig.commands.map(|source| rig.bench[source].sent());
        let mut asked = random(&mut rng, 20);
        rig.send(&asked);
        rig.run(cycles);
        assert!(read::<bool>(&rig.bench, "busy"), "nothing was inside when reset came");
        rig.bench.reset(1);
        rig.memory.reset();
        rig.collect();
        rig.failed = 0;
        assert!(!read::<bool>(&rig.bench, "busy"));
        // What was taken is gone, the rest is answered.
        let lost = |client: usize| {
            usize::try_from(rig.bench[rig.commands[client]].sent() - before[client]).expect("few")
        };
        let [fetch, payload, lines, packets, lists, words, kernels] = std::array::from_fn(lost);
        asked.fetch.drain(..fetch);
        asked.payload.drain(..payload);
        asked.lines.drain(..lines);
        asked.packets.drain(..packets);
        asked.lists.drain(..lists);
        asked.words.drain(..words);
        asked.kernels.drain(..kernels);
        rig.check(&asked);
    }
}

#[test]
fn recovers_from_reset() {
    recovers::<64, 9>();
    recovers::<512, 7>();
}

/// Beats of a read of some units.
fn beats<const D: usize>(rng: &mut SplitMix64, units: u64) -> Vec<ReadData<D>> {
    let (tag, err) = (rng.below(64), rng.below(2) == 0);
    let count = units * 512 / D as u64;
    let beat = |at: u64| ReadData {
        data: crate::testing::noise(rng),
        nbytes: (D as u64 / 8).into(),
        sop: at == 0,
        eop: at + 1 == count,
        err: err && at + 1 == count,
        tag: tag.into(),
    };
    (0..count).map(beat).collect()
}

fn gathered<const D: usize>(beats: &[ReadData<D>]) -> Vec<Gathered> {
    let unit = |beats: &[ReadData<D>]| {
        let last = beats[beats.len() - 1];
        let place = |(at, beat): (usize, &ReadData<D>)| num_bigint::BigUint::from(beat.data) << (at * D);
        let data = beats.iter().enumerate().map(place).sum::<num_bigint::BigUint>();
        Gathered { data: data.into(), last: last.eop, err: last.err, tag: last.tag }
    };
    beats.chunks(512 / D).map(unit).collect()
}

fn gathers<const D: usize>() {
    let mut bench = verilated(&format!("gather_{D}"), Gather::<D>::default);
    let streams = Follower::new(&mut bench);
    let mut rng = SplitMix64::new(7);
    for (idle, pressure) in stalls() {
        bench.reset(2);
        bench[streams.input].pause(idle.clone());
        bench[streams.output].pause(pressure.clone());
        let reads: Vec<ReadData<D>> = (1..9).flat_map(|units| beats::<D>(&mut rng, units)).collect();
        push(&mut bench, streams.input, &reads);
        let (expected, start) = (gathered(&reads), bench.cycle());
        bench
            .run_until(|bench| bench[streams.output].received().len() == expected.len(), 100_000)
            .unwrap_or_else(|error| panic!("{error}"));
        if (idle, pressure) == (Pause::None, Pause::None) {
            assert_eq!(bench.cycle() - start, reads.len() as u64 + 1, "a beat a cycle");
        }
        assert_eq!(collect::<Gathered>(&mut bench, streams.output), expected);
    }
}

#[test]
fn beats_become_units_at_one_beat_a_cycle() {
    gathers::<64>();
    gathers::<512>();
}

#[test]
fn a_read_that_ends_within_a_unit_harms_itself_alone() {
    let mut bench = verilated("gather_64", Gather::<64>::default);
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let mut rng = SplitMix64::new(8);
    let short = ReadData { eop: true, ..beats::<64>(&mut rng, 1)[0] };
    let good = beats::<64>(&mut rng, 2);
    push(&mut bench, streams.input, &[short]);
    push(&mut bench, streams.input, &good);
    bench.run(40);
    let units = collect::<Gathered>(&mut bench, streams.output);
    assert_eq!((units.len(), units[0].last), (3, true));
    assert_eq!(units[1..], gathered(&good));
}

#[test]
fn rust_and_verilog_agree() {
    let narrow =
        differential!("gather_64", Gather::<64>::default, clock, [sink.payload, sink.valid, source.ready]);
    let wide =
        differential!("gather_512", Gather::<512>::default, clock, [sink.payload, sink.valid, source.ready]);
    for case in [narrow, wide] {
        assert_agree([case], 500);
    }
}
