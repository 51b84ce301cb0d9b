//! Beats in, pins out.

use stroma_hw::pack::Packed;
use stroma_hw::stream::{Beat, beats};
use stroma_hw::testing::{collect, push, read, stalls, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::{Pad, SHORTEST};
use crate::mac::pins::Pins;

fn under() -> (Bench, SourceId, SinkId) {
    let mut bench = verilated("pad", Pad::default);
    let (sink, source) = (bench.source("sink").expect("a sink"), bench.sink("source").expect("a source"));
    up(&mut bench, true);
    bench.reset(2);
    (bench, sink, source)
}

fn up(bench: &mut Bench, level: bool) {
    let port = bench.model().port("is_up").expect("a port of the pad");
    bench.model_mut().set(port, level.into());
}

/// The twin: what the pins show of a frame.
fn pins(bytes: &[u8], is_bad: bool) -> Vec<Pins> {
    let mut shown = bytes.to_vec();
    shown.resize(bytes.len().max(SHORTEST), 0);
    let pins = |beat: &Beat<512>| Pins {
        data: beat.data,
        keep: (u64::MAX >> (64 - beat.nbytes.index())).into(),
        last: beat.eop,
        user: beat.eop && is_bad,
    };
    beats::<512>(&shown).iter().map(pins).collect()
}

fn frame(bytes: &[u8], is_bad: bool) -> Vec<Beat<512>> {
    let mut frame = beats::<512>(bytes);
    frame.last_mut().expect("a beat").err = is_bad;
    frame
}

#[test]
fn agrees_with_the_model_under_stalls() {
    let (mut bench, sink, source) = under();
    let mut rng = SplitMix64::new(1);
    for (idle, pressure) in stalls() {
        bench[sink].pause(idle.clone());
        bench[source].pause(pressure.clone());
        let mut wanted = Vec::new();
        for len in (1..=66).chain([119, 120, 124, 128, 129, 188, 192]) {
            let bytes: Vec<u8> = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
            push(&mut bench, sink, &frame(&bytes, len % 3 == 0));
            wanted.extend(pins(&bytes, len % 3 == 0));
        }
        bench.run_until(|bench| bench[source].received().len() == wanted.len(), 20_000).expect("all of it");
        assert_eq!(collect::<Pins>(&mut bench, source), wanted, "{idle:?} {pressure:?}");
    }
}

#[test]
fn a_frame_that_begins_while_the_link_is_down_is_dropped_whole() {
    let (mut bench, sink, source) = under();
    let all: Vec<Vec<u8>> =
        (1..=200).map(|index: u8| vec![index; 20 * usize::from(index % 16 + 1)]).collect();
    for bytes in &all {
        push(&mut bench, sink, &frame(bytes, false));
    }
    bench[source].pause(Pause::Random { seed: 1, percent: 30 });
    let mut rng = SplitMix64::new(2);
    let (mut is_up, mut let_in, mut begins, mut sent) = (true, Vec::new(), true, 0);
    let beats: Vec<(usize, Beat<512>)> = (0..)
        .zip(&all)
        .flat_map(|(index, bytes)| frame(bytes, false).into_iter().map(move |beat| (index, beat)))
        .collect();
    while sent < beats.len() {
        is_up ^= rng.below(10) == 0;
        up(&mut bench, is_up);
        bench.step();
        let count = usize::try_from(bench[sink].sent()).expect("few");
        if count > sent {
            let (index, beat) = beats[sent];
            let_in.extend((begins && is_up).then_some(index));
            begins = beat.eop;
            sent = count;
        }
    }
    bench.run(50);
    assert!((30..170).contains(&let_in.len()));
    let wanted: Vec<Pins> = let_in.iter().flat_map(|index| pins(&all[*index], false)).collect();
    assert_eq!(collect::<Pins>(&mut bench, source), wanted);
}

#[test]
fn recovers_from_reset() {
    let (mut bench, sink, source) = under();
    push(&mut bench, sink, &frame(&[1; 64], false));
    bench[source].pause(Pause::Always);
    bench.run(5);
    assert!(read::<bool>(&bench, "source$valid"));
    bench[source].pause(Pause::None);
    bench.reset(1);
    push(&mut bench, sink, &frame(&[2; 5], false));
    bench.run(5);
    let found = bench[source].take();
    assert_eq!(found.iter().map(|words| Pins::from_words(words)).collect::<Vec<_>>(), pins(&[2; 5], false));
}

#[test]
fn the_shortest_frame_has_64_bytes_with_its_fcs() {
    let (mut bench, sink, source) = under();
    for len in [1, 59, 60, 61] {
        push(&mut bench, sink, &frame(&vec![7; len], false));
    }
    bench.run(20);
    let kept: Vec<u64> = collect::<Pins>(&mut bench, source).iter().map(|pins| pins.keep.into()).collect();
    let shortest = u64::MAX >> (64 - 60);
    assert_eq!(kept, [shortest, shortest, shortest, u64::MAX >> (64 - 61)]);
}

#[test]
fn a_frame_is_dropped_though_the_mac_takes_nothing() {
    let (mut bench, sink, source) = under();
    bench[source].pause(Pause::Always);
    push(&mut bench, sink, &frame(&[1; 128], false));
    push(&mut bench, sink, &frame(&[2; 64], false));
    bench.run(5);
    assert_eq!(bench[sink].sent(), 2, "the first is on offer, the second waits behind it");
    up(&mut bench, false);
    bench.run(5);
    up(&mut bench, true);
    bench[source].pause(Pause::None);
    push(&mut bench, sink, &frame(&[3; 64], false));
    bench.run(20);
    let wanted = [pins(&[1; 128], false), pins(&[3; 64], false)].concat();
    assert_eq!(collect::<Pins>(&mut bench, source), wanted);
}
