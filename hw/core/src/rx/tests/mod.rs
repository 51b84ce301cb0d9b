//! The receive front end against its model: every frame in, its head and payload or its class out, in order.

mod frames;
mod front;

use stroma_abi::wire::Class;
use stroma_abi::wire::grh::GRH_LEN;
use stroma_verilate::{Pause, SplitMix64};

use self::frames::{Arrival, crafted, every_shape, mutant, recorded};
use self::front::{Front, Outcome};
use crate::head::WINDOW_BYTES;
use crate::rx::model;
use crate::stream::beats;
use crate::testing::stalls;

fn accepts_recorded_frames<const D: usize>() {
    let frames = recorded();
    assert_eq!(frames.len(), 204, "124 frames of the RC run, 40 each of UC and UD");
    let mut front = Front::<D>::new();
    let outcome = front.run(&frames, &Pause::None, &Pause::None);
    assert_eq!(outcome, Outcome::of(&frames));
    assert_eq!(outcome.heads.len(), frames.len(), "all recorded frames are good");
}

#[test]
fn every_recorded_frame_is_accepted_at_64_bits() {
    accepts_recorded_frames::<64>();
}

#[test]
fn every_recorded_frame_is_accepted_at_512_bits() {
    accepts_recorded_frames::<512>();
}

fn accepts_every_shape<const D: usize>() {
    let frames = every_shape();
    let mut front = Front::<D>::new();
    let outcome = front.run(&frames, &Pause::None, &Pause::None);
    assert_eq!(outcome, Outcome::of(&frames));
    assert_eq!(outcome.heads.len(), frames.len(), "all built frames are good");
}

#[test]
fn every_op_code_tag_ip_version_and_payload_length_is_accepted_at_64_bits() {
    accepts_every_shape::<64>();
}

#[test]
fn every_op_code_tag_ip_version_and_payload_length_is_accepted_at_512_bits() {
    accepts_every_shape::<512>();
}

#[test]
fn a_head_says_all_of_the_ip_header_that_a_datagram_came_with() {
    let (mut datagrams, mut flagged) = (0, 0);
    for frame in [recorded(), every_shape()].concat() {
        let (head, payload) = model::receive(&frame.bytes, false).expect("all of them are good");
        let Some(grh) = head.grh() else { continue };
        assert_eq!(payload[..GRH_LEN], grh, "as it stands in the frame");
        assert_eq!(payload.len(), head.payload_len.index());
        datagrams += 1;
        flagged += usize::from(head.ip_reserved);
    }
    assert_eq!(datagrams, 40 + 2 * 4 * (1 + 48), "those of the recorded run, and all that were built");
    assert!(flagged > 50, "{flagged} IPv4 headers have the reserved flag");
}

fn sorts_every_class<const D: usize>() {
    let (wanted, frames): (Vec<Class>, Vec<Arrival>) = crafted().into_iter().unzip();
    assert!(Class::ALL.iter().all(|class| wanted.contains(class)), "there is a frame for every class");
    let outcome = Front::<D>::new().run(&frames, &Pause::None, &Pause::None);
    assert_eq!(outcome.classes, wanted);
    assert_eq!(outcome, Outcome::of(&frames));
}

#[test]
fn every_class_is_counted_and_lets_the_next_frame_through_at_64_bits() {
    sorts_every_class::<64>();
}

#[test]
fn every_class_is_counted_and_lets_the_next_frame_through_at_512_bits() {
    sorts_every_class::<512>();
}

fn agrees_on_mutants<const D: usize>() {
    let (seeds, mut rng) = ([recorded(), every_shape()].concat(), SplitMix64::new(2));
    let frames: Vec<Arrival> = (0..2500).map(|_| mutant(&seeds, &mut rng)).collect();
    let expected = Outcome::of(&frames);
    for class in Class::ALL {
        assert!(expected.classes.contains(&class), "no mutant is {class}");
    }
    assert_eq!(Front::<D>::new().run(&frames, &Pause::None, &Pause::None), expected);
}

#[test]
fn agrees_with_the_model_on_mutants_at_64_bits() {
    agrees_on_mutants::<64>();
}

#[test]
fn agrees_with_the_model_on_mutants_at_512_bits() {
    agrees_on_mutants::<512>();
}

fn survives_stalls<const D: usize>() {
    let (seeds, mut rng) = (recorded(), SplitMix64::new(3));
    let mut front = Front::<D>::new();
    for (idle, pressure) in stalls() {
        let crafted = crafted().into_iter().map(|(_, frame)| frame);
        let mut frames: Vec<Arrival> = crafted.filter(|frame| frame.bytes.len() < 5000).collect();
        frames.extend((0..40).map(|_| mutant(&seeds, &mut rng)));
        frames.extend((0..10).map(|_| seeds[usize::try_from(rng.below(204)).unwrap()].clone()));
        assert_eq!(front.run(&frames, &idle, &pressure), Outcome::of(&frames), "{idle:?} {pressure:?}");
    }
}

#[test]
fn survives_stalls_at_64_bits() {
    survives_stalls::<64>();
}

#[test]
fn survives_stalls_at_512_bits() {
    survives_stalls::<512>();
}

