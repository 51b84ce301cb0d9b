use std::collections::VecDeque;

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Model, failure, is_question, what_counts};
use super::{Calls, FINISHED, PENDING, REPLAY, search};
use crate::fabric::records::{Call, Calling, Ended, NO_KERNEL, News};
use crate::host::work::QpChange;
use crate::testing::{collect, noise, push, read, stalls, verilated};
use crate::transport::records::TxFailure;
use crate::verilog::differential::{assert_agree, differential};

const QPS: usize = 2;
const RING: usize = 6;
const QUEUE_PAIRS: u64 = 1 << QPS;
const LIMIT: u64 = 20_000;

struct Rig {
    bench: Bench,
    call: SourceId,
    ended: SourceId,
    change: SourceId,
    given: SinkId,
    news: SinkId,
    failure: SinkId,
    rng: SplitMix64,
    model: Model,
    /// What was queued, and what is to come of what was taken.
    calls: VecDeque<Call>,
    ends: VecDeque<Ended>,
    changes: VecDeque<QpChange>,
    expected_given: VecDeque<Call>,
    expected_news: VecDeque<News>,
    expected_failures: VecDeque<TxFailure>,
    told: Vec<(u64, News)>,
    handed: Vec<u64>,
    dropped: u64,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("calls", Calls::<QPS, RING>::default);
        let [call, ended, change] =
            ["call", "ended", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let [given, news, failure] =
            ["given", "news", "failure"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            call,
            ended,
            change,
            given,
            news,
            failure,
            rng: SplitMix64::new(0),
            model: Model::new(1 << QPS),
            calls: VecDeque::new(),
            ends: VecDeque::new(),
            changes: VecDeque::new(),
            expected_given: VecDeque::new(),
            expected_news: VecDeque::new(),
            expected_failures: VecDeque::new(),
            told: Vec::new(),
            handed: Vec::new(),
            dropped: 0,
        };
        rig.reset(0);
        rig
    }

    fn reset(&mut self, seed: u64) {
        self.bench.clear();
        self.bench.reset(2);
        for sink in [self.given, self.news, self.failure] {
            self.bench[sink].take();
        }
        self.model = Model::new(1 << QPS);
        self.calls.clear();
        self.ends.clear();
        self.changes.clear();
        self.expected_given.clear();
        self.expected_news.clear();
        self.expected_failures.clear();
        self.told.clear();
        self.handed.clear();
        self.dropped = 0;
        self.rng = SplitMix64::new(seed);
        self.run(QUEUE_PAIRS + 2);
        assert!(read::<bool>(&self.bench, "ready"));
    }

    fn call(&mut self, call: &Call) {
        push(&mut self.bench, self.call, &[*call]);
        self.calls.push_back(*call);
    }

    fn end(&mut self, ended: Ended) {
        push(&mut self.bench, self.ended, &[ended]);
        self.ends.push_back(ended);
    }

