//! The gate against its twin, cycle by cycle.

use stroma_hw::pack::Packed;
use stroma_hw::testing::{noise, read, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SplitMix64};

use super::Gate;
use super::model::GateModel;
use crate::mac::pins::Pins;

struct Under {
    bench: Bench,
    source: SinkId,
    twin: GateModel,
    lost: usize,
}

impl Under {
    fn new() -> Self {
        let mut bench = verilated("gate", Gate::default);
        let source = bench.sink("source").expect("the block has a source");
        let mut under = Self { bench, source, twin: GateModel::default(), lost: 0 };
        under.restart();
        under
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("a port of the gate");
        self.bench.model_mut().set(port, value);
    }

    /// As a reset of the MAC does it.
    fn restart(&mut self) {
        self.set("valid", 0);
        self.set("stops", 1);
        self.set("clears", 1);
        self.bench.reset(2);
        self.set("stops", 0);
        self.set("clears", 0);
        self.twin = GateModel::default();
    }

    /// One cycle on both; what left, if the twin agrees.
    fn step(&mut self, shown: Option<&Pins>, stops: bool) -> Option<Pins> {
        self.set("valid", shown.is_some().into());
        self.set("stops", stops.into());
        if let Some(beat) = shown {
            let port = self.bench.model().port("beat").expect("a port of the gate");
            self.bench.model_mut().set_wide(port, &beat.to_words());
        }
        let offered = self.twin.held.front().copied();
        self.bench.step();
        let left = self.bench[self.source].take().first().map(|words| Pins::from_words(words));
        if let Some(left) = left {
            let offered = offered.expect("only what the twin holds leaves");
            let is_end = left.last && left.user && left.keep == 0_u64;
            assert_eq!(if is_end { Pins { data: offered.data, ..left } } else { left }, offered);
        }
        let is_lost = self.twin.step(shown, left.is_some(), stops);
        assert_eq!(read::<bool>(&self.bench, "source$valid"), !self.twin.held.is_empty());
        assert_eq!(read::<bool>(&self.bench, "lost"), is_lost);
        self.lost += usize::from(is_lost);
        left
    }
}

fn beat(rng: &mut SplitMix64, mean: u64) -> Pins {
    // No byte kept is how a cut frame ends.
    Pins { last: rng.below(mean) == 0, keep: (1 | rng.next_u64()).into(), ..noise::<Pins>(rng) }
}

#[test]
fn agrees_with_the_model_and_every_frame_is_whole_or_cut_or_lost() {
    for (mean, idle, pressure) in [
        (1, 50, Pause::Random { seed: 1, percent: 30 }),
        (2, 0, Pause::Every(5)),
        (4, 10, Pause::Random { seed: 2, percent: 50 }),
        (4, 0, Pause::Burst { go: 20, pause: 30 }),
        (30, 60, Pause::Random { seed: 3, percent: 80 }),
    ] {
        let (mut under, mut rng) = (Under::new(), SplitMix64::new(mean));
        under.bench[under.source].pause(pressure.clone());
        let (mut sent, mut left) = (Vec::new(), Vec::new());
        for cycle in 0..4000 {
            let shown = (cycle < 3900 && rng.below(100) >= idle).then(|| beat(&mut rng, mean));
            let shown = shown.map(|beat| Pins { last: beat.last || cycle > 3800, ..beat });
            sent.extend(shown);
            left.extend(under.step(shown.as_ref(), false));
        }
        let lost = under.lost;
        let sent: Vec<_> = sent.split_inclusive(|beat| beat.last).collect();
        let left: Vec<_> = left.split_inclusive(|beat| beat.last).collect();
        assert!(lost > 20, "{pressure:?}: {lost}");
        assert_eq!(left.len() + lost, sent.len(), "{pressure:?}");
        let (mut candidates, mut cuts) = (sent.iter(), 0);
        for frame in left {
            let end = frame.last().expect("a frame has an end");
            assert!(end.last, "the last frame has its end");
            let is_cut = end.user && end.keep == 0_u64;
            cuts += usize::from(is_cut);
            let passed = frame.len() - usize::from(is_cut);
            let is_it =
                |of: &&[Pins]| of.get(..passed) == Some(&frame[..passed]) && (is_cut || of.len() == passed);
            assert!(candidates.any(is_it), "a frame of two, or out of order");
        }
        assert!(cuts > 5 || mean == 1, "{pressure:?}: {cuts}");
    }
}

#[test]
fn a_frame_that_ends_behind_a_stop_does_not_pass() {
    let (mut under, mut rng) = (Under::new(), SplitMix64::new(9));
    under.bench[under.source].pause(Pause::Random { seed: 4, percent: 30 });
    let (mut stops, mut is_clean, mut begins) = (false, true, true);
    // The last beats of frames in which nothing stopped.
    let mut clean = Vec::new();
    let mut ended = 0;
    for _ in 0..10_000 {
        stops ^= rng.below(12) == 0;
        let shown = (rng.below(3) > 0).then(|| beat(&mut rng, 5));
        is_clean = (is_clean || begins) && !stops;
        if let Some(beat) = shown {
            begins = beat.last;
            clean.extend((beat.last && is_clean).then_some(beat));
        }
        let left = under.step(shown.as_ref(), stops);
        if let Some(end) = left.filter(|beat| beat.last && beat.keep != 0_u64) {
            assert!(clean.contains(&end), "a frame passed in which something stopped");
            ended += 1;
        }
    }
    assert!(ended > 100, "{ended}");
}

#[test]
fn recovers_from_reset_in_mid_frame() {
    let (mut under, mut rng) = (Under::new(), SplitMix64::new(10));
    let open = Pins { last: false, ..beat(&mut rng, 2) };
    under.step(Some(&open), false);
    under.step(Some(&open), false);
    under.restart();
    under.bench[under.source].take();
    let whole = Pins { last: true, ..open };
    under.step(Some(&whole), false);
    assert_eq!(under.step(None, false), Some(whole), "the next beat begins a frame");
}
