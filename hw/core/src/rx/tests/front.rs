//! The receive front end on a bench.

use stroma_abi::wire::Class;
use stroma_verilate::{Bench, Pause, PortId, SinkId, SourceId};

use super::frames::Arrival;
use crate::head::Head;
use crate::rx::{RxFront, model};
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, verilated};

/// What came of a run of frames, in order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) classes: Vec<Class>,
    pub(super) heads: Vec<Head>,
    pub(super) payloads: Vec<Vec<u8>>,
    /// Frames that are not RoCE, if they are wanted.
    pub(super) raw: Vec<Vec<u8>>,
    pub(super) raw_dropped: usize,
}

impl Outcome {
    /// What the model makes of them.
    pub(super) fn of(frames: &[Arrival]) -> Self {
        let mut outcome = Self::default();
        for frame in frames {
            match model::receive(&frame.bytes, frame.is_bad) {
                Err(class) => outcome.classes.push(class),
                Ok((head, payload)) => {
                    outcome.classes.push(Class::Roce);
                    outcome.heads.push(head);
                    outcome.payloads.extend((!payload.is_empty()).then_some(payload));
                }
            }
        }
        outcome
    }

    /// The same, with raw frames wanted, and room for all that may have some.
    pub(super) fn with_raw(frames: &[Arrival]) -> Self {
        let mut outcome = Self::of(frames);
        for frame in frames {
            match model::raw(&frame.bytes, frame.is_bad) {
                Some(true) => outcome.raw.push(frame.bytes.clone()),
                Some(false) => outcome.raw_dropped += 1,
                None => {}
            }
        }
        outcome
    }
}

/// The bench.
pub(super) struct Front<const D: usize> {
    bench: Bench,
    frames: SourceId,
    head: SinkId,
    payload: SinkId,
    counts: [PortId; Class::COUNT],
    classes: Vec<Class>,
    before: [u64; Class::COUNT],
    raw_dropped: usize,
}