    fn change(&mut self, qpn: u64, resets: bool) {
        let change = QpChange { qpn: qpn.into(), resets, ..noise(&mut self.rng) };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    fn step(&mut self) {
        let count = |rig: &Self| [rig.change, rig.ended, rig.call].map(|source| rig.bench[source].sent());
        let before = count(self);
        self.bench.step();
        let (now, after) = (self.bench.cycle(), count(self));
        if after[0] > before[0] {
            let change = self.changes.pop_front().expect("it was queued");
            self.model.change(&change);
        }
        if after[1] > before[1] {
            let ended = self.ends.pop_front().expect("it was queued");
            let (news, lost) = self.model.ended(&ended);
            self.expected_news.extend(news);
            self.expected_failures.extend(lost.map(|psn| failure(ended.qpn.into(), psn)));
        }
        if read::<bool>(&self.bench, "asks") {
            let news = self.model.ask();
            self.expected_news.extend(news);
        }
        if after[2] > before[2] {
            let call = self.calls.pop_front().expect("it was queued");
            if !is_question(&call) {
                let (given, news) = self.model.call(&call);
                self.expected_given.extend(given);
                self.expected_news.extend(news);
            } else if read::<bool>(&self.bench, "drops") {
                self.dropped += 1;
            } else {
                self.model.questions.push_back(call);
            }
        }
        for given in collect::<Call>(&mut self.bench, self.given) {
            assert_eq!(Some(given), self.expected_given.pop_front());
            self.handed.push(now);
        }
        for news in collect::<News>(&mut self.bench, self.news) {
            let expected = self.expected_news.pop_front().as_ref().map(what_counts);
            assert_eq!(Some(what_counts(&news)), expected);
            self.told.push((now, news));
        }
        for failure in collect::<TxFailure>(&mut self.bench, self.failure) {
            assert_eq!(Some(failure), self.expected_failures.pop_front());
        }
    }

    fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            self.step();
            assert!(self.bench.cycle() - start < LIMIT, "stuck: {}", self.bench.stuck(LIMIT));
        }
        self.run(2);
        assert!(self.expected_given.is_empty() && self.expected_news.is_empty(), "something is missing");
        assert!(self.expected_failures.is_empty() && self.model.questions.is_empty());
    }

    /// A complete request of one packet.
    fn request(&mut self, qpn: u64, place: u64, psn: u64, reserved: u64, kernel: u64) -> Call {
        Call {
            calling: (Calling::Begins as u64).into(),
            ends: true,
            gives_up: false,
            qpn: qpn.into(),
            place: place.into(),
            psn: psn.into(),
            reserved: reserved.into(),
            kernel: kernel.into(),
            path_mtu: 1.into(),
            ..noise(&mut self.rng)
        }
    }

    fn question(&mut self, qpn: u64, next: u64, psn: u64) -> Call {
        Call { calling: (Calling::Again as u64).into(), ..self.request(qpn, next, psn, 0, 0) }
    }

    fn answers(&self) -> Vec<u64> {
        self.told.iter().map(|(_, news)| news.answer.into()).collect()
    }
}

fn ended(qpn: u64, place: u64, length: u64, is_kept: bool) -> Ended {
    Ended {
        qpn: qpn.into(),
        place: place.into(),
        status: 0x100_u64.into(),
        length: length.into(),
        is_kept,
        stage: 3.into(),
        is_lost: false,
    }
}

/// Everything at random, with PSNs that meet.
fn live(rig: &mut Rig, cycles: u64) {
    let mut next = [0_u64; 1 << QPS];
    for _ in 0..cycles {
        let qpn = rig.rng.below(QUEUE_PAIRS);
        let slot = usize::try_from(qpn).expect("small");
        if rig.bench[rig.call].is_empty() && rig.rng.below(3) == 0 {
            let psn = (0xff_ffc0 + rig.rng.below(128)) & 0xff_ffff;
            if rig.rng.below(2) == 0 {
                let call = rig.question(qpn, next[slot] & 15, psn);
                let path_mtu = (1 + rig.rng.below(5)).into();
                rig.call(&Call { path_mtu, ..call });
            } else {
                let kernel = if rig.rng.below(4) == 0 { u64::from(NO_KERNEL) } else { rig.rng.below(15) };
                let reserved = 1 + rig.rng.below(20);
                let mut call = rig.request(qpn, next[slot] & 15, psn, reserved, kernel);
                call.gives_up = rig.rng.below(8) == 0;
                call.ends = rig.rng.below(4) != 0;
                next[slot] += u64::from(call.ends);
                rig.call(&call);
            }
        }
        if rig.bench[rig.ended].is_empty() && rig.rng.below(5) == 0 {
            let (place, length) = (rig.rng.below(16), rig.rng.below(5000));
            let is_kept = rig.rng.below(2) == 0;
            let is_lost = is_kept && rig.rng.below(4) == 0;
            rig.end(Ended { is_lost, ..ended(qpn, place, length, is_kept) });
        }
        if rig.bench[rig.change].is_empty() && rig.rng.below(200) == 0 {
            let resets = rig.rng.below(2) == 0;
            rig.change(qpn, resets);
        }
        rig.step();
    }
    rig.settle();
}

