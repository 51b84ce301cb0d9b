//! The writer of IP headers against its twin, [`Head::grh`].

use stroma_abi::wire::grh::GRH_LEN;
use stroma_abi::wire::opcode::{TABLE, UD_SEND_ONLY, UD_SEND_ONLY_IMM};
use stroma_abi::wire::{Opcode, Transport};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Preface;
use crate::head::Head;
use crate::rx::merge::DUE_LOG;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, read, stalls, verilated};

/// Those of [`Rig::send_shape`].
const DATAGRAM_SHAPES: u64 = 64;

/// A head, and what should come of its payload.
type Packet<const D: usize> = (Head, Vec<Beat<D>>);

struct Rig<const D: usize> {
    bench: Bench,
    sink: SourceId,
    body: SourceId,
    head: SinkId,
    payload: SinkId,
    rng: SplitMix64,
}

impl<const D: usize> Rig<D> {
    fn new() -> Self {
        let mut bench = verilated("preface", Preface::<D>::default);
        let [sink, body] = ["sink", "body"].map(|name| bench.source(name).expect("the stream exists"));
        let [head, payload] = ["head", "payload"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, sink, body, head, payload, rng: SplitMix64::new(7) }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.rng.below(bound as u64)).expect("small")
    }

    /// Queues a head with such a payload, full of what stood there before.
    fn send(&mut self, head: &Head, len: usize) -> Packet<D> {
        let head = Head { payload_len: (len as u64).into(), ..*head };
        let mut bytes: Vec<u8> = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
        push(&mut self.bench, self.sink, &[head]);
        if len == 0 {
            return (head, Vec::new());
        }
        push(&mut self.bench, self.body, &beats::<D>(&bytes));
        if let Some(grh) = head.grh() {
            bytes[..GRH_LEN].copy_from_slice(&grh);
        }
        (head, beats(&bytes))
    }

    fn send_of(&mut self, row: &Opcode, len: usize) -> Packet<D> {
        let head = Head { raw: false, op: u64::from(row.code).into(), ..noise(&mut self.rng) };
        self.send(&head, len)
    }

    fn send_datagram(&mut self, len: usize) -> Packet<D> {
        let row = [UD_SEND_ONLY, UD_SEND_ONLY_IMM][self.below(2)];
        self.send_of(&row, GRH_LEN + len)
    }

    /// A datagram with immediate data or without, of either IP version, tagged or not, empty or not, with any pad count.
    fn send_shape(&mut self, shape: u64) -> Packet<D> {
        let row = if shape & 1 == 0 { UD_SEND_ONLY } else { UD_SEND_ONLY_IMM };
        let head = Head {
            raw: false,
            op: u64::from(row.code).into(),
            v6: shape & 2 != 0,
            tagged: shape & 4 != 0,
            pad: (shape >> 4).into(),
            ..noise(&mut self.rng)
        };
        let len = if shape & 8 == 0 { 0 } else { 1 + self.below(200) };
        self.send(&head, GRH_LEN + len)
    }

    fn send_other(&mut self, len: usize) -> Packet<D> {
        let others: Vec<&Opcode> = TABLE.iter().filter(|row| row.transport != Transport::Ud).collect();
        let row = others[self.below(others.len())];
        self.send_of(row, len)
    }

    /// A datagram, another packet or a raw frame, with payload or without.
    fn send_any(&mut self) -> Packet<D> {
        let len = [0, 1, 23, 24, 25, self.below(300), 4096][self.below(7)];
        match self.below(3) {
            0 => self.send_datagram(len),
            1 => self.send_other(len),
            _ => {
                let frame = Head { raw: true, ..noise(&mut self.rng) };
                self.send(&frame, len + 1)
            }
        }
    }

    fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() {
            self.bench.step();
            assert!(self.bench.cycle() < start + 1_000_000, "stuck");
        }
        self.bench.run(3);
    }

    /// Runs until all is through, and holds it against what was expected.
    fn fulfils(&mut self, packets: Vec<Packet<D>>, case: &str) {
        self.settle();
        let (heads, data): (Vec<_>, Vec<_>) = packets.into_iter().unzip();
        assert!(collect::<Head>(&mut self.bench, self.head) == heads, "{case}: heads pass as they are");
        assert!(collect::<Beat<D>>(&mut self.bench, self.payload) == data.concat(), "{case}: payloads");
    }
}

