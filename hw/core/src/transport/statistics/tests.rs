//! The block and its model agree, while everybody counts and writes as fast as he may.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::{CommandStatus, Statistics as Shown, Verb};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::Statistics;
use super::model::{QueuePair, Source};
use super::show::Show;
use super::tally::Tally;
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::testing::{collect, noise, push, read, stalls, verilated};
use crate::transport::records::{AckedRow, RequesterRow, ResponderRow};
use crate::verilog::differential::{assert_agree, differential};

const QPS: usize = 2;
const COUNT: usize = 1 << QPS;
/// Cycles after which the block counts as stuck.
const LIMIT: usize = 2_000;
/// Queue pairs that exist, a bit each: the last does not.
const EXISTING: u64 = 0b0111;

struct Rig {
    bench: Bench,
    command: SourceId,
    reply: SinkId,
    change: SourceId,
    rng: SplitMix64,
    queue_pairs: [QueuePair; COUNT],
    /// Of each source, whether it counted in the cycle before.
    counted: [bool; 3],
    /// What counted in it: by whom, for which queue pair, and what.
    happened: Vec<(Source, usize, u64)>,
    /// Changes on offer.
    changes: Vec<QpChange>,
    /// Queue pairs that reset since the last query began, a bit each.
    reset: u64,
    /// Percent of cycles in which a source that may counts; none writes rows either at zero.
    percent: u64,
}

impl Rig {
    fn new(seed: u64) -> Self {
        let mut bench = verilated("statistics", Statistics::<QPS>::default);
        let [command, change] =
            ["command", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let reply = bench.sink("reply").expect("the stream exists");
        let mut rig = Self {
            bench,
            command,
            reply,
            change,
            rng: SplitMix64::new(seed),
            queue_pairs: [QueuePair::default(); COUNT],
            counted: [false; 3],
            happened: Vec::new(),
            changes: Vec::new(),
            reset: 0,
            percent: 0,
        };
        rig.restart();
        rig
    }

    fn set(&mut self, port: &str, words: &[u32]) {
        let port = self.bench.model().port(port).unwrap_or_else(|error| panic!("{error}"));
        self.bench.model_mut().set_wide(port, words);
    }

    fn restart(&mut self) {
        for (_, name, _) in Source::ALL {
            self.set(&format!("{name}_counts"), &[0]);
        }
        for name in ["requester", "responder"] {
            self.set(&format!("{name}_write"), &[0]);
        }
        self.bench.reset(1);
        self.queue_pairs = [QueuePair::default(); COUNT];
        let mut cycles = 0;
        while !read::<bool>(&self.bench, "ready") {
            self.bench.step();
            cycles += 1;
        }
        assert_eq!(cycles, COUNT, "a row a cycle");
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.rng.below(end as u64)).expect("small")
    }

    /// One cycle in which everybody may do something.
    fn step(&mut self) {
        let mut happened = Vec::new();
        for (place, (source, name, counters)) in Source::ALL.into_iter().enumerate() {
            let counts = !self.counted[place] && self.rng.below(100) < self.percent;
            let mask = if counts { 1 + self.rng.below((1 << counters) - 1) } else { 0 };
            let qpn = self.below(COUNT);
            self.counted[place] = counts;
            self.set(&format!("{name}_counts"), &[u32::try_from(mask).expect("small")]);
            self.set(&format!("{name}_index"), &[u32::try_from(qpn).expect("small")]);
            happened.push((source, qpn, mask));
        }
        let writes = self.percent > 0 && self.rng.below(3) == 0;
        let (written, requester) = (self.below(COUNT), noise::<RequesterRow>(&mut self.rng));
        let responder = noise::<ResponderRow>(&mut self.rng);
        for (name, row) in [("requester", requester.to_words()), ("responder", responder.to_words())] {
            self.set(&format!("{name}_write"), &[writes.into()]);
            self.set(&format!("{name}_at"), &[u32::try_from(written).expect("small")]);
            self.set(&format!("{name}_row"), &row);
        }
        // Tables of others, which show a queue pair a cycle behind the look and rest.
        let probe = u64::from(read::<Bits<24>>(&self.bench, "probe"));
        let exists = probe < 64 && EXISTING >> probe & 1 == 1;
        self.set("exists", &[exists.into()]);
        let look = read::<bool>(&self.bench, "look");
        let look_index = read::<Bits<QPS>>(&self.bench, "look_index").index();
        if self.percent > 0 && self.rng.below(3) == 0 {
            let qpn = self.below(COUNT);
            self.queue_pairs[qpn].acked = noise::<AckedRow>(&mut self.rng);
            self.queue_pairs[qpn].posted = u16::try_from(self.rng.below(1 << 16)).expect("16 bits");
        }
        let taken = self.bench[self.change].sent();
        self.bench.step();
        if look {
            let QueuePair { acked, posted, .. } = self.queue_pairs[look_index];
            self.set("acked", &acked.to_words());
            self.set("posted", &[posted.into()]);
        }
        // A change clears from the cycle before the one in which it is taken on: what counted then counts from zero.
        if self.bench[self.change].sent() > taken {
            let change = self.changes.remove(0);
            if change.resets {
                let cleared = change.qpn.index();
                self.queue_pairs[cleared].counts = Default::default();
                self.reset |= 1 << cleared;
                for (source, _, mask) in self.happened.iter().filter(|(_, qpn, _)| *qpn == cleared) {
                    self.queue_pairs[cleared].count(*source, *mask);
                }
            }
        }
        for (source, qpn, mask) in &happened {
            self.queue_pairs[*qpn].count(*source, *mask);
        }
        self.happened = happened;
        if writes {
            self.queue_pairs[written].requester = requester;
            self.queue_pairs[written].responder = responder;
        }
    }

