use stroma_verilate::Pause;

use super::super::rig::{BASE, Rig, word};
use crate::transport::records::{Answer, Atomic};

#[test]
fn a_hot_word_is_read_once_and_every_sum_is_exact() {
    let mut rig = Rig::<64>::new();
    let start = rig.twin.memory.word(word(3));
    for count in 0..100 {
        rig.add(count % 4, 3, 1);
    }
    rig.settle();
    assert_eq!(rig.read_cycles.len(), 1);
    assert_eq!(rig.values(), (0..100).map(|count| start + count).collect::<Vec<_>>());
}

#[test]
fn an_add_wraps() {
    let mut rig = Rig::<64>::new();
    rig.write_by_another(word(0), &u64::MAX.to_le_bytes());
    rig.run(1);
    rig.add(0, 0, 2);
    rig.add(0, 0, 0);
    rig.settle();
    assert_eq!(rig.values(), [u64::MAX, 1]);
}

#[test]
fn a_swap_that_does_not_match_writes_nothing_and_tells_what_is_there() {
    let mut rig = Rig::<64>::new();
    let there = rig.twin.memory.word(word(1));
    rig.send(2, Atomic::Swap, word(1), 7, there ^ 1);
    rig.settle();
    assert_eq!((rig.values(), rig.write_cycles.len()), (vec![there], 0));
    rig.send(2, Atomic::Swap, word(1), 7, there);
    rig.send(2, Atomic::Swap, word(1), 9, there);
    rig.settle();
    assert_eq!((rig.values(), rig.write_cycles.len()), (vec![there, there, 7], 1));
}

#[test]
fn a_word_that_is_written_and_not_visible_is_not_read_again() {
    let mut rig = Rig::<64>::new();
    rig.write_time = (100, 101);
    rig.add(0, 4, 1);
    rig.run(60);
    assert_eq!((rig.left_cycles.len(), rig.read_cycles.len()), (1, 1), "it is over, and its write is hidden");
    rig.add(1, 4, 1);
    rig.run(20);
    assert_eq!((rig.left_cycles.len(), rig.read_cycles.len()), (2, 1));
    rig.settle();
    rig.add(1, 4, 1);
    rig.settle();
    assert_eq!(rig.read_cycles.len(), 2, "the word was gone by then");
}

#[test]
fn a_read_waits_for_the_writes_issued_before_it() {
    let mut rig = Rig::<64>::new();
    rig.write_time = (80, 81);
    rig.write_by_another(word(9), &[0x55; 8]);
    rig.step();
    let start = rig.bench.cycle();
    rig.add(0, 9, 1);
    rig.write_time = (300, 301);
    rig.run(5);
    rig.write_elsewhere();
    rig.settle();
    assert!((75..95).contains(&(rig.read_cycles[0] - start)), "{:?} from {start}", rig.read_cycles);
    assert_eq!(rig.values(), [0x5555_5555_5555_5555]);
}

#[test]
fn a_write_of_somebody_else_comes_between_atomics_before_and_behind_it() {
    // The write may touch the first byte of the word, or its last, or miss it by one on either side.
    for (at, len, meets) in
        [(0, 8, true), (7, 1, true), (7, 20, true), (-12, 13, true), (8, 5, false), (-5, 5, false)]
    {
        let mut rig = Rig::<64>::new();
        rig.write_time = (60, 61);
        rig.add(0, 12, 1);
        while rig.left_cycles.is_empty() {
            rig.step();
        }
        // In the same cycle as the next operation.
        rig.write_by_another(word(12).wrapping_add_signed(at), &vec![0xa5; len]);
        rig.add(0, 12, 1);
        rig.add(1, 12, 1);
        rig.settle();
        assert_eq!(rig.read_cycles.len(), 1 + usize::from(meets), "{len} bytes at {at}");
    }
}

