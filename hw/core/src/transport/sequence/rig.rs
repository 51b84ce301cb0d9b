//! The sequence between what sends it requests and what takes its errands, in a world that answers what it asks.

mod bed;
mod meaning;
mod world;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::statistics::RESPONDER_COUNTERS;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use bed::Bed;
use meaning::meaning;
pub(super) use world::{OPERATIONS, Slot, World};

use super::account::FIRST;
use super::model::{Outcome, Reservation, Responder, View};
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::state::command::KeyWork;
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{Arrival, DEFERRED_LOG, Deferral, Errand, Occasion, ResponderRow};
use crate::transport::statistics::counter;

/// log2 of the queue pairs.
pub(super) const QPS: usize = 2;
/// The SRQ of those queue pairs that have one.
pub(super) const SRQ: u64 = 5;
/// Cycles after which the sequence counts as stuck.
const LIMIT: u64 = 100_000;

/// What the sequence does.
enum Operation {
    Arrival(Box<Arrival>),
    Change(QpChange),
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) arrival: SourceId,
    pub(super) change: SourceId,
    pub(super) errand: SinkId,
    pub(super) part: SinkId,
    /// Of what was acted on.
    pub(super) model: Responder,
    pub(super) world: World,
    /// The world moves by itself.
    pub(super) drifts: bool,
    rng: SplitMix64,
    /// What the last look showed.
    view: View,
    arrivals: VecDeque<Arrival>,
    changes: VecDeque<QpChange>,
    /// What was taken in, with the cycle in which it is acted on.
    under_way: VecDeque<(u64, Operation)>,
    /// What must come of the arrivals that were acted on.
    outcomes: Vec<Outcome>,
    /// What is deferred, in the order in which it came.
    deferred: Vec<Arrival>,
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("sequence_bed", Bed::<QPS>::default);
        let [arrival, change] =
            ["arrival", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let [errand, part] = ["errand", "part"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let mut rig = Self {
            bench,
            arrival,
            change,
            errand,
            part,
            model: Responder::default(),
            world: World::default(),
            drifts: false,
            rng: SplitMix64::new(77),
            view: View::default(),
            arrivals: VecDeque::new(),
            changes: VecDeque::new(),
            under_way: VecDeque::new(),
            outcomes: Vec::new(),
            deferred: Vec::new(),
        };
        rig.settle();
        rig
    }

    pub(super) fn send(&mut self, arrivals: &[Arrival]) {
        push(&mut self.bench, self.arrival, arrivals);
        self.arrivals.extend(arrivals);
    }

    pub(super) fn send_changes(&mut self, changes: &[QpChange]) {
        push(&mut self.bench, self.change, changes);
        self.changes.extend(changes);
    }

    fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    /// The look of the cycle before is answered from this one on.
    fn look(&mut self) {
        assert_eq!(read::<bool>(&self.bench, "looked"), read::<bool>(&self.bench, "counted"));
        // Whether there is room counts in the cycle of the look alone, at kernels and in the store.
        let noise: [Bits<16>; 2] = std::array::from_fn(|_| noise(&mut self.rng));
        self.set("room", &noise[0]);
        self.set("room_more", &noise[1]);
        self.set("roomy", &noise[0].get_bit(0));
        if !read::<bool>(&self.bench, "looked") {
            return;
        }
        let Some((_, Operation::Arrival(arrival))) = self.under_way.back() else {
            panic!("there is nothing to look for")
        };
        let arrival = **arrival;
        let (shared, number) = (read(&self.bench, "looked_shared"), read(&self.bench, "looked_number"));
        let expected = if arrival.has_srq { (true, arrival.srq) } else { (false, arrival.qpn) };
        assert_eq!((shared, number), expected, "which receives");
        let index = read::<Bits<QPS>>(&self.bench, "counted_index");
        assert_eq!(u64::from(index), u64::from(arrival.qpn), "whose counts");
        let part_room = read(&self.bench, "part_room");
        self.view = View { part_room, ..self.world.view(&arrival) };
        let View { stock, answered, finished, room, room_more, roomy, place, .. } = self.view;
        self.set("roomy", &roomy);
        self.set("place", &Bits::<DEFERRED_LOG>::from(u64::from(place)));
        self.set("stock", &stock);
        self.set("answered", &Bits::<5>::from(u64::from(answered)));
        self.set("finished", &Bits::<5>::from(u64::from(finished)));
        self.set("room", &Bits::<16>::from(u64::from(room)));
        self.set("room_more", &Bits::<16>::from(u64::from(room_more)));
    }

    /// One cycle: what is acted on is acted on by the model, and the pulses are held against it.
    pub(super) fn step(&mut self) {
        let sources = [self.arrival, self.change];
        let before = sources.map(|source| self.bench[source].sent());
        let now = self.bench.cycle();
        self.bench.step();
        let [came, changed] = sources.map(|source| self.bench[source].sent());
        let acted = self.under_way.pop_front_if(|(due, _)| *due == now);
        if changed > before[1] {
            assert_eq!(came, before[0], "one at a time");
            let change = self.changes.pop_front().expect("only what was sent moves");
            self.under_way.push_back((now + 2, Operation::Change(change)));
        }
        if came > before[0] {
            let arrival = self.arrivals.pop_front().expect("only what was sent moves");
            self.under_way.push_back((now + 2, Operation::Arrival(Box::new(arrival))));
        }

        let mut expected = [false; 9];
        let mut deferral = Deferral::default();
        let mut judged = None;
        let (mut counted, mut written, mut reserved) = (None, None, None);
        match acted {
            None => {}
            Some((_, Operation::Change(change))) => {
                self.model.change(&change);
                if change.resets {
                    self.world.reset(change.qpn.into());
                    self.deferred.retain(|kept| kept.qpn != change.qpn);
                    written = Some(u64::from(change.qpn));
                }
            }
            Some((_, Operation::Arrival(arrival))) => {
                let outcome = self.model.arrive(&arrival, &self.view);
                if outcome.takes {
                    self.world.take(&arrival);
                }
                if let Some(reservation) = outcome.reserves {
                    self.world.reserve(reservation);
                }
                reserved = outcome.reserves;
                let Outcome { duplicate, early, unwanted, dropped, nak, rnr, takes, .. } = outcome;
                let Outcome { raw_taken, raw_lost, stays, follows, .. } = outcome;
                let again = arrival.again;
                deferral = Deferral { stored: stays && !again, judged: again, stays, follows };
                judged = Some(*arrival);
                self.keep(&arrival, stays);
                expected = [duplicate, early, unwanted, dropped, nak, rnr, takes, raw_taken, raw_lost];
                let is_awaited = outcome.errand.is_awaited;
                let ends = [duplicate, early, unwanted, dropped, rnr, raw_taken, raw_lost, stays, is_awaited]
                    .map(u8::from);
                let is_packet = u64::from(arrival.occasion) == Occasion::Packet as u64;
                assert_eq!(ends.iter().sum::<u8>(), is_packet.into(), "each packet has one end: {outcome:?}");
                (counted, written) = (outcome.counted, Some(u64::from(arrival.qpn)));
                self.outcomes.push(outcome);
            }
        }
        let pulses = [
            "duplicates",
            "early",
            "unwanted",
            "dropped",
            "naks",
            "rnr_naks",
            "took",
            "raw_taken",
            "raw_lost",
        ];
        let shown = pulses.map(|port| read::<bool>(&self.bench, port));
        assert_eq!(shown, expected, "{pulses:?}");
        assert_eq!(self.reserved(), reserved, "what is reserved");
        assert_eq!(self.deferral(), deferral, "what is deferred");
        assert_eq!(read::<bool>(&self.bench, "acts"), judged.is_some());
        if judged.is_some() {
            assert_eq!(Some(read::<Arrival>(&self.bench, "acted")), judged);
        }
        let tally = counted.map_or(0, |field| 1 << (counter(field) - FIRST));
        assert_eq!(read::<Bits<RESPONDER_COUNTERS>>(&self.bench, "tally").index(), tally, "what counts");
        if tally > 0 {
            assert_eq!(Some(u64::from(read::<Bits<QPS>>(&self.bench, "tally_index"))), written);
        }
        self.agree_on_row(written);
        self.look();
        if self.drifts && self.rng.below(4) == 0 {
            let queues = [(false, 0), (false, 2), (true, SRQ)];
            self.world.drift(&self.model, &queues, &mut self.rng);
        }
    }

    /// What is said of a request that is deferred, without what means nothing.
    fn deferral(&self) -> Deferral {
        let mut said = read::<Deferral>(&self.bench, "deferral");
        said.stays &= said.stored || said.judged;
        said.follows &= said.stays;
        said
    }

    /// The store does as it is told.
    fn keep(&mut self, arrival: &Arrival, stays: bool) {
        let is_same = |kept: &Arrival| kept.slot == arrival.slot && kept.qpn == arrival.qpn;
        if stays && !arrival.again {
            let slot = u64::from(self.view.place).into();
            self.deferred.push(Arrival { again: true, slot, ..*arrival });
            self.world.store();
        }
        if !stays && arrival.again {
            self.deferred.retain(|kept| !is_same(kept));
        }
    }

    /// What is deferred is looked at again, in its order, once each; what came of that.
    pub(super) fn look_again(&mut self) -> Vec<Outcome> {
        let again = self.deferred.clone();
        self.send(&again);
        self.settle();
        self.compare()
    }

    fn reserved(&self) -> Option<Reservation> {
        read::<bool>(&self.bench, "reserved").then(|| Reservation {
            kernel: u8::try_from(u64::from(read::<Bits<4>>(&self.bench, "reserved_kernel"))).expect("4 bits"),
            begins: read(&self.bench, "reserved_begins"),
            ends: read(&self.bench, "reserved_ends"),
        })
    }

    /// The row that was written shows what the model knows of its queue pair.
    fn agree_on_row(&self, written: Option<u64>) {
        assert_eq!(read::<bool>(&self.bench, "wrote"), written.is_some(), "a row is written");
        let Some(qpn) = written else { return };
        assert_eq!(u64::from(read::<Bits<QPS>>(&self.bench, "wrote_index")), qpn);
        let mut row = read::<ResponderRow>(&self.bench, "wrote_row");
        let mut expected = ResponderRow::default();
        if let Some(known) = self.model.connections.get(&qpn) {
            expected = ResponderRow {
                started: true,
                expected: u64::from(known.expected.value()).into(),
                msn: u64::from(known.msn.value()).into(),
                gap_told: known.gap_told,
                failed: known.failed,
            };
        }
        if expected.failed {
            // Gaps do not matter any more.
            (row.gap_told, expected.gap_told) = (false, false);
        }
        assert_eq!(row, expected, "queue pair {qpn}");
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "the sequence is stuck");
            self.step();
        }
    }

    pub(super) fn pause(&mut self, [arrival, change, errand, part]: [Pause; 4]) {
        self.bench[self.arrival].pause(arrival);
        self.bench[self.change].pause(change);
        self.bench[self.errand].pause(errand);
        self.bench[self.part].pause(part);
    }

    /// Holds what came out against the model; gives what it was.
    pub(super) fn compare(&mut self) -> Vec<Outcome> {
        let outcomes = std::mem::take(&mut self.outcomes);
        let found: Vec<Errand> = collect(&mut self.bench, self.errand);
        for (at, (found, expected)) in found.iter().zip(&outcomes).enumerate() {
            assert_eq!(meaning(*found), meaning(expected.errand), "errand {at}");
        }
        assert_eq!(found.len(), outcomes.len(), "errands");
        let parts: Vec<KeyWork> = outcomes.iter().filter_map(|outcome| outcome.part).collect();
        assert_eq!(collect::<KeyWork>(&mut self.bench, self.part), parts, "keys");
        outcomes
    }

    /// Sends one request; what the model and the card made of it.
    pub(super) fn judge(&mut self, arrival: &Arrival) -> Outcome {
        self.send(std::slice::from_ref(arrival));
        self.settle();
        *self.compare().last().expect("each arrival gives an errand")
    }

    /// After a reset: nothing of the past is known.
    pub(super) fn forget(&mut self) {
        self.model = Responder::default();
        self.world = World::default();
        self.outcomes.clear();
        self.deferred.clear();
        self.under_way.clear();
        self.bench[self.errand].take();
        self.bench[self.part].take();
    }
}
