//! Segment against its plain-Rust twin.

mod operations;
mod timing;

use stroma_abi::desc::wqe::{BODY_AT, INLINE_MAX};
use stroma_abi::desc::{Sge, WorkOp};
use stroma_verilate::{Pause, SplitMix64};

use super::Segment;
use super::model::mtu;
use super::rig::{CARRYING, Case, Rig, random};
use crate::testing::{collect, stalls_of};
use crate::transport::records::{QUANTUM_BYTES, TxStep};
use crate::verilog::differential::{assert_agree, differential};

const NEVER: Pause = Pause::None;

fn cases(seed: u64, count: u64) -> Vec<Case> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| random(&mut rng)).collect()
}

/// Op-code, PSN counted from the message's, bytes of payload, bytes of the piece, last of its packet.
type Brief = (u64, u64, u64, u64, bool);

fn briefs(case: &Case, steps: &[TxStep]) -> Vec<Brief> {
    let psn = |step: &TxStep| u64::from(step.psn).wrapping_sub(case.message.psn.into()) & 0xff_ffff;
    let brief =
        |step: &TxStep| (step.op.into(), psn(step), step.payload_len.into(), step.bytes.into(), step.last);
    steps.iter().map(brief).collect()
}

/// Runs one message; its steps, which are as thought out and as the model says.
fn gives<const D: usize>(rig: &mut Rig<D>, case: &Case, expected: &[Brief]) -> Vec<TxStep> {
    let outcome = case.outcome();
    assert_eq!(briefs(case, &outcome.steps), expected);
    rig.check(std::slice::from_ref(case));
    outcome.steps
}

fn agrees<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for seed in 1..5 {
        rig.check(&cases(seed, 500));
    }
}

#[test]
fn agrees_with_the_model() {
    agrees::<64>();
    agrees::<512>();
}

fn stands_stalls<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (seed, stall) in (10..).zip(stalls_of::<4>()) {
        rig.pause(stall);
        rig.check(&cases(seed, 80));
    }
}

#[test]
fn survives_stalls() {
    stands_stalls::<64>();
    stands_stalls::<512>();
}

#[test]
fn a_consumer_may_take_the_data_of_a_packet_before_the_next_step() {
    Rig::<64>::new().check_in_turn(&cases(30, 60));
    Rig::<512>::new().check_in_turn(&cases(31, 60));
}

#[test]
fn the_random_messages_have_every_shape() {
    let cases: Vec<Case> = (1..5).flat_map(|seed| cases(seed, 500)).collect();
    let met = |what: &str, is_it: &dyn Fn(&Case) -> bool| {
        let count = cases.iter().filter(|case| is_it(case)).count();
        assert!(count >= 8, "{what}: {count} times");
    };
    let length = |case: &Case| u64::from(case.message.length);
    let has_entries = |case: &Case| case.carries() && !case.message.inline;
    for count in 0..17 {
        met("entries", &|case| has_entries(case) && case.message.sge_count.index() == count);
    }
    for code in 1..6 {
        met("path MTU", &|case| case.message.path_mtu.index() == code);
        met("one byte more", &|case| length(case) == mtu(&case.message) + 1);
    }
    met("nothing", &|case| has_entries(case) && length(case) == 0);
    met("a packet and no more", &|case| has_entries(case) && length(case) == mtu(&case.message));
    met("a READ goes on", &|case| case.operation() == WorkOp::Read && case.message.skips.any());
    for op in CARRYING {
        met("inline", &|case| case.operation() == op && case.message.inline);
        met("nothing, of each", &|case| case.operation() == op && length(case) == 0);
        met("stops before the last packet", &|case| case.operation() == op && case.stops_early());
    }
    met("inline data go on", &|case| case.message.inline && case.message.skips.any());
    met("inline data stop", &|case| case.message.inline && case.packets() == 2 && case.stops_early());
    met("many steps", &|case| case.outcome().steps.len() > 20);
    met("a long message goes on", &|case| length(case) > 1 << 28 && case.message.skips.any());
    met("nine pieces of a packet", &|case| {
        let steps = case.outcome().steps;
        steps.chunk_by(|one, next| one.psn == next.psn).any(|packet| packet.len() >= 9)
    });
    let steps: Vec<TxStep> = cases.iter().flat_map(|case| case.outcome().steps).collect();
    for op in (0..=0x0c).chain([0x13, 0x14, 0x16, 0x17]).chain(0xd8..=0xdc) {
        let count = steps.iter().filter(|step| step.op == op).count();
        assert!(count > 20, "op-code {op:#x}: {count} times");
    }
    assert!(steps.iter().filter(|step| step.solicited).count() > 50, "solicited");
}