#[test]
fn who_spins_on_a_word_sees_that_somebody_has_written_it() {
    let mut rig = Rig::<64>::new();
    rig.write_by_another(word(2), &1_u64.to_le_bytes());
    rig.run(30);
    // There is always one under way, so the word never goes by itself.
    let mut swaps = 0;
    while swaps < 200 {
        if rig.bench[rig.operation].is_empty() {
            if swaps == 100 {
                rig.write_by_another(word(2), &0_u64.to_le_bytes());
            }
            rig.send(swaps % 3, Atomic::Swap, word(2), 2, 0);
            swaps += 1;
        }
        if rig.bench.cycle().is_multiple_of(16) {
            rig.write_elsewhere();
        }
        rig.step();
    }
    rig.settle();
    let values = rig.values();
    assert!(values[..100].iter().all(|value| *value == 1) && values[101..].iter().all(|value| *value == 2));
    assert_eq!((values[100], rig.read_cycles.len(), rig.write_cycles.len()), (0, 2, 1));
}

#[test]
fn a_write_of_somebody_else_under_a_word_in_use_is_seen_by_those_who_come_later() {
    let mut rig = Rig::<64>::new();
    rig.read_time = (100, 101);
    let there = rig.twin.memory.word(word(2));
    rig.send(0, Atomic::Swap, word(2), 2, there ^ 1);
    rig.run(30);
    // The read may or may not see it; here it is the same value, so both are right.
    rig.write_by_another(word(2), &there.to_le_bytes());
    rig.send(1, Atomic::Swap, word(2), 2, there ^ 1);
    rig.settle();
    assert_eq!(rig.read_cycles.len(), 2, "the second reads for itself");
}

#[test]
fn the_seventeenth_word_waits_and_the_sixteen_go_on() {
    let mut rig = Rig::<64>::new();
    rig.read_time = (100, 101);
    rig.write_time = (300, 301);
    for place in 0..17 {
        rig.add(0, place, 1);
    }
    rig.run(250);
    assert_eq!((rig.read_cycles.len(), rig.left_cycles.len()), (16, 16));
    rig.settle();
    assert_eq!(rig.read_cycles.len(), 17);
}

#[test]
fn one_that_came_again_is_told_the_same() {
    let mut rig = Rig::<64>::new();
    let psns: Vec<u64> = (0..17).map(|count| rig.add(1, 0, count).psn.into()).collect();
    rig.add(2, 0, 1);
    rig.settle();
    let found = rig.values();
    rig.replay(1, psns[16]);
    rig.replay(1, psns[1]);
    rig.replay(1, psns[0]);
    rig.replay(2, psns[3]);
    rig.settle();
    assert_eq!(rig.values()[18..], [found[16], found[1]], "only the last 16, and each queue pair its own");
    assert!(rig.told[18..].iter().all(|(_, task)| !task.fresh));
    assert_eq!((rig.mirror[1], rig.read_cycles.len()), (17, 1));
}

#[test]
fn one_that_came_again_goes_behind_all_before_it() {
    let mut rig = Rig::<64>::new();
    rig.read_time = (150, 151);
    let psn = rig.add(1, 0, 5).psn;
    rig.replay(1, psn.into());
    rig.run(100);
    assert!(rig.told.is_empty());
    rig.settle();
    assert_eq!(rig.told.len(), 2);
    assert_eq!(rig.told[0].1.value, rig.told[1].1.value);
}

#[test]
fn results_of_before_a_reset_are_not_found() {
    let mut rig = Rig::<64>::new();
    let (first, other) = (rig.add(3, 0, 1).psn, rig.add(2, 0, 1).psn);
    rig.settle();
    rig.change(3, true);
    rig.run(3);
    rig.replay(3, first.into());
    rig.replay(2, other.into());
    rig.settle();
    assert_eq!((rig.told.len(), rig.mirror), (3, [0, 0, 1, 0]), "only that of the other queue pair");
}

#[test]
fn done_atomics_are_counted_modulo_32() {
    let mut rig = Rig::<64>::new();
    for _ in 0..35 {
        rig.add(0, 0, 1);
    }
    rig.settle();
    assert_eq!(rig.mirror, [3, 0, 0, 0]);
}

