//! Each fault by itself, by chance and by script.

use super::*;

const COUNT: u64 = 20_000;

/// What arrives of `COUNT` frames, by number, and what the line counted.
fn run(faults: Faults) -> (Vec<(u64, Vec<u8>, bool)>, Counters) {
    let mut link = Link::new(LinkConfig { queue_bytes: usize::MAX, ..BARE }, KHZ, faults);
    (0..COUNT).for_each(|count| link.push(count * 3, frame(count, 100), false));
    let arrived = drain(&mut link);
    assert!(arrived.is_sorted_by_key(|(due, _, _)| *due), "time goes on");
    (arrived, link.line.counters())
}

fn numbers(arrived: &[(u64, Vec<u8>, bool)]) -> Vec<u64> {
    arrived.iter().map(|(_, bytes, _)| number(bytes)).collect()
}

/// Within five standard deviations of its mean.
fn is_near(found: u64, percent: u64) -> bool {
    let mean = COUNT * percent / 100;
    found.abs_diff(mean) < 5 * (mean * (100 - percent) / 100).isqrt()
}

#[test]
fn a_link_without_faults_loses_and_changes_nothing() {
    let (arrived, counters) = run(Faults { seed: 3, ..Faults::default() });
    assert_eq!(numbers(&arrived), (0..COUNT).collect::<Vec<_>>());
    assert!(arrived.iter().all(|(_, bytes, bad)| *bytes == frame(number(bytes), 100) && !bad));
    assert_eq!(counters, Counters { pushed: COUNT, departed: COUNT, ..Counters::default() });
}

#[test]
fn lost_frames_are_missing_as_often_as_asked() {
    let (arrived, counters) = run(Faults { seed: 1, loss: Chance::percent(10), ..Faults::default() });
    assert!(is_near(counters.lost, 10), "{counters:?}");
    assert_eq!(arrived.len() as u64, COUNT - counters.lost);
    assert!(numbers(&arrived).is_sorted_by(|one, other| one < other));
    let (none, _) = run(Faults { loss: Chance::ALWAYS, ..Faults::default() });
    assert!(none.is_empty());
}

#[test]
fn duplicated_frames_follow_themselves_at_once() {
    let (arrived, counters) = run(Faults { seed: 1, duplication: Chance::percent(10), ..Faults::default() });
    assert!(is_near(counters.duplicated, 10), "{counters:?}");
    let numbers = numbers(&arrived);
    assert_eq!(arrived.len() as u64, COUNT + counters.duplicated);
    assert!(numbers.is_sorted(), "order stays");
    let twice = numbers.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    assert_eq!(twice, counters.duplicated);
    assert!(arrived.windows(2).all(|pair| pair[0].1 != pair[1].1 || pair[0].0 == pair[1].0));
}

#[test]
fn a_flipped_bit_is_one_bit_and_is_marked_unless_asked_otherwise() {
    let corruption = Chance::percent(20);
    for (undetected, share) in [(Chance::NEVER, 0), (Chance::percent(50), 10), (Chance::ALWAYS, 20)] {
        let (arrived, counters) = run(Faults { seed: 5, corruption, undetected, ..Faults::default() });
        assert!(is_near(counters.corrupted, 20), "{counters:?}");
        let (mut flipped, mut unmarked) = (0, 0);
        for (at, (_, bytes, bad)) in arrived.iter().enumerate() {
            let sent = frame(at as u64, 100);
            let bits: u32 = bytes.iter().zip(&sent).map(|(one, other)| (one ^ other).count_ones()).sum();
            assert!(bits <= 1 && (bits == 1 || !bad), "frame {at}: {bits} bits, {bad}");
            flipped += u64::from(bits);
            unmarked += u64::from(bits == 1 && !bad);
        }
        assert_eq!(flipped, counters.corrupted);
        assert!(if share == 0 { unmarked == 0 } else { is_near(unmarked, share) }, "{unmarked}");
    }
}