#[test]
fn agrees_with_the_model_under_stalls() {
    let mut rig = Rig::new();
    let mut told = Vec::new();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        rig.reset(seed);
        for source in [rig.call, rig.ended, rig.change] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.given, rig.news, rig.failure] {
            rig.bench[sink].pause(pressure.clone());
        }
        live(&mut rig, 3000);
        told.extend(rig.answers());
    }
    for kind in [FINISHED, REPLAY, PENDING] {
        let count = told.iter().filter(|answer| **answer == u64::from(kind)).count();
        assert!(count > 50, "{count} of {kind}");
    }
}

#[test]
fn an_rpc_is_pending_until_its_answer_is_kept_and_then_replayed_from_any_packet() {
    let mut rig = Rig::new();
    let request = rig.request(1, 4, 100, 3, 2);
    rig.call(&request);
    let ask = |rig: &mut Rig, psn| {
        let question = rig.question(1, 5, psn);
        rig.call(&question);
        rig.settle();
    };
    ask(&mut rig, 100);
    rig.end(ended(1, 4, 500, false));
    ask(&mut rig, 101);
    rig.end(ended(1, 4, 500, true));
    // 500 bytes are two packets of 256: the third PSN is reserved, and never used.
    for psn in [100, 101, 102, 103, 99] {
        ask(&mut rig, psn);
    }
    let told: Vec<(u64, u64, u64)> =
        rig.told.iter().map(|(_, news)| (news.answer.into(), news.psn.into(), news.before.into())).collect();
    let (finished, pending, replay) = (u64::from(FINISHED), u64::from(PENDING), u64::from(REPLAY));
    let kinds: Vec<u64> = told.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [pending, finished, pending, finished, replay, replay]);
    assert_eq!((told[4].1, told[4].2, told[5].1, told[5].2), (100, 0, 101, 256));
}

#[test]
fn the_newest_of_those_with_one_psn_is_meant() {
    let mut rig = Rig::new();
    for (place, length) in [(0, 10), (1, 20), (2, 30)] {
        let request = rig.request(2, place, if place == 2 { 900 } else { 500 }, 1, 0);
        rig.call(&request);
        rig.settle();
        rig.end(ended(2, place, length, true));
        rig.settle();
    }
    let question = rig.question(2, 3, 500);
    rig.call(&question);
    rig.settle();
    let (_, news) = rig.told[rig.told.len() - 1];
    assert_eq!((u64::from(news.place), u64::from(news.length)), (1, 20));
}

#[test]
fn without_a_kernel_the_refusal_is_the_answer_and_is_told_when_the_request_is_complete() {
    let mut rig = Rig::new();
    let whole = rig.request(0, 7, 40, 2, u64::from(NO_KERNEL));
    let refusal = 5_u64.into();
    rig.call(&Call { ends: false, refusal, ..whole });
    rig.settle();
    assert!(rig.told.is_empty() && rig.handed.is_empty());
    rig.call(&Call { calling: (Calling::GoesOn as u64).into(), refusal, ..whole });
    rig.settle();
    let (_, news) = rig.told[0];
    assert_eq!((u64::from(news.status), u64::from(news.length), news.staged), (5, 0, false));
    let question = rig.question(0, 8, 40);
    rig.call(&question);
    rig.settle();
    assert_eq!(rig.answers(), [u64::from(FINISHED), u64::from(REPLAY)]);
}

