//! Cycles, as promised.

use stroma_abi::desc::sge::SGE_MAX;
use stroma_verilate::{Pause, SplitMix64};

use super::{entries, part, passing};
use crate::transport::records::Errand;
use crate::transport::scatter::rig::{Poster, Rig};

/// The cycle in which the first of these moved.
fn sent(rig: &mut Rig, errands: &[(Errand, bool)]) -> u64 {
    rig.run(10);
    rig.forget();
    let before = rig.bench[rig.errand].sent();
    rig.send(errands);
    while rig.bench[rig.errand].sent() == before {
        rig.step();
    }
    rig.bench.cycle()
}

/// Errands for parts of one list with entries of 10 bytes, and a rig that knows them.
fn bed(count: usize, parts: &[(u64, u64)]) -> (Rig, Vec<(Errand, bool)>) {
    let mut rng = SplitMix64::new(1);
    let mut poster = Poster::default();
    let list = entries(&mut rng, &vec![10; count]);
    let errand = poster.plain(&mut rng, &list);
    let mut rig = Rig::new();
    rig.world = poster.world;
    (rig, parts.iter().map(|(offset, len)| (part(&errand, *offset, *len), true)).collect())
}

#[test]
fn what_passes_takes_two_cycles_and_one_follows_the_other() {
    let mut rng = SplitMix64::new(2);
    let many: Vec<(Errand, bool)> = (0..100).map(|at| (passing(&mut rng), at % 3 == 0)).collect();
    let mut rig = Rig::new();
    let start = sent(&mut rig, &many);
    rig.finish();
    let expected: Vec<u64> = (0..100).map(|at| start + 2 + at).collect();
    assert_eq!(rig.piece_cycles, expected);
}

#[test]
fn a_lone_list_takes_as_long_as_promised() {
    for (count, offset) in [(1, 0), (16, 0), (16, 35), (16, 159)] {
        let (mut rig, errands) = bed(count, &[(offset, 1)]);
        let start = sent(&mut rig, &errands);
        rig.finish();
        assert_eq!(rig.read_cycles, [start + 4]);
        let last = rig.unit_cycles.last().expect("there is one");
        assert_eq!(rig.piece_cycles, [last + 3 + offset / 10]);
    }
}

/// Cycles from the first piece to the last, and one more: as many as an endless row of the same would take.
fn pace(count: usize, parts: &[(u64, u64)]) -> u64 {
    let repeated: Vec<(u64, u64)> = std::iter::repeat_n(parts, 32).flatten().copied().collect();
    let (mut rig, errands) = bed(count, &repeated);
    // All lists come in time.
    rig.latency = (1, 2);
    sent(&mut rig, &errands);
    rig.finish();
    let each = rig.piece_cycles.len() / repeated.len();
    let firsts: Vec<u64> = rig.piece_cycles.iter().step_by(each).copied().collect();
    let span = firsts[30] - firsts[10];
    assert!(span.is_multiple_of(20), "20 take {span} cycles");
    span / 20
}

#[test]
fn small_messages_follow_each_other_closely() {
    assert_eq!(pace(1, &[(0, 10)]), 1, "a receive of one entry");
    assert_eq!(pace(1, &[(0, 5)]), 1, "of which only a part is used");
    assert_eq!(pace(3, &[(0, 10)]), 2, "a receive of three entries, of which one is used");
    assert_eq!(pace(3, &[(0, 30)]), 3, "all are used");
    assert_eq!(pace(3, &[(20, 10)]), 3, "the last one is used");
    assert_eq!(pace(3, &[(5, 26)]), 4, "the list is too short");
    assert_eq!(pace(SGE_MAX, &[(0, 160)]), 16, "all of the longest list");
    // Five units come for each.
    assert_eq!(pace(SGE_MAX, &[(0, 10)]), 5, "one entry of the longest list");
}

#[test]
fn lists_are_asked_for_ahead_of_their_turn() {
    let (mut rig, errands) = bed(1, &[(0, 10); 32]);
    rig.latency = (300, 301);
    let start = sent(&mut rig, &errands);
    rig.finish();
    let expected: Vec<u64> = (0..32).map(|at| start + 4 + at).collect();
    assert_eq!(rig.read_cycles, expected);
    assert!(rig.piece_cycles[31] - start < 350, "{:?}", rig.piece_cycles);
}

#[test]
fn thirty_two_errands_wait_inside_and_two_pieces() {
    let (mut rig, errands) = bed(1, &[(0, 10); 50]);
    rig.pause([Pause::None, Pause::None, Pause::None, Pause::Burst { go: 1, pause: 1 << 40 }]);
    rig.run(5);
    let before = rig.bench[rig.errand].sent();
    rig.send(&errands);
    rig.run(500);
    assert_eq!(rig.bench[rig.errand].sent() - before, 34);
    rig.pause([(); 4].map(|()| Pause::None));
    rig.finish();
}
