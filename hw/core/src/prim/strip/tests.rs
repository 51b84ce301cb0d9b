//! Strip against its plain-Rust twin, at both widths.

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64, StreamPorts};

use super::{Strip, strip};
use crate::pack::Packed;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, stalls, verilated, zoo};

/// A packet, what to skip, what to keep.
#[derive(Clone, Debug)]
struct Job {
    packet: Vec<u8>,
    skip: u32,
    keep: u32,
    /// Its last byte is followed by a beat of none.
    is_loose: bool,
}

impl Job {
    fn beats<const D: usize>(&self) -> Vec<Beat<D>> {
        let nothing = Beat { eop: true, ..Beat::default() };
        if self.packet.is_empty() {
            return vec![Beat { sop: true, ..nothing }];
        }
        let mut beats = beats::<D>(&self.packet);
        let last = beats.last_mut().expect("a packet has a beat");
        if self.is_loose && last.nbytes.index() == D / 8 {
            last.eop = false;
            beats.push(nothing);
        }
        beats
    }
}

struct Stripper<const D: usize> {
    bench: Bench,
    input: SourceId,
    output: SinkId,
}

impl<const D: usize> Stripper<D> {
    fn new() -> Self {
        Self::on(zoo::<D>("strip"))
    }

    fn in_steps_of(step: usize) -> Self {
        Self::on(verilated(&format!("strip_{D}_by_{step}"), || Strip::<D>::in_steps_of(step)))
    }

    fn on(mut bench: Bench) -> Self {
        let mut ports = StreamPorts::named(bench.model(), "sink").unwrap();
        ports.payload.extend(["skip", "keep"].map(|name| bench.model().port(name).unwrap()));
        let (input, output) = (bench.source_on(ports), bench.sink("source").unwrap());
        bench.reset(2);
        Self { bench, input, output }
    }

    fn queue(&mut self, jobs: &[Job]) -> usize {
        let mut count = 0;
        for job in jobs {
            for beat in job.beats::<D>() {
                self.bench[self.input].send([beat.to_words(), vec![job.skip], vec![job.keep]].concat());
                count += 1;
            }
        }
        count
    }

    fn run(&mut self, jobs: &[Job]) -> Vec<Option<Vec<u8>>> {
        self.queue(jobs);
        self.bench.run_until(Bench::is_sent, 1_000_000).unwrap();
        self.bench.run(100);
        packets(&collect::<Beat<D>>(&mut self.bench, self.output))
    }
}

/// Packets out of a run of beats, `None` for one with `err`.
fn packets<const D: usize>(beats: &[Beat<D>]) -> Vec<Option<Vec<u8>>> {
    let one = |beats: &[Beat<D>]| {
        let last = beats.last().expect("a packet has a beat");
        assert!(last.eop, "the last packet is whole");
        assert!(beats.iter().enumerate().all(|(at, beat)| beat.sop == (at == 0)), "sop marks the first beat");
        assert!(
            beats.iter().all(|beat| beat.eop || beat.nbytes.index() == D / 8),
            "only the last beat is partial"
        );
        if last.err {
            return None;
        }
        let found = bytes(beats);
        assert_eq!(crate::stream::beats::<D>(&found), beats, "bytes past nbytes are zero");
        Some(found)
    };
    beats.split_inclusive(|beat| beat.eop).map(one).collect()
}

fn expected(jobs: &[Job]) -> Vec<Option<Vec<u8>>> {
    let one = |job: &Job| strip(&job.packet, job.skip as usize, job.keep as usize).map(<[u8]>::to_vec);
    jobs.iter().filter(|job| job.keep > 0).map(one).collect()
}

fn below(rng: &mut SplitMix64, bound: u64) -> u32 {
    u32::try_from(rng.below(bound)).unwrap()
}

