mod corners;
mod timing;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Pause, SplitMix64};

use super::Fetch;
use super::model::{BROKEN, LISTLESS, PAGE, Packet, REFUSED};
use super::rig::{Moments, Rig, STREAMS};
use crate::testing::{noise, stalls_of};
use crate::transport::records::TxStep;
use crate::verilog::differential::{assert_agree, differential};

/// Smallest stores.
const NARROW: usize = 10;
const WIDE: usize = 7;

/// Bytes at a place: key, address, how many.
type Piece = (u32, u64, u64);

fn small(value: u64) -> usize {
    usize::try_from(value).expect("small")
}

/// A packet of pieces, each a step; what else its steps say is noise, the same in all.
fn packet(rng: &mut SplitMix64, is_response: bool, pieces: &[Piece]) -> Packet {
    let sum: u64 = pieces.iter().map(|(_, _, bytes)| bytes).sum();
    let common = TxStep { is_response, payload_len: sum.into(), inline: false, ..noise(rng) };
    let step = |(at, &(key, address, bytes)): (usize, &Piece)| TxStep {
        last: at + 1 == pieces.len(),
        key: u64::from(key).into(),
        pd: u64::from(rng.next_u32() >> 16).into(),
        need: rng.below(32).into(),
        address: address.into(),
        bytes: bytes.into(),
        ..common
    };
    Packet { steps: pieces.iter().enumerate().map(step).collect(), inline: Vec::new() }
}

/// A packet whose bytes come inline; its step says nothing of a piece.
fn inline(rng: &mut SplitMix64, is_response: bool, len: usize) -> Packet {
    let payload_len: Bits<13> = (len as u64).into();
    let step = TxStep { is_response, last: true, inline: true, payload_len, ..noise(rng) };
    Packet { steps: vec![step], inline: (0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect() }
}

/// Bytes anywhere, often over the end of a page; under `risk` in a hundred keys something may fail.
fn piece(rng: &mut SplitMix64, bytes: u64, risk: u64) -> Piece {
    let kind = if rng.below(100) < risk { [REFUSED, LISTLESS, BROKEN][small(rng.below(3))] } else { 0 };
    let page = (1 + rng.below(1 << 40)) * PAGE;
    let address = if rng.below(2) == 0 { page - rng.below(bytes + 1) } else { page + rng.below(PAGE) };
    (kind | rng.next_u32() >> 8, address, bytes)
}

/// Packets of both sides: without payload, inline, and with pieces of all sizes, some empty.
fn packets(seed: u64, count: usize, risk: u64) -> Vec<Packet> {
    let mut rng = SplitMix64::new(seed);
    let mut next = |_| {
        let (is_response, longest) = (rng.below(2) == 1, [64, 300, 4096][small(rng.below(3))]);
        match rng.below(8) {
            0 => return packet(&mut rng, is_response, &[(7, 7, 0)]),
            1 => {
                // An answer of a kernel is a packet of any size.
                let len = small(rng.below(if is_response { 4097 } else { 481 }));
                return inline(&mut rng, is_response, len);
            }
            _ => {}
        }
        let (most, mut left) = ([1, 2, 3, 5, 17][small(rng.below(5))], longest);
        let mut pieces = Vec::new();
        for _ in 0..=rng.below(most) {
            let bytes = if rng.below(8) == 0 { 0 } else { 1 + rng.below(longest) }.min(left);
            pieces.push(piece(&mut rng, bytes, risk));
            left -= bytes;
        }
        packet(&mut rng, is_response, &pieces)
    };
    (0..count).map(&mut next).collect()
}

fn agree<const D: usize, const LOG: usize>(rounds: u64) {
    let mut rig = Rig::<D, LOG>::new();
    for seed in 0..rounds {
        rig.send(&packets(seed, 80, if seed % 3 == 0 { 0 } else { 60 }));
        rig.finish();
    }
    assert!(rig.sent > rig.failures.len() && rig.failures.len() > 50, "little was tried");
    let mut told: Vec<_> =
        rig.failures.iter().map(|told| (u64::from(told.status), u64::from(told.vendor))).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), 6, "a failure of each kind: four causes of protection, lists and reads");
}

#[test]
fn agrees_with_the_model() {
    agree::<64, NARROW>(8);
    agree::<512, WIDE>(16);
}

fn survive<const D: usize, const LOG: usize>(count: usize) {
    let mut rig = Rig::<D, LOG>::new();
    rig.xlat_latency = (1, 60);
    rig.read_latency = (1, 200);
    for (seed, pauses) in (100..).zip(stalls_of::<STREAMS>()) {
        rig.pause(pauses);
        rig.send(&packets(seed, count, 10));
        rig.finish();
    }
}

#[test]
fn survives_stalls() {
    survive::<64, NARROW>(20);
    survive::<512, WIDE>(60);
}

fn recover<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    for seed in 0..30 {
        let random = |stream| Pause::Random { seed: seed + stream as u64, percent: 40 };
        rig.pause(std::array::from_fn(random));
        rig.send(&packets(seed, 40, 20));
        rig.run(20 + 9 * seed);
        assert!(rig.port("busy"), "nothing is inside when reset comes");
        rig.reset();
        assert!(!rig.port("busy"));
        rig.pause(std::array::from_fn(|_| Pause::None));
        rig.send(&packets(seed + 50, 10, 0));
        rig.finish();
    }
}

#[test]
fn recovers_from_reset() {
    recover::<64, NARROW>();
    recover::<512, WIDE>();
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "fetch",
        Fetch::<64, NARROW>::default,
        clock,
        [
            requests.payload,
            requests.valid,
            responses.payload,
            responses.valid,
            inline.payload,
            inline.valid,
            results.payload,
            results.valid,
            xlat.ready,
            answer.payload,
            answer.valid,
            read.ready,
            read_data.payload,
            read_data.valid,
            packet.ready,
            payload.ready,
            failed.ready
        ]
    );
    assert_agree([case], 100);
}
