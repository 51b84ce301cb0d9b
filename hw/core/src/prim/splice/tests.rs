use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::{PieceBeat, Splice};
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, stalls, verilated};
use crate::verilog::differential::{assert_agree, differential};

/// Cycles from a beat in to the beat out that it ends.
const LATENCY: u64 = 2;
const LIMIT: u64 = 100_000;

/// The bytes of a piece, and whether it is bad.
type Piece = (Vec<u8>, bool);

/// The block in plain Rust: the bytes of the packet, and whether it is to be thrown away.
fn splice(pieces: &[Piece]) -> Piece {
    let bytes = pieces.iter().flat_map(|(bytes, _)| bytes.iter().copied()).collect();
    (bytes, pieces.iter().any(|(_, is_bad)| *is_bad))
}

fn piece(rng: &mut SplitMix64, len: u64) -> Piece {
    ((0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect(), false)
}

/// A piece in beats. What means nothing before `eop` is noise.
fn cut<const D: usize>((bytes, is_bad): &Piece, last: bool, rng: &mut SplitMix64) -> Vec<PieceBeat<D>> {
    if bytes.is_empty() {
        let (data, nbytes) = (Bits::default(), 0.into());
        return vec![PieceBeat { data, nbytes, eop: true, last, err: *is_bad }];
    }
    let mut of = |beat: Beat<D>| PieceBeat {
        data: beat.data,
        nbytes: beat.nbytes,
        eop: beat.eop,
        last: if beat.eop { last } else { rng.below(2) == 1 },
        err: if beat.eop { *is_bad } else { rng.below(2) == 1 },
    };
    beats(bytes).into_iter().map(&mut of).collect()
}

struct Under<const D: usize> {
    bench: Bench,
    sink: SourceId,
    source: SinkId,
    rng: SplitMix64,
}

impl<const D: usize> Under<D> {
    fn new() -> Self {
        let mut bench = verilated(&format!("splice_{D}"), Splice::<D>::default);
        let sink = bench.source("sink").expect("the block has a sink");
        let source = bench.sink("source").expect("the block has a source");
        bench.reset(2);
        Self { bench, sink, source, rng: SplitMix64::new(9) }
    }

    fn send(&mut self, packet: &[Piece]) -> u64 {
        let mut count = 0;
        for (at, piece) in packet.iter().enumerate() {
            let beats = cut::<D>(piece, at + 1 == packet.len(), &mut self.rng);
            count += beats.len() as u64;
            push(&mut self.bench, self.sink, &beats);
        }
        count
    }

    /// Sends packets and holds what comes against the model; the beats sent, and the cycles it took.
    fn agrees(&mut self, packets: &[Vec<Piece>]) -> (u64, u64) {
        let sent = packets.iter().map(|packet| self.send(packet)).sum();
        let wanted: Vec<Piece> = packets.iter().map(|packet| splice(packet)).collect();
        let count: usize = wanted.iter().map(|(bytes, _)| bytes.len().div_ceil(D / 8)).sum();
        let done = |bench: &Bench| bench[self.source].received().len() == count;
        let taken = self.bench.run_until(done, LIMIT).unwrap_or_else(|error| panic!("{error}"));
        assert!(!read::<bool>(&self.bench, "busy"), "a beat is left");
        let received = collect::<Beat<D>>(&mut self.bench, self.source);
        assert_eq!(received.iter().filter(|beat| beat.eop).count(), packets.len(), "packets");
        for (packet, (wanted, is_bad)) in received.split_inclusive(|beat| beat.eop).zip(&wanted) {
            assert_eq!(packet[packet.len() - 1].err, *is_bad);
            let mut expected = beats::<D>(wanted);
            expected.last_mut().expect("a packet has a beat").err = *is_bad;
            assert_eq!(bytes(packet), *wanted);
            assert!(packet == expected, "the beats are not formed as they should be");
        }
        (sent, taken)
    }
}

/// Packets of pieces of all sizes, some empty, some bad, of a byte at least.
fn packets(seed: u64, count: usize, longest: u64) -> Vec<Vec<Piece>> {
    let mut rng = SplitMix64::new(seed);
    let mut next = |_| {
        let most = [1, 2, 5, 20][usize::try_from(rng.below(4)).expect("small")];
        let mut one = |_| {
            let longest = [2, 9, 65, longest][usize::try_from(rng.below(4)).expect("small")];
            let len = rng.below(longest + 1);
            let (bytes, _) = piece(&mut rng, len);
            (bytes, rng.below(20) == 0)
        };
        let mut packet: Vec<Piece> = (0..=most).map(&mut one).collect();
        if packet.iter().all(|(bytes, _)| bytes.is_empty()) {
            packet.insert(0, (vec![7], false));
        }
        packet
    };
    (0..count).map(&mut next).collect()
}

fn agree<const D: usize>() {
    let mut under = Under::<D>::new();
    for seed in 0..6 {
        let (sent, taken) = under.agrees(&packets(seed, 60, 600));
        let late = taken - sent - LATENCY;
        assert!(late <= 1, "a seam costs {late} cycles");
    }
}

#[test]
fn agrees_with_the_model_and_takes_a_beat_every_cycle() {
    agree::<64>();
    agree::<512>();
}

/// Every number of bytes behind every other, then as many again.
fn every_seam<const D: usize>() {
    let (mut under, mut rng) = (Under::<D>::new(), SplitMix64::new(3));
    let places = D as u64 / 8 + 1;
    let mut seam = |first, second| [first, second, first].map(|len| piece(&mut rng, len)).to_vec();
    for first in 1..=places {
        let all: Vec<_> = (0..=places).map(|second| seam(first, second)).collect();
        under.agrees(&all);
    }
}

#[test]
fn a_piece_may_end_at_every_byte() {
    every_seam::<64>();
    every_seam::<512>();
}

#[test]
fn four_kibibytes_pass_in_one_piece_without_a_gap() {
    let (mut under, mut rng) = (Under::<512>::new(), SplitMix64::new(4));
    let all: Vec<_> = (0..5).map(|_| vec![piece(&mut rng, 4096)]).collect();
    assert_eq!(under.agrees(&all), (5 * 64, 5 * 64 + LATENCY));
}

/// Packets on offer at once, and the cycles from the first beat in to each beat out.
fn moments(packets: &[&[u64]]) -> Vec<u64> {
    let (mut under, mut rng) = (Under::<512>::new(), SplitMix64::new(7));
    for packet in packets {
        let pieces: Vec<Piece> = packet.iter().map(|len| piece(&mut rng, *len)).collect();
        under.send(&pieces);
    }
    let mut moments = Vec::new();
    for cycle in 0..30 {
        under.bench.step();
        moments.extend(collect::<Beat<512>>(&mut under.bench, under.source).iter().map(|_| cycle));
    }
    moments
}

#[test]
fn a_beat_takes_two_cycles_and_what_it_leaves_behind_one_more() {
    assert_eq!(moments(&[&[64]]), [2]);
    assert_eq!(moments(&[&[5]]), [2]);
    assert_eq!(moments(&[&[30, 30]]), [3]);
    assert_eq!(moments(&[&[128]]), [2, 3], "that more comes is known");
    // The second beat pushes out the first, and is left over.
    assert_eq!(moments(&[&[64, 64]]), [3, 4]);
    assert_eq!(moments(&[&[40, 40], &[9], &[9]]), [3, 4, 5, 6], "nothing came to catch up in");
    assert_eq!(moments(&[&[40, 40], &[9, 9], &[9]]), [3, 4, 5, 6]);
    assert_eq!(moments(&[&[40, 40], &[192], &[9]]), [3, 4, 5, 6, 7, 8], "each waits for the one before");
}

fn survive<const D: usize>() {
    let mut under = Under::<D>::new();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        under.bench[under.sink].pause(idle);
        under.bench[under.source].pause(pressure);
        under.agrees(&packets(seed, 12, 300));
    }
}

