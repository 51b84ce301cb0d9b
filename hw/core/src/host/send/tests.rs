mod ahead;
mod blocked;
mod corners;
mod pushes;
mod rewinds;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairState::{
    self, Drained, Error, Init, ReadyToSend, Reset, SendError,
};
use stroma_verilate::{Pause, SplitMix64};

use super::rig::{QPS, Rig, row};
use crate::host::work::{SendDoorbell, SendRow};
use crate::testing::{noise, read, stalls};

/// The one number that no queue pair has.
const ABSENT: usize = (1 << QPS) - 1;
/// How many queue pairs have much to do, when few have.
const FEW: usize = 5;

fn small(rng: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).expect("small")
}

/// A row of a queue pair that sends.
fn any_row(rng: &mut SplitMix64, number: usize) -> SendRow {
    let base: Bits<52> = noise(rng);
    SendRow {
        pd: noise(rng),
        cq: noise(rng),
        kind: noise(rng),
        pace: [0, 0, 1 << 14, rng.below(1 << 16)][small(rng, 4)].into(),
        ..row(number as u64 % 3, 4 + rng.below(4), u64::from(base))
    }
}

/// Queue pairs 0 to 5 with rings of 64 units, without a pace.
fn plain() -> Rig {
    let mut rig = Rig::default();
    for number in 0..6 {
        rig.store(number, row(number as u64, 6, 0x1000 + ((number as u64) << 4)));
    }
    rig.run(1 << QPS);
    rig
}

/// Number, index and units of the jobs so far.
fn jobs(rig: &Rig) -> Vec<(usize, u64, u64)> {
    rig.jobs.iter().map(|(_, job)| (job.qpn.index(), job.index.into(), job.units.into())).collect()
}

fn ring(rig: &mut Rig, number: usize, ahead: u64) {
    let doorbell = doorbell(rig, number, ahead);
    rig.ring(doorbell);
}

fn with_state(row: &SendRow, state: QueuePairState) -> SendRow {
    SendRow { state: (state as u64).into(), ..*row }
}

/// A doorbell of the queue pair's own page, `ahead` units behind the first not done with.
fn doorbell(rig: &Rig, number: usize, ahead: u64) -> SendDoorbell {
    SendDoorbell {
        qpn: (number as u64).into(),
        page: rig.rows[number].page,
        producer: ((u64::from(rig.model.queues[number].next) + ahead) & 0xffff).into(),
        ..SendDoorbell::default()
    }
}

/// A commit of `units` units of which `there` are handed over.
fn commit(rig: &Rig, number: usize, units: u64, there: u64) -> SendDoorbell {
    let known = u64::from(rig.model.queues[number].known());
    SendDoorbell { commits: true, units: there.into(), ..doorbell(rig, number, known + units) }
}

/// A doorbell of which something may be wrong.
fn any_doorbell(rig: &mut Rig) -> SendDoorbell {
    let number = small(&mut rig.rng, if rig.is_eager { FEW } else { 1 << QPS });
    let capacity = 1 << rig.rows[number].log.index();
    let ahead = rig.rng.below(capacity + 1);
    let good = doorbell(rig, number, ahead);
    match rig.rng.below(16) {
        0 => SendDoorbell { page: noise(&mut rig.rng), ..good },
        1 => SendDoorbell {
            qpn: (number as u64 + (1 << (QPS as u64 + rig.rng.below(24 - QPS as u64)))).into(),
            ..good
        },
        2 => doorbell(rig, number, capacity + 1 + rig.rng.clone().below(3)),
        3 => SendDoorbell { producer: noise(&mut rig.rng), ..good },
        4..=8 => {
            let units = 1 + rig.rng.below(4);
            let there = if rig.rng.below(4) == 0 { 0 } else { units };
            let right = commit(rig, number, units, there);
            match rig.rng.below(6) {
                0 => SendDoorbell { page: noise(&mut rig.rng), ..right },
                1 => SendDoorbell { producer: good.producer, ..right },
                _ => right,
            }
        }
        _ => good,
    }
}

/// Creates all queue pairs but one.
fn create(rig: &mut Rig) {
    for number in (0..1 << QPS).filter(|number| *number != ABSENT) {
        let row = any_row(&mut rig.rng, number);
        rig.store(number, row);
    }
}

/// Rewinds a queue pair, at most to the place that its ring has for its last unit known.
fn rewind(rig: &mut Rig, number: usize) {
    let capacity = 1_u16 << rig.rows[number].log.index();
    let known = rig.model.queues[number].producer.wrapping_sub(rig.cursors[number]);
    let most = capacity.saturating_sub(known);
    let back = u16::try_from(rig.rng.below(u64::from(most) + 1)).expect("no more than the ring");
    if rig.rng.below(3) == 0 {
        rig.hold(number, back);
    } else {
        rig.rewind(number, back);
    }
}

