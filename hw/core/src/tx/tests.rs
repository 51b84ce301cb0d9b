//! The whole front end against its model, at both widths.

use std::path::Path;

use rust_hdl::prelude::Bits;
use stroma_abi::wire::{Frame, opcode};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::TxFront;
use super::model::transmit;
use crate::head::Head;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, noise, push, read, stalls, verilated};

/// Cycles from the first beat offered to the first beat taken.
const LATENCY: u64 = 7;
/// The same from a payload, if its head is here.
const PAYLOAD_LATENCY: u64 = 5;
/// Cycles after which a bench counts as stuck.
const LIMIT: u64 = 200_000;

/// What is sent, and what should come of it.
#[derive(Clone)]
struct Order {
    head: Head,
    payload: Vec<u8>,
    frame: Vec<u8>,
}

impl Order {
    fn new(mut head: Head, payload: Vec<u8>) -> Self {
        head.payload_len = (payload.len() as u64).into();
        let frame = transmit(&head, &payload).unwrap_or_else(|error| panic!("{error}"));
        Self { head, payload, frame }
    }

    /// Random fields, with an op-code of the table.
    fn random(rng: &mut SplitMix64, opcode: u8, len: usize) -> Self {
        let head = Head { op: u64::from(opcode).into(), ..noise(rng) };
        Self::new(head, random_bytes(rng, len))
    }

    /// Random fields and a random op-code of the table.
    fn any(rng: &mut SplitMix64, len: usize) -> Self {
        let row = rng.below(opcode::TABLE.len() as u64);
        let row = &opcode::TABLE[usize::try_from(row).expect("a row of the table")];
        Self::random(rng, row.code, len)
    }
}

struct Front<const D: usize> {
    bench: Bench,
    head: SourceId,
    payload: SourceId,
    source: SinkId,
}

impl<const D: usize> Front<D> {
    fn new() -> Self {
        let mut bench = verilated(&format!("tx_front_{D}"), TxFront::<D>::default);
        let [head, payload] =
            ["head", "payload"].map(|name| bench.source(name).expect("the block has this stream"));
        let source = bench.sink("source").expect("the block has a source");
        bench.reset(2);
        Self { bench, head, payload, source }
    }

    fn order(&mut self, order: &Order) {
        push(&mut self.bench, self.head, &[order.head]);
        if !order.payload.is_empty() {
            push(&mut self.bench, self.payload, &beats::<D>(&order.payload));
        }
    }

    /// Runs until `count` frames have come out; each with its `err`, and the cycles it took.
    fn frames(&mut self, count: usize) -> (Vec<(Vec<u8>, bool)>, u64) {
        let (mut received, mut ended, mut taken) = (Vec::<Beat<D>>::new(), 0, 0);
        while ended < count {
            let step = |bench: &Bench| !bench[self.source].received().is_empty();
            taken += self
                .bench
                .run_until(step, LIMIT)
                .unwrap_or_else(|error| panic!("{ended} of {count}: {error}"));
            let new = collect::<Beat<D>>(&mut self.bench, self.source);
            ended += new.iter().filter(|beat| beat.eop).count();
            received.extend(new);
        }
        let frames = received
            .split_inclusive(|beat| beat.eop)
            .map(|frame| (joined(frame), frame[frame.len() - 1].err));
        (frames.collect(), taken)
    }

    /// Sends orders and expects their frames; the cycles it took.
    fn fulfils(&mut self, orders: &[Order]) -> u64 {
        for order in orders {
            self.order(order);
        }
        let (frames, taken) = self.frames(orders.len());
        assert_eq!(frames.len(), orders.len());
        for (order, (frame, err)) in orders.iter().zip(frames) {
            assert!(frame == order.frame, "{frame:02x?}\nis not\n{:02x?}\n{:?}", order.frame, order.head);
            assert!(!err, "{:?}", order.head);
        }
        taken
    }

    fn mismatched(&self) -> usize {
        read::<Bits<32>>(&self.bench, "mismatched").index()
    }
}