    fn command(verb: u8, object: u32, rng: &mut SplitMix64) -> ObjectCommand {
        ObjectCommand {
            verb: u64::from(verb).into(),
            object: u64::from(object).into(),
            attributes: noise(rng),
            body: noise(rng),
        }
    }

    /// A command's reply, and what its queue pair was like when it was taken.
    fn ask(&mut self, verb: u8, object: u32) -> (ObjectReply, [QueuePair; COUNT]) {
        let command = Self::command(verb, object, &mut self.rng);
        push(&mut self.bench, self.command, &[command]);
        let sent = self.bench[self.command].sent();
        let mut before = self.queue_pairs;
        for _ in 0..LIMIT {
            if self.bench[self.command].sent() == sent {
                before = self.queue_pairs;
                self.reset = 0;
            }
            self.step();
            if let Some(reply) = collect::<ObjectReply>(&mut self.bench, self.reply).pop() {
                return (reply, before);
            }
        }
        panic!("no reply");
    }

    /// What a query of a queue pair that exists shows.
    fn query(&mut self, qpn: usize) -> (Shown, [QueuePair; COUNT]) {
        let (reply, before) = self.ask(Verb::Query as u8, u32::try_from(qpn).expect("small"));
        assert_eq!((u64::from(reply.status), u64::from(reply.field)), (CommandStatus::Done as u64, 0));
        (shown(&reply), before)
    }

    /// All is still: every queue pair is shown to the bit.
    fn agree(&mut self) {
        self.percent = 0;
        (0..4).for_each(|_| self.step());
        for qpn in (0..COUNT).filter(|qpn| EXISTING >> qpn & 1 == 1) {
            assert_eq!(self.query(qpn).0, self.queue_pairs[qpn].show(), "queue pair {qpn}");
        }
    }
}

fn shown(reply: &ObjectReply) -> Shown {
    let words = reply.body.to_words();
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let rest = bytes.split_off(Shown::LEN);
    assert!(rest.iter().all(|byte| *byte == 0), "behind the statistics");
    let shown = Shown::parse(&bytes).expect("a whole body");
    assert_eq!(shown.to_bytes()[..], bytes[..], "between the fields");
    shown
}

#[test]
fn what_is_shown_is_what_was_counted_and_written_whoever_stalls() {
    for (seed, (idle, pressure)) in stalls().into_iter().enumerate() {
        let mut rig = Rig::new(seed as u64);
        rig.bench[rig.command].pause(idle.clone());
        rig.bench[rig.change].pause(idle);
        rig.bench[rig.reply].pause(pressure);
        for round in 0..40 {
            rig.percent = [100, 50, 10][round % 3];
            if rig.below(3) == 0 && rig.changes.is_empty() {
                let change = QpChange {
                    qpn: (rig.below(COUNT) as u64).into(),
                    resets: rig.below(4) > 0,
                    ..QpChange::default()
                };
                rig.changes.push(change);
                push(&mut rig.bench, rig.change, &[change]);
            }
            let qpn = rig.below(COUNT - 1);
            let (found, before) = rig.query(qpn);
            // While everything moves, counters lie between what they were before the query and behind it.
            let (least, most) = (before[qpn].counts, rig.queue_pairs[qpn].counts);
            if rig.reset >> qpn & 1 == 0 {
                for (index, count) in found.counts().into_iter().enumerate() {
                    assert!((least[index]..=most[index]).contains(&count), "counter {index}, round {round}");
                }
            }
            if round % 8 == 7 {
                while !rig.changes.is_empty() {
                    rig.percent = 0;
                    rig.step();
                }
                rig.agree();
            }
        }
    }
}

