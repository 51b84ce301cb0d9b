//! The MAC at the network pins of a model: frames in and out, beat by beat, with the time; and the frame counters beside them.

use std::collections::VecDeque;

use stroma_abi::wire::class::Class;
use stroma_top::Profile;
use stroma_verilate::{Bench, Error, Pause, PortId, SinkId, SourceId, StreamPorts};

use crate::capture::Capture;
use crate::host::attach::Event;
use crate::pcap::Direction;

/// Pause patterns for the streams of a model: idle on what goes in, back-pressure on what comes out.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Gaps in what is fed.
    pub idle: Pause,
    /// Refusals of what is offered.
    pub stall: Pause,
}

/// A frame that has left a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The cycle of its first beat.
    pub begun: u64,
    /// The cycle of its last beat.
    pub ended: u64,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
    /// The card marked it bad.
    pub bad: bool,
}

/// What drives `rx_t*` and takes from `tx_t*`.
pub(crate) struct Mac {
    source: SourceId,
    sink: SinkId,
    /// `tx_tvalid`.
    offer: PortId,
    /// `tx_pause`, and how it stands.
    pause: PortId,
    is_silent: bool,
    profile: Profile,
    counts: [PortId; Class::COUNT],
    /// Beats fed to the model, and how many those were that end a frame and have not arrived.
    fed: u64,
    ends: VecDeque<u64>,
    /// Beats that left.
    pub(crate) beats: usize,
    /// A frame that is leaving: the cycle of its first beat, and what has left of it.
    leaving: Option<(u64, Vec<u8>)>,
    sent: Vec<Sent>,
    stall: Pause,
    is_held: bool,
    pub(crate) capture: Capture,
}

impl Mac {
    /// Puts a MAC of this profile at the network pins.
    ///
    /// # Errors
    /// When the model has no such pins.
    pub(crate) fn attach(bench: &mut Bench, profile: Profile) -> Result<Self, Error> {
        let model = bench.model();
        let axis = |side: &str| -> Result<StreamPorts, Error> {
            let port = |role: &str| model.port(&format!("{side}_t{role}"));
            let payload = vec![port("data")?, port("keep")?, port("last")?, port("user")?];
            Ok(StreamPorts {
                name: format!("{side} axis"),
                valid: port("valid")?,
                ready: port("ready")?,
                payload,
            })
        };
        let (axis_in, axis_out, pause) = (axis("rx")?, axis("tx")?, model.port("tx_pause")?);
        let mut counts = [axis_in.valid; Class::COUNT];
        for (index, count) in counts.iter_mut().enumerate() {
            *count = model.port(&format!("rx_counts${index}"))?;
        }
        bench.model_mut().set(pause, 0);
        Ok(Self {
            pause,
            is_silent: false,
            offer: axis_out.valid,
            source: bench.source_on(axis_in),
            sink: bench.sink_on(axis_out),
            profile,
            counts,
            fed: 0,
            ends: VecDeque::new(),
            beats: 0,
            leaving: None,
            sent: Vec::new(),
            stall: Pause::None,
            is_held: false,
            capture: Capture::default(),
        })
    }

    /// Forgets the frame that was leaving, whose end will not come, and those that had not arrived.
    pub(crate) fn reset(&mut self, bench: &Bench) {
        self.leaving = None;
        self.fed = bench[self.source].sent();
        self.ends.clear();
    }

    /// Its stream out of the model.
    pub(crate) fn sink(&self) -> SinkId {
        self.sink
    }

    fn width(&self) -> usize {
        self.profile.data_bits() / 8
    }

    /// Queues a frame; `bad` is what a MAC says of a wrong FCS.
    pub(crate) fn receive(&mut self, bench: &mut Bench, frame: &[u8], bad: bool) {
        self.capture.record(bench.cycle(), self.profile.clock_khz(), Direction::In, frame, bad);
        let whole = frame.len().saturating_sub(1) / self.width() * self.width();
        self.receive_beginning(bench, &frame[..whole]);
        bench[self.source].send(axis_beat(&frame[whole..], self.width(), true, bad));
        self.fed += 1;
        self.ends.push_back(self.fed);
    }