#[test]
fn a_packet_takes_what_is_left_of_one_entry_and_goes_on_with_the_next() {
    let mut rig = Rig::<512>::new();
    let case = Case::write(&mut SplitMix64::new(1), 1, &[300, 0, 300]);
    let expected = [
        (0x06, 0, 256, 256, true),
        (0x07, 1, 256, 44, false),
        (0x07, 1, 256, 212, true),
        (0x08, 2, 88, 88, true),
    ];
    let steps = gives(&mut rig, &case, &expected);
    let entry = |at: usize| Sge::parse(&case.wqe[BODY_AT + at * Sge::LEN..]).expect("an entry is there");
    let places: Vec<u64> = steps.iter().map(|step| step.address.into()).collect();
    let (first, third) = (entry(0).address, entry(2).address);
    let expected = [first, first.wrapping_add(256), third, third.wrapping_add(212)];
    assert_eq!(places, expected);
    let keys: Vec<u64> = steps.iter().map(|step| step.key.into()).collect();
    assert_eq!(keys, [entry(0), entry(0), entry(2), entry(2)].map(|entry| u64::from(entry.local_key)));
    assert_eq!(steps.iter().map(|step| step.ackreq).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(steps.iter().map(|step| step.frees).collect::<Vec<_>>(), [false, false, false, true]);
}

#[test]
fn only_the_first_packet_has_a_reth() {
    let mut rig = Rig::<512>::new();
    let case = Case::write(&mut SplitMix64::new(2), 2, &[1024]);
    let steps = gives(&mut rig, &case, &[(0x06, 0, 512, 512, true), (0x08, 1, 512, 512, true)]);
    assert_eq!((steps[0].va, steps[0].rkey), (case.message.remote, case.message.key));
    assert_eq!(u64::from(steps[0].len), 1024);
    assert!(!steps[1].va.any() && !steps[1].rkey.any() && !steps[1].len.any());
}

#[test]
fn lengths_around_a_packet_are_cut_right() {
    let mut rig = Rig::<64>::new();
    let mut rng = SplitMix64::new(3);
    for code in 1..6 {
        let mtu = 128 << code;
        let only = |bytes| vec![(0x0a, 0, bytes, bytes, true)];
        gives(&mut rig, &Case::write(&mut rng, code, &[1]), &only(1));
        gives(&mut rig, &Case::write(&mut rng, code, &[mtu - 1]), &only(mtu - 1));
        gives(&mut rig, &Case::write(&mut rng, code, &[mtu]), &only(mtu));
        let two = [(0x06, 0, mtu, mtu, true), (0x08, 1, 1, 1, true)];
        gives(&mut rig, &Case::write(&mut rng, code, &[mtu + 1]), &two);
    }
}

#[test]
fn a_write_of_nothing_is_one_packet_without_a_piece() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(4);
    let nothing = [(0x0a, 0, 0, 0, true)];
    for case in
        [Case::write(&mut rng, 1, &[]), Case::write(&mut rng, 1, &[0; 16]), Case::inline(&mut rng, 1, 0)]
    {
        let steps = gives(&mut rig, &case, &nothing);
        assert!(steps[0].ackreq && steps[0].frees && !steps[0].inline && !steps[0].address.any());
        assert_eq!(steps[0].va, case.message.remote);
    }
}

#[test]
fn sixteen_entries_may_make_one_packet() {
    let mut rig = Rig::<512>::new();
    let case = Case::write(&mut SplitMix64::new(5), 1, &[16; 16]);
    let mut expected = vec![(0x0a, 0, 256, 16, false); 16];
    expected[15].4 = true;
    let steps = gives(&mut rig, &case, &expected);
    assert!(steps.iter().all(|step| step.frees && step.ackreq), "all steps say the same of their packet");
}