fn keeps_raw_frames<const D: usize>() {
    let (seeds, mut rng) = (recorded(), SplitMix64::new(5));
    let mut front = Front::<D>::new();
    let mut frames: Vec<Arrival> = crafted().into_iter().map(|(_, frame)| frame).collect();
    frames.extend((0..600).map(|_| mutant(&seeds, &mut rng)));
    let expected = Outcome::with_raw(&frames);
    assert!(expected.raw.len() > 50 && expected.raw_dropped > 0, "{} raw frames", expected.raw.len());
    front.want_raw(true);
    assert_eq!(front.run(&frames, &Pause::None, &Pause::None), expected);
    for (idle, pressure) in stalls() {
        let frames: Vec<Arrival> = (0..60).map(|_| mutant(&seeds, &mut rng)).collect();
        let (found, expected) = (front.run(&frames, &idle, &pressure), Outcome::with_raw(&frames));
        assert_eq!(found.raw.len() + found.raw_dropped, expected.raw.len() + expected.raw_dropped);
        let mut due = expected.raw.iter();
        assert!(found.raw.iter().all(|frame| due.any(|other| other == frame)), "whole, and in order");
        assert_eq!(
            Outcome { raw: expected.raw, raw_dropped: expected.raw_dropped, ..found },
            Outcome::with_raw(&frames)
        );
    }
}

#[test]
fn raw_frames_are_kept_whole_beside_roce_at_64_bits() {
    keeps_raw_frames::<64>();
}

#[test]
fn raw_frames_are_kept_whole_beside_roce_at_512_bits() {
    keeps_raw_frames::<512>();
}

/// Nobody takes anything: raw frames are lost, and the wire does not wait for them.
fn raw_frames_never_stall<const D: usize>() {
    let (wanted, _): (Vec<Arrival>, Vec<Arrival>) = crafted()
        .into_iter()
        .map(|(_, frame)| frame)
        .partition(|frame| model::raw(&frame.bytes, frame.is_bad) == Some(true));
    let frames: Vec<Arrival> = wanted.iter().cycle().take(2000).cloned().collect();
    let count: usize = frames.iter().map(|frame| frame.bytes.len().div_ceil(D / 8)).sum();
    let mut front = Front::<D>::new();
    front.want_raw(true);
    front.run(&[], &Pause::None, &Pause::Always);
    let (to_send, _) = front.timed(&frames);
    assert_eq!(to_send, count as u64, "a beat was refused");
}

#[test]
fn a_storm_of_raw_frames_that_nobody_takes_stalls_nothing_at_64_bits() {
    raw_frames_never_stall::<64>();
}

#[test]
fn a_storm_of_raw_frames_that_nobody_takes_stalls_nothing_at_512_bits() {
    raw_frames_never_stall::<512>();
}

fn recovers_from_reset<const D: usize>() {
    let frames = recorded();
    let mut front = Front::<D>::new();
    for cycles in [1, 7, 30, 100, 333] {
        // Reset falls into some frame; what is left of it counts as a frame of its own.
        let sent = front.interrupted(&frames, cycles);
        let mut rest: Vec<Arrival> = Vec::new();
        let mut before = 0;
        for frame in &frames {
            let count = beats::<D>(&frame.bytes).len();
            let gone = sent.saturating_sub(before).min(count);
            before += count;
            if gone < count {
                rest.push(Arrival { bytes: frame.bytes[gone * D / 8..].to_vec(), is_bad: false });
            }
        }
        assert_eq!(front.drained(rest.len()), Outcome::of(&rest), "reset after {cycles} cycles");
    }
}

#[test]
fn recovers_from_reset_at_64_bits() {
    recovers_from_reset::<64>();
}

#[test]
fn recovers_from_reset_at_512_bits() {
    recovers_from_reset::<512>();
}

fn loses_no_cycle<const D: usize>() {
    let beats = |frame: &Arrival| frame.bytes.len().div_ceil(D / 8).max(1);
    let recorded = recorded();
    let short: Vec<Arrival> = recorded.iter().filter(|frame| frame.bytes.len() <= 64).cloned().collect();
    assert!(short.len() > 30, "acknowledgements fit one wide beat");
    let empty = Arrival { bytes: vec![], is_bad: false };
    let tiny = (0..200).map(|at| if at % 3 == 0 { empty.clone() } else { short[at % 7].clone() }).collect();
    let is_bare = |frame: &Arrival| {
        model::receive(&frame.bytes, false).is_ok_and(|(_, payload)| payload.len() == GRH_LEN)
    };
    let mut bare: Vec<Arrival> = every_shape().into_iter().filter(is_bare).collect();
    bare = bare.iter().cycle().take(100).cloned().collect();
    let mut front = Front::<D>::new();
    for frames in [recorded, short, tiny, vec![empty; 100], bare] {
        let count: usize = frames.iter().map(beats).sum();
        let (to_send, to_judge) = front.timed(&frames);
        assert_eq!(to_send, count as u64, "a beat was refused");
        let gathered = beats(&frames[frames.len() - 1]).min((WINDOW_BYTES * 8).div_ceil(D));
        assert_eq!(to_judge - to_send, 10 + gathered as u64, "from the last beat to its verdict");
    }
}

#[test]
fn one_beat_a_cycle_and_no_gap_between_frames_at_64_bits() {
    loses_no_cycle::<64>();
}

#[test]
fn one_beat_a_cycle_and_no_gap_between_frames_at_512_bits() {
    loses_no_cycle::<512>();
}