/// The bytes of one packet, whose beats must be formed as [`Beat`] says.
fn joined<const D: usize>(packet: &[Beat<D>]) -> Vec<u8> {
    for (index, beat) in packet.iter().enumerate() {
        assert_eq!(beat.sop, index == 0, "beat {index} of {}", packet.len());
        assert!(beat.eop || (beat.nbytes.index() == D / 8 && !beat.err), "{beat:?}");
        let kept = num_bigint::BigUint::from(beat.data).bits();
        assert!(kept <= 8 * beat.nbytes.index() as u64, "bytes past the end are not zero: {beat:?}");
    }
    bytes(packet)
}

fn random_bytes(rng: &mut SplitMix64, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect()
}

/// Every RoCE frame that was recorded, taken apart.
fn recorded() -> Vec<Order> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let mut orders = Vec::new();
    for name in ["golden_rxe61.pcap", "uc_pingpong_rxe61.pcap", "ud_pingpong_rxe61.pcap"] {
        let file = std::fs::File::open(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut reader = pcap_file::pcap::PcapReader::new(file).expect("a pcap file");
        while let Some(packet) = reader.next_packet() {
            let packet = packet.expect("a whole packet").data().to_vec();
            let Ok(frame) = Frame::parse(&packet) else { continue };
            let wire = packet[..packet.len() - frame.padding.len()].to_vec();
            orders.push(Order { head: Head::of(&frame), payload: frame.payload.to_vec(), frame: wire });
        }
    }
    assert!(orders.len() > 200, "only {} RoCE frames were recorded", orders.len());
    orders
}

fn rebuilds_recorded_frames<const D: usize>() {
    let mut front = Front::<D>::new();
    let mut orders = recorded();
    front.fulfils(&orders);
    for order in &mut orders {
        order.head.pad = 2.into();
    }
    for pause in [Pause::Every(2), Pause::Random { seed: 11, percent: 40 }] {
        front.bench[front.payload].pause(pause.clone());
        front.bench[front.source].pause(Pause::Burst { go: 7, pause: 5 });
        front.fulfils(&orders);
    }
    assert_eq!(front.mismatched(), 0);
}

#[test]
fn rebuilds_every_recorded_frame_byte_by_byte() {
    rebuilds_recorded_frames::<64>();
    rebuilds_recorded_frames::<512>();
}

/// Every op-code of the table under IPv4 and IPv6, with and without tag, with payloads of a few lengths.
fn every_opcode(seed: u64) -> Vec<Order> {
    let mut rng = SplitMix64::new(seed);
    let mut orders = Vec::new();
    for row in opcode::TABLE {
        for (v6, tagged) in [(false, false), (false, true), (true, false), (true, true)] {
            for len in [0, 1, 7, 64, 130] {
                let order = Order::random(&mut rng, row.code, len);
                orders.push(Order::new(Head { tagged, v6, ..order.head }, order.payload));
            }
        }
    }
    orders
}

#[test]
fn agrees_with_the_model_for_every_opcode() {
    Front::<64>::new().fulfils(&every_opcode(1));
    Front::<512>::new().fulfils(&every_opcode(2));
}

fn every_length(seed: u64) -> Vec<Order> {
    let mut rng = SplitMix64::new(seed);
    let around = (5..=64).flat_map(|beat| [64 * beat - 1, 64 * beat, 64 * beat + 1]);
    let lengths = (0..=300).chain(around.filter(|len| *len <= 4096));
    lengths.map(|len| Order::any(&mut rng, len)).collect()
}

#[test]
fn agrees_with_the_model_for_every_length() {
    Front::<64>::new().fulfils(&every_length(3));
    Front::<512>::new().fulfils(&every_length(4));
}

fn survives_stalls_at<const D: usize>() {
    let mut front = Front::<D>::new();
    let mut rng = SplitMix64::new(5);
    for (idle, pressure) in stalls() {
        for starved in [front.head, front.payload] {
            front.bench[front.head].pause(Pause::None);
            front.bench[front.payload].pause(Pause::None);
            front.bench[starved].pause(idle.clone());
            front.bench[front.source].pause(pressure.clone());
            let orders = [0, 9, 0, 0, 200, 1, 65].map(|len| Order::any(&mut rng, len));
            front.fulfils(&orders);
        }
    }
}

