//! Where the time of one request goes: host, card and wire, measured from pin to pin on idle cards.

use stroma_sim::Kind;
use stroma_sim::host::attach::Event;
use stroma_sim::host::bars::Access;
use stroma_verbs::Status;

use crate::pair::{Pair, pattern};

/// Cycles of one request, from the driver's store to the completion in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLatency {
    /// All of it.
    pub total: u64,
    /// In the hosts: stores on their way, reads and writes of memory, at either end.
    pub host: u64,
    /// In the cards.
    pub card: u64,
    /// On the wire: bits of the frames, and the cable.
    pub wire: u64,
    /// From the commit of a push with its data inline to the first beat of the frame; 0 if the payload is too long for that.
    pub card_tx: u64,
    /// From the last beat of a request to the address of the write, or of the read, it asks for.
    pub card_rx: u64,
}

type Trace = Vec<(u64, Event)>;

fn first(trace: &Trace, from: u64, wanted: impl Fn(&Event) -> bool) -> u64 {
    let found = trace.iter().find(|(cycle, event)| *cycle >= from && wanted(event));
    found.unwrap_or_else(|| panic!("no such event from cycle {from} on in {trace:?}")).0
}

fn last(trace: &Trace, until: u64, wanted: impl Fn(&Event) -> bool) -> u64 {
    let found = trace.iter().rev().find(|(cycle, event)| *cycle <= until && wanted(event));
    found.unwrap_or_else(|| panic!("no such event up to cycle {until} in {trace:?}")).0
}

fn is_store(event: &Event) -> bool {
    matches!(event, Event::Bar(Access::Store { .. }))
}

/// What happens at the pins of both cards from a post to its completion, with the cycles of both.
struct Run {
    posted: u64,
    near: Trace,
    far: Trace,
    completed: u64,
}

/// One request of so many bytes after another that has filled the TLBs.
fn run(kind: &Kind, bytes: usize, is_read: bool, push: bool) -> Run {
    let pair = Pair::new(kind.clone());
    let [near, far] = &pair.ends;
    let [sender, _receiver] = pair.connect();
    let (source, data) = (if is_read { far } else { near }, pattern(1, bytes));
    source.put(0, &data);
    let post = |wr_id: u64| {
        let batch = sender.start().wr_id(wr_id).signaled().push(push);
        let key = far.memory.rkey();
        let batch = if is_read {
            batch.read(&[near.piece(0, bytes)], far.at(0), key)
        } else if push {
            batch.inline_write(&data, far.at(0), key)
        } else {
            batch.write(&[near.piece(0, bytes)], far.at(0), key)
        };
        batch.post().expect("room in the queue");
    };
    post(1);
    near.expect(1);
    pair.run(5000);
    for card in 0..2 {
        pair.shared.world().card(card).start_trace();
    }
    let posted = pair.now();
    post(2);
    let found = near.complete();
    assert_eq!((found.wr_id, found.status), (2, Status::Success));
    let completed = pair.now();
    let target = if is_read { near } else { far };
    assert!(target.bytes(0, bytes) == data, "{bytes} bytes moved");
    let mut world = pair.shared.world();
    let [near, far] = [0, 1].map(|card| world.card(card).take_trace());
    Run { posted, near, far, completed }
}

impl PathLatency {
    /// Measures a WRITE or a READ of so many bytes on cards of this kind, by doorbell, with the payload in memory.
    ///
    /// # Panics
    /// When the request fails.
    #[must_use]
    pub fn measure(kind: impl Into<Kind>, bytes: usize, is_read: bool) -> Self {
        let kind = kind.into();
        let profile = kind.profile;
        let is_left = |event: &Event| *event == Event::Left;
        let is_arrived = |event: &Event| *event == Event::Arrived;
        let is_data = |event: &Event| matches!(event, Event::Data { .. });
        let Run { posted, near, far, completed } = run(&kind, bytes, is_read, false);
        let doorbell = first(&near, posted, is_store);
        let out = first(&near, doorbell, is_left);
        // Reads of the near host between the doorbell and the frame: the WQE, and a WRITE's payload. Each takes as long as the
        // host needs for its first data.
        let timing = stroma_sim::host::timing::Timing::ALVEO_GEN3X16;
        let cycles = |ns: u32| stroma_sim::host::timing::Timing::cycles(ns, profile.clock_khz());
        let near_reads = if is_read { 1 } else { 2 } * cycles(timing.read_ns);
        let request_end = first(&far, out, is_arrived);
        let answer = first(&far, request_end, is_left);
        let far_reads = if is_read { cycles(timing.read_ns) } else { 0 };
        let answer_end = last(&near, completed, is_arrived);
        let told = last(&near, completed, is_data);
        // The last frame of a request of many leaves later than the first: the wire is busy from the first to the last.
        let wire = (request_end.max(last(&far, answer, is_arrived)) - out).min(answer.saturating_sub(out))
            + (answer_end - answer);
        let host = (doorbell - posted) + near_reads + far_reads + (completed - told);
        let total = completed - posted;
        let card_rx = if is_read {
            first(&far, request_end, |event| matches!(event, Event::Read { .. })) - request_end
        } else {
            first(&far, request_end, |event| matches!(event, Event::Write { .. })) - request_end
        };
        let card_tx = if is_read || bytes > 224 { 0 } else { Self::push(&kind, bytes) };
        Self { total, host, wire, card: total.saturating_sub(host + wire), card_tx, card_rx }
    }

    /// Cycles from the commit of a push to the first beat of its frame.
    fn push(kind: &Kind, bytes: usize) -> u64 {
        let Run { posted, near, .. } = run(kind, bytes, false, true);
        let out = first(&near, posted, |event| *event == Event::Left);
        out - last(&near, out, is_store)
    }
}