#[test]
fn a_queue_pair_that_resets_is_forgotten_and_a_stage_of_it_is_told_all_the_same() {
    let mut rig = Rig::new();
    let request = rig.request(3, 0, 7, 1, 0);
    rig.call(&request);
    rig.settle();
    rig.end(ended(3, 0, 9, false));
    rig.settle();
    rig.change(3, true);
    rig.settle();
    rig.end(ended(3, 0, 9, false));
    rig.end(ended(3, 0, 9, true));
    rig.end(Ended { is_lost: true, ..ended(3, 0, 9, true) });
    let question = rig.question(3, 1, 7);
    rig.call(&question);
    rig.settle();
    let staged: Vec<bool> = rig.told.iter().map(|(_, news)| news.staged).collect();
    assert_eq!(staged, [true, true], "who answers gives the stage back");
}

#[test]
fn what_comes_of_a_queue_pair_that_has_stopped_is_given_up() {
    let mut rig = Rig::new();
    let change = QpChange { qpn: 1.into(), stops: true, resets: false, ends: false, drains: false };
    push(&mut rig.bench, rig.change, &[change]);
    rig.changes.push_back(change);
    rig.settle();
    for kernel in [2, u64::from(NO_KERNEL)] {
        let request = rig.request(1, 0, 7, 1, kernel);
        rig.call(&request);
    }
    let question = rig.question(1, 1, 7);
    rig.call(&question);
    rig.settle();
    assert!(rig.told.is_empty(), "nothing is known");
    assert_eq!(rig.handed.len(), 1, "what was reserved comes back");
}

#[test]
fn an_answer_that_could_not_be_kept_is_a_failure_of_its_first_packet() {
    let mut rig = Rig::new();
    let request = rig.request(1, 9, 0xff_fffe, 4, 3);
    rig.call(&request);
    rig.settle();
    rig.end(Ended { is_lost: true, ..ended(1, 9, 100, true) });
    rig.settle();
    assert!(rig.told.is_empty());
}

#[test]
fn too_many_questions_are_dropped_and_nobody_waits_for_them() {
    let mut rig = Rig::new();
    rig.bench[rig.news].pause(Pause::Always);
    for number in 0..40 {
        let question = rig.question(number & 3, 0, 0);
        rig.call(&question);
    }
    rig.run(60);
    assert!(rig.bench[rig.call].is_empty(), "all were taken");
    assert!(rig.dropped > 10, "{} dropped", rig.dropped);
    rig.bench[rig.news].pause(Pause::None);
    rig.settle();
}

#[test]
fn each_operation_takes_as_long_as_the_contract_says() {
    let mut rig = Rig::new();
    let start = rig.bench.cycle();
    for place in 0..8 {
        let request = rig.request(0, place, 10 * place, 1, 1);
        rig.call(&request);
    }
    rig.settle();
    assert_eq!(rig.handed[0] - start, 3, "2 cycles behind the one in which it is taken");
    let gaps: Vec<u64> = rig.handed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [2; 7]);
    let start = rig.bench.cycle();
    rig.end(ended(0, 3, 60, true));
    rig.settle();
    assert_eq!(rig.told[0].0 - start, 3);
    let start = rig.bench.cycle();
    let question = rig.question(0, 4, 30);
    rig.call(&question);
    rig.settle();
    assert_eq!(rig.told[1].0 - start, 6, "the newest");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    live(&mut rig, 200);
    rig.bench[rig.news].pause(Pause::Always);
    for place in 0..8 {
        let request = rig.request(0, place, 0, 1, u64::from(NO_KERNEL));
        rig.call(&request);
    }
    rig.run(30);
    rig.bench[rig.news].pause(Pause::None);
    rig.reset(5);
    assert!(!read::<bool>(&rig.bench, "busy"));
    let question = rig.question(0, 8, 0);
    rig.call(&question);
    rig.settle();
    assert!(rig.told.is_empty(), "nothing is known");
    live(&mut rig, 1000);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!("calls_search", search::Search::default, clock, [begins, question, row, entry]),
        differential!(
            "calls",
            Calls::<2, 6>::default,
            clock,
            [
                call.payload,
                call.valid,
                ended.payload,
                ended.valid,
                change.payload,
                change.valid,
                given.ready,
                news.ready,
                failure.ready
            ]
        ),
    ];
    assert_agree(cases, 300);
}