#[test]
fn survives_stalls() {
    survive::<64>();
    survive::<512>();
}

#[test]
fn an_empty_piece_ends_and_spoils_packets_and_a_packet_of_nothing_is_an_empty_beat() {
    let mut under = Under::<64>::new();
    let (good, empty, bad) = ((vec![1, 2, 3], false), (vec![], false), (vec![], true));
    let whole = (vec![5; 8], false);
    under.agrees(&[
        vec![good.clone(), empty.clone()],
        vec![whole.clone(), empty.clone()],
        vec![whole.clone(), empty.clone(), good.clone()],
        vec![bad.clone(), good.clone()],
        vec![good.clone(), bad.clone()],
        vec![whole, bad.clone(), empty.clone()],
        vec![good],
    ]);
    for (end, err) in [(empty, false), (bad, true)] {
        under.send(&[end]);
        under.bench.run(10);
        let nothing = Beat { sop: true, eop: true, err, ..Beat::<64>::default() };
        assert_eq!(collect::<Beat<64>>(&mut under.bench, under.source), [nothing]);
    }
}

#[test]
fn recovers_from_reset() {
    let (mut under, mut rng) = (Under::<64>::new(), SplitMix64::new(5));
    for lost in [&[3][..], &[8], &[11], &[40, 2, 5]] {
        for ends in [false, true] {
            under.bench[under.source].pause(Pause::Script(vec![true]));
            let pieces: Vec<Piece> = lost.iter().map(|len| (piece(&mut rng, *len).0, true)).collect();
            for piece in &pieces {
                push(&mut under.bench, under.sink, &cut::<64>(piece, ends, &mut SplitMix64::new(1)));
            }
            under.bench.run(30);
            assert!(read::<bool>(&under.bench, "busy"));
            under.bench.clear();
            under.bench.reset(1);
            assert!(!read::<bool>(&under.bench, "busy"));
            under.bench[under.source].pause(Pause::None);
            under.agrees(&packets(6, 3, 100));
        }
    }
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "splice",
        Splice::<64>::default,
        clock,
        [reset, sink.payload, sink.valid, source.ready]
    );
    assert_agree([case], 500);
}
