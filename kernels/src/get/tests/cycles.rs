//! How long it takes.

use stroma_kernel_rig::Moves;

use super::{BUCKETS, OBJECTS, key, rig, task};

/// Cycles from each to the next.
fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn last(cycles: &[u64]) -> u64 {
    *cycles.last().expect("some")
}

/// What is the same for both widths.
fn common(moves: &Moves) {
    assert_eq!(moves.reads[0] - moves.commands[0], 2, "to the first bucket");
    assert_eq!(moves.reads[1] - moves.read_ends[0], 3, "to the second");
    assert_eq!(moves.reads[2] - moves.read_ends[1], 3, "to the third");
    assert_eq!(moves.reads[3] - moves.read_ends[2], 3, "to the object");
    assert_eq!(gaps(&moves.reads[3..]), [1; 4], "its reads follow each other");
    assert_eq!(moves.responses[0] - last(&moves.beats_out), 2, "to the answer");
}

#[test]
fn an_object_is_asked_for_3_cycles_after_its_bucket_and_a_value_passes_at_a_beat_per_cycle() {
    let mut rig = rig::<512>();
    rig.reset(1);
    rig.fill(&key(5), 20_000 - 16);
    rig.answer(&task(&key(5)));
    common(&rig.moves);
    let (value_in, out) = (&rig.moves.beats_in[3..], &rig.moves.beats_out);
    assert_eq!(value_in.len(), 313, "20000 bytes");
    assert_eq!(out[0] - value_in[1], 1, "through the kernel");
    assert_eq!(gaps(out), vec![1; 312], "a beat in each cycle");
    assert_eq!(last(out) - last(value_in), 2, "the last has bytes of its own");

    rig.reset(1);
    rig.fill(&key(5), 20_000 - 48);
    rig.answer(&task(&key(5)));
    let (value_in, out) = (&rig.moves.beats_in[3..], &rig.moves.beats_out);
    assert_eq!((value_in.len(), out.len()), (312, 312));
    assert_eq!(last(out) - last(value_in), 2, "so has a whole one");
    rig.reset(1);
    rig.fill(&key(5), 311 * 64 + 10 - 16);
    rig.answer(&task(&key(5)));
    let (value_in, out) = (&rig.moves.beats_in[3..], &rig.moves.beats_out);
    assert_eq!(last(out) - last(value_in), 1, "all of its bytes belong to the beat before");
}

#[test]
fn a_narrow_value_passes_at_a_beat_per_cycle() {
    let mut rig = rig::<64>();
    rig.reset(1);
    rig.fill(&key(5), 20_000 - 16);
    rig.answer(&task(&key(5)));
    common(&rig.moves);
    let (value_in, out) = (&rig.moves.beats_in[3 * 8..], &rig.moves.beats_out);
    assert_eq!(out[0] - value_in[2], 2, "through the kernel");
    assert_eq!(gaps(out), vec![1; 20_000 / 8 - 3], "a beat in each cycle");
    assert_eq!(last(out) - last(value_in), 2);
}

#[test]
fn another_keys_object_costs_3_cycles_beside_its_read() {
    let mut rig = rig::<512>();
    rig.reset(1);
    rig.fill(&key(5), 40);
    let length = rig.object(OBJECTS[0], &key(4), 40);
    rig.entry(BUCKETS[0], 0, length, OBJECTS[0]);
    rig.entry(BUCKETS[0], 1, length, OBJECTS[0]);
    rig.answer(&task(&key(5)));
    let moves = &rig.moves;
    assert_eq!(moves.reads[2] - moves.read_ends[1], 3, "to the second object");
    assert_eq!(moves.reads[3] - moves.read_ends[2], 3, "to the next bucket");
    assert_eq!(moves.beats_out[0] - last(&moves.beats_in), 2, "a value of one beat");
}

#[test]
fn a_command_is_taken_a_cycle_after_the_answer_to_the_one_before_it() {
    let mut rig = rig::<512>();
    rig.reset(1);
    rig.bucket(BUCKETS[0], 0);
    let length = rig.object(OBJECTS[0], &key(5), 0);
    rig.entry(BUCKETS[0], 0, length, OBJECTS[0]);
    for _ in 0..16 {
        rig.ask(&task(&key(5)), 0);
    }
    rig.settle();
    let moves = &rig.moves;
    for at in 1..16 {
        assert_eq!(moves.commands[at] - moves.responses[at - 1], 1, "the next is taken");
        assert_eq!(moves.reads[2 * at] - moves.commands[at], 2, "and begins");
        assert_eq!(moves.responses[at] - moves.read_ends[2 * at + 1], 3, "from an object without a value");
    }
    let before = rig.moves.responses.len();
    rig.ask(&super::Get { hop_limit: 0, ..task(&key(5)) }, 0);
    rig.ask(&task(&key(6)), 0);
    rig.settle();
    let moves = &rig.moves;
    assert_eq!(moves.responses[before] - moves.commands[before], 2, "refused");
    assert_eq!(moves.responses[before + 1] - last(&moves.read_ends), 3, "no object but another key's");
}