/// Packets of up to three beats and a bit, cut anywhere, also beyond their end.
fn random(count: usize, width: usize, rng: &mut SplitMix64) -> Vec<Job> {
    let span = 3 * width as u64 / 8 + 5;
    let one = |_| {
        let length = below(rng, span) as usize;
        let packet = (0..length).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        let skip = below(rng, (length as u64 + 9).min(256));
        let keep = below(rng, (length as u64 + 8).saturating_sub(u64::from(skip)).max(2));
        Job { packet, skip, keep, is_loose: rng.below(2) == 0 }
    };
    (0..count).map(one).collect()
}

fn agrees_with_the_model<const D: usize>() {
    let packet: Vec<u8> = (0..=255).cycle().take(300).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for skip in 0..130 {
        for keep in [0, 1, 7, 8, 9, 63, 64, 65, 128, 170] {
            jobs.push(Job { packet: packet.clone(), skip, keep, is_loose: false });
        }
    }
    jobs.extend(random(1000, D, &mut SplitMix64::new(1)));
    let outcome = expected(&jobs);
    assert!(outcome.iter().any(Option::is_none) && outcome.iter().any(Option::is_some));
    assert_eq!(Stripper::<D>::new().run(&jobs), outcome);
}

#[test]
fn agrees_with_the_model_at_64_bits() {
    agrees_with_the_model::<64>();
}

#[test]
fn agrees_with_the_model_at_512_bits() {
    agrees_with_the_model::<512>();
}

fn skips_in_steps<const D: usize>() {
    for step in [2, 8, 64] {
        let jobs = random(500, D, &mut SplitMix64::new(4));
        let step_within = u32::try_from(D / 8).expect("small").min(step);
        let below = |job: &Job| Job { skip: job.skip & !(step_within - 1), ..job.clone() };
        let outcome = expected(&jobs.iter().map(below).collect::<Vec<_>>());
        assert_eq!(Stripper::<D>::in_steps_of(step as usize).run(&jobs), outcome, "steps of {step}");
    }
}

#[test]
fn in_steps_it_skips_the_multiple_below_or_to_the_begin_of_its_beat() {
    skips_in_steps::<64>();
    skips_in_steps::<512>();
}

fn survives_stalls<const D: usize>() {
    let (mut stripper, mut rng) = (Stripper::<D>::new(), SplitMix64::new(2));
    for (idle, pressure) in stalls() {
        stripper.bench[stripper.input].pause(idle.clone());
        stripper.bench[stripper.output].pause(pressure.clone());
        let jobs = random(60, D, &mut rng);
        assert_eq!(stripper.run(&jobs), expected(&jobs), "{idle:?} {pressure:?}");
    }
}

#[test]
fn survives_stalls_at_64_bits() {
    survives_stalls::<64>();
}

#[test]
fn survives_stalls_at_512_bits() {
    survives_stalls::<512>();
}

fn recovers_from_reset<const D: usize>() {
    let mut stripper = Stripper::<D>::new();
    let whole = Job { packet: vec![7; D / 2], skip: 3, keep: 20, is_loose: false };
    assert_eq!(stripper.queue(std::slice::from_ref(&whole)), 4);
    stripper.bench[stripper.output].pause(Pause::Script(vec![true]));
    stripper.bench.run(2);
    assert_eq!(stripper.bench[stripper.input].sent(), 2, "reset comes in mid packet");
    stripper.bench.reset(1);
    stripper.bench[stripper.output].pause(Pause::None);
    // Two beats are left of the packet, and they are one by themselves.
    let rest = Job { packet: vec![7; D / 4], ..whole };
    assert_eq!(stripper.run(&[]), expected(&[rest]));
}

#[test]
fn recovers_from_reset_at_64_bits() {
    recovers_from_reset::<64>();
}

#[test]
fn recovers_from_reset_at_512_bits() {
    recovers_from_reset::<512>();
}

fn loses_no_cycle<const D: usize>() {
    let mut stripper = Stripper::<D>::new();
    let jobs = random(300, D, &mut SplitMix64::new(3));
    let count = stripper.queue(&jobs);
    assert_eq!(stripper.bench.run_until(Bench::is_sent, 10_000).unwrap(), count as u64);
}

#[test]
fn one_beat_a_cycle_and_no_gap_between_packets() {
    loses_no_cycle::<64>();
    loses_no_cycle::<512>();
}
