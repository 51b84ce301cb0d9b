use stroma_verilate::{Pause, SplitMix64};

use super::{Narrow, Wide};
use crate::stream::{Beat, beats};
use crate::testing::{Follower, collect, push, read, stalls, verilated};
use crate::verilog::differential::{assert_agree, differential};

/// The words of a packet.
fn words(bytes: &[u8]) -> Vec<Wide> {
    let word = |beat: Beat<512>| Wide { data: beat.data, nbytes: beat.nbytes, sop: beat.sop, eop: beat.eop };
    beats::<512>(bytes).into_iter().map(word).collect()
}

fn packet(rng: &mut SplitMix64, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect()
}

/// Packets through the block, beat for beat as the bytes say; the cycles it took.
fn check<const D: usize>(packets: &[Vec<u8>], idle: &Pause, pressure: &Pause) -> u64 {
    let mut bench = verilated(&format!("narrow_{D}"), Narrow::<D>::default);
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    bench[streams.input].pause(idle.clone());
    bench[streams.output].pause(pressure.clone());
    for packet in packets {
        push(&mut bench, streams.input, &words(packet));
    }
    let expected: Vec<Beat<D>> = packets.iter().flat_map(|packet| beats::<D>(packet)).collect();
    let cycles = bench
        .run_until(|bench| bench[streams.output].received().len() >= expected.len(), 100_000)
        .unwrap_or_else(|error| panic!("{error}"));
    bench.run(5);
    assert_eq!(collect::<Beat<D>>(&mut bench, streams.output), expected);
    assert!(bench.is_sent());
    cycles
}

#[test]
fn every_length_becomes_the_beats_of_its_bytes_one_a_cycle() {
    let mut rng = SplitMix64::new(1);
    let packets: Vec<Vec<u8>> = (1..140).map(|len| packet(&mut rng, len)).collect();
    let count = |size: usize| packets.iter().map(|packet| packet.len().div_ceil(size) as u64).sum::<u64>();
    assert_eq!(check::<64>(&packets, &Pause::None, &Pause::None), count(8) + 1);
    assert_eq!(check::<512>(&packets, &Pause::None, &Pause::None), count(64) + 1);
}

#[test]
fn survives_stalls() {
    let mut rng = SplitMix64::new(2);
    for (idle, pressure) in stalls() {
        let packets: Vec<Vec<u8>> = (0..20)
            .map(|_| {
                let len = 1 + usize::try_from(rng.below(200)).expect("small");
                packet(&mut rng, len)
            })
            .collect();
        check::<64>(&packets, &idle, &pressure);
        check::<512>(&packets, &idle, &pressure);
    }
}

#[test]
fn recovers_from_reset_in_the_middle_of_a_word() {
    let mut bench = verilated("narrow_64", Narrow::<64>::default);
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let bytes = packet(&mut SplitMix64::new(3), 64);
    push(&mut bench, streams.input, &words(&bytes));
    bench.run(4);
    assert!(read::<bool>(&bench, "source$valid") && !bench.is_sent(), "the word is under way");
    bench.reset(1);
    assert!(!read::<bool>(&bench, "source$valid"));
    bench[streams.output].take();
    bench.run(10);
    assert_eq!(collect::<Beat<64>>(&mut bench, streams.output), beats::<64>(&bytes));
}

#[test]
fn rust_and_verilog_agree() {
    let narrow =
        differential!("narrow_64", Narrow::<64>::default, clock, [sink.payload, sink.valid, source.ready]);
    let wide =
        differential!("narrow_512", Narrow::<512>::default, clock, [sink.payload, sink.valid, source.ready]);
    for case in [narrow, wide] {
        assert_agree([case], 500);
    }
}
