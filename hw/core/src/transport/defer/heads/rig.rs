//! The store between a lookup and a judge, who decide by chance.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Kept, Store};
use super::{DeferHeads, UNDER_WAY};
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{Arrival, DEFERRED_LOG, Deferral, Nudge, Occasion};

/// Queue pairs.
pub(super) const PAIRS: u64 = 4;

/// A request on its way to the judge, or what was decided of it.
struct Judged {
    arrival: Arrival,
    due: u64,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) arrival: SourceId,
    source: SinkId,
    nudge: SinkId,
    change: SourceId,
    pub(super) store: Store,
    places: u64,
    pub(super) rng: SplitMix64,
    /// Requests of 100 that are deferred, and of 100 that stay.
    pub(super) shares: (u64, u64),
    /// New requests that have not been admitted.
    pub(super) waiting: VecDeque<Arrival>,
    /// On the way, in order; those that are looked at again among them.
    under_way: usize,
    sent: VecDeque<Arrival>,
    judging: VecDeque<Judged>,
    /// What the judge has decided, and of whom: the store hears of it a cycle later.
    decided: Option<(Deferral, Arrival, u64)>,
    /// The request that is asked for, and when the lookup gives it up.
    asked: Option<u64>,
    loses: Option<u64>,
    changes: VecDeque<QpChange>,
    /// Requests that went, by what they said.
    pub(super) gone: Vec<Arrival>,
    pub(super) questions: u64,
    pub(super) purged: usize,
    expected_purges: usize,
}

