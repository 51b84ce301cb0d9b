use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use crate::pack::Packed;
use crate::prim::model::{Buffer, Queue};
use crate::prim::round_robin::choose;
use crate::stream::{Beat, beats};
use crate::testing::{WAYS, collect, noises, push, read, stalls, zoo};

/// Twin of both arbiters: whose turn it is, who holds the grant, and the cut behind.
struct Twin<T> {
    next: usize,
    owner: Option<usize>,
    cut: Queue<T>,
    ends: fn(&T) -> bool,
    /// Grants that went elsewhere while this sink offered a beat and nobody held the grant.
    waits: [usize; WAYS],
}

impl<T: Packed> Twin<T> {
    fn new(ends: fn(&T) -> bool) -> Self {
        Self { next: 0, owner: None, cut: Queue::new(2), ends, waits: [0; WAYS] }
    }

    /// One clock edge; the sink whose beat moved.
    fn step(&mut self, offers: [Option<T>; WAYS], given: bool) -> Option<usize> {
        let requests: Vec<bool> = (0..WAYS)
            .map(|way| offers[way].is_some() && self.owner.is_none_or(|owner| owner == way))
            .collect();
        let granted = if self.cut.ready() { choose(&requests, self.next) } else { None };
        if let Some(way) = granted {
            if self.owner.is_none() {
                (0..WAYS).filter(|other| offers[*other].is_some()).for_each(|other| self.waits[other] += 1);
                self.waits[way] = 0;
            }
            self.next = way + 1;
            self.owner = (!offers[way].as_ref().is_some_and(self.ends)).then_some(way);
        }
        self.cut.step(granted.and_then(|way| offers[way]), given);
        granted
    }
}

struct Streams {
    inputs: [SourceId; WAYS],
    output: SinkId,
}

fn streams(bench: &mut Bench) -> Streams {
    let inputs = std::array::from_fn(|way| bench.source(&format!("sinks${way}")).expect("the stream exists"));
    Streams { inputs, output: bench.sink("source").expect("the stream exists") }
}

/// Sends each queue into its sink; in every cycle the twin names the sink that moves. Gives what came out.
fn follow<T: Packed>(
    bench: &mut Bench,
    streams: &Streams,
    queues: [&[T]; WAYS],
    ends: fn(&T) -> bool,
) -> Vec<T> {
    let mut twin = Twin::new(ends);
    let mut sent = [0; WAYS];
    streams.inputs.iter().zip(queues).for_each(|(input, queue)| push(bench, *input, queue));
    while !bench.is_sent() || twin.cut.level() > 0 {
        let before = streams.inputs.map(|input| bench[input].sent());
        let received = bench[streams.output].received().len();
        bench.step();
        let offers = std::array::from_fn(|way| {
            read::<bool>(bench, &format!("sinks${way}$valid")).then(|| queues[way][sent[way]])
        });
        let granted = twin.step(offers, bench[streams.output].received().len() > received);
        for way in 0..WAYS {
            let moved = bench[streams.inputs[way]].sent() > before[way];
            assert_eq!(moved, granted == Some(way), "sink {way} in cycle {}", bench.cycle());
            sent[way] += usize::from(moved);
            assert!(twin.waits[way] < WAYS, "sink {way} waited for {} others", twin.waits[way]);
        }
        assert_eq!(read::<bool>(bench, "source$valid"), twin.cut.offer().is_some());
        assert!(bench.cycle() < 1_000_000, "the arbiter is stuck");
    }
    collect(bench, streams.output)
}

/// Beats of each sink carry its number in their lowest bits, so that they can be told apart at the end.
fn marked<const D: usize>(way: usize, length: usize) -> Vec<Beat<D>> {
    let mark = |mut beat: Beat<D>| {
        beat.nbytes = (way as u64).into();
        beat
    };
    noises(way as u64, length).into_iter().map(mark).collect()
}

