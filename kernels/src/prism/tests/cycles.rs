//! Cycles that the contract promises.

use super::*;

/// A rig whose memory takes ten cycles.
fn quiet<const D: usize, const LOG: usize>() -> Rig<D> {
    let mut rig = rig::<D, LOG>();
    rig.reset(1);
    rig.free_buffers(2, 8);
    rig.host.store(POINTER, &[TARGET, 100]);
    rig
}

fn led(item: Item) -> Item {
    with(item, |one| (one.indirect, one.bounded, one.address) = (true, true, POINTER))
}

fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_pointer_costs_four_cycles_beside_its_read() {
    let mut rig = quiet::<512, 9>();
    rig.run_chain(&[led(read(0, 4096)), read(TARGET, 4096), led(write(0, &[1; 200]))]);
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.payload.last().expect("payload"), 7, "to the first read");
    assert_eq!(moves.reads[1] - moves.read_ends[0], 4, "from the pointer to the target");
    assert_eq!(moves.reads[2] - moves.read_ends[1], 6, "to the next operation");
    assert_eq!(moves.reads[3] - moves.read_ends[2], 6, "to the one behind that");
    assert_eq!(moves.writes[0].0 - moves.read_ends[3], 4, "from the pointer to the write");
    assert_eq!(moves.write_beats[0] - moves.writes[0].0, 4, "to its data");
    assert_eq!(gaps(&moves.write_beats), [1], "which come without a gap");
    assert_eq!(moves.beats_out[0] - moves.writes_done[0], 7, "to the answer");
    assert_eq!(gaps(&moves.beats_out), vec![1; 2 + 64], "which comes without a gap");
    assert_eq!(moves.responses[0] - moves.beats_out.last().expect("beats"), 2, "to the response");
}

#[test]
fn a_swap_costs_six_cycles_between_read_and_write() {
    let mut rig = quiet::<512, 9>();
    let swap = || swap(TARGET, 32, Comparison::Equal, &always(1));
    rig.run_chain(&[swap(), with(swap(), |one| one.conditional = true)]);
    let moves = &rig.moves;
    for at in 0..2 {
        assert_eq!(moves.writes[at].0 - moves.read_ends[at], 6, "from what is there to the write");
        assert_eq!(moves.write_beats[at] - moves.writes[at].0, 2, "to its data");
    }
    assert_eq!(moves.reads[1] - moves.writes_done[0], 6, "to the next operation");
}

#[test]
fn an_allocation_writes_head_and_buffer_at_once() {
    let mut rig = quiet::<512, 9>();
    rig.run_chain(&[allocate(LIST, &[1; 100]), swap(TARGET, 8, Comparison::Equal, &always(1))]);
    let moves = &rig.moves;
    assert_eq!(moves.reads[1] - moves.read_ends[0], 4, "from the list to the ring");
    assert_eq!(moves.writes[0].0 - moves.read_ends[1], 3, "from the ring to the head");
    assert_eq!(moves.writes[1].0 - moves.writes[0].0, 2, "and to the buffer");
    assert_eq!(moves.reads[2] - moves.writes_done[1], 6, "to the next operation");
}

#[test]
fn chains_follow_each_other_closely() {
    let mut rig = quiet::<512, 9>();
    for _ in 0..16 {
        rig.ask_chain(&[read(TARGET, 8)]);
    }
    rig.settle();
    let moves = &rig.moves;
    for at in 1..16 {
        assert_eq!(moves.commands[at] - moves.responses[at - 1], 1, "the next is taken");
        assert_eq!(moves.payload[at] - moves.commands[at], 2, "and its payload");
        assert_eq!(moves.reads[at] - moves.payload[at], 7, "and it begins");
    }
    let before = rig.moves.responses.len();
    rig.ask_chain(&[read(TARGET, 0)]);
    rig.settle();
    let (taken, told) = (rig.moves.payload[before], rig.moves.responses[before]);
    assert_eq!(told - taken, 4, "refused");
    let empty = rig.invocation(&Chain { count: 1 }.to_bytes(), 64);
    rig.call(empty);
    rig.settle();
    assert_eq!(rig.moves.responses[before + 1] - rig.moves.commands[before + 1], 2, "without payload");
}

#[test]
fn a_narrow_card_takes_its_words_one_by_one() {
    let mut rig = quiet::<64, 12>();
    rig.latency = (40, 41);
    rig.run_chain(&[led(read(0, 100)), swap(TARGET, 32, Comparison::Equal, &always(1))]);
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.payload.last().expect("payload"), 7, "to the first read");
    assert_eq!(moves.reads[1] - moves.read_ends[0], 4, "from the pointer to the target");
    assert_eq!(moves.writes[0].0 - moves.read_ends[2], 6, "from what is there to the write");
    assert_eq!(gaps(&moves.write_beats), [1; 3]);
    assert_eq!(gaps(&moves.beats_out), vec![1; 8 + 16 + 8 - 1]);
}