impl<const D: usize> Front<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("rx_front_{D}"), RxFront::<D>::default);
        let frames = bench.source("sink").unwrap();
        let (head, payload) = (bench.sink("head").unwrap(), bench.sink("payload").unwrap());
        let counts = std::array::from_fn(|class| bench.model().port(&format!("counts${class}")).unwrap());
        let (classes, before) = (Vec::new(), [0; Class::COUNT]);
        let mut front = Self { bench, frames, head, payload, counts, classes, before, raw_dropped: 0 };
        front.want_raw(false);
        front
    }

    /// Are raw frames wanted?
    pub(super) fn want_raw(&mut self, wanted: bool) {
        let port = self.bench.model().port("raw_enable").unwrap();
        self.bench.model_mut().set(port, wanted.into());
    }

    fn reset(&mut self) {
        self.bench.reset(2);
        self.classes.clear();
        self.before = [0; Class::COUNT];
        self.raw_dropped = 0;
    }

    /// One cycle; notes which counter moved.
    fn step(&mut self) {
        self.bench.step();
        let now = self.counts.map(|port| self.bench.model().get(port));
        let moved: Vec<Class> =
            Class::ALL.into_iter().filter(|class| now[class.index()] != self.before[class.index()]).collect();
        assert!(moved.len() <= 1, "{moved:?} were counted in one cycle");
        assert!(moved.iter().all(|class| now[class.index()] == self.before[class.index()] + 1));
        self.classes.extend(moved);
        self.before = now;
        self.raw_dropped += usize::from(read::<bool>(&self.bench, "raw_dropped"));
    }

    fn queue(&mut self, frames: &[Arrival]) {
        for frame in frames {
            push(&mut self.bench, self.frames, &frame.beats::<D>());
        }
    }

    /// Sends frames through, with pauses on both sides.
    pub(super) fn run(&mut self, frames: &[Arrival], idle: &Pause, pressure: &Pause) -> Outcome {
        self.reset();
        self.bench[self.frames].pause(idle.clone());
        self.bench[self.head].pause(pressure.clone());
        self.bench[self.payload].pause(pressure.clone());
        self.queue(frames);
        self.drained(frames.len())
    }

    /// Runs until `count` frames are judged and everything has come out.
    pub(super) fn drained(&mut self, count: usize) -> Outcome {
        let mut quiet = 0;
        let mut cycles = 0;
        // Nothing inside takes longer than this to come out, whatever the pauses.
        while quiet < 1500 {
            let (before, taken) = (self.classes.len(), self.received());
            self.step();
            let moved = self.classes.len() > before || self.received() > taken || !self.bench.is_sent();
            quiet = if moved { 0 } else { quiet + 1 };
            cycles += 1;
            assert!(cycles < 2_000_000, "{} of {count} frames judged", self.classes.len());
        }
        let mut payloads = packets(&collect::<Beat<D>>(&mut self.bench, self.payload)).into_iter();
        let mut outcome = Outcome {
            classes: std::mem::take(&mut self.classes),
            raw_dropped: self.raw_dropped,
            ..Outcome::default()
        };
        for head in collect::<Head>(&mut self.bench, self.head) {
            let length = head.payload_len.index();
            let payload = (length > 0).then(|| payloads.next().expect("a payload for each head"));
            assert_eq!(payload.as_ref().map_or(0, Vec::len), length, "payloads are in the order of heads");
            if head.raw {
                let alone = Head { raw: true, payload_len: head.payload_len, ..Head::default() };
                assert_eq!(head, alone, "nothing else is said of a raw frame");
                outcome.raw.extend(payload);
            } else {
                outcome.heads.push(head);
                outcome.payloads.extend(payload);
            }
        }
        assert_eq!(payloads.next(), None, "a head for each payload");
        assert_eq!(outcome.classes.len(), count, "every frame is judged once");
        outcome
    }

    fn received(&self) -> usize {
        self.bench[self.head].received().len() + self.bench[self.payload].received().len()
    }

    /// Runs for some cycles, then resets; how many beats were in by then.
    pub(super) fn interrupted(&mut self, frames: &[Arrival], cycles: u64) -> usize {
        self.bench[self.frames].pause(Pause::None);
        let before = self.bench[self.frames].sent();
        self.queue(frames);
        self.bench.run(cycles);
        let sent = self.bench[self.frames].sent() - before;
        self.reset();
        self.bench[self.head].take();
        self.bench[self.payload].take();
        usize::try_from(sent).expect("few beats")
    }

    /// Cycles until the last beat is in, and until the last frame is judged.
    pub(super) fn timed(&mut self, frames: &[Arrival]) -> (u64, u64) {
        self.reset();
        self.queue(frames);
        let start = self.bench.cycle();
        let mut sent = None;
        while self.classes.len() < frames.len() {
            self.step();
            sent = sent.or_else(|| self.bench.is_sent().then(|| self.bench.cycle() - start));
        }
        (sent.expect("judged frames are in"), self.bench.cycle() - start)
    }
}

impl Arrival {
    fn beats<const D: usize>(&self) -> Vec<Beat<D>> {
        if self.bytes.is_empty() {
            return vec![Beat { sop: true, eop: true, err: self.is_bad, ..Beat::default() }];
        }
        let mut beats = beats::<D>(&self.bytes);
        beats.last_mut().expect("a frame has a beat").err = self.is_bad;
        beats
    }
}

/// Whole packets out of a run of beats, each beat held to its rules.
fn packets<const D: usize>(beats: &[Beat<D>]) -> Vec<Vec<u8>> {
    let mut begins = true;
    for beat in beats {
        assert_eq!(beat.sop, begins, "sop marks the first beat, and no other");
        assert!(!beat.err, "a bad packet came out");
        assert!((1..=D / 8).contains(&beat.nbytes.index()) && (beat.eop || beat.nbytes.index() == D / 8));
        assert_eq!(
            crate::stream::beats::<D>(&bytes(&[*beat]))[0].data,
            beat.data,
            "bytes past nbytes are zero"
        );
        begins = beat.eop;
    }
    assert!(begins, "the last packet is whole");
    beats.split_inclusive(|beat| beat.eop).map(bytes).collect()
}
