//! The completer with a host in front and registers behind.

use std::collections::VecDeque;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_hw::host::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use stroma_hw::pack::Packed;
use stroma_hw::testing::{collect, push, read, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::super::model::{Access, Memory, Request, Target, Twin};
use super::super::{CcBeat, Completer, CqBeat, RegAnswer, RegRequest};

/// Streams that can be stalled.
pub(super) const STREAMS: usize = 11;

struct Streams {
    cq: SourceId,
    cc: SinkId,
    aw: SinkId,
    w: SinkId,
    b: SourceId,
    ar: SinkId,
    r: SourceId,
    requests: [SinkId; 2],
    answers: [SourceId; 2],
}

/// An access that has been asked for, and when it is answered.
struct Due {
    at: u64,
    access: Access,
}

/// The completer on a bench, with [`Memory`] behind its ports: stores take effect when they are answered, some cycles later.
pub(super) struct World {
    pub bench: Bench,
    streams: Streams,
    addresses: VecDeque<LiteAddress>,
    writes: VecDeque<LiteWrite>,
    due: [VecDeque<Due>; 3],
    rng: SplitMix64,
    pub memory: Memory,
    /// As they were seen: stores when they took effect, loads when they came.
    pub seen: Vec<Access>,
}

fn number<const N: usize>(bits: Bits<N>) -> u64 {
    BigUint::from(bits).to_u64_digits().first().copied().unwrap_or(0)
}

fn small(bits: u64) -> u32 {
    u32::try_from(bits).expect("an address")
}

impl World {
    pub(super) fn new() -> Self {
        let mut bench = verilated("completer", Completer::default);
        let source =
            |bench: &mut Bench, name: &str| bench.source(name).unwrap_or_else(|error| panic!("{error}"));
        let sink = |bench: &mut Bench, name: &str| bench.sink(name).unwrap_or_else(|error| panic!("{error}"));
        let streams = Streams {
            cq: source(&mut bench, "cq"),
            cc: sink(&mut bench, "cc"),
            aw: sink(&mut bench, "aw"),
            w: sink(&mut bench, "w"),
            b: source(&mut bench, "b"),
            ar: sink(&mut bench, "ar"),
            r: source(&mut bench, "r"),
            requests: [sink(&mut bench, "table"), sink(&mut bench, "board")],
            answers: [source(&mut bench, "table_answers"), source(&mut bench, "board_answers")],
        };
        bench.reset(2);
        let due = std::array::from_fn(|_| VecDeque::new());
        let (addresses, writes) = (VecDeque::new(), VecDeque::new());
        Self {
            bench,
            streams,
            addresses,
            writes,
            due,
            rng: SplitMix64::new(77),
            memory: Memory::default(),
            seen: vec![],
        }
    }

    pub(super) fn stall(&mut self, pauses: &[Pause; STREAMS]) {
        let [cq, b, r, table_answers, board_answers, cc, aw, w, ar, table, board] = pauses.clone();
        let streams = &self.streams;
        let sources = [streams.cq, streams.b, streams.r, streams.answers[0], streams.answers[1]];
        for (source, pause) in sources.into_iter().zip([cq, b, r, table_answers, board_answers]) {
            self.bench[source].pause(pause);
        }
        let sinks = [streams.cc, streams.aw, streams.w, streams.ar, streams.requests[0], streams.requests[1]];
        for (sink, pause) in sinks.into_iter().zip([cc, aw, w, ar, table, board]) {
            self.bench[sink].pause(pause);
        }
    }

    pub(super) fn send(&mut self, beats: &[CqBeat]) {
        push(&mut self.bench, self.streams.cq, beats);
    }

    pub(super) fn set(&mut self, port: &str, level: bool) {
        let port = self.bench.model().port(port).expect("a port");
        self.bench.model_mut().set(port, level.into());
    }

    pub(super) fn is(&self, port: &str) -> bool {
        read(&self.bench, port)
    }

    pub(super) fn count(&self, port: &str) -> u64 {
        number(read::<Bits<32>>(&self.bench, port))
    }

    pub(super) fn step(&mut self) {
        self.bench.step();
        if let Some(beat) = self.bench[self.streams.cc].received().last() {
            let is_last = CcBeat::from_words(beat).last;
            assert!(is_last || self.is("cc$valid"), "a pause inside a completion");
        }
        self.addresses.extend(collect::<LiteAddress>(&mut self.bench, self.streams.aw));
        self.writes.extend(collect::<LiteWrite>(&mut self.bench, self.streams.w));
        while !self.addresses.is_empty() && !self.writes.is_empty() {
            let (to, what) =
                (self.addresses.pop_front().expect("some"), self.writes.pop_front().expect("some"));
            let strobe = u8::try_from(number(what.strb)).expect("eight bits");
            self.ask(Target::Card, number(to.addr), Some((number(what.data), strobe)));
        }
        for load in collect::<LiteAddress>(&mut self.bench, self.streams.ar) {
            self.ask(Target::Card, number(load.addr), None);
        }
        for (index, target) in [Target::Table, Target::Board].into_iter().enumerate() {
            for request in collect::<RegRequest>(&mut self.bench, self.streams.requests[index]) {
                let strobe = u8::try_from(number(request.strb)).expect("eight bits");
                let store = request.is_write.then(|| (number(request.data), strobe));
                self.ask(target, number(request.addr), store);
            }
        }
        for queue in 0..3 {
            while self.due[queue].front().is_some_and(|due| due.at <= self.bench.cycle()) {
                let due = self.due[queue].pop_front().expect("some");
                self.answer(due.access);
            }
        }
    }

    fn ask(&mut self, target: Target, addr: u64, store: Option<(u64, u8)>) {
        let addr = small(addr);
        let store = store.map(|(data, strobe)| {
            let mask =
                (0..8).filter(|byte| strobe >> byte & 1 == 1).map(|byte| 0xff_u64 << (8 * byte)).sum::<u64>();
            (data & mask, strobe)
        });
        let access = Access { target, addr, store };
        if store.is_none() {
            assert!(self.due.iter().all(VecDeque::is_empty), "a load came before stores had been answered");
            self.seen.push(access);
        }
        let at = self.bench.cycle() + self.rng.below(7);
        self.due[target as usize].push_back(Due { at, access });
    }

    fn answer(&mut self, access: Access) {
        let Access { target, addr, store } = access;
        if let Some((data, strobe)) = store {
            self.memory.store(target, addr, data, strobe);
            self.seen.push(access);
        }
        let data = self.memory.load(target, addr).into();
        let Streams { b, r, answers, .. } = self.streams;
        match (target, store) {
            (Target::Card, Some(_)) => push(&mut self.bench, b, &[LiteResponse::default()]),
            (Target::Card, None) => push(&mut self.bench, r, &[LiteRead { data, resp: 0.into() }]),
            _ => push(&mut self.bench, answers[target as usize - 1], &[RegAnswer { data }]),
        }
    }

    /// Resets the completer and all around it; what waits to be sent is gone.
    pub(super) fn restart(&mut self) {
        self.bench.clear();
        self.bench.reset(2);
        self.addresses.clear();
        self.writes.clear();
        self.due.iter_mut().for_each(VecDeque::clear);
        let Streams { cc, aw, w, ar, requests, .. } = self.streams;
        for sink in [cc, aw, w, ar, requests[0], requests[1]] {
            self.bench[sink].take();
        }
    }

    /// Until nothing moves any more.
    pub(super) fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..400_000 {
            self.step();
            quiet = if self.bench.is_sent() && self.is("is_idle") { quiet + 1 } else { 0 };
            if quiet == 400 {
                return;
            }
        }
        panic!("{}", self.bench.stuck(400_000));
    }

    /// The dwords of every completion that has gone.
    pub(super) fn completions(&mut self) -> Vec<Vec<u32>> {
        let mut all = vec![];
        let mut under_way: Option<Vec<u32>> = None;
        for beat in collect::<CcBeat>(&mut self.bench, self.streams.cc) {
            assert_eq!(beat.is_first, under_way.is_none(), "a beat says where its completion begins");
            let keep = number(beat.keep);
            let count = keep.count_ones();
            assert_eq!(keep, (1 << count) - 1, "dwords without holes");
            assert_eq!(number(beat.end_at), u64::from(count) - 1);
            assert!(beat.last || count == 16, "only the last beat is partial");
            let mut dwords = BigUint::from(beat.data).to_u32_digits();
            dwords.resize(16, 0);
            let so_far = under_way.get_or_insert_default();
            so_far.extend(&dwords[..count as usize]);
            if beat.last {
                all.extend(under_way.take());
            }
        }
        assert_eq!(under_way, None, "a completion has no end");
        all
    }

    /// Good requests, and what must come of them.
    pub(super) fn check(&mut self, requests: &[Request]) {
        let before = self.count("unsupported");
        let errors = self.count("errors");
        let mut twin = Twin { memory: self.memory.clone(), ..Twin::default() };
        for request in requests {
            self.send(&request.beats());
            twin.carry_out(request);
        }
        self.seen.clear();
        self.settle();
        for target in [Target::Card, Target::Table, Target::Board] {
            let of = |accesses: &[Access]| {
                accesses.iter().filter(|access| access.target == target).copied().collect::<Vec<_>>()
            };
            assert_eq!(of(&self.seen), of(&twin.accesses), "accesses to {target:?}");
        }
        assert_eq!(self.completions(), twin.completions);
        assert_eq!(self.count("unsupported") - before, twin.unsupported);
        assert_eq!(self.count("errors"), errors);
    }
}
