//! One request at a time on idle cards: how long it takes, and where.

use stroma_sim::host::attach::Event;
use stroma_sim::host::bars::Access;
use stroma_sim::host::timing::Timing;
use stroma_tests::pair::{LIMIT, Pair, pattern};
use stroma_tests::path::PathLatency;
use stroma_top::Profile;
use stroma_verbs::QueuePair;

use super::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;
const SIZE: usize = 64;

/// Cycles of one request.
struct Path {
    host: u64,
    card: u64,
    wire: u64,
}

impl Path {
    fn microseconds(cycles: u64) -> f64 {
        number(cycles) * 1000.0 / f64::from(PROFILE.clock_khz())
    }

    fn total(&self) -> f64 {
        Self::microseconds(self.host + self.card + self.wire)
    }

    fn draw(&self, report: &mut Report, name: &str) {
        let [host, card, wire] = [self.host, self.card, self.wire].map(Self::microseconds);
        report.breakdown(name, host, card, wire);
    }
}

/// Figures and bars.
pub(crate) fn measure(report: &mut Report) {
    let write = write();
    let how = "one way: from the post of a push WQE with its data inline to the data in the far host's memory; idle cards";
    report.add("write.latency.64B.qp1", Metric::Latency, write.total(), PROFILE, how);
    let read = read();
    let how = "from the post of a push WQE to its completion in memory; idle cards";
    report.add("read.latency.64B.qp1", Metric::Latency, read.total(), PROFILE, how);
    let PathLatency { card_tx, card_rx, .. } = PathLatency::measure(PROFILE, SIZE, false);
    let how = "from the commit of a push WQE with 64 bytes inline, at the card's pins, to the first beat of the frame";
    report.add("card.tx_latency.64B", Metric::Cycles, number(card_tx), PROFILE, how);
    let how = "from the last beat of the frame to the address of the write to the host";
    report.add("card.rx_latency.64B", Metric::Cycles, number(card_rx), PROFILE, how);

    write.draw(report, "WRITE 64 B, one way, push, inline");
    read.draw(report, "READ 64 B, push");
    for (bytes, size) in [(64, "64 B"), (4096, "4 KiB")] {
        for (is_read, verb) in [(false, "WRITE"), (true, "READ")] {
            let PathLatency { host, card, wire, .. } = PathLatency::measure(PROFILE, bytes, is_read);
            Path { host, card, wire }.draw(report, &format!("{verb} {size}, doorbell to completion"));
        }
    }
}

/// Two cards and a connection, used once so that tables and buffers are warm, and traced from now on.
fn idle() -> (Pair, [QueuePair; 2]) {
    let pair = Pair::new(PROFILE);
    let ends = pair.connect();
    for (wr_id, is_read) in [(0, false), (1, true)] {
        push(&pair, &ends[0], wr_id, is_read);
        pair.ends[0].expect(wr_id);
    }
    pair.run(5000);
    for card in 0..2 {
        pair.shared.world().card(card).start_trace();
    }
    (pair, ends)
}

/// Posts a request through a push window; a WRITE brings the pattern of its number.
fn push(pair: &Pair, sender: &QueuePair, wr_id: u64, is_read: bool) {
    let [near, far] = &pair.ends;
    let batch = sender.start().wr_id(wr_id).signaled().push(true);
    let (place, key) = (far.at(0), far.memory.rkey());
    let batch = if is_read {
        batch.read(&[near.piece(0, SIZE)], place, key)
    } else {
        batch.inline_write(&pattern(wr_id, SIZE), place, key)
    };
    batch.post().expect("room in the queue");
}

/// Until the far host sees the bytes.
fn write() -> Path {
    let (pair, [sender, _receiver]) = idle();
    let posted = pair.now();
    push(&pair, &sender, 2, false);
    while pair.ends[1].bytes(0, SIZE) != pattern(2, SIZE) {
        pair.run(1);
        assert!(pair.now() < posted + LIMIT, "nothing was written in {LIMIT} cycles");
    }
    let seen = pair.now();
    let [near, far] = [0, 1].map(|card| Trace(pair.shared.world().card(card).take_trace()));
    let (commit, left, arrived) = (near.commit(), near.left(), far.arrived());
    let data = far.first(|event| matches!(event, Event::Data { .. }));
    Path {
        host: (commit - posted) + (seen - data),
        card: (left - commit) + (data - arrived),
        wire: arrived - left,
    }
}

/// Until the completion is in the near host's memory.
fn read() -> Path {
    let (pair, [sender, _receiver]) = idle();
    let posted = pair.now();
    push(&pair, &sender, 2, true);
    pair.ends[0].expect(2);
    let total = pair.now() - posted;
    let [near, far] = [0, 1].map(|card| Trace(pair.shared.world().card(card).take_trace()));
    let fetch = Timing::cycles(Timing::ALVEO_GEN3X16.read_ns, PROFILE.clock_khz());
    let completion = near.last(|event| matches!(event, Event::Data { .. }));
    let host = (near.commit() - posted) + fetch + (posted + total - completion);
    let wire = (far.arrived() - near.left()) + (near.arrived() - far.left());
    Path { host, card: total - host - wire, wire }
}

/// What happened at the pins of a card.
struct Trace(Vec<(u64, Event)>);

impl Trace {
    fn first(&self, wanted: impl Fn(&Event) -> bool) -> u64 {
        self.0.iter().find(|(_, event)| wanted(event)).expect("it happens").0
    }

    fn last(&self, wanted: impl Fn(&Event) -> bool) -> u64 {
        self.0.iter().rfind(|(_, event)| wanted(event)).expect("it happens").0
    }

    /// The last word of the push: polling stores nothing.
    fn commit(&self) -> u64 {
        self.last(|event| matches!(event, Event::Bar(Access::Store { .. })))
    }

    fn left(&self) -> u64 {
        self.first(|event| *event == Event::Left)
    }

    fn arrived(&self) -> u64 {
        self.first(|event| *event == Event::Arrived)
    }
}