#[test]
fn a_message_ends_with_its_last_byte() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(12);
    let mut case = Case::write(&mut rng, 1, &[100, 200]);
    case.message.packets = 0xff_ffff_u64.into();
    gives(&mut rig, &case, &[(0x06, 0, 256, 100, false), (0x06, 0, 256, 156, true), (0x08, 1, 44, 44, true)]);
    rig.check(&cases(13, 10));
}

#[test]
fn the_psn_goes_on_behind_its_greatest_value() {
    let mut rig = Rig::<512>::new();
    let mut case = Case::write(&mut SplitMix64::new(6), 1, &[3 * 256]);
    case.message.psn = 0xff_ffff_u64.into();
    rig.send(std::slice::from_ref(&case));
    rig.settle();
    let steps: Vec<TxStep> = collect(&mut rig.bench, rig.step);
    let psns: Vec<u64> = steps.iter().map(|step| step.psn.into()).collect();
    assert_eq!(psns, [0xff_ffff, 0, 1]);
}

#[test]
fn a_read_is_one_request_for_what_is_left() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(7);
    let request = [(0x0c, 0, 0, 0, true)];
    let whole = Case::read(&mut rng, 1, 10_000, 8);
    for first in [0, 1, 39] {
        let case = whole.visit(first, 1);
        let steps = gives(&mut rig, &case, &request);
        assert!(steps[0].ackreq && steps[0].frees);
        assert_eq!(u64::from(steps[0].len), 10_000 - 256 * first);
        let va = u64::from(case.message.remote).wrapping_add(256 * first);
        assert_eq!((u64::from(steps[0].va), steps[0].rkey), (va, case.message.key));
    }
    gives(&mut rig, &Case::read(&mut rng, 1, 0, 1), &request);
    // Its units are gone: the next message finds its own.
    rig.check(&cases(8, 10));
}

fn cuts_inline<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = SplitMix64::new(9);
    let whole = Case::inline(&mut rng, 1, INLINE_MAX);
    gives(&mut rig, &whole, &[(0x06, 0, 256, 0, true), (0x08, 1, 224, 0, true)]);
    gives(&mut rig, &whole.visit(0, 1), &[(0x06, 0, 256, 0, true)]);
    gives(&mut rig, &whole.visit(1, 1), &[(0x08, 0, 224, 0, true)]);
    assert_eq!(whole.visit(1, 1).outcome().inline, [whole.wqe[BODY_AT + 256..].to_vec()]);
    let small: Vec<Case> = (0..130).map(|length| Case::inline(&mut rng, 1, length)).collect();
    rig.check(&small);
}

#[test]
fn inline_data_become_packets_of_their_own() {
    cuts_inline::<64>();
    cuts_inline::<512>();
}

#[test]
fn visits_say_together_what_one_would() {
    let mut rig = Rig::<512>::new();
    let mut rng = SplitMix64::new(10);
    for (code, lengths) in [
        (1, [70_000, 0, 1, 65_536, 20_000, 100_000, 3, 9]),
        (5, [4_095, 1, 65_535, 65_537, 0, 200_000, 131_072, 4_097]),
    ] {
        let mut whole = Case::write(&mut rng, code, &lengths).of(WorkOp::WriteImm);
        whole.message.solicited = true;
        let step = QUANTUM_BYTES as u64 / mtu(&whole.message);
        let visits: Vec<Case> = (0..whole.packets().div_ceil(step))
            .map(|at| whole.visit(at * step, step.min(whole.packets() - at * step)))
            .collect();
        assert!(visits.len() > 3);
        rig.send(&visits);
        rig.settle();
        let found: Vec<TxStep> = collect(&mut rig.bench, rig.step);
        let first = u64::from(whole.message.psn);
        let mut expected = whole.outcome().steps;
        for step_of in &mut expected {
            let packet = u64::from(step_of.psn).wrapping_sub(first) & 0xff_ffff;
            let ends = (packet + 1) % step == 0 || packet + 1 == whole.packets();
            (step_of.ackreq, step_of.frees) = (ends, ends);
        }
        assert_eq!(found.len(), expected.len());
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "step {at}");
        }
    }
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "segment",
        Segment::<64>::default,
        clock,
        [message.payload, message.valid, units.payload, units.valid, step.ready, inline.ready]
    );
    assert_agree([case], 300);
}
