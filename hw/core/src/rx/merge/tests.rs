//! The merge against its rule.

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::{Merge, PATIENCE};
use crate::head::Head;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, read, stalls, verilated};

struct Rig<const D: usize> {
    bench: Bench,
    /// RoCE and raw: heads, and payload.
    heads: [SourceId; 2],
    payloads: [SourceId; 2],
    head: SinkId,
    payload: SinkId,
    rng: SplitMix64,
}

impl<const D: usize> Rig<D> {
    fn new() -> Self {
        let mut bench = verilated("merge", Merge::<D>::default);
        let [roce, roce_payload, raw, raw_payload] = ["roce", "roce_payload", "raw", "raw_payload"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [head, payload] = ["head", "payload"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let (heads, payloads) = ([roce, raw], [roce_payload, raw_payload]);
        Self { bench, heads, payloads, head, payload, rng: SplitMix64::new(5) }
    }

    /// Queues a packet or a frame; its payload, if it has any.
    fn send(&mut self, raw: bool, len: usize) -> (Head, Vec<Beat<D>>) {
        let head = Head { raw, payload_len: (len as u64).into(), ..noise(&mut self.rng) };
        let bytes: Vec<u8> = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
        let data = if len == 0 { Vec::new() } else { beats::<D>(&bytes) };
        push(&mut self.bench, self.heads[usize::from(raw)], &[head]);
        push(&mut self.bench, self.payloads[usize::from(raw)], &data);
        (head, data)
    }

    fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() {
            self.bench.step();
            assert!(self.bench.cycle() < start + 100_000, "stuck");
        }
        self.bench.run(3);
    }
}

fn agrees<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (idle, pressure) in stalls() {
        for source in [rig.heads, rig.payloads].concat() {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.head, rig.payload] {
            rig.bench[sink].pause(pressure.clone());
        }
        let mut sent = [Vec::new(), Vec::new()];
        for _ in 0..120 {
            let raw = rig.rng.below(3) == 0;
            let len = usize::try_from(rig.rng.below(200)).expect("small");
            let len = if raw { len + 1 } else { len.saturating_sub(60) };
            let packet = rig.send(raw, len);
            sent[usize::from(raw)].push(packet);
        }
        rig.settle();
        let heads: Vec<Head> = collect(&mut rig.bench, rig.head);
        let data: Vec<Beat<D>> = collect(&mut rig.bench, rig.payload);
        let of = |raw: bool| heads.iter().filter(|head| head.raw == raw).copied().collect::<Vec<_>>();
        let mut sent = sent.map(Vec::into_iter);
        let mut expected = Vec::new();
        let mut taken = [Vec::new(), Vec::new()];
        for head in &heads {
            let (other, data) = sent[usize::from(head.raw)].next().expect("none comes twice");
            taken[usize::from(head.raw)].push(other);
            expected.extend(data);
        }
        assert!(taken == [of(false), of(true)], "heads of either kind keep their order");
        assert!(sent.iter_mut().all(|rest| rest.next().is_none()), "all have come");
        assert!(data == expected, "payloads are in the order of heads");
    }
}

#[test]
fn payloads_follow_their_heads() {
    agrees::<64>();
    agrees::<512>();
}

#[test]
fn roce_goes_first_and_a_raw_frame_behind_eight_packets() {
    let mut rig = Rig::<512>::new();
    rig.bench[rig.head].pause(Pause::Always);
    (0..40).for_each(|_| drop(rig.send(false, 0)));
    rig.send(true, 60);
    rig.send(true, 60);
    rig.bench[rig.head].pause(Pause::None);
    rig.settle();
    let raw: Vec<usize> = collect::<Head>(&mut rig.bench, rig.head)
        .iter()
        .enumerate()
        .filter(|(_, head)| head.raw)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(raw, [PATIENCE, 2 * PATIENCE + 1]);
}

#[test]
fn a_roce_packet_alone_loses_no_cycle_and_a_raw_frame_one() {
    for (raw, wait) in [(false, 0), (true, 1)] {
        let mut rig = Rig::<512>::new();
        rig.send(raw, 60);
        rig.bench.model_mut().eval();
        let start = rig.bench.cycle();
        while rig.bench[rig.head].received().is_empty() {
            rig.bench.step();
        }
        assert_eq!(rig.bench.cycle() - start, 1 + wait);
        rig.settle();
        collect::<Head>(&mut rig.bench, rig.head);
        collect::<Beat<512>>(&mut rig.bench, rig.payload);
        // Without raw frames a head a cycle.
        let start = rig.bench.cycle();
        (0..50).for_each(|_| drop(rig.send(false, 64)));
        while rig.bench[rig.head].received().len() < 50 {
            rig.bench.step();
        }
        assert_eq!(rig.bench.cycle() - start, 50);
    }
}

#[test]
fn sixty_four_payloads_are_due_at_most() {
    let mut rig = Rig::<512>::new();
    rig.bench[rig.payload].pause(Pause::Always);
    (0..80).for_each(|_| drop(rig.send(false, 10)));
    rig.bench.run(200);
    assert_eq!(rig.bench[rig.head].received().len(), 64);
    rig.bench[rig.payload].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.bench[rig.payload].received().len(), 80);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64>::new();
    rig.bench[rig.payload].pause(Pause::Always);
    rig.bench[rig.head].pause(Pause::Always);
    rig.send(true, 8);
    rig.bench.run(3);
    assert!(read::<bool>(&rig.bench, "head$valid"));
    rig.bench[rig.head].pause(Pause::None);
    rig.bench.run(3);
    rig.bench.clear();
    rig.bench.reset(1);
    rig.bench[rig.payload].pause(Pause::None);
    rig.bench[rig.head].take();
    let (head, data) = rig.send(false, 20);
    rig.settle();
    assert_eq!(collect::<Head>(&mut rig.bench, rig.head), [head]);
    assert_eq!(collect::<Beat<64>>(&mut rig.bench, rig.payload), data);
}