/// Doorbells, changes of state, resets, drains, pauses, kicks and rewinds at random.
fn live(rig: &mut Rig, cycles: u64) {
    let end = rig.bench.cycle() + cycles;
    // The queue pair that is to begin anew.
    let mut resetting = None;
    while rig.bench.cycle() < end {
        if rig.rng.below(6) == 0 && rig.bench[rig.doorbell].is_empty() {
            let doorbell = any_doorbell(rig);
            rig.ring(doorbell);
        }
        let number = small(&mut rig.rng, if rig.is_eager { FEW } else { ABSENT });
        match (rig.rng.below(120), resetting) {
            (0..=2, _) if resetting != Some(number) => {
                let states = [Drained, SendError, Error, ReadyToSend, ReadyToSend, ReadyToSend];
                let place = small(&mut rig.rng, if rig.is_eager { 36 } else { states.len() });
                let state = states.get(place).copied().unwrap_or(ReadyToSend);
                let row = with_state(&rig.rows[number], state);
                rig.store(number, row);
                rig.tell(number, false);
            }
            (3, None) if !rig.is_draining => {
                let row = with_state(&rig.rows[number], [Reset, Init][small(&mut rig.rng, 2)]);
                rig.store(number, row);
                (rig.drain, resetting) = (true, Some(number));
            }
            (4, None) if !rig.is_draining => rig.drain = true,
            (5, _) => rig.pause = true,
            (6..=20, _) => rig.pause = false,
            (21..=32, _) => rig.kick(number),
            (33, _) if resetting != Some(number) => rewind(rig, number),
            (34, _) => {
                let most = rig.model.queues.iter().map(|queue| queue.jobs.len()).max().unwrap_or(0);
                let busy = rig.model.queues.iter().position(|queue| most > 0 && queue.jobs.len() == most);
                if let Some(number) = busy.filter(|busy| resetting != Some(*busy)) {
                    rewind(rig, number);
                }
            }
            _ => {}
        }
        rig.step();
        if let Some(number) = resetting.filter(|_| !rig.is_draining) {
            rig.run_until(|rig| !rig.has_progress(number));
            rig.tell(number, true);
            rig.run_until(|rig| rig.bench[rig.change].is_empty());
            assert_eq!(rig.model.queues[number].waiting(), 0);
            let row = any_row(&mut rig.rng, number);
            rig.store(number, row);
            rig.tell(number, false);
            resetting = None;
        }
    }
    rig.pause = false;
    rig.run_until(|rig| !rig.is_draining);
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for seed in 0..6 {
        rig.reset(seed);
        rig.is_partial = true;
        rig.latency = [4, 30, 100][small(&mut rig.rng, 3)];
        create(&mut rig);
        live(&mut rig, 15_000);
        rig.settle();
        let counts = rig.counts;
        let all = [counts.bad, counts.wrong_page, counts.pushes, counts.fallbacks, counts.jobs, counts.wraps];
        assert!(all.iter().all(|count| *count > 10), "seed {seed}: {counts:?}");
        assert!(
            counts.flushes > 5 && counts.drains > 10 && counts.idle_visits > 10,
            "seed {seed}: {counts:?}"
        );
        assert!(
            counts.blocks > 10 && counts.releases > 5 && counts.early_kicks > 5 && counts.far_doorbells > 3,
            "seed {seed}: {counts:?}"
        );
        assert!(counts.rewinds.iter().all(|count| *count > 5), "seed {seed}: {counts:?}");
        assert!(counts.holds.iter().all(|count| *count > 1), "seed {seed}: {counts:?}");
    }
}

#[test]
fn agrees_with_the_model_on_queue_pairs_with_two_jobs() {
    let mut rig = Rig::default();
    rig.is_eager = true;
    let (mut seconds, mut wasted) = (0, 0);
    for seed in 100..106 {
        rig.reset(seed);
        rig.is_partial = true;
        rig.latency = [4, 30, 100][small(&mut rig.rng, 3)];
        create(&mut rig);
        for number in 0..3 {
            rig.store(number, SendRow { pace: 0.into(), log: 7.into(), ..rig.rows[number] });
        }
        live(&mut rig, 10_000);
        rig.settle();
        (seconds, wasted) = (seconds + rig.counts.seconds, wasted + rig.counts.wasted);
    }
    assert!(seconds > 100 && wasted > 30, "{seconds} second jobs, {wasted} for nothing");
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        rig.reset(seed);
        rig.is_partial = true;
        for source in [rig.doorbell, rig.units, rig.change, rig.progress, rig.kick] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.read, rig.job, rig.pushed] {
            rig.bench[sink].pause(pressure.clone());
        }
        create(&mut rig);
        live(&mut rig, 1500);
        rig.settle();
        assert!(rig.counts.jobs > 10, "{:?}", rig.counts);
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    create(&mut rig);
    rig.is_stuck = true;
    for number in 0..ABSENT {
        let doorbell = doorbell(&rig, number, 5);
        rig.ring(doorbell);
    }
    rig.pause = true;
    rig.run_until(|rig| rig.bench.is_sent());
    rig.pause = false;
    rig.run(20);
    assert!(rig.counts.jobs > 3 && read::<bool>(&rig.bench, "busy"));
    let job = rig.job;
    rig.bench[job].pause(Pause::Script(vec![true]));
    rig.run_until(|rig| rig.bench.is_sent());
    rig.drain = true;
    rig.step();
    // Nobody is in line, busy, or waited for; queues begin with index 0.
    rig.reset(1);
    rig.bench[job].pause(Pause::None);
    rig.is_stuck = false;
    rig.run(1 << QPS);
    assert!(read::<bool>(&rig.bench, "ready") && !read::<bool>(&rig.bench, "busy"));
    live(&mut rig, 2000);
    rig.settle();
}
