//! Every operation of a reliable connection: how long one takes, and how many there are in a second.

use stroma_sim::link::LinkConfig;
use stroma_tests::pair::{End, Pair};
use stroma_top::Profile;
use stroma_verbs::{Batch, QueuePair, QueuePairBuilder, QueuePairKind, Sge, Status};

use crate::Task;
use crate::host::seconds;
use crate::rate::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;
/// Bytes of a message; an atomic has eight.
const SIZE: usize = 64;
/// Requests of a rate, on each queue pair: enough that the time of the first and the last does not count.
const COUNT: usize = 1000;
/// Entries of the completion queues: none overflows, whoever polls or not.
const ENTRIES: usize = 16_384;

/// An operation, and whether it takes a receive.
struct Operation {
    name: &'static str,
    receives: bool,
    put: for<'a> fn(Batch<'a>, &End, &End, usize) -> Batch<'a>,
}

const OPERATIONS: [Operation; 7] = [
    Operation {
        name: "write",
        receives: false,
        put: |batch, near, far, at| batch.write(&[near.piece(at, SIZE)], far.at(at), far.memory.rkey()),
    },
    Operation {
        name: "write_imm",
        receives: true,
        put: |batch, near, far, at| {
            batch.write_imm(&[near.piece(at, SIZE)], far.at(at), far.memory.rkey(), 7)
        },
    },
    Operation {
        name: "read",
        receives: false,
        put: |batch, near, far, at| batch.read(&[near.piece(at, SIZE)], far.at(at), far.memory.rkey()),
    },
    Operation { name: "send", receives: true, put: |batch, near, _, at| batch.send(&[near.piece(at, SIZE)]) },
    Operation {
        name: "send_imm",
        receives: true,
        put: |batch, near, _, at| batch.send_imm(&[near.piece(at, SIZE)], 7),
    },
    Operation {
        name: "fetch_add",
        receives: false,
        put: |batch, near, far, at| batch.fetch_add(near.piece(at, 8), far.at(at), far.memory.rkey(), 1),
    },
    Operation {
        name: "cmp_swap",
        receives: false,
        put: |batch, near, far, at| {
            batch.compare_swap(near.piece(at, 8), far.at(at), far.memory.rkey(), 0, 1)
        },
    },
];

/// All of the suite.
pub(crate) const TASKS: &[Task] = &[
    Task { label: "every operation on one queue pair", measure: operations },
    Task { label: "eight queue pairs add to one word", measure: hot_word },
    Task { label: "eight queue pairs send to one queue", measure: shared },
];

/// How a rate is measured here: all of a run counts, its start and its end as well.
const HOW_RATE: &str = "payload in memory; 1000 at one doorbell on each queue pair, every 16th signaled; first doorbell to last completion";

fn operations(report: &mut Report) {
    for operation in &OPERATIONS {
        report.progress.doing(operation.name);
        latency(report, operation);
        let pair = pair();
        let connections = [connect(&pair, |builder| builder.receive_entries(COUNT))];
        let [_, receiver] = &connections[0];
        if operation.receives {
            receive(receiver, &pair.ends[1], COUNT);
        }
        let rate = rate(&pair, &connections, operation, |index| index * SIZE);
        let name = format!("rc.{}.rate.{}.qp1", operation.name, bytes(operation));
        report.add(&name, Metric::Rate, rate, PROFILE, HOW_RATE);
    }
}

fn operation(name: &str) -> &'static Operation {
    OPERATIONS.iter().find(|operation| operation.name == name).expect("it is in the table")
}

fn bytes(operation: &Operation) -> &'static str {
    if matches!(operation.name, "fetch_add" | "cmp_swap") { "8B" } else { "64B" }
}

fn pair() -> Pair {
    Pair::with(PROFILE, LinkConfig::cable(PROFILE), ENTRIES)
}

