//! What the stories share: recorded frames, front ends of both profiles, and patterns of pauses.

pub mod calls;
pub mod effort;
pub mod emulator;
pub mod far;
pub mod faulty;
pub mod latency;
pub mod pair;
pub mod path;
pub mod rig;
pub mod traffic;
pub mod walks;
pub mod wiring;

use std::path::{Path, PathBuf};

use stroma_abi::wire::{Class, Frame, classify};
use stroma_hw::head::Head;
use stroma_hw::rx::model::receive;
use stroma_sim::{Fronts, Packet, Streams, pcap};
use stroma_top::Profile;
use stroma_verilate::{Options, Pause};

/// Cycles after which a story counts as stuck.
pub const LIMIT: u64 = 20_000_000;

/// One frame of a capture, and where it stands.
pub struct Recorded {
    /// File and number, for messages.
    pub place: String,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// Folder of the recorded traffic.
#[must_use]
pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// Every recorded frame, from every capture.
///
/// # Panics
/// When a capture cannot be read, or there is none.
#[must_use]
pub fn recorded() -> Vec<Recorded> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(vectors())
        .expect("tests/vectors is there")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "pcap"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let frames = pcap::read(path).unwrap_or_else(|error| panic!("{error}"));
        frames.into_iter().enumerate().map(move |(number, frame)| Recorded {
            place: format!("{name} frame {}", number + 1),
            bytes: frame.bytes,
        })
    };
    let frames: Vec<Recorded> = files.iter().flat_map(read).collect();
    assert!(!frames.is_empty(), "the captures hold frames");
    frames
}

/// The recorded frames that are RoCE.
#[must_use]
pub fn recorded_roce() -> Vec<Recorded> {
    recorded().into_iter().filter(|frame| Frame::parse(&frame.bytes).is_ok()).collect()
}

/// Front ends of the given profile, their registers started as noise.
///
/// # Panics
/// When they cannot be built.
#[must_use]
pub fn fronts(profile: Profile) -> Fronts {
    let options = Options { seed: 7, ..Options::default() };
    let mut fronts = Fronts::new(profile, &options).unwrap_or_else(|error| panic!("{error}"));
    fronts.check_streams(true);
    fronts
}

/// Ways the world stutters: not at all, gaps, refusals, both.
#[must_use]
pub fn stutters() -> Vec<Streams> {
    let often = |seed| Pause::Random { seed, percent: 40 };
    vec![
        Streams::default(),
        Streams { idle: often(1), stall: Pause::None },
        Streams { idle: Pause::None, stall: often(2) },
        Streams { idle: often(3), stall: Pause::Burst { go: 5, pause: 11 } },
    ]
}

/// What the model says of a frame.
#[must_use]
pub fn class_of(bytes: &[u8]) -> Class {
    classify(bytes).map_or_else(|reject| reject.class, |_| Class::Roce)
}

/// What the model makes of a good frame that is received.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn received(bytes: &[u8]) -> Packet {
    let (head, payload) = receive(bytes, false).expect("a good frame is received");
    Packet { head, payload }
}

/// What the model has a good frame sent from.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn packet(bytes: &[u8]) -> Packet {
    let frame = Frame::parse(bytes).expect("a good frame parses");
    Packet { head: Head::of(&frame), payload: frame.payload.to_vec() }
}
