use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Turn;
use super::model::turn;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, stalls, verilated};

const OWN: [u8; 6] = [2, 0x53, 0x54, 0x52, 0x4f, 0x4d];
const LOG: usize = 6;

struct Rig<const D: usize> {
    bench: Bench,
    leaving: SourceId,
    arriving: SourceId,
    out: SinkId,
    source: SinkId,
}

impl<const D: usize> Rig<D> {
    fn new(own: [u8; 6]) -> Self {
        let mut bench = verilated(&format!("turn_{D}"), Turn::<D, LOG>::default);
        let [leaving, arriving] = ["leaving", "arriving"].map(|name| bench.source(name).expect("a stream"));
        let [out, source] = ["out", "source"].map(|name| bench.sink(name).expect("a stream"));
        let port = bench.model().port("own").expect("a port");
        let number = own.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        bench.model_mut().set(port, number);
        bench.reset(2);
        Self { bench, leaving, arriving, out, source }
    }

    fn send(&mut self, leaving: &[Vec<u8>], arriving: &[Vec<u8>]) {
        for (stream, frames) in [(self.leaving, leaving), (self.arriving, arriving)] {
            for frame in frames {
                push(&mut self.bench, stream, &beats::<D>(frame));
            }
        }
    }

    /// Steps until nothing moves; frames that turned.
    fn settle(&mut self) -> usize {
        let (mut turned, mut still) = (0, 0);
        while still < 20 {
            turned += usize::from(read::<bool>(&self.bench, "turned"));
            let moves = read::<bool>(&self.bench, "moves") || !self.bench.is_sent();
            still = if moves { 0 } else { still + 1 };
            self.bench.step();
            assert!(self.bench.cycle() < 100_000, "{}", self.bench.stuck(100_000));
        }
        turned
    }

    /// Frames for others, and those that come in.
    fn frames(&mut self) -> [Vec<Vec<u8>>; 2] {
        [self.out, self.source].map(|sink| {
            let beats = collect::<Beat<D>>(&mut self.bench, sink);
            beats.split_inclusive(|beat| beat.eop).map(bytes).collect()
        })
    }
}

/// A frame to somebody, of as many bytes; the seventh says by which way it came.
fn frame(rng: &mut SplitMix64, to: [u8; 6], way: u8, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
    bytes[..6].copy_from_slice(&to);
    bytes[6] = way;
    bytes
}

/// To the card, to one whose address differs in a bit, or to nobody.
fn somebody(rng: &mut SplitMix64) -> [u8; 6] {
    let mut address = OWN;
    match rng.below(4) {
        0 => address[usize::try_from(rng.below(6)).expect("few")] ^= 1 << rng.below(8),
        1 => address = [0; 6],
        _ => {}
    }
    address
}

fn agrees<const D: usize>() {
    let limit = (D / 8) << LOG;
    for (seed, (idle, pressure)) in stalls().into_iter().enumerate() {
        let mut rng = SplitMix64::new(seed as u64);
        for own in [OWN, [0; 6]] {
            let mut rig = Rig::<D>::new(own);
            rig.bench[rig.leaving].pause(idle.clone());
            rig.bench[rig.arriving].pause(Pause::Random { seed: 7, percent: 40 });
            rig.bench[rig.source].pause(pressure.clone());
            rig.bench[rig.out].pause(pressure.clone());
            let longest = limit as u64 + 40;
            let mut frames = |way| -> Vec<Vec<u8>> {
                let length = |rng: &mut SplitMix64| if rng.below(6) == 0 { longest } else { 200 };
                (0..60)
                    .map(|_| {
                        let most = length(&mut rng);
                        let bytes = usize::try_from(14 + rng.below(most - 13)).expect("few");
                        let to = somebody(&mut rng);
                        frame(&mut rng, to, way, bytes)
                    })
                    .collect()
            };
            let (leaving, arriving) = (frames(0), frames(1));
            rig.send(&leaving, &arriving);
            let turned = rig.settle();
            let (out, back) = turn(own, &leaving, limit);
            let [left, came] = rig.frames();
            assert!(left == out, "seed {seed}: frames for others");
            let of = |way: u8| came.iter().filter(|frame| frame[6] == way).cloned().collect::<Vec<_>>();
            assert!(of(1) == arriving, "seed {seed}: frames that arrive");
            assert!(of(0) == back, "seed {seed}: frames that come back");
            assert_eq!(turned, back.len(), "seed {seed}");
            assert_eq!(own == OWN, !back.is_empty(), "seed {seed}: some come back if there is an address");
        }
    }
}