#[test]
fn a_held_frame_comes_behind_as_many_others_as_asked() {
    for frames in 1..4 {
        let hold = Hold { frames, ns: 1_000_000 };
        let script = nth(4, |_| true, Verdict::Hold(hold));
        let (arrived, counters) = run(Faults { script: Some(script), ..Faults::default() });
        let place = numbers(&arrived).iter().position(|found| *found == 3);
        assert_eq!(place, Some(3 + frames as usize));
        assert_eq!((arrived.len() as u64, counters.held), (COUNT, 1));
    }
}

#[test]
fn a_held_frame_comes_when_its_time_is_over_if_no_other_does() {
    for (frames, others) in [(1, 0), (9, 4), (0, 4)] {
        let script = nth(1, |_| true, Verdict::Hold(Hold { frames, ns: 4000 }));
        let mut link = Link::new(BARE, KHZ, Faults { script: Some(script), ..Faults::default() });
        (0..=others).for_each(|count| link.push(0, frame(count, 1000), false));
        let arrived = drain(&mut link);
        // 20.24 cycles on the wire, 4000 ns more.
        assert_eq!(arrived.last().map(|(due, bytes, _)| (*due, number(bytes))), Some((21 + 1000, 0)));
        assert_eq!(arrived.len() as u64, 1 + others);
    }
}

#[test]
fn reordering_by_chance_loses_nothing() {
    let faults = Faults { seed: 9, reordering: Chance::percent(10), ..Faults::default() };
    let (arrived, counters) = run(faults);
    assert!(is_near(counters.held, 10), "{counters:?}");
    let mut numbers = numbers(&arrived);
    // A run of n held frames in front of one that is not is behind it afterwards: one step down for each run.
    let steps_down = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
    assert!(steps_down > COUNT / 20 && steps_down <= counters.held, "{steps_down} of {counters:?}");
    numbers.sort_unstable();
    assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>());
}

#[test]
fn a_script_strikes_the_frame_it_names_and_no_other() {
    let third_even = |verdict| {
        let is_even = |frame: &[u8]| number(frame).is_multiple_of(2);
        run(Faults { script: Some(nth(3, is_even, verdict)), ..Faults::default() })
    };
    let all: Vec<u64> = (0..COUNT).collect();
    let (dropped, counters) = third_even(Verdict::Drop);
    assert_eq!(numbers(&dropped), all.iter().copied().filter(|count| *count != 4).collect::<Vec<_>>());
    assert_eq!(counters.lost, 1);
    let (doubled, _) = third_even(Verdict::Duplicate);
    assert_eq!(numbers(&doubled)[..7], [0, 1, 2, 3, 4, 4, 5]);
    assert_eq!(doubled.len() as u64, COUNT + 1);
    let (flipped, _) = third_even(Verdict::Corrupt { bit: 99 * 8 + 7 + 800, is_caught: true });
    let mut expected = frame(4, 100);
    expected[99] ^= 0x80;
    assert_eq!((&flipped[4].1, flipped[4].2), (&expected, true), "counted around the end");
    assert!(flipped.iter().enumerate().all(|(at, (_, _, bad))| *bad == (at == 4)));
}

#[test]
fn kinds_of_faults_do_not_shift_each_other() {
    let dues_of =
        |arrived: &[(u64, Vec<u8>, bool)]| arrived.iter().map(|(due, _, _)| *due).collect::<Vec<_>>();
    let loss = Chance::percent(10);
    let (arrived, _) = run(Faults { seed: 2, loss, ..Faults::default() });
    let (more, _) = run(Faults { seed: 2, loss, corruption: Chance::percent(50), ..Faults::default() });
    // Byte 7 tells most of the number, and corruption may have struck it: the times tell the rest.
    assert_eq!(dues_of(&arrived), dues_of(&more));
}

#[test]
fn a_frame_that_was_bad_stays_bad() {
    let mut link = Link::new(BARE, KHZ, Faults::default());
    link.push(0, frame(0, 100), true);
    assert_eq!(link.pop(100), Some((frame(0, 100), true)));
}