    /// Queues the whole beats of the beginning of a frame; its end may never come.
    pub(crate) fn receive_beginning(&mut self, bench: &mut Bench, bytes: &[u8]) {
        for beat in bytes.chunks_exact(self.width()) {
            self.fed += 1;
            bench[self.source].send(axis_beat(beat, self.width(), false, false));
        }
    }

    /// Looks at what has left in the cycle `now`.
    pub(crate) fn watch(&mut self, bench: &mut Bench, now: u64, note: &mut dyn FnMut(Event)) {
        while self.ends.pop_front_if(|end| *end <= bench[self.source].sent()).is_some() {
            note(Event::Arrived);
        }
        if bench[self.sink].received().is_empty() {
            return;
        }
        let width = self.width();
        bench[self.sink].each(|beat| {
            self.beats += 1;
            let (data, rest) = beat.split_at(width / 4);
            let (keep, flags) = rest.split_at(width.div_ceil(32));
            let count: u32 = keep.iter().map(|word| word.count_ones()).sum();
            let (begun, mut bytes) = self.leaving.take().unwrap_or_else(|| {
                note(Event::Left);
                (now, Vec::new())
            });
            let whole = bytes.len() + count as usize;
            for word in data {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
            bytes.truncate(whole);
            if flags[0] == 1 {
                let bad = flags[1] == 1;
                self.capture.record(now, self.profile.clock_khz(), Direction::Out, &bytes, bad);
                self.sent.push(Sent { begun, ended: now, bytes, bad });
            } else {
                self.leaving = Some((begun, bytes));
            }
        });
    }

    /// Frames that have left since the last call.
    pub(crate) fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    /// Is something offered that the MAC does not take?
    pub(crate) fn is_refused(&self, bench: &Bench) -> bool {
        bench.model().get(self.offer) == 1
    }

    /// Can the MAC take no more? On top of the pattern of [`pause`](Self::pause).
    pub(crate) fn hold(&mut self, bench: &mut Bench, hold: bool) {
        if self.is_held != hold {
            self.is_held = hold;
            let pause = if hold { Pause::Always } else { self.stall.clone() };
            bench[self.sink].pause(pause);
        }
    }

    /// Has the far end asked for silence? A frame that has begun goes on.
    pub(crate) fn silence(&mut self, bench: &mut Bench, silent: bool) {
        if self.is_silent != silent {
            self.is_silent = silent;
            bench.model_mut().set(self.pause, silent.into());
        }
    }

    /// Chooses when the MAC has nothing to give, and when it refuses, if it is not held anyway.
    pub(crate) fn pause(&mut self, bench: &mut Bench, streams: &Streams) {
        bench[self.source].pause(streams.idle.clone());
        self.stall = streams.stall.clone();
        if !self.is_held {
            bench[self.sink].pause(streams.stall.clone());
        }
    }

    /// How many frames of a class were counted since reset.
    pub(crate) fn count(&self, bench: &Bench, class: Class) -> u64 {
        bench.model().get(self.counts[class.index()])
    }

    /// How many frames were judged since reset, whatever was said of them.
    pub(crate) fn judged(&self, bench: &Bench) -> u64 {
        Class::ALL.iter().map(|class| self.count(bench, *class)).sum()
    }
}

/// One beat of the network port: data, keep, last, user, each in whole words.
fn axis_beat(bytes: &[u8], width: usize, last: bool, bad: bool) -> Vec<u32> {
    let mut words = Vec::with_capacity(width / 4 + width.div_ceil(32) + 2);
    words.resize(width / 4, 0);
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(4)) {
        let mut padded = [0; 4];
        padded[..chunk.len()].copy_from_slice(chunk);
        *word = u32::from_le_bytes(padded);
    }
    let keep = if bytes.len() == 64 { u64::MAX } else { (1 << bytes.len()) - 1 };
    let halves = [u32::try_from(keep & u64::from(u32::MAX)), u32::try_from(keep >> 32)];
    words.extend(halves.into_iter().take(width.div_ceil(32)).map(|half| half.expect("32 bits fit")));
    words.extend([u32::from(last), u32::from(bad)]);
    words
}