fn agrees<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (idle, pressure) in stalls() {
        for source in [rig.sink, rig.body] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.head, rig.payload] {
            rig.bench[sink].pause(pressure.clone());
        }
        let shapes = 0..DATAGRAM_SHAPES;
        let packets: Vec<Packet<D>> =
            shapes.flat_map(|shape| [rig.send_shape(shape), rig.send_any()]).collect();
        rig.fulfils(packets, &format!("{idle:?} {pressure:?}"));
    }
}

#[test]
fn agrees_with_the_model_at_64_bits() {
    agrees::<64>();
}

#[test]
fn agrees_with_the_model_at_512_bits() {
    agrees::<512>();
}

/// Nobody takes payload. Sixteen datagrams pass, and what is none behind them; one more waits, and all behind it.
fn waits_for_room<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.bench[rig.payload].pause(Pause::Always);
    let mut packets: Vec<Packet<D>> = (0..16).map(|_| rig.send_datagram(5)).collect();
    packets.push(rig.send_other(5));
    packets.push(rig.send_datagram(0));
    rig.bench.run(100);
    assert!(!read::<bool>(&rig.bench, "head$valid"), "what comes behind sixteen of them is not even offered");
    assert_eq!(rig.bench[rig.head].received().len(), 16);
    rig.bench[rig.payload].pause(Pause::None);
    rig.fulfils(packets, "the seventeenth datagram");

    rig.bench[rig.payload].pause(Pause::Always);
    let packets: Vec<Packet<D>> = (0..80).map(|_| rig.send_other(5)).collect();
    rig.bench.run(200);
    assert_eq!(rig.bench[rig.head].received().len(), 1 << DUE_LOG);
    rig.bench[rig.payload].pause(Pause::None);
    rig.fulfils(packets, "all that may be due");
}

#[test]
fn sixteen_datagrams_and_sixty_four_payloads_are_due_at_most() {
    waits_for_room::<64>();
    waits_for_room::<512>();
}

/// A head passes at once, its payload in the next cycle, and then a beat a cycle, whatever it is.
fn loses_no_cycle<const D: usize>() {
    for is_datagram in [false, true] {
        let mut rig = Rig::<D>::new();
        let len = D / 8;
        let send = |rig: &mut Rig<D>| {
            if is_datagram { rig.send_datagram(len) } else { rig.send_other(GRH_LEN + len) }
        };
        let packets: Vec<Packet<D>> = (0..50).map(|_| send(&mut rig)).collect();
        let beats: usize = packets.iter().map(|(_, data)| data.len()).sum();
        let start = rig.bench.cycle();
        rig.bench.step();
        assert_eq!(rig.bench[rig.head].received().len(), 1, "a head passes at once");
        assert!(rig.bench[rig.payload].received().is_empty());
        while rig.bench[rig.payload].received().len() < beats {
            rig.bench.step();
            assert!(rig.bench.cycle() < start + 10_000, "stuck");
        }
        assert_eq!(rig.bench.cycle() - start, 1 + beats as u64);
        rig.fulfils(packets, "at full rate");
        // Heads that bring no payload, one a cycle.
        let packets: Vec<Packet<D>> = (0..100).map(|_| rig.send_other(0)).collect();
        rig.bench.run(100);
        assert_eq!(rig.bench[rig.head].received().len(), 100);
        rig.fulfils(packets, "without payload");
    }
}

#[test]
fn a_head_passes_at_once_and_a_beat_a_cycle_behind_it() {
    loses_no_cycle::<64>();
    loses_no_cycle::<512>();
}

fn recovers<const D: usize>() {
    for beats in [1, 2, 3, 7] {
        let mut rig = Rig::<D>::new();
        (0..5).for_each(|_| drop(rig.send_datagram(1000)));
        rig.bench.run(1 + beats);
        assert_eq!(rig.bench[rig.payload].received().len() as u64, beats, "reset falls into a payload");
        rig.bench.clear();
        rig.bench.reset(1);
        rig.bench[rig.head].take();
        rig.bench[rig.payload].take();
        let packets = vec![rig.send_datagram(100), rig.send_other(70), rig.send_datagram(0)];
        rig.fulfils(packets, "behind a reset");
    }
}

#[test]
fn recovers_from_reset() {
    recovers::<64>();
    recovers::<512>();
}
