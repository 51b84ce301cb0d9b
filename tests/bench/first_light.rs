//! Two cards on a cable: what WRITE and READ carry, how many of them, and how fast one is.

use std::time::Instant;

use stroma_hw::transport::STAGES;
use stroma_sim::host::attach::Event;
use stroma_sim::link::LinkConfig;
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::path::PathLatency;
use stroma_top::Profile;
use stroma_verbs::{QueuePair, Status};

use crate::host::{number, seconds};
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;

/// All of the suite.
pub(crate) fn measure(report: &mut Report) {
    println!("cable: {:?}", LinkConfig::cable(PROFILE));
    for is_read in [false, true] {
        goodput(report, is_read);
    }
    for queue_pairs in [1, 32] {
        rate(report, queue_pairs);
    }
    let (stage, cycles) = STAGES.into_iter().max_by_key(|(_, cycles)| *cycles).expect("stages");
    println!("the slowest stage for small packets: {stage}, {cycles} cycles");
    latencies(report);
    wall(report);
}

fn verb(is_read: bool) -> &'static str {
    if is_read { "read" } else { "write" }
}

/// Posts `count` requests of `size` bytes at one doorbell, the last of them signaled.
fn post(near: &End, far: &End, queue_pair: &QueuePair, size: usize, count: usize, is_read: bool) {
    let room = stroma_tests::pair::MEMORY / size;
    let mut batch = queue_pair.start();
    for index in 0..count {
        let at = index % room * size;
        batch = batch.wr_id(index as u64);
        if index + 1 == count || index % 16 == 15 {
            batch = batch.signaled();
        }
        let (piece, remote, key) = (near.piece(at, size), far.at(at), far.memory.rkey());
        batch = if is_read { batch.read(&[piece], remote, key) } else { batch.write(&[piece], remote, key) };
    }
    batch.post().expect("room in the queue");
}

/// Waits for the request of this number on each of so many queue pairs.
fn finish(end: &End, last: u64, queue_pairs: usize) {
    let mut left = queue_pairs;
    while left > 0 {
        let found = end.complete();
        assert_eq!(found.status, Status::Success, "request {}", found.wr_id);
        left -= usize::from(found.wr_id == last);
    }
}

/// Cycles from the first to the last beat that a card writes to its host.
fn span(pair: &Pair, card: usize) -> u64 {
    let trace = pair.shared.world().card(card).take_trace();
    let mut beats =
        trace.iter().filter(|(_, event)| matches!(event, Event::Data { .. })).map(|(cycle, _)| *cycle);
    let first = beats.next().expect("the card wrote");
    beats.next_back().expect("more than one beat") - first
}

/// Messages of 64 KiB back to back, on one queue pair.
fn goodput(report: &mut Report, is_read: bool) {
    const SIZE: usize = 65_536;
    const COUNT: usize = 48;
    let pair = Pair::new(PROFILE);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect();
    for end in [near, far] {
        end.put(0, &pattern(1, stroma_tests::pair::MEMORY));
    }
    let written = usize::from(!is_read);
    pair.shared.world().card(written).start_trace();
    post(near, far, &sender, SIZE, COUNT, is_read);
    finish(near, COUNT as u64 - 1, 1);
    let goodput = number((SIZE * COUNT) as u64) * 8.0 / seconds(span(&pair, written)) / 1e9;
    report.add(&format!("{}.goodput.64KiB.qp1", verb(is_read)), Metric::Goodput, goodput, PROFILE);
}

/// WRITEs of 64 bytes from memory, not inline, every 16th signaled.
fn rate(report: &mut Report, queue_pairs: usize) {
    const COUNT: usize = 200;
    let pair = Pair::with(PROFILE, LinkConfig::cable(PROFILE), 4096);
    let [near, far] = &pair.ends;
    let connections: Vec<_> = (0..queue_pairs).map(|_| pair.connect()).collect();
    pair.shared.world().card(1).start_trace();
    for [sender, _] in &connections {
        post(near, far, sender, 64, COUNT, false);
    }
    finish(near, COUNT as u64 - 1, queue_pairs);
    let rate = number((COUNT * queue_pairs) as u64) / seconds(span(&pair, 1)) / 1e6;
    report.add(&format!("write.rate.64B.qp{queue_pairs}"), Metric::Rate, rate, PROFILE);
}

/// One request at a time on idle cards.
fn latencies(report: &mut Report) {
    for is_read in [false, true] {
        let PathLatency { total, .. } = PathLatency::measure(PROFILE, 64, is_read);
        let microseconds = seconds(total) * 1e6;
        report.add(&format!("{}.latency.64B.qp1", verb(is_read)), Metric::Latency, microseconds, PROFILE);
    }
    let PathLatency { card_tx, card_rx, .. } = PathLatency::measure(PROFILE, 64, false);
    report.add("card.tx_latency.64B", Metric::Cycles, number(card_tx), PROFILE);
    report.add("card.rx_latency.64B", Metric::Cycles, number(card_rx), PROFILE);
}

/// How long this machine takes for a WRITE of 2 MiB, both cards and the cable between them simulated.
fn wall(report: &mut Report) {
    const SIZE: usize = 1 << 20;
    let pair = Pair::new(PROFILE);
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect();
    near.put(0, &pattern(1, SIZE));
    let started = Instant::now();
    post(near, far, &sender, SIZE, 2, false);
    finish(near, 1, 1);
    report.add("write.wall.2MiB", Metric::Wall, started.elapsed().as_secs_f64(), PROFILE);
    assert!(far.bytes(0, SIZE) == pattern(1, SIZE), "what was written");
}
