//! The lookup between what sends to it and what takes from it, and what must come of all that is sent.

mod bed;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use bed::{Bed, QPS};

use super::model::{Outcome, Port, addressee, frame, nudge, packet};
use crate::head::Head;
use crate::host::control::stations::{HalfStore, MemberStore};
use crate::pack::{Packed, to_bytes};
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{Arrival, Nudge, Order, PeerRow, Station};

/// Queue pairs with a row.
pub(super) const ROWS: usize = 1 << QPS;
/// Addresses of the port.
pub(super) const ADDRESSES: usize = 16;
/// Notices that wait; one more is forgotten.
pub(super) const NOTICES: usize = 8;
/// The port's.
pub(super) const MAC: u64 = 0x02a5_5ac3_3c96;
/// Cycles after which the lookup counts as stuck.
const LIMIT: u64 = 100_000;

/// What a row was read under.
#[derive(Clone, Copy, Debug)]
struct Reading {
    colour: bool,
    pause: bool,
    admits: bool,
    raw: u64,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) head: SourceId,
    pub(super) nudge: SourceId,
    /// Requests, answers, orders, notices, first requests.
    pub(super) sinks: [SinkId; 5],
    pub(super) rows: Vec<PeerRow>,
    pub(super) addresses: Vec<Bits<128>>,
    /// Groups of the port, each with its queue pair.
    pub(super) groups: Vec<(Bits<128>, u64)>,
    heads: VecDeque<Head>,
    nudges: VecDeque<Nudge>,
    /// What comes of those that have moved, in order; `true` for a packet.
    pub(super) outcomes: Vec<(bool, Outcome)>,
    /// A row was read, and what it was read for has not moved.
    under: Option<Reading>,
    /// What moved in the cycle before, with the colour of its row: it is handed out in the next.
    acting: Option<(bool, Outcome)>,
    pub(super) colour: bool,
    pub(super) pause: bool,
    /// Whose raw frames are.
    pub(super) raw: u64,
    /// One in so many cycles `colour` turns, and `pause` and `raw` do; 0: never.
    pub(super) turns: (u64, u64),
    /// Cycles in which `pending` was high.
    pub(super) pending: u64,
    rng: SplitMix64,
}

impl Rig {
    pub(super) fn new(rows: Vec<PeerRow>, addresses: Vec<Bits<128>>) -> Self {
        let mut bench = verilated("lookup_bed", Bed::default);
        let [head, nudge] = ["head", "nudge"].map(|name| bench.source(name).expect("the stream exists"));
        let sinks = ["request", "response", "order", "notice", "first"]
            .map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let mut rig = Self {
            bench,
            head,
            nudge,
            sinks,
            rows,
            addresses,
            groups: Vec::new(),
            heads: VecDeque::new(),
            nudges: VecDeque::new(),
            outcomes: Vec::new(),
            under: None,
            acting: None,
            colour: false,
            pause: false,
            raw: 0,
            turns: (0, 0),
            pending: 0,
            rng: SplitMix64::new(7),
        };
        rig.store();
        rig
    }

    /// Writes the tables.
    pub(super) fn store(&mut self) {
        for (at, row) in self.rows.clone().iter().enumerate() {
            self.set("write_index", &Bits::<QPS>::from(at as u64));
            self.set("write_row", row);
            self.set("write", &true);
            self.bench.run(1);
        }
        self.set("write", &false);
        for (at, address) in self.addresses.clone().iter().enumerate() {
            self.set("place_index", &Bits::<4>::from(at as u64));
            self.set("place_address", address);
            self.set("place", &true);
            self.bench.run(1);
        }
        self.set("place", &false);
        let addresses = self.addresses.clone();
        self.halves("half_address", &addresses);
        let (groups, members): (Vec<_>, Vec<_>) = self.groups.clone().into_iter().unzip();
        self.halves("half_group", &groups);
        for group in 0..ADDRESSES {
            let (enable, number) = (group < members.len(), members.get(group).copied().unwrap_or(0));
            let store =
                MemberStore { valid: true, group: (group as u64).into(), queue_pair: number.into(), enable };
            self.set("member", &store);
            self.bench.run(1);
        }
        self.set("member", &MemberStore::default());
        self.set("mac", &Bits::<48>::from(MAC));
    }

    /// Stores addresses half by half, first byte lowest.
    fn halves(&mut self, port: &str, addresses: &[Bits<128>]) {
        for (at, address) in addresses.iter().enumerate() {
            let mut bytes = to_bytes(*address);
            bytes.reverse();
            for (half, word) in (2 * at as u64..).zip(bytes.chunks(8)) {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                self.set(port, &HalfStore { valid: true, half: half.into(), bytes: word.into() });
                self.bench.run(1);
            }
        }
        self.set(port, &HalfStore::default());
    }

    /// Whose a destination is.
    fn station(&self, destination: Bits<128>) -> Station {
        let group = self.groups.iter().find(|(address, _)| *address == destination);
        Station {
            is_ours: self.addresses.contains(&destination) && destination != Bits::default(),
            is_group: group.is_some(),
            member: group.map_or(0, |(_, number)| *number).into(),
        }
    }

    fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn send_heads(&mut self, heads: &[Head]) {
        push(&mut self.bench, self.head, heads);
        self.heads.extend(heads);
    }

    pub(super) fn send_nudges(&mut self, nudges: &[Nudge]) {
        push(&mut self.bench, self.nudge, nudges);
        self.nudges.extend(nudges);
    }

    fn row(&self, qpn: Bits<24>) -> PeerRow {
        self.rows.get(qpn.index()).copied().unwrap_or_default()
    }

