//! Cycles that the contract promises.

use stroma_abi::kernel::hyperloglog::{Action, HyperLogLog, ITEMS};

use super::{Bed, narrow, of, wide};

/// Cycles from each to the next.
fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn every_cycle<const D: usize>(rig: &mut Bed<D>) {
    let beats = 16_384 / (D / 8);
    for item in ITEMS {
        for is_equal in [false, true] {
            for discard in [false, true] {
                rig.begin(1);
                (rig.latency, rig.outstanding) = ((112, 113), 32);
                let payload = if is_equal { vec![7; 16_384] } else { rig.noise(16_384) };
                rig.ask(&HyperLogLog { item, discard, ..of(Action::Count) }, payload);
                rig.settle();
                let moves = &rig.moves;
                assert_eq!(moves.payload[0] - moves.commands[0], 3, "to the first beat");
                assert_eq!(gaps(&moves.payload), vec![1; beats - 1], "a beat in each cycle");
                let last = moves.payload.last().expect("a beat");
                if discard {
                    assert_eq!(moves.responses[0] - last, 2, "to the answer");
                    continue;
                }
                assert_eq!(moves.writes[0].0 - moves.payload[0], 1, "to the write");
                assert_eq!(moves.writes.len(), 4);
                assert_eq!(moves.write_beats[0] - moves.payload[0], 2, "to its data");
                assert_eq!(gaps(&moves.write_beats), vec![1; beats - 1]);
                let done = moves.writes_done.last().expect("a write");
                assert_eq!(moves.responses[0] - done, 1, "to the answer");
            }
        }
    }
}

#[test]
fn a_beat_passes_in_every_cycle_whatever_its_items() {
    every_cycle(&mut narrow());
    every_cycle(&mut wide());
}

fn one_behind_the_other<const D: usize>(rig: &mut Bed<D>) {
    for beats in [1, 2, 3, 70] {
        rig.begin(1);
        (rig.latency, rig.outstanding) = ((112, 113), 32);
        for at in 0..16 {
            let payload = rig.noise(beats * D / 8);
            let task = HyperLogLog { item: 4, address: 0x1_0000 * at, ..of(Action::Count) };
            rig.ask(&task, payload);
        }
        rig.settle();
        let expected = if beats == 1 { 2 } else { 1 };
        assert_eq!(gaps(&rig.moves.payload), vec![expected; 16 * beats - 1], "{beats} beats each");
    }
}

#[test]
fn payload_of_one_request_follows_that_of_the_one_before_at_once() {
    one_behind_the_other(&mut narrow());
    one_behind_the_other(&mut wide());
}

/// Cycles from the command to the answer.
fn takes<const D: usize>(rig: &mut Bed<D>, task: &HyperLogLog) -> u64 {
    rig.begin(1);
    rig.ask(task, Vec::new());
    rig.settle();
    rig.moves.responses[0] - rig.moves.commands[0]
}

#[test]
fn sweeps_take_as_long_as_promised() {
    for (action, cycles) in [(Action::Clear, 4126), (Action::Read, 4138), (Action::Take, 4138)] {
        assert_eq!(takes(&mut wide(), &of(action)), cycles, "{action:?}");
    }
    for (action, cycles) in [(Action::Clear, 4126), (Action::Read, 8231), (Action::Take, 8231)] {
        assert_eq!(takes(&mut narrow(), &of(action)), cycles, "{action:?}");
    }
    let refused = HyperLogLog { item: 0, ..of(Action::Count) };
    assert_eq!((takes(&mut wide(), &refused), takes(&mut narrow(), &refused)), (5, 5));
}
