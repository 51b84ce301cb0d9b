//! Many calls at once, on wires of every quality.

use stroma_abi::regs::map::counters;
use stroma_tests::calls::Calls;
use stroma_tests::effort::share;
use stroma_tests::faulty::faults;
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use crate::copy::Copy;
use crate::tasks::{COUNTER, Field, MEMORY, Task};

/// Calls that are posted at one doorbell.
const AT_ONCE: usize = 8;
/// Bytes of the caller's memory for a request, and for its answer.
const ROOM: usize = 65_536;

/// Posts some calls at once, and holds each against its model.
pub(crate) fn round(calls: &Calls, copy: &mut Copy, tasks: &[Task], rng: &mut SplitMix64) {
    let mut batch = calls.ends[0].start();
    for (index, task) in tasks.iter().enumerate() {
        let (request, answer) = (2 * index * ROOM, (2 * index + 1) * ROOM);
        let result = calls.near(answer, task.target.response_max as usize);
        batch = batch.wr_id(index as u64).signaled();
        batch = if task.payload.is_empty() && rng.below(2) == 0 {
            batch.rpc(result, &task.target, calls.key(), task.parameters)
        } else {
            let bytes = [task.parameters.as_bytes(), &task.payload].concat();
            calls.put(0, request, &bytes);
            batch.rpc_write(result, &task.target, calls.key(), &[calls.near(request, bytes.len())])
        };
    }
    batch.post().expect("room in the queue");
    for (index, task) in tasks.iter().enumerate() {
        let found = calls.pair.ends[0].expect(index as u64);
        let expected = copy.run(task);
        assert_eq!(found.rpc, Some(expected.status), "{task:?}");
        if expected.status == 0 {
            let answer = calls.bytes(0, (2 * index + 1) * ROOM, found.length as usize);
            assert!(answer == expected.data, "{task:?}: {} bytes", found.length);
        }
    }
}

/// So many rounds of calls by chance, with so many of a hundred frames lost, doubled and overtaken.
fn story(profile: Profile, seed: u64, percent: u32, rounds: usize) {
    // Where every fourth frame is lost, an answer of hundreds of them would lose one eight times over.
    let path_mtu = if percent > 5 { 3 } else { 1 };
    let calls = Calls::new(profile, MEMORY, |connection| {
        connection.path_mtu = path_mtu;
        connection.timeout = 6;
    });
    let mut field = Field::new(&calls);
    let mut copy = Copy::of(&calls, MEMORY);
    let mut rng = SplitMix64::new(seed);
    if percent > 0 {
        for end in 0..2 {
            calls.pair.shared.world().line(end).set_faults(faults(seed + end as u64, percent));
        }
    }
    round(&calls, &mut copy, &[Field::first()], &mut rng);
    for _ in 0..rounds {
        let tasks: Vec<Task> = (0..AT_ONCE).map(|_| field.task(&mut rng)).collect();
        round(&calls, &mut copy, &tasks, &mut rng);
    }
    copy.check(&calls);
    assert!(field.allocations > 0, "nothing was appended");
    let counter = calls.bytes(1, COUNTER, 8);
    assert_eq!(counter, field.allocations.to_le_bytes(), "every append counted once");
    // A kernel that is behind may ask for time on any wire; nothing else has to be sent again on a perfect one.
    let lost =
        calls.pair.ends.each_ref().map(|end| end.count(&counters::TIMEOUTS) + end.count(&counters::NAKS));
    assert_eq!(lost != [0; 2], percent > 0, "timeouts and NAKs: {lost:?}");
}

#[test]
fn kernels_answer_as_their_models_on_a_perfect_wire_10g() {
    story(Profile::TenGig, 11, 0, share(24));
}

#[test]
fn kernels_answer_as_their_models_on_a_perfect_wire_100g() {
    story(Profile::HundredGig, 12, 0, share(24));
}

#[test]
fn each_call_is_carried_out_once_on_a_bad_wire_10g() {
    story(Profile::TenGig, 13, 5, share(24));
}

#[test]
fn each_call_is_carried_out_once_on_a_bad_wire_100g() {
    story(Profile::HundredGig, 15, 5, share(24));
}

#[test]
fn each_call_is_carried_out_once_on_a_worse_wire_10g() {
    story(Profile::TenGig, 17, 25, share(12));
}

#[test]
fn each_call_is_carried_out_once_on_a_worse_wire_100g() {
    story(Profile::HundredGig, 16, 25, share(12));
}
