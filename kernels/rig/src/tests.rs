//! The rig itself, with a kernel that copies, rightly or wrongly.

mod copy;

use stroma_hw::testing::stalls_of;
use stroma_verilate::Pause;

use copy::{CopyKernel, Fault};

use super::{Rig, STREAMS};

fn rig<const D: usize>() -> Rig<D> {
    Rig::with_writes("copy", CopyKernel::<D>::default, copy::model::<D>)
}

impl<const D: usize> Rig<D> {
    fn copy(&mut self, va: u64, len: usize) {
        let data = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
        let invocation = self.streamed(&va.to_le_bytes(), data, 64);
        self.call(invocation);
    }

    /// As `copy`, by a kernel that errs.
    fn err(mut self, fault: Fault) {
        let mut invocation = self.streamed(&0x1003_u64.to_le_bytes(), vec![7; 300], 64);
        invocation.command.flags = fault as u8;
        self.call(invocation);
        self.settle();
    }
}

fn copies<const D: usize>() {
    let mut rig = rig::<D>();
    for (seed, pauses) in (0..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.latency = [(1, 2), (10, 200)][usize::from(seed % 2 == 0)];
        rig.outstanding = [1, 2, 40][usize::try_from(seed % 3).expect("small")];
        rig.pause(pauses);
        let sizes = [0, 1, 7, 8, 63, 64, 65, 1000, 4095, 4096, 4097, 9000];
        for (at, len) in sizes.into_iter().enumerate() {
            rig.copy(0x1_0ff3 + 0x700 * at as u64, len);
        }
        rig.settle();
        assert_eq!(rig.told, [0; 12]);
        let written: usize = rig.moves.writes.iter().map(|(_, len)| len).sum();
        assert_eq!(written, sizes.iter().sum::<usize>());
        assert_eq!(rig.moves.writes.len(), rig.moves.writes_done.len());
        assert_eq!(rig.moves.write_beats.len(), rig.moves.payload.len());
    }
}

#[test]
fn memory_changes_as_the_model_says() {
    copies::<64>();
    copies::<512>();
}

#[test]
fn failed_writes_store_nothing_and_are_told() {
    let mut rig = rig::<512>();
    for (is_refused, status) in [(true, 2), (false, 6)] {
        for at in [0, 4095, 4096, 9999] {
            rig.reset(at);
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(0x5003 + at..0x5004 + at);
            let before = rig.host.bytes(0x5003, 10_000);
            rig.copy(0x5003, 10_000);
            rig.settle();
            assert_eq!(rig.told, [status]);
            let after = rig.host.bytes(0x5003, 10_000);
            let changed = before.iter().zip(&after).take_while(|(before, after)| before != after).count();
            let pieces = usize::try_from(at / 4096).expect("small");
            assert_eq!(after[pieces * 4096..], before[pieces * 4096..], "from the bad piece on");
            assert!(pieces == 0 || changed > 0, "what came before it");
            rig.host.refused.clear();
            rig.host.failing.clear();
            rig.copy(0x5003, 10_000);
            rig.settle();
            assert_eq!(rig.told, [status, 0], "it lives on");
        }
    }
    rig.reset(9);
    let mut invocation = rig.streamed(&[0; 8], vec![1; 9], 64);
    invocation.command.key ^= 1;
    rig.call(invocation);
    rig.settle();
    assert_eq!(rig.told, [2], "another key");
}

#[test]
fn writes_take_their_time_and_wait_for_each_other() {
    let mut rig = rig::<512>();
    rig.latency = (112, 113);
    rig.copy(0, 8192);
    rig.settle();
    let moves = &rig.moves;
    assert_eq!(moves.writes_done[0] - moves.write_beats[63], 113, "the latency, and a cycle to tell");
    assert_eq!(moves.write_beats[63] - moves.write_beats[0], 63, "a beat in each cycle");
    rig.reset(0);
    rig.outstanding = 0;
    rig.copy(0, 8);
    rig.run(100);
    assert_eq!((rig.moves.writes.len(), rig.moves.payload.len()), (0, 0), "no room for a write");
    rig.outstanding = 1;
    rig.pause(std::array::from_fn(
        |stream| if stream == 4 { Pause::Burst { go: 1, pause: 49 } } else { Pause::None },
    ));
    rig.settle();
}

#[test]
#[should_panic(expected = "an answer before the end of its writes")]
fn an_early_answer_is_found() {
    rig::<64>().err(Fault::AnswersEarly);
}

#[test]
#[should_panic(expected = "bytes of a write")]
fn data_shorter_than_their_write_are_found() {
    rig::<64>().err(Fault::WritesTooFew);
}

#[test]
#[should_panic(expected = "data of")]
fn a_read_before_the_end_of_a_write_sees_the_old() {
    rig::<64>().err(Fault::ReadsEarly);
}

#[test]
#[should_panic(expected = "nobody has the ticket of SlotWrite")]
fn a_write_for_another_is_found() {
    rig::<64>().err(Fault::WritesForAnother);
}

#[test]
#[should_panic(expected = "memory at 0x100b")]
fn a_wrong_bit_in_memory_is_found() {
    rig::<64>().err(Fault::ChangesABit);
}