#[test]
fn survives_stalls() {
    survives_stalls_at::<64>();
    survives_stalls_at::<512>();
}

/// Frames under IPv4 that end two bytes into a beat, of one beat of payload and of two.
fn straddling(count: usize) -> Vec<Order> {
    let mut rng = SplitMix64::new(12);
    let orders = (0..count).map(|index| {
        let order = Order::random(&mut rng, opcode::RC_SEND_ONLY.code, if index % 3 == 2 { 72 } else { 8 });
        Order::new(Head { v6: false, tagged: false, ..order.head }, order.payload)
    });
    let orders: Vec<Order> = orders.collect();
    assert!(orders.iter().all(|order| order.frame.len() % 64 == 2));
    orders
}

fn halves_meet_their_beats_at<const D: usize>() {
    let mut front = Front::<D>::new();
    for (idle, pressure) in stalls() {
        front.bench[front.payload].pause(idle);
        front.bench[front.source].pause(pressure);
        front.fulfils(&straddling(20));
    }
}

#[test]
fn an_icrc_in_two_beats_survives_stalls() {
    halves_meet_their_beats_at::<64>();
    halves_meet_their_beats_at::<512>();
}

fn runs_without_gaps<const D: usize>(lengths: &[usize]) {
    let mut rng = SplitMix64::new(6);
    for len in lengths {
        let mut front = Front::<D>::new();
        let orders: Vec<Order> = (0..40).map(|_| Order::any(&mut rng, *len)).collect();
        let beats: usize = orders.iter().map(|order| order.frame.len().div_ceil(D / 8)).sum();
        assert_eq!(front.fulfils(&orders), beats as u64 + LATENCY, "{len} bytes of payload");
    }
}

#[test]
fn frames_follow_each_other_without_a_gap() {
    runs_without_gaps::<64>(&[0, 1, 64, 100, 1024]);
    runs_without_gaps::<512>(&[8, 64, 100, 1024]);
}

/// Acknowledgements and, every so often, READ requests under IPv4: 62 and 74 bytes.
fn small_orders(count: usize, reads: usize) -> Vec<Order> {
    let mut rng = SplitMix64::new(10);
    let op = |index: usize| {
        if index % reads == reads - 1 { opcode::RC_READ_REQUEST } else { opcode::RC_ACKNOWLEDGE }
    };
    (0..count)
        .map(|index| Order::random(&mut rng, op(index).code, 0))
        .map(|order| Order::new(Head { v6: false, tagged: false, ..order.head }, Vec::new()))
        .collect()
}

#[test]
fn two_frames_of_a_single_beat_take_three_cycles() {
    let orders = small_orders(40, 1000);
    assert!(orders.iter().all(|order| order.frame.len() <= 64));
    assert_eq!(Front::<512>::new().fulfils(&orders), 40 / 2 * 3 - 1 + LATENCY);
}

#[test]
fn acknowledgements_and_read_requests_leave_every_two_cycles() {
    let mut front = Front::<512>::new();
    front.bench[front.head].pause(Pause::Every(2));
    let orders = small_orders(40, 2);
    // The last one, a READ request, has two beats.
    let taken = front.fulfils(&orders);
    assert!((2 * 39 + 2 + LATENCY..=2 * 39 + 3 + LATENCY).contains(&taken), "{taken} cycles");
    // Without pauses their beats follow each other, two heads in three cycles.
    front.bench[front.head].pause(Pause::None);
    assert_eq!(front.fulfils(&orders), 40 / 2 * 3 + LATENCY);
}

fn waits_for_its_payload<const D: usize>() {
    let mut front = Front::<D>::new();
    let mut rng = SplitMix64::new(11);
    for len in [1, 64, 300] {
        let order = Order::random(&mut rng, opcode::RC_WRITE_ONLY.code, len);
        push(&mut front.bench, front.head, &[order.head]);
        front.bench.run(30);
        assert!(front.bench[front.source].received().is_empty(), "a frame began without its payload");
        push(&mut front.bench, front.payload, &beats::<D>(&order.payload));
        let (frames, taken) = front.frames(1);
        assert_eq!(frames, [(order.frame.clone(), false)]);
        assert_eq!(taken, order.frame.len().div_ceil(D / 8) as u64 + PAYLOAD_LATENCY, "{len} bytes");
    }
}