fn survive<const D: usize>() {
    let mut bench = zoo::<D>("arbiter");
    let streams = streams(&mut bench);
    let queues: [Vec<Beat<D>>; WAYS] = [marked(0, 20), marked(1, 7), marked(2, 33)];
    for (idle, pressure) in stalls() {
        bench.reset(2);
        bench[streams.inputs[0]].pause(idle);
        bench[streams.inputs[1]].pause(Pause::Random { seed: 5, percent: 30 });
        bench[streams.output].pause(pressure);
        let received = follow(&mut bench, &streams, [&queues[0], &queues[1], &queues[2]], |_| true);
        for (way, queue) in queues.iter().enumerate() {
            let mine: Vec<_> = received.iter().filter(|beat| beat.nbytes.index() == way).copied().collect();
            assert_eq!(mine, *queue, "sink {way}");
        }
    }
}

#[test]
fn survives_stalls() {
    survive::<64>();
    survive::<512>();
}

#[test]
fn busy_sinks_take_strict_turns_at_one_beat_per_cycle() {
    let mut bench = zoo::<64>("arbiter");
    let streams = streams(&mut bench);
    bench.reset(2);
    let (queues, start): ([Vec<Beat<64>>; WAYS], _) =
        (std::array::from_fn(|way| marked(way, 30)), bench.cycle());
    let received = follow(&mut bench, &streams, [&queues[0], &queues[1], &queues[2]], |_| true);
    assert_eq!(bench.cycle() - start, 90 + 1);
    let turns: Vec<usize> = received.iter().map(|beat| beat.nbytes.index()).collect();
    assert_eq!(turns, [0, 1, 2].repeat(30));
}

fn keep_packets_whole<const D: usize>() {
    let mut bench = zoo::<D>("packet_arbiter");
    let streams = streams(&mut bench);
    let packets = |way: u64| -> Vec<Vec<Beat<D>>> {
        let mut rng = SplitMix64::new(way);
        (0..12)
            .map(|_| beats(&vec![0x10 + way.to_le_bytes()[0]; rng.next_u32() as usize % (D / 2) + 1]))
            .collect()
    };
    let packets: [Vec<Vec<Beat<D>>>; WAYS] = [packets(0), packets(1), packets(2)];
    let queues = packets.each_ref().map(|packets| packets.concat());
    for (idle, pressure) in stalls() {
        bench.reset(2);
        bench[streams.inputs[0]].pause(idle);
        bench[streams.inputs[2]].pause(Pause::Random { seed: 6, percent: 20 });
        bench[streams.output].pause(pressure);
        let received = follow(&mut bench, &streams, [&queues[0], &queues[1], &queues[2]], |beat| beat.eop);
        let mut expected = packets.each_ref().map(|packets| packets.iter());
        for packet in received.split_inclusive(|beat| beat.eop) {
            let way = packet[0].data.get_bits::<4>(0).index();
            assert_eq!(Some(packet), expected[way].next().map(Vec::as_slice), "sink {way}");
        }
        assert!(expected.into_iter().flatten().next().is_none(), "a packet was lost");
    }
}

#[test]
fn packets_stay_whole_and_in_order() {
    keep_packets_whole::<64>();
    keep_packets_whole::<512>();
}

#[test]
fn recovers_from_reset() {
    let mut bench = zoo::<64>("packet_arbiter");
    let streams = streams(&mut bench);
    bench.reset(2);
    // Sink 1 gets the grant and stops in mid packet; after the reset sink 0 goes first again.
    push(&mut bench, streams.inputs[1], &beats::<64>(&[1; 32])[..2]);
    bench.run(5);
    bench.reset(1);
    assert_eq!(collect::<Beat<64>>(&mut bench, streams.output).len(), 2);
    let queues: [Vec<Beat<64>>; WAYS] = std::array::from_fn(|way| beats(&[way.to_le_bytes()[0]; 20]));
    let received = follow(&mut bench, &streams, [&queues[0], &queues[1], &queues[2]], |beat| beat.eop);
    assert_eq!(received, queues.concat());
}