#[test]
fn a_word_that_cannot_be_read_fails_its_queue_pair_and_no_other() {
    let mut rig = Rig::<64>::new();
    rig.twin.poison = vec![word(6)];
    rig.add(0, 5, 1);
    let psn = rig.add(0, 6, 1).psn;
    rig.add(0, 6, 1);
    rig.add(0, 5, 1);
    rig.replay(0, psn.into());
    rig.add(1, 5, 1);
    rig.settle();
    let answers: Vec<(u64, u64)> =
        rig.told.iter().map(|(_, task)| (task.qpn.into(), task.answer.into())).collect();
    let (value, refusal) = (Answer::Value as u64, Answer::Acknowledge as u64);
    assert_eq!(answers, [(0, value), (0, refusal), (1, value)]);
    assert_eq!((rig.error_count, rig.left_cycles.len(), rig.mirror), (1, 6, [1, 1, 0, 0]));
    rig.twin.poison.clear();
    rig.change(0, true);
    rig.run(3);
    rig.add(0, 6, 1);
    rig.settle();
    assert_eq!(rig.mirror, [1, 1, 0, 0], "it begins anew, and the word is read again");
}

#[test]
fn all_who_wait_for_a_word_that_cannot_be_read_are_told() {
    let mut rig = Rig::<64>::new();
    rig.twin.poison = vec![word(6)];
    for number in 0..4 {
        rig.add(number, 6, 1);
    }
    rig.settle();
    assert_eq!((rig.error_count, rig.read_cycles.len(), rig.write_cycles.len()), (4, 1, 0));
}

#[test]
fn the_seventeenth_error_that_waits_is_lost_and_operations_move_on() {
    let mut rig = Rig::<64>::new();
    rig.twin.poison = vec![word(6)];
    rig.bench[rig.error].pause(Pause::Always);
    for count in 0..20 {
        rig.add(count % 4, 6, 1);
        rig.run(60);
        rig.change(count % 4, true);
        rig.run(3);
    }
    assert!(rig.bench.is_sent() && rig.open.is_empty(), "nothing waits");
    rig.lose_errors(16);
    rig.bench[rig.error].pause(Pause::None);
    rig.settle();
    assert_eq!((rig.error_count, rig.told.len()), (16, 20));
}

#[test]
fn nothing_is_told_before_the_write_is_taken() {
    let mut rig = Rig::<64>::new();
    rig.bench[rig.write].pause(Pause::Always);
    rig.add(0, 0, 1);
    rig.run(100);
    assert!(rig.port("write$valid") && !rig.port("task$valid"));
    assert_eq!((rig.left_cycles.len(), rig.mirror[0]), (0, 0));
    rig.bench[rig.write].pause(Pause::None);
    rig.settle();
    assert_eq!((rig.left_cycles.len(), rig.mirror[0]), (1, 1));
}

#[test]
fn a_read_that_was_due_long_ago_is_still_asked_for() {
    let mut rig = Rig::<64>::new();
    rig.bench[rig.read].pause(Pause::Always);
    rig.write_time = (1, 2);
    for place in 0..4 {
        rig.add(0, place, 1);
    }
    for _ in 0..40_000 {
        rig.write_elsewhere();
        rig.step();
    }
    rig.bench[rig.read].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.told.len(), 4);
}

#[test]
fn values_are_of_little_endian_bytes() {
    let mut rig = Rig::<512>::new();
    rig.write_by_another(BASE, &[1, 2, 3, 4, 5, 6, 7, 0xf8]);
    rig.step();
    rig.add(0, 0, 0x100);
    rig.settle();
    assert_eq!(rig.values(), [0xf807_0605_0403_0201]);
    assert_eq!(rig.twin.memory.bytes[..8], [1, 3, 3, 4, 5, 6, 7, 0xf8]);
}
