//! How long it takes.

use stroma_abi::kernel::consistency::Consistency;

use super::{AT, Bed, narrow, task, wide};

/// Cycles from each to the next.
fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Three attempts at an object of four reads.
fn three<const D: usize>(rig: &mut Bed<D>) {
    rig.reset(1);
    let object = rig.object(16_000);
    let spoilt = [rig.spoilt(&object), rig.spoilt(&object)];
    rig.host.change(AT, spoilt.into_iter().chain([object]));
    assert_eq!(rig.answer(&task(16_000, 3, 7)), 0);
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.commands[0], 2, "to the first read");
    for attempt in 0..3 {
        assert_eq!(gaps(&moves.reads[4 * attempt..4 * attempt + 4]), [1; 3], "reads follow each other");
    }
    assert_eq!(moves.reads[4] - moves.read_ends[3], 4 + 7, "to the second attempt");
    assert_eq!(moves.reads[8] - moves.read_ends[7], 4 + 7, "to the third");
    assert_eq!(moves.beats_out[0] - moves.read_ends[11], 4, "to the answer");
    assert_eq!(gaps(&moves.beats_out), vec![1; 16_000_usize.div_ceil(D / 8) - 1], "a beat in each cycle");
    assert_eq!(moves.responses[0] - moves.beats_out.last().expect("beats"), 2, "to the response");
    let coming = moves.beats_in.len() / 3;
    assert_eq!(gaps(&moves.beats_in[..coming]), vec![1; coming - 1], "nothing stalls what is read");
}

#[test]
fn an_answer_begins_4_cycles_after_the_last_beat_and_an_attempt_with_the_pause_more() {
    three(&mut narrow());
    three(&mut wide());
}

#[test]
fn a_command_is_taken_a_cycle_after_the_answer_to_the_one_before_it() {
    let mut rig = wide();
    rig.reset(1);
    for _ in 0..16 {
        rig.ask(&task(40, 1, 0));
    }
    rig.settle();
    let moves = &rig.moves;
    for at in 1..16 {
        assert_eq!(moves.commands[at] - moves.responses[at - 1], 1, "the next is taken");
        assert_eq!(moves.reads[at] - moves.commands[at], 2, "and begins");
        assert_eq!(moves.responses[at] - moves.read_ends[at], 3, "from an object that does not fit");
    }
    rig.ask(&Consistency { attempts: 0, ..task(40, 1, 0) });
    rig.settle();
    assert_eq!(rig.moves.responses[16] - rig.moves.commands[16], 2, "refused");
}
