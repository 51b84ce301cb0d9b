use stroma_verilate::Pause;

use super::super::rig::{Rig, ack, data, value};
use super::corners::{POSITIVE, noted};
use crate::testing::read;
use crate::transport::records::Task;

#[test]
fn every_input_moves_within_twenty_cycles_whatever_the_steps_do() {
    for pressure in [Pause::None, Pause::Always, Pause::Random { seed: 3, percent: 80 }] {
        let mut rig = Rig::default();
        rig.bench[rig.step].pause(pressure);
        for count in 0..200 {
            rig.send(&data(count % 3, count * 20, 1024 * 9));
            rig.notify(count % 4);
            rig.fail(3, count.into());
            rig.tell(3, count % 8 == 0, true);
        }
        while !rig.bench.is_sent() {
            rig.step();
        }
        assert!((8..=20).contains(&rig.longest), "{} cycles", rig.longest);
        rig.bench[rig.step].pause(Pause::None);
        rig.settle();
    }
}

/// Cycles from the one in which a task is offered to that in which its step is.
fn latency(task: &Task) -> u64 {
    let mut rig = Rig::default();
    rig.send(task);
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "step$valid") {
        rig.step();
    }
    rig.bench.cycle() - start
}

#[test]
fn latencies_are_those_promised() {
    assert_eq!((latency(&ack(1, 1, POSITIVE)), latency(&data(1, 1, 1))), (5, 6));
    assert_eq!(latency(&value(1, 1, 1)), 6);
}

/// Cycles from the first to the last step of these tasks, which wait in line.
fn span(tasks: &[Task]) -> u64 {
    let mut rig = Rig::default();
    noted(&mut rig, tasks);
    rig.settle();
    rig.steps[rig.steps.len() - 1].0 - rig.steps[0].0
}

#[test]
fn rates_of_visits_are_those_promised() {
    let acks: Vec<Task> = (0..4).map(|number| ack(number, 1, POSITIVE)).collect();
    assert_eq!(span(&acks), 3, "acknowledgements of queue pairs in line");
    let reads: Vec<Task> = (0..4).map(|number| data(number, 1, 64)).collect();
    assert_eq!(span(&reads), 3 * 2, "small READs of queue pairs in line");
    let alone: Vec<Task> = (0..16).map(|count| data(1, count, 64)).collect();
    assert_eq!(span(&alone), 15 * 3, "small READs of one queue pair");
    let atomics: Vec<Task> = (0..16).map(|count| value(1, count, 64)).collect();
    assert_eq!(span(&atomics), 15 * 3, "values of one queue pair");
    let large = Task { path_mtu: 5.into(), ..data(1, 1, 4096 * 40) };
    assert_eq!(span(&[large]), 9 * 7 + 3, "four packets of a READ in seven cycles");
}

/// Cycles for the 20 steps in the middle of 40, which these tasks give.
fn middle(tasks: impl Iterator<Item = Task>) -> u64 {
    let mut rig = Rig::default();
    tasks.for_each(|task| rig.send(&task));
    rig.settle();
    assert_eq!((rig.steps.len(), rig.dropped), (40, 0));
    rig.steps[29].0 - rig.steps[9].0
}

#[test]
fn tasks_with_their_answers_take_two_cycles_and_three_for_data() {
    assert_eq!(middle((0..40).map(|count| ack(count % 4, count, POSITIVE))), 20 * 2);
    assert_eq!(middle((0..40).map(|count| data(count % 4, count, 64))), 20 * 3);
    assert_eq!(middle((0..40).map(|count| data(1, count, 64))), 20 * 3, "one queue pair");
    assert_eq!(middle((0..40).map(|count| data(count / 2 % 2, count, 64))), 20 * 3, "two by turns");
    assert_eq!(middle((0..40).map(|count| value(1, count, 64))), 20 * 3, "atomics of one");
}

#[test]
fn acknowledgements_of_one_queue_pair_take_two_cycles_each() {
    let mut rig = Rig::default();
    let start = rig.bench.cycle();
    for count in 0..40 {
        rig.send(&ack(1, count, POSITIVE));
    }
    while !rig.bench.is_sent() {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 40 * 2);
    rig.settle();
    assert_eq!(rig.sent().last().map(|sent| sent.2), Some(39));
}