impl Rig {
    pub(super) fn new(places: u64, seed: u64) -> Self {
        let mut bench = verilated("defer_heads", DeferHeads::default);
        let [arrival, change] =
            ["arrival", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let [source, nudge] = ["source", "nudge"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            arrival,
            source,
            nudge,
            change,
            store: Store::default(),
            places,
            rng: SplitMix64::new(seed),
            shares: (50, 50),
            waiting: VecDeque::new(),
            under_way: 0,
            sent: VecDeque::new(),
            judging: VecDeque::new(),
            decided: None,
            asked: None,
            loses: None,
            changes: VecDeque::new(),
            gone: Vec::new(),
            questions: 0,
            purged: 0,
            expected_purges: 0,
        };
        rig.set("places", &Bits::<7>::from(places));
        rig.bench.reset(2);
        rig
    }

    fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    /// A request of this queue pair; what the store does not keep is noise for the judge.
    pub(super) fn request(&mut self, qpn: u64) -> Arrival {
        Arrival {
            occasion: (Occasion::Packet as u64).into(),
            again: false,
            qpn: qpn.into(),
            aeth: 0_u64.into(),
            ..noise(&mut self.rng)
        }
    }

    pub(super) fn requests(&mut self, count: usize) {
        for _ in 0..count {
            let qpn = self.rng.below(PAIRS);
            let request = self.request(qpn);
            self.waiting.push_back(request);
        }
    }

    pub(super) fn pause(&mut self, [arrival, source, nudge]: [Pause; 3]) {
        self.bench[self.arrival].pause(arrival);
        self.bench[self.source].pause(source);
        self.bench[self.nudge].pause(nudge);
    }

    pub(super) fn change(&mut self, qpn: u64, resets: bool) {
        let change = QpChange { qpn: qpn.into(), resets, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// Nothing is on its way: as when a queue pair may reset.
    pub(super) fn is_drained(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty() && self.decided.is_none()
    }

    /// The judge decides.
    fn judge(&mut self, arrival: &Arrival) -> (Deferral, u64) {
        let older = |kept: &Kept| kept.arrival.qpn == arrival.qpn;
        let mut said = Deferral { judged: arrival.again, ..Deferral::default() };
        if !arrival.again {
            let follows = self.store.kept.iter().any(older);
            said.stored = follows || self.rng.below(100) < self.shares.0;
            said.stays = said.stored;
            said.follows = follows && said.stored;
            return (said, 0);
        }
        let age = self.asked.take().expect("one was asked for");
        let follows = self.store.kept.iter().take_while(|kept| kept.age != age).any(older);
        said.stays = follows || self.rng.below(100) < self.shares.1;
        said.follows = follows && said.stays;
        (said, age)
    }

    /// What was decided reaches the store.
    fn decide(&mut self, (said, arrival, age): (Deferral, Arrival, u64), lost: bool) {
        if said.stored {
            self.store.store(&arrival, said.follows && !lost);
        } else if said.judged && said.stays {
            self.store.stay(age, said.follows);
        } else {
            self.gone.push(arrival);
            if said.judged {
                self.store.go(age);
            }
        }
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let now = self.bench.cycle();
        // The judge acts on one, and says a cycle later what came of it.
        let said = self.decided.take();
        self.set("deferral", &said.map_or(Deferral::default(), |(said, ..)| said));
        let acts = self.judging.pop_front_if(|judged| judged.due <= now);
        self.set("acts", &acts.is_some());
        if let Some(Judged { arrival, .. }) = &acts {
            self.set("acted", arrival);
        }
        let lost = self.loses == Some(now);
        self.set("lost", &lost);
        if let Some(Judged { arrival, .. }) = acts {
            self.bench.model_mut().eval();
            let at = read::<Bits<DEFERRED_LOG>>(&self.bench, "place");
            assert_eq!(u64::from(at), self.store.stored % self.places, "where it goes");
            let (said, age) = self.judge(&arrival);
            self.decided = Some((said, arrival, age));
            self.under_way -= 1;
        }
        let changes = self.bench[self.change].sent();
        self.bench.step();
        if lost {
            let age = self.asked.take().expect("one was asked for");
            self.loses = None;
            self.under_way -= 1;
            self.store.go(age);
        }
        if let Some(said) = said {
            self.decide(said, lost);
        }
        if self.bench[self.change].sent() > changes {
            let change = self.changes.pop_front().expect("only what was sent moves");
            if change.resets {
                self.expected_purges += self.store.forget(change.qpn.into());
            }
        }
        self.purged += usize::from(read::<bool>(&self.bench, "purged"));

        for nudge in collect::<Nudge>(&mut self.bench, self.nudge) {
            self.ask(nudge);
        }
        for arrival in collect::<Arrival>(&mut self.bench, self.source) {
            self.arrive(&arrival);
        }
        // Who looks at packets stops when there is no room.
        let admits = read::<bool>(&self.bench, "admits");
        let level = self.store.level();
        assert!(!admits || level + UNDER_WAY as u64 <= self.places + 1, "{level} places in use");
        assert!(!read::<bool>(&self.bench, "roomy") || level <= self.places / 2 + 1);
        if admits
            && self.under_way < UNDER_WAY - 2
            && self.rng.below(2) == 0
            && let Some(request) = self.waiting.pop_front()
        {
            push(&mut self.bench, self.arrival, &[request]);
            self.sent.push_back(request);
            self.under_way += 1;
        }
    }

    /// The lookup is asked for one again.
    fn ask(&mut self, nudge: Nudge) {
        self.questions += 1;
        assert!(nudge.again && self.asked.is_none(), "one at a time");
        let is_it = |age: u64| age % self.places == u64::from(nudge.slot);
        let candidates = self.store.candidates();
        let found = candidates.iter().find(|kept| is_it(kept.age));
        let ages: Vec<u64> = candidates.iter().map(|kept| kept.age).collect();
        let kept =
            found.unwrap_or_else(|| panic!("place {:?} is none of {ages:?} of {:?}", nudge.slot, self.store));
        assert_eq!(nudge.qpn, kept.arrival.qpn, "whose it is");
        let expected = Nudge { again: true, qpn: nudge.qpn, slot: nudge.slot, ..Nudge::default() };
        assert_eq!(nudge, expected);
        let age = kept.age;
        self.asked = Some(age);
        self.under_way += 1;
        if self.rng.below(10) == 0 {
            self.loses = Some(self.bench.cycle() + 2);
        } else {
            // Of the packet the lookup knows nothing.
            let again = Arrival { again: true, qpn: nudge.qpn, slot: nudge.slot, ..Arrival::default() };
            push(&mut self.bench, self.arrival, &[again]);
            self.sent.push_back(again);
        }
    }

    /// A request comes out, on its way to the judge.
    fn arrive(&mut self, arrival: &Arrival) {
        let sent = self.sent.pop_front().expect("only what was sent comes out");
        if sent.again {
            let age = self.asked.expect("one was asked for");
            let kept = self.store.kept.iter().find(|kept| kept.age == age).expect("it is there");
            let said = kept.arrival;
            let expected = Arrival {
                op: said.op,
                ackreq: said.ackreq,
                solicited: said.solicited,
                psn: said.psn,
                va: said.va,
                rkey: said.rkey,
                len: said.len,
                imm: said.imm,
                a1: said.a1,
                a2: said.a2,
                payload_len: said.payload_len,
                ..sent
            };
            assert_eq!(*arrival, expected, "what its packet said");
        } else {
            assert_eq!(*arrival, sent);
        }
        let last = self.judging.back().map_or(0, |judged| judged.due);
        let due = (self.bench.cycle() + 1 + self.rng.below(3)).max(last + 2);
        self.judging.push_back(Judged { arrival: *arrival, due });
    }

    /// Steps until nothing is left of what was sent, nor of what was deferred.
    pub(super) fn settle(&mut self, limit: u64) {
        let start = self.bench.cycle();
        while !self.is_drained() || read::<bool>(&self.bench, "busy") || !self.bench.is_sent() {
            assert!(self.bench.cycle() - start < limit, "the store is stuck: {:?}", self.store);
            self.step();
        }
        self.step();
        assert!(self.store.kept.is_empty());
        assert_eq!(self.purged, self.expected_purges, "what was forgotten");
    }
}