#[test]
fn frames_for_the_card_come_back_and_others_leave() {
    agrees::<64>();
    agrees::<512>();
}

#[test]
fn a_spoilt_frame_does_not_come_back() {
    let mut rig = Rig::<512>::new(OWN);
    let mut rng = SplitMix64::new(1);
    let [bad, good] = [0; 2].map(|way| frame(&mut rng, OWN, way, 150));
    let mut spoilt = beats::<512>(&bad);
    spoilt.last_mut().expect("it has beats").err = true;
    push(&mut rig.bench, rig.leaving, &spoilt);
    rig.send(std::slice::from_ref(&good), &[]);
    assert_eq!(rig.settle(), 1);
    assert_eq!(rig.frames(), [vec![], vec![good]]);
}

/// What arrives cannot be made to wait: a frame comes back in a gap.
#[test]
fn frames_that_arrive_go_first() {
    let mut rig = Rig::<64>::new(OWN);
    let mut rng = SplitMix64::new(2);
    let arriving: Vec<_> = (0..20).map(|_| frame(&mut rng, OWN, 1, 80)).collect();
    let own = frame(&mut rng, OWN, 0, 80);
    rig.send(std::slice::from_ref(&own), &arriving);
    rig.settle();
    let [_, came] = rig.frames();
    assert_eq!(came.iter().position(|frame| *frame == own), Some(20), "behind all of a row without a gap");
}

#[test]
fn frames_take_as_many_cycles_as_the_contract_says() {
    let mut rig = Rig::<64>::new(OWN);
    let mut rng = SplitMix64::new(3);
    let (own, other) = (frame(&mut rng, OWN, 0, 80), frame(&mut rng, [4; 6], 0, 80));
    for (frame, sink, cycles) in [(&other, rig.out, 0), (&own, rig.source, 9 + 3)] {
        rig.send(std::slice::from_ref(frame), &[]);
        let seen = rig.bench[sink].received().len();
        let begun = rig.bench[rig.leaving].sent();
        while rig.bench[rig.leaving].sent() == begun {
            rig.bench.step();
        }
        let start = rig.bench.cycle();
        while rig.bench[sink].received().len() == seen {
            rig.bench.step();
        }
        assert_eq!(rig.bench.cycle() - start, cycles);
        rig.settle();
        rig.frames();
    }
}

/// While nobody takes what comes back, frames for others still leave until one for the card has no room.
#[test]
fn frames_wait_for_room_on_the_way_back() {
    let mut rig = Rig::<64>::new(OWN);
    let mut rng = SplitMix64::new(4);
    rig.bench[rig.source].pause(Pause::Always);
    let mut frames = Vec::new();
    for _ in 0..10 {
        frames.push(frame(&mut rng, OWN, 0, 80));
        frames.push(frame(&mut rng, [4; 6], 0, 80));
    }
    rig.send(&frames, &[]);
    (0..500).for_each(|_| rig.bench.step());
    let [left, came] = rig.frames();
    assert_eq!((left.len(), came.len()), (6, 0), "six of ten beats have room in 64");
    rig.bench[rig.source].pause(Pause::None);
    assert_eq!(rig.settle(), 10);
    let [left, came] = rig.frames();
    assert_eq!((left.len(), came.len()), (4, 10));
}