#[test]
fn a_count_in_the_cycle_of_a_clearing_is_not_lost_and_brings_nothing_back() {
    for delay in 0..6 {
        let mut rig = Rig::new(delay);
        let count = |rig: &mut Rig, mask: u32| {
            for (_, name, _) in Source::ALL {
                rig.set(&format!("{name}_counts"), &[mask]);
                rig.set(&format!("{name}_index"), &[1]);
            }
        };
        for cycle in 0..20 {
            count(&mut rig, u32::from(cycle % 2 == 0));
            rig.bench.step();
        }
        // Every other cycle counts, and the change comes in an even one or an odd one.
        let change = QpChange { qpn: 1_u64.into(), resets: true, ..QpChange::default() };
        let taken = rig.bench[rig.change].sent();
        let mut counted = Vec::new();
        let mut first = None;
        for cycle in 0..20 {
            if cycle == delay {
                push(&mut rig.bench, rig.change, &[change]);
            }
            count(&mut rig, u32::from(cycle % 2 == 0));
            rig.bench.step();
            counted.extend((cycle % 2 == 0).then_some(cycle));
            // It is taken in the second of its two cycles.
            first = first.or((rig.bench[rig.change].sent() > taken).then(|| cycle - 1));
        }
        count(&mut rig, 0);
        let (found, _) = rig.query(1);
        let first = first.expect("it was taken");
        let expected = counted.iter().filter(|cycle| **cycle >= first).count();
        for field in [found.sent_pkts, found.local_ack_timeout_err, found.rx_send_requests] {
            assert_eq!(usize::try_from(field), Ok(expected), "cleared from cycle {first} on");
        }
        assert_eq!(found.retrans_pkts + found.packet_seq_err + found.rx_write_requests, 0);
    }
}

#[test]
fn only_a_query_of_a_queue_pair_that_exists_is_answered() {
    let mut rig = Rig::new(3);
    let says = |rig: &mut Rig, verb: u8, object: u32| {
        let (reply, _) = rig.ask(verb, object);
        if u64::from(reply.status) != CommandStatus::Done as u64 {
            assert!(!reply.body.any(), "a refusal shows nothing");
        }
        let status = u16::try_from(u64::from(reply.status)).expect("16 bits");
        CommandStatus::from_code(status).expect("a status")
    };
    for verb in [0, Verb::Create as u8, Verb::Modify as u8, Verb::Destroy as u8, 0xff] {
        for object in [0, 3, 1 << 20] {
            assert_eq!(says(&mut rig, verb, object), CommandStatus::UnknownVerb);
        }
    }
    let query = Verb::Query as u8;
    assert_eq!(says(&mut rig, query, 0), CommandStatus::Done);
    assert_eq!(says(&mut rig, query, 3), CommandStatus::NoObject);
    for object in [4, 1 << 23, 1 << 24, 1 << 31] {
        assert_eq!(says(&mut rig, query, object), CommandStatus::OutOfRange);
    }
}

#[test]
fn a_reply_comes_after_four_cycles_and_a_change_is_taken_in_two() {
    let mut rig = Rig::new(4);
    let command = Rig::command(Verb::Query as u8, 1, &mut rig.rng);
    push(&mut rig.bench, rig.command, &[command]);
    while rig.bench[rig.command].sent() == 0 {
        rig.step();
    }
    let mut passed = 1;
    while !read::<bool>(&rig.bench, "reply$valid") {
        rig.step();
        passed += 1;
    }
    assert_eq!(passed, 4);
    let start = rig.bench.cycle();
    let changes = [QpChange { resets: true, ..QpChange::default() }; 10];
    push(&mut rig.bench, rig.change, &changes);
    while rig.bench[rig.change].sent() < changes.len() as u64 {
        rig.bench.step();
    }
    assert_eq!(rig.bench.cycle() - start, 2 * changes.len() as u64);
}

#[test]
fn reset_forgets_counters_and_rows() {
    let mut rig = Rig::new(5);
    rig.percent = 100;
    (0..100).for_each(|_| rig.step());
    rig.restart();
    rig.counted = [false; 3];
    rig.agree();
    rig.percent = 100;
    (0..100).for_each(|_| rig.step());
    rig.agree();
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!(
            "show",
            Show::default,
            [requester, acked, responder, posted, sending_counts, requester_counts, responder_counts]
        ),
        differential!(
            "tally",
            Tally::<2, 3, 96>::default,
            clock,
            [reset, counts, index, looks, look_index, clears, clear_index]
        ),
        differential!(
            "statistics",
            Statistics::<QPS>::default,
            clock,
            [
                command.payload,
                command.valid,
                reply.ready,
                exists,
                change.payload,
                change.valid,
                sending_counts,
                sending_index,
                requester_counts,
                requester_index,
                responder_counts,
                responder_index,
                requester_write,
                requester_at,
                requester_row,
                responder_write,
                responder_at,
                responder_row,
                acked,
                posted
            ]
        ),
    ];
    assert_agree(cases, 300);
}
