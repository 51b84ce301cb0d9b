use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SplitMix64};

use super::model::PacketQueue;
use crate::stream::{Beat, beats};
use crate::testing::{self, Follower, PACKET_LOG, collect, push, read, zoo};

const PLACES: usize = 1 << PACKET_LOG;

/// A packet of `count` beats of random bytes; a bad one says so at its end.
fn packet<const D: usize>(rng: &mut SplitMix64, count: usize, is_good: bool) -> Vec<Beat<D>> {
    let bytes: Vec<u8> = (0..count * D / 8).map(|_| rng.next_u32().to_le_bytes()[0]).collect();
    let mut packet = beats::<D>(&bytes[..bytes.len() - usize::from(rng.below(2) == 1)]);
    packet[count - 1].err = !is_good;
    packet
}

/// Lengths from one beat to more than fit, a fifth of them bad.
fn packets<const D: usize>(seed: u64, count: usize) -> Vec<Vec<Beat<D>>> {
    let mut rng = SplitMix64::new(seed);
    let mut next = |_| {
        let (length, is_good) = (1 + rng.below(PLACES as u64 + 3), rng.below(5) > 0);
        packet(&mut rng, usize::try_from(length).expect("a length is small"), is_good)
    };
    (0..count).map(&mut next).collect()
}

fn fits<const D: usize>(packet: &[Beat<D>]) -> bool {
    packet.len() <= PLACES
}

fn is_good<const D: usize>(packet: &[Beat<D>]) -> bool {
    packet.iter().all(|beat| !beat.err)
}

fn counters(bench: &Bench) -> (Bits<32>, Bits<32>) {
    (read(bench, "dropped"), read(bench, "overflowed"))
}

fn follow_under_stalls<const D: usize>() {
    let mut bench = zoo::<D>("packet_fifo");
    let streams = Follower::new(&mut bench);
    for (seed, (idle, pressure)) in (0..).zip(testing::stalls()) {
        bench.reset(2);
        bench[streams.input].pause(idle.clone());
        bench[streams.output].pause(pressure.clone());
        let (packets, mut twin) = (packets::<D>(seed, 30), PacketQueue::new(PLACES, false));
        let received = streams.follow(&mut bench, &packets.concat(), &mut twin);
        // What comes out does not depend on stalls: good packets that fit, in order.
        let expected: Vec<_> =
            packets.iter().filter(|packet| is_good(packet) && fits(packet)).cloned().collect();
        assert_eq!(received, expected.concat(), "{idle:?} {pressure:?}");
        let count = |of: fn(&[Beat<D>]) -> bool| packets.iter().filter(|packet| of(packet)).count() as u64;
        let (dropped, overflowed) =
            (count(|packet| !is_good(packet) && fits(packet)), count(|packet| !fits(packet)));
        assert_eq!(counters(&bench), (dropped.into(), overflowed.into()));
        assert!(dropped > 0 && overflowed > 0, "seed {seed} tries too little");
    }
}

#[test]
fn survives_stalls() {
    follow_under_stalls::<64>();
    follow_under_stalls::<512>();
}

fn lose_whole_packets<const D: usize>() {
    let mut bench = zoo::<D>("packet_fifo_dropping");
    let streams = Follower::new(&mut bench);
    for (seed, (idle, pressure)) in (0..).zip(testing::stalls()) {
        bench.reset(2);
        bench[streams.input].pause(idle.clone());
        bench[streams.output].pause(pressure.clone());
        let (packets, mut twin) = (packets::<D>(seed, 30), PacketQueue::new(PLACES, true));
        let received = streams.follow(&mut bench, &packets.concat(), &mut twin);
        assert_eq!(counters(&bench), (u64::from(twin.dropped).into(), u64::from(twin.overflowed).into()));
        // Whatever was lost was lost whole: the rest are good packets, in order, and nothing is unaccounted for.
        let mut candidates = packets.iter().filter(|packet| is_good(packet));
        let arrived: Vec<_> = received.split_inclusive(|beat| beat.eop).collect();
        for packet in &arrived {
            assert!(candidates.any(|candidate| candidate == packet), "a packet nobody sent, or out of order");
        }
        assert_eq!(arrived.len() + (twin.dropped + twin.overflowed) as usize, 30, "{idle:?} {pressure:?}");
    }
}

