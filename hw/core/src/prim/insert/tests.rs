//! The inserter alone: any header, any payload, any tail, where the front end knows only lengths of whole words.

use rust_hdl::prelude::*;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Prefix;
use super::model::insert;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, stalls, zoo};

const LATENCY: u64 = 2;
const LIMIT: u64 = 20_000;

type Order = (Prefix, Vec<u8>);

fn order(rng: &mut SplitMix64, len: usize, payload_len: usize, tail: usize) -> Order {
    let mut random =
        |count: usize| -> Vec<u8> { (0..count).map(|_| rng.next_u64().to_le_bytes()[0]).collect() };
    let prefix = Prefix {
        bytes: num_bigint::BigUint::from_bytes_le(&random(len)).into(),
        len: (len as u64).into(),
        payload_len: (payload_len as u64).into(),
        total: ((len + payload_len + tail) as u64).into(),
        err: false,
        v6: payload_len % 2 == 1,
        tagged: len % 2 == 1,
    };
    (prefix, random(payload_len))
}

struct Under<const D: usize> {
    bench: Bench,
    prefix: SourceId,
    payload: SourceId,
    source: SinkId,
}

impl<const D: usize> Under<D> {
    fn new() -> Self {
        let mut bench = zoo::<D>("insert");
        let [prefix, payload] =
            ["prefix", "payload"].map(|name| bench.source(name).expect("the block has this stream"));
        let source = bench.sink("source").expect("the block has a source");
        bench.reset(2);
        Self { bench, prefix, payload, source }
    }

    /// Sends prefixes and payloads and holds the frames against the model; the beats and the cycles they took.
    fn agrees(&mut self, orders: &[Order]) -> (u64, u64) {
        for (prefix, payload) in orders {
            push(&mut self.bench, self.prefix, &[*prefix]);
            if !payload.is_empty() {
                push(&mut self.bench, self.payload, &beats::<D>(payload));
            }
        }
        let count: usize = orders.iter().map(|(prefix, _)| prefix.total.index().div_ceil(D / 8)).sum();
        let done = |bench: &Bench| bench[self.source].received().len() == count;
        let taken = self.bench.run_until(done, LIMIT).unwrap_or_else(|error| panic!("{error}"));
        let received = collect::<Beat<D>>(&mut self.bench, self.source);
        let mut frames = received.split_inclusive(|beat| beat.eop);
        for (prefix, payload) in orders {
            let frame = frames.next().expect("a frame for each prefix");
            let (wanted, is_spoilt) = insert(prefix, payload);
            assert_eq!(frame[frame.len() - 1].err, is_spoilt, "{prefix:?}");
            assert_eq!(bytes(frame).len(), wanted.len(), "{prefix:?}");
            assert!(is_spoilt || bytes(frame) == wanted, "{prefix:?}");
            assert!(
                is_spoilt || frame == beats::<D>(&wanted),
                "{prefix:?}: the beats are not formed as they should be"
            );
        }
        (count as u64, taken)
    }

    fn mismatched(&self) -> usize {
        read::<Bits<32>>(&self.bench, "mismatched").index()
    }
}

fn agrees_with_the_model_at<const D: usize>() {
    let mut under = Under::<D>::new();
    let mut rng = SplitMix64::new(1);
    let mut orders: Vec<Order> = (1..=112).map(|len| order(&mut rng, len, len * 37 % 150, len % 8)).collect();
    orders.extend(
        (0..=200).map(|payload_len| order(&mut rng, 1 + payload_len % 112, payload_len, payload_len % 5)),
    );
    orders.extend((0..=70).map(|tail| order(&mut rng, 58, 0, tail)));
    let (count, taken) = under.agrees(&orders);
    assert_eq!(taken, count + LATENCY, "there are gaps");
    assert_eq!(under.mismatched(), 0);
}

#[test]
fn agrees_with_the_model() {
    agrees_with_the_model_at::<64>();
    agrees_with_the_model_at::<512>();
}

fn survives_stalls_at<const D: usize>() {
    let mut under = Under::<D>::new();
    let mut rng = SplitMix64::new(2);
    for (idle, pressure) in stalls() {
        for starved in [under.prefix, under.payload] {
            under.bench[under.prefix].pause(Pause::None);
            under.bench[under.payload].pause(Pause::None);
            under.bench[starved].pause(idle.clone());
            under.bench[under.source].pause(pressure.clone());
            let orders = [(1, 0, 0), (64, 64, 0), (8, 7, 1), (112, 200, 9), (55, 1, 3), (3, 130, 0)];
            under.agrees(&orders.map(|(len, payload_len, tail)| order(&mut rng, len, payload_len, tail)));
        }
    }
}

#[test]
fn survives_stalls() {
    survives_stalls_at::<64>();
    survives_stalls_at::<512>();
}

fn spoils_mismatched_frames_at<const D: usize>() {
    let mut under = Under::<D>::new();
    let mut rng = SplitMix64::new(3);
    let mut wrong = 0;
    let mut orders = Vec::new();
    for said in [1, 8, 63, 64, 65, 300] {
        for found in [1, 7, 8, 9, 63, 64, 65, 128, 299, 300, 301, 700] {
            let (prefix, _) = order(&mut rng, 1 + said % 90, said, 5);
            let (_, payload) = order(&mut rng, 1, found, 0);
            wrong += usize::from(said != found);
            orders.push((prefix, payload));
            orders.push(order(&mut rng, 20, 30, 4));
        }
    }
    let (prefix, payload) = order(&mut rng, 20, 30, 4);
    orders.push((Prefix { err: true, ..prefix }, payload));
    under.agrees(&orders);
    assert_eq!(under.mismatched(), wrong);
}

#[test]
fn a_payload_of_the_wrong_length_spoils_its_frame_alone() {
    spoils_mismatched_frames_at::<64>();
    spoils_mismatched_frames_at::<512>();
}

fn recovers_from_reset_at<const D: usize>() {
    let mut under = Under::<D>::new();
    let mut rng = SplitMix64::new(4);
    let orders: Vec<Order> = [300, 0, 5].map(|payload_len| order(&mut rng, 70, payload_len, 4)).into();
    push(&mut under.bench, under.prefix, &[orders[0].0]);
    push(&mut under.bench, under.payload, &beats::<D>(&orders[0].1)[..3]);
    under.bench.run(30);
    assert!(under.bench.is_sent(), "the frame is not under way");
    collect::<Beat<D>>(&mut under.bench, under.source);
    under.bench.reset(1);
    under.agrees(&orders);
}

#[test]
fn recovers_from_reset() {
    recovers_from_reset_at::<64>();
    recovers_from_reset_at::<512>();
}