    /// What the model says of the oldest that waits.
    fn act(&mut self, is_packet: bool, under: Reading) -> Outcome {
        if is_packet {
            let head = self.heads.pop_front().expect("only what was sent moves");
            if head.raw {
                let row = self.row(under.raw.into());
                return frame(&head, under.raw, &row, under.pause, under.colour);
            }
            let station = self.station(head.dst_ip);
            let row = self.row(addressee(&head, station));
            let address = self.addresses[row.source_address.index()];
            packet(&head, &row, Port { mac: MAC.into(), address, station }, under.pause, under.colour)
        } else {
            let sent = self.nudges.pop_front().expect("only what was sent moves");
            nudge(&sent, &self.row(sent.qpn), under.pause, under.colour)
        }
    }

    /// One cycle: the inputs turn, and what shows before and after the clock edge is held against the model.
    pub(super) fn step(&mut self) {
        let mut turn = |share| share != 0 && self.rng.below(share) == 0;
        self.colour ^= turn(self.turns.0);
        self.pause ^= turn(self.turns.1);
        if turn(self.turns.1) {
            self.raw = self.rng.below(10);
        }
        let admits = self.turns.0 == 0 || self.rng.below(4) > 0;
        let reading = Reading { colour: self.colour, pause: self.pause, admits, raw: self.raw };
        self.set("admits", &reading.admits);
        self.set("colour", &reading.colour);
        self.set("pause", &reading.pause);
        self.set("raw_queue_pair", &Bits::<24>::from(reading.raw));
        self.bench.model_mut().eval();
        let is_old = |colour: bool| colour != reading.colour;
        let is_pending = self.under.is_some_and(|under| is_old(under.colour))
            || self.acting.as_ref().is_some_and(|(colour, _)| is_old(*colour));
        assert_eq!(read::<bool>(&self.bench, "pending"), is_pending, "pending");
        self.pending += u64::from(is_pending);
        let entered = read::<bool>(&self.bench, "enters").then(|| read::<bool>(&self.bench, "enters_colour"));

        let before = [self.head, self.nudge].map(|source| self.bench[source].sent());
        self.bench.step();
        let after = [self.head, self.nudge].map(|source| self.bench[source].sent());
        assert!(after[0] + after[1] <= before[0] + before[1] + 1, "one at a time");
        let (colour, outcome) = self.acting.take().unwrap_or_default();
        assert_eq!(entered, outcome.order.map(|_| colour), "enters");
        assert_eq!(read::<bool>(&self.bench, "dropped"), outcome.dropped, "dropped");
        assert_eq!(read::<bool>(&self.bench, "lost"), outcome.lost, "lost");
        assert_eq!(read::<bool>(&self.bench, "raw_dropped"), outcome.raw_dropped, "raw_dropped");
        assert_eq!(read::<bool>(&self.bench, "cnp_received"), outcome.notified, "cnp_received");
        for (is_packet, at) in [(true, 0), (false, 1)] {
            if after[at] > before[at] {
                let under = self.under.take().expect("a row is read first");
                assert!(under.admits || !is_packet, "a packet begins only if it is admitted");
                let outcome = self.act(is_packet, under);
                self.acting = Some((under.colour, outcome.clone()));
                self.outcomes.push((is_packet, outcome));
            }
        }
        if read::<bool>(&self.bench, "began") {
            assert!(self.under.replace(reading).is_none(), "one row at a time");
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    /// Steps until all is out.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "the lookup is stuck");
            self.step();
        }
    }

    pub(super) fn pauses(&mut self, [head, nudge, request, response, order, notice, first]: [Pause; 7]) {
        self.bench[self.head].pause(head);
        self.bench[self.nudge].pause(nudge);
        for (sink, pause) in self.sinks.into_iter().zip([request, response, order, notice, first]) {
            self.bench[sink].pause(pause);
        }
    }

    /// Holds all that came out against what was acted on; gives the notices that came, and those that were due.
    pub(super) fn compare(&mut self) -> (Vec<Bits<24>>, Vec<Bits<24>>) {
        let outcomes = std::mem::take(&mut self.outcomes);
        let wanted: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        let requests: Vec<Arrival> = wanted.iter().filter_map(|outcome| outcome.request).collect();
        let responses: Vec<Arrival> = wanted.iter().filter_map(|outcome| outcome.response).collect();
        let orders: Vec<Order> = wanted.iter().filter_map(|outcome| outcome.order).collect();
        let notices = wanted.iter().filter_map(|outcome| outcome.notice).collect();
        assert_eq!(collect::<Arrival>(&mut self.bench, self.sinks[0]), requests, "requests");
        assert_eq!(collect::<Arrival>(&mut self.bench, self.sinks[1]), responses, "responses");
        assert_eq!(collect::<Order>(&mut self.bench, self.sinks[2]), orders, "orders");
        // Some may be forgotten; the rest keep their order.
        let mut firsts = wanted.iter().filter_map(|outcome| outcome.first);
        let found = collect::<Bits<24>>(&mut self.bench, self.sinks[4]);
        assert!(found.iter().all(|first| firsts.any(|other| other == *first)), "first requests");
        assert!(found.len() >= NOTICES.min(wanted.iter().filter(|outcome| outcome.first.is_some()).count()));
        (collect(&mut self.bench, self.sinks[3]), notices)
    }

    /// After a reset: nothing of the past is awaited.
    pub(super) fn forget(&mut self) {
        self.outcomes.clear();
        self.under = None;
        self.acting = None;
        for sink in self.sinks {
            self.bench[sink].take();
        }
    }
}