#[test]
fn a_mac_without_ready_loses_whole_packets_only() {
    lose_whole_packets::<64>();
    lose_whole_packets::<512>();
}

#[test]
fn agrees_with_the_model() {
    // Back to back at full speed, through a packet that fills the memory.
    let mut rng = SplitMix64::new(7);
    let sent: Vec<_> =
        [3, 1, 16, 8, 8].into_iter().map(|count| packet::<64>(&mut rng, count, true)).collect();
    let mut bench = zoo::<64>("packet_fifo");
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let start = bench.cycle();
    assert_eq!(
        streams.follow(&mut bench, &sent.concat(), &mut PacketQueue::new(PLACES, false)),
        sent.concat()
    );
    // 20 cycles until the third packet is whole, 3 to its first beat, then 31 more beats without a gap.
    assert_eq!(bench.cycle() - start, 20 + 3 + 31);
}

#[test]
fn nothing_is_shown_before_the_packet_ends_well() {
    let mut bench = zoo::<64>("packet_fifo");
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let mut rng = SplitMix64::new(8);
    let (good, bad) = (packet::<64>(&mut rng, 5, true), packet::<64>(&mut rng, 5, false));
    push(&mut bench, streams.input, &good[..4]);
    bench.run(50);
    assert!(collect::<Beat<64>>(&mut bench, streams.output).is_empty(), "an unfinished packet was shown");
    push(&mut bench, streams.input, &good[4..]);
    push(&mut bench, streams.input, &bad);
    bench.run(50);
    assert_eq!(collect::<Beat<64>>(&mut bench, streams.output), good);
    assert_eq!(counters(&bench), (1.into(), 0.into()));
}

#[test]
fn a_packet_that_just_fits_passes_and_a_longer_one_is_swallowed() {
    let mut bench = zoo::<64>("packet_fifo");
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let mut rng = SplitMix64::new(9);
    let mut of = |count| packet::<64>(&mut rng, count, true);
    let (fitting, long, huge, next) = (of(PLACES), of(PLACES + 1), of(5 * PLACES), of(2));
    push(&mut bench, streams.input, &[fitting.clone(), long, huge, next.clone()].concat());
    bench.run(200);
    assert_eq!(collect::<Beat<64>>(&mut bench, streams.output), [fitting, next].concat());
    assert_eq!(counters(&bench), (0.into(), 2.into()));
}

#[test]
fn a_full_memory_stalls_while_a_committed_packet_waits() {
    let mut bench = zoo::<64>("packet_fifo");
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    bench[streams.output].pause(Pause::Script(vec![true]));
    let mut rng = SplitMix64::new(10);
    let (first, second) = (packet::<64>(&mut rng, 10, true), packet::<64>(&mut rng, 10, true));
    push(&mut bench, streams.input, &[first.clone(), second.clone()].concat());
    bench.run(100);
    // Two beats of the first wait in the output registers, so 18 of the 20 found room.
    assert_eq!(bench[streams.input].sent(), 18);
    assert!(!read::<bool>(&bench, "sink$ready"));
    bench[streams.output].pause(Pause::None);
    bench.run(100);
    assert_eq!(collect::<Beat<64>>(&mut bench, streams.output), [first, second].concat());
    assert_eq!(counters(&bench), (0.into(), 0.into()));
}

#[test]
fn recovers_from_reset() {
    let mut bench = zoo::<64>("packet_fifo");
    let streams = Follower::new(&mut bench);
    bench.reset(2);
    let mut rng = SplitMix64::new(11);
    let (bad, inside) = (packet::<64>(&mut rng, 2, false), packet::<64>(&mut rng, 9, true));
    bench[streams.output].pause(Pause::Script(vec![true]));
    push(&mut bench, streams.input, &[bad, inside.clone(), inside[..4].to_vec()].concat());
    bench.run(50);
    assert_eq!(counters(&bench), (1.into(), 0.into()));
    bench[streams.output].pause(Pause::None);
    bench.reset(1);
    assert_eq!(counters(&bench), (0.into(), 0.into()));
    let packets = packets::<64>(12, 10);
    let expected: Vec<_> = packets.iter().filter(|packet| is_good(packet) && fits(packet)).cloned().collect();
    let received = streams.follow(&mut bench, &packets.concat(), &mut PacketQueue::new(PLACES, false));
    assert_eq!(received, expected.concat());
}