#[test]
fn a_frame_waits_for_its_payload_and_then_has_no_gap() {
    waits_for_its_payload::<64>();
    waits_for_its_payload::<512>();
}

/// A payload of `found` bytes for a head that says `said`: the frame is spoilt, its neighbours are not.
fn spoils_one<const D: usize>(said: usize, found: usize) {
    let mut front = Front::<D>::new();
    let mut rng = SplitMix64::new(7);
    let orders = [64, said, 0, 200].map(|len| Order::random(&mut rng, opcode::RC_WRITE_ONLY.code, len));
    for (index, order) in orders.iter().enumerate() {
        let payload = if index == 1 { random_bytes(&mut rng, found) } else { order.payload.clone() };
        front.order(&Order { payload, ..order.clone() });
    }
    let (frames, _) = front.frames(orders.len());
    for (index, (order, (frame, err))) in orders.iter().zip(frames).enumerate() {
        assert_eq!(err, index == 1, "frame {index}, {found} bytes for {said}");
        assert_eq!(frame.len(), order.frame.len(), "frame {index}, {found} bytes for {said}");
        assert!(err || frame == order.frame, "frame {index}, {found} bytes for {said}");
    }
    assert_eq!(front.mismatched(), 1, "{found} bytes for {said}");
}

#[test]
fn a_payload_of_the_wrong_length_spoils_its_frame_alone() {
    for (said, found) in
        [(64, 63), (64, 65), (1, 2), (100, 1), (100, 64), (1000, 100), (100, 1000), (128, 129)]
    {
        spoils_one::<64>(said, found);
        spoils_one::<512>(said, found);
    }
}

fn spoils_what_is_bad<const D: usize>() {
    let mut front = Front::<D>::new();
    let mut rng = SplitMix64::new(8);
    let good = Order::random(&mut rng, opcode::UD_SEND_ONLY.code, 77);
    front.order(&good);
    let mut bad = beats::<D>(&good.payload);
    bad.last_mut().expect("a beat").err = true;
    push(&mut front.bench, front.head, &[good.head]);
    push(&mut front.bench, front.payload, &bad);
    // 0x15 is not in the table.
    front.order(&Order { head: Head { op: 0x15.into(), ..good.head }, ..good.clone() });
    front.order(&good);
    let (frames, _) = front.frames(4);
    assert_eq!(frames.iter().map(|(_, err)| *err).collect::<Vec<_>>(), [false, true, true, false]);
    assert!(frames[0].0 == good.frame && frames[1].0 == good.frame && frames[3].0 == good.frame);
    assert_eq!(front.mismatched(), 0);
}

#[test]
fn a_bad_payload_and_an_unknown_opcode_spoil_the_frame() {
    spoils_what_is_bad::<64>();
    spoils_what_is_bad::<512>();
}

fn recovers_from_reset_at<const D: usize>() {
    let mut front = Front::<D>::new();
    let mut rng = SplitMix64::new(9);
    let orders = [900, 20, 0, 3].map(|len| Order::random(&mut rng, opcode::RC_SEND_ONLY.code, len));
    // A head, and a payload that never ends: the frame is under way in every stage when reset comes.
    push(&mut front.bench, front.head, &[orders[0].head, orders[1].head]);
    push(&mut front.bench, front.payload, &beats::<D>(&orders[0].payload)[..10]);
    front.bench[front.source].pause(Pause::Every(2));
    front.bench.run(60);
    assert!(front.bench.is_sent() && !collect::<Beat<D>>(&mut front.bench, front.source).is_empty());
    front.bench.reset(1);
    front.fulfils(&orders);
    assert_eq!(front.mismatched(), 0);
}

#[test]
fn recovers_from_reset() {
    recovers_from_reset_at::<64>();
    recovers_from_reset_at::<512>();
}
