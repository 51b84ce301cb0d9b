//! Blocks under Verilator, for unit tests: emit, build (cached), drive.
//!
//! [`verilated`] puts one block on a bench of its own; [`zoo`] gives one of the primitives, which share a model per
//! width because building C++ costs seconds a model and almost nothing a block.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "whatever a test cannot go on with is a panic"
)]

use std::array;
use std::sync::OnceLock;

use rust_hdl::prelude::*;
use stroma_verilate::{
    Bench, Model, Options, Pause, SinkId, SourceId, SplitMix64, Verilog as Design, bundle,
};

use crate::crc::data_masks;
use crate::pack::Packed;
use crate::prim::model::Buffer;
use crate::prim::{
    arbiter, async_fifo, block_fifo, fifo, fork, insert, join, linear, mul, packet_fifo, ram, reverse, skid,
    strip,
};
use crate::stream::Beat;
use crate::verilog::emit;

/// Registers without reset start as noise, so a block that relies on them being zero is found out.
const SEED: u64 = 0x0005_7120;

/// `2^LOG` of the zoo's FIFOs, small enough to be filled often.
pub const FIFO_LOG: usize = 3;
/// `2^LOG` of the zoo's packet FIFOs.
pub const PACKET_LOG: usize = 4;
/// `2^LOG` of the zoo's memories.
pub const RAM_LOG: usize = 4;
/// Cycles after which a bench counts as stuck.
const LIMIT: u64 = 20_000;
/// Inputs of the zoo's arbiters.
pub const WAYS: usize = 3;