/// A connection whose far end is made as told.
fn connect(pair: &Pair, change: impl Fn(QueuePairBuilder) -> QueuePairBuilder) -> [QueuePair; 2] {
    let [near, far] = &pair.ends;
    let builder = far.domain.queue_pair(&far.completions).kind(QueuePairKind::Reliable);
    let ends = [near.queue_pair(COUNT), change(builder).build().expect("a queue pair")];
    pair.join(ends.each_ref(), |_, _| {});
    ends
}

/// Where all messages go.
fn inbox(far: &End) -> [Sge; 1] {
    [far.piece(1 << 19, SIZE)]
}

fn receive(receiver: &QueuePair, far: &End, count: usize) {
    let batch = receiver.receives().expect("a receive queue");
    let batch = (0..count).fold(batch, |batch, _| batch.receive(0, &inbox(far)));
    batch.post().expect("room in the receive queue");
}

/// One request at a time on idle cards, from the post to its completion.
fn latency(report: &mut Report, operation: &Operation) {
    let pair = Pair::new(PROFILE);
    let [near, far] = &pair.ends;
    let [sender, receiver] = pair.connect();
    let mut cycles = 0;
    // The first fills the TLBs.
    for round in 0..2 {
        if operation.receives {
            receive(&receiver, far, 1);
        }
        pair.run(5000);
        let posted = pair.now();
        (operation.put)(sender.start().wr_id(round).signaled(), near, far, 4096).post().expect("room");
        near.expect(round);
        cycles = pair.now() - posted;
    }
    let microseconds = seconds(cycles) * 1e6;
    let name = format!("rc.{}.latency.{}.qp1", operation.name, bytes(operation));
    report.add(&name, Metric::Latency, microseconds, PROFILE, "doorbell to completion in memory; idle cards");
}

/// Millions of requests a second, from the first doorbell to the last completion, all queue pairs at once; every 16th is signaled.
fn rate(
    pair: &Pair,
    connections: &[[QueuePair; 2]],
    operation: &Operation,
    place: impl Fn(usize) -> usize,
) -> f64 {
    let [near, far] = &pair.ends;
    let start = pair.now();
    for [sender, _] in connections {
        let mut batch = sender.start();
        for index in 0..COUNT {
            batch = batch.wr_id(index as u64);
            if index % 16 == 15 || index + 1 == COUNT {
                batch = batch.signaled();
            }
            batch = (operation.put)(batch, near, far, place(index));
        }
        batch.post().expect("room in the queue");
    }
    let mut left = connections.len();
    while left > 0 {
        let found = near.complete();
        assert_eq!(found.status, Status::Success, "request {}", found.wr_id);
        left -= usize::from(found.wr_id + 1 == COUNT as u64);
    }
    number((COUNT * connections.len()) as u64) / seconds(pair.now() - start) / 1e6
}

/// Eight queue pairs add to one word.
fn hot_word(report: &mut Report) {
    let pair = pair();
    let connections: Vec<_> = (0..8).map(|_| connect(&pair, |builder| builder)).collect();
    let rate = rate(&pair, &connections, operation("fetch_add"), |_| 4096);
    let [_, far] = &pair.ends;
    let sum = u64::from_le_bytes(far.bytes(4096, 8).try_into().expect("eight bytes"));
    assert_eq!(sum, (8 * COUNT) as u64, "every addition counted");
    report.add("rc.fetch_add.rate.8B.hot.qp8", Metric::Rate, rate, PROFILE, HOW_RATE);
}

/// Eight queue pairs send to one shared receive queue.
fn shared(report: &mut Report) {
    let pair = pair();
    let far = &pair.ends[1];
    let queue = far.domain.shared_receive_queue(8 * COUNT, 1).expect("a shared receive queue");
    let batch = (0..8 * COUNT).fold(queue.receives(), |batch, _| batch.receive(0, &inbox(far)));
    batch.post().expect("room in the receive queue");
    let share = |builder: QueuePairBuilder| builder.shared_receive_queue(&queue);
    let connections: Vec<_> = (0..8).map(|_| connect(&pair, share)).collect();
    let rate = rate(&pair, &connections, operation("send"), |index| index * SIZE);
    report.add("rc.send.rate.64B.srq.qp8", Metric::Rate, rate, PROFILE, HOW_RATE);
}