fn design<B: Block>(name: &str, build: impl FnOnce() -> B + Send) -> Design {
    let rtl = emit(name, build).unwrap_or_else(|error| panic!("{error}"));
    Design::new(&rtl.text, &rtl.manifest()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn load(design: &Design) -> Model {
    let options = Options { seed: SEED, ..Options::default() };
    Model::load_with(design, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// One block on a bench, in a model of its own.
pub fn verilated<B: Block>(name: &str, build: impl FnOnce() -> B + Send) -> Bench {
    Bench::new(load(&design(name, build))).unwrap_or_else(|error| panic!("{error}"))
}

/// One primitive of the zoo as a model: for blocks without streams, or with two clocks.
pub fn zoo_model<const D: usize>(member: &str) -> Model {
    static NARROW: OnceLock<Design> = OnceLock::new();
    static WIDE: OnceLock<Design> = OnceLock::new();
    let design = match D {
        64 => NARROW.get_or_init(zoo_design::<64, 8>),
        512 => WIDE.get_or_init(zoo_design::<512, 64>),
        _ => panic!("there is a zoo for 64 and for 512 bits, not for {D}"),
    };
    load(design).view(member).unwrap_or_else(|error| panic!("{error}"))
}

/// One primitive of the zoo on a bench.
pub fn zoo<const D: usize>(member: &str) -> Bench {
    Bench::new(zoo_model::<D>(member)).unwrap_or_else(|error| panic!("{error}"))
}

fn zoo_design<const D: usize, const K: usize>() -> Design {
    let members = [
        ("skid", design("skid", skid::Skid::<Beat<D>>::default)),
        ("fifo", design("fifo", fifo::Fifo::<Beat<D>, FIFO_LOG>::default)),
        ("block_fifo", design("block_fifo", block_fifo::BlockFifo::<Beat<D>, FIFO_LOG>::default)),
        ("ultra_fifo", design("ultra_fifo", block_fifo::UltraFifo::<Beat<D>, FIFO_LOG>::default)),
        ("packet_fifo", design("packet_fifo", || packet_fifo::PacketFifo::<D, PACKET_LOG>::new(false))),
        (
            "packet_fifo_dropping",
            design("packet_fifo", || packet_fifo::PacketFifo::<D, PACKET_LOG>::new(true)),
        ),
        ("arbiter", design("arbiter", arbiter::Arbiter::<Beat<D>, WAYS>::default)),
        ("packet_arbiter", design("packet_arbiter", arbiter::PacketArbiter::<D, WAYS>::default)),
        ("fork", design("fork", fork::Fork::<Beat<D>>::default)),
        ("join", design("join", join::Join::<Beat<D>, Bits<16>>::default)),
        ("async_fifo", design("async_fifo", async_fifo::AsyncFifo::<Beat<D>, 4>::default)),
        ("lut_ram", design("lut_ram", ram::LutRam::<Bits<D>, RAM_LOG>::default)),
        ("block_ram", design("block_ram", ram::BlockRam::<Bits<D>, RAM_LOG>::default)),
        ("ultra_ram", design("ultra_ram", ram::UltraRam::<Bits<D>, RAM_LOG>::default)),
        ("byte_ram", design("byte_ram", ram::ByteRam::<D, K, RAM_LOG>::default)),
        ("ultra_byte_ram", design("ultra_byte_ram", ram::UltraByteRam::<D, K, RAM_LOG>::default)),
        ("reverse", design("reverse", reverse::Reverse::<D>::default)),
        ("strip", design("strip", strip::Strip::<D>::default)),
        ("insert", design("insert", insert::Insert::<D>::default)),
        ("linear", design("linear", || linear::Linear::<D>::new(data_masks()))),
        ("mul", design("mul", mul::Mul::<24, 17, 41>::default)),
    ];
    let members: Vec<_> = members.iter().map(|(name, design)| (*name, design)).collect();
    bundle(&format!("zoo_{D}"), &members).unwrap_or_else(|error| panic!("{error}"))
}

/// Queues typed beats on a source.
pub fn push<T: Packed>(bench: &mut Bench, source: SourceId, beats: &[T]) {
    for beat in beats {
        bench[source].send(beat.to_words());
    }
}

/// Fetches typed beats from a sink.
pub fn collect<T: Packed>(bench: &mut Bench, sink: SinkId) -> Vec<T> {
    if bench[sink].received().is_empty() {
        // Asked for in every cycle, and mostly in vain.
        return Vec::new();
    }
    bench[sink].take().iter().map(|words| T::from_words(words)).collect()
}

/// A typed reading of one port.
pub fn read<T: Packed>(bench: &Bench, port: &str) -> T {
    let port = bench.model().port(port).unwrap_or_else(|error| panic!("{error}"));
    let mut words = [0; 128];
    let words = &mut words[..T::BITS.div_ceil(32)];
    bench.model().read_words(port, words);
    T::from_words(words)
}

/// A random value of any type.
pub fn noise<T: Packed>(rng: &mut SplitMix64) -> T {
    T::from_words(&rng.bits(u32::try_from(T::BITS).expect("a payload has fewer than 2^32 bits")))
}

/// Some random values.
pub fn noises<T: Packed>(seed: u64, count: usize) -> Vec<T> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| noise(&mut rng)).collect()
}

/// Idle x back-pressure: none, half, bursts on either side, and one far slower than the other.
pub fn stalls() -> Vec<(Pause, Pause)> {
    let random = |seed, percent| Pause::Random { seed, percent };
    let idle = [Pause::None, random(1, 50), Pause::Burst { go: 5, pause: 9 }, random(2, 90)];
    let pressure = [Pause::None, random(3, 50), Pause::Burst { go: 11, pause: 17 }, random(4, 90)];
    let pairs =
        |idle: &Pause| pressure.iter().map(|pressure| (idle.clone(), pressure.clone())).collect::<Vec<_>>();
    idle.iter().flat_map(pairs).collect()
}

/// Stalls of a block with `N` streams: all of them half the time, all in bursts, each alone, and all but one.
pub fn stalls_of<const N: usize>() -> Vec<[Pause; N]> {
    const BURSTS: [(u64, u64); 6] = [(9, 70), (50, 90), (3, 40), (7, 30), (40, 60), (2, 25)];
    let random = |seed: usize, percent| Pause::Random { seed: seed as u64, percent };
    let burst = |(go, pause)| Pause::Burst { go, pause };
    let mut all = vec![array::from_fn(|port| random(1 + port, 50))];
    all.push(array::from_fn(|port| burst(BURSTS[port % BURSTS.len()])));
    for one in 0..N {
        all.push(array::from_fn(|port| if port == one { random(N + 1, 80) } else { Pause::None }));
        all.push(array::from_fn(|port| if port == one { Pause::None } else { random(N + 2 + port, 80) }));
    }
    all
}

/// The two streams of a buffer under test.
pub struct Follower {
    /// Feeds the block's `sink`.
    pub input: SourceId,
    /// Drains the block's `source`.
    pub output: SinkId,
}

impl Follower {
    /// Takes the streams `sink` and `source` of the block.
    pub fn new(bench: &mut Bench) -> Self {
        let input = bench.source("sink").unwrap_or_else(|error| panic!("{error}"));
        let output = bench.sink("source").unwrap_or_else(|error| panic!("{error}"));
        Self { input, output }
    }

    /// Sends `beats` through and holds the block against its twin in every cycle, until both are empty.
    pub fn follow<T: Packed>(&self, bench: &mut Bench, beats: &[T], twin: &mut impl Buffer<T>) -> Vec<T> {
        push(bench, self.input, beats);
        self.watch(bench, beats, twin)
    }

    /// As [`Follower::follow`], for beats that are queued already.
    pub fn watch<T: Packed>(&self, bench: &mut Bench, beats: &[T], twin: &mut impl Buffer<T>) -> Vec<T> {
        let mut next = beats.iter();
        let level = bench.model().port("level").ok();
        for cycle in 0..LIMIT {
            let (sent, received) = (bench[self.input].sent(), bench[self.output].received().len());
            bench.step();
            let taken =
                (bench[self.input].sent() > sent).then(|| *next.next().expect("only what was queued moves"));
            twin.step(taken, bench[self.output].received().len() > received);
            assert_eq!(read::<bool>(bench, "sink$ready"), twin.ready(), "sink.ready in cycle {cycle}");
            assert_eq!(
                read::<bool>(bench, "source$valid"),
                twin.offer().is_some(),
                "source.valid in cycle {cycle}"
            );
            if let Some(offer) = twin.offer() {
                assert_eq!(read::<T>(bench, "source$payload"), *offer, "source.payload in cycle {cycle}");
            }
            if let Some(level) = level {
                assert_eq!(bench.model().get(level), twin.level() as u64, "level in cycle {cycle}");
            }
            if bench.is_sent() && twin.level() == 0 {
                return collect(bench, self.output);
            }
        }
        panic!("{} beats are still inside after {LIMIT} cycles", twin.level());
    }
}

/// A buffer at full speed: agrees with its twin, and `count` beats take `count + latency` cycles.
pub fn runs_at_full_rate<T: Packed, B: Buffer<T>>(mut bench: Bench, mut twin: B, latency: u64) {
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let (beats, start) = (noises::<T>(5, 100), bench.cycle());
    assert_eq!(streams.follow(&mut bench, &beats, &mut twin), beats);
    assert_eq!(bench.cycle() - start, 100 + latency);
}

/// A buffer under idle x back-pressure x length: agrees with its twin, and what went in comes out.
pub fn survives_stalls<T: Packed, B: Buffer<T>>(mut bench: Bench, twin: impl Fn() -> B) {
    let streams = Follower::new(&mut bench);
    for (idle, pressure) in stalls() {
        for length in [1, 2, 3, 8, 9, 40] {
            bench.reset(2);
            bench[streams.input].pause(idle.clone());
            bench[streams.output].pause(pressure.clone());
            let beats = noises::<T>(length as u64, length);
            assert_eq!(streams.follow(&mut bench, &beats, &mut twin()), beats, "{idle:?} {pressure:?}");
        }
    }
}

/// A buffer reset while it is full: what was inside is gone, what follows comes out.
pub fn recovers_from_reset<T: Packed, B: Buffer<T>>(mut bench: Bench, mut twin: B) {
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let beats = noises::<T>(6, 60);
    push(&mut bench, streams.input, &beats);
    bench[streams.output].pause(Pause::Script(vec![true]));
    bench.run(40);
    let lost = usize::try_from(bench[streams.input].sent()).expect("few beats");
    assert!(lost > 1, "nothing was inside when reset came");
    bench[streams.output].pause(Pause::None);
    bench.reset(1);
    assert_eq!(streams.watch(&mut bench, &beats[lost..], &mut twin), beats[lost..]);
}

/// Lets RustHDL's own simulator settle.
pub fn settle<B: Block>(block: &mut B) {
    assert!(simulate(block, 100), "RustHDL's simulator does not settle");
}
