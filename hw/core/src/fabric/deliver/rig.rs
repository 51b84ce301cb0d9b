//! Deliver on a bench, between ports, Dma, and those who hear of answers and send them.

use std::collections::{BTreeMap, VecDeque};

use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::Deliver;
use crate::fabric::records::{Access, Chunk, Ended, ResultRow};
use crate::pack::Packed;
use crate::slot::{Ending, SlotDone};
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, noise, push, read, verilated};

const LIMIT: u64 = 50_000;
pub(super) const PORTS: usize = 3;

/// An answer that a port gives.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) qpn: u64,
    pub(super) place: u64,
    pub(super) status: u64,
    pub(super) path_mtu: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) is_orphan: bool,
}

pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    pub(super) rng: SplitMix64,
    pub(super) chunks: [SourceId; PORTS],
    pub(super) chunk_data: [SourceId; PORTS],
    access: SinkId,
    data: SinkId,
    done: SourceId,
    ended: SinkId,
    pub(super) results: SinkId,
    /// Queue pairs of the chunks that were queued, by port.
    asked: [VecDeque<u64>; PORTS],
    /// Answers by port that are not kept yet, those without orphans.
    open: [VecDeque<Answer>; PORTS],
    accesses: VecDeque<Access>,
    packet: Vec<Beat<D>>,
    /// Ends of writes on their way.
    dones: VecDeque<(u64, SlotDone)>,
    /// What is in the areas, by address.
    memory: BTreeMap<u64, u8>,
    pub(super) latency: u64,
    /// Writes to pages with this number fail.
    pub(super) bad_page: Option<u64>,
    /// Staged answers by stage, and those that are to be sent, in order.
    pub(super) staged: BTreeMap<u64, Vec<u8>>,
    sending: VecDeque<Vec<u8>>,
    sent: Vec<Beat<D>>,
    pub(super) ends: Vec<(u64, Ended)>,
    pub(super) moments: BTreeMap<&'static str, Vec<u64>>,
    pub(super) command: Option<(bool, u64)>,
}

/// Where the results of a queue pair are: only even ones have an area.
pub(super) fn area(qpn: u64) -> ResultRow {
    let log = 12 + qpn / 2 % 5;
    ResultRow {
        exists: qpn.is_multiple_of(2),
        base: ((qpn + 1) << 20).into(),
        log: log.into(),
        key: (qpn * 3 + 1).into(),
    }
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("deliver_{D}"), Deliver::<D, PORTS, LOG>::default);
        let chunks = std::array::from_fn(|port| bench.source(&format!("chunk${port}")).expect("it exists"));
        let chunk_data =
            std::array::from_fn(|port| bench.source(&format!("chunk_data${port}")).expect("it exists"));
        let done = bench.source("done").expect("it exists");
        let [access, data, ended, results] =
            ["access", "data", "ended", "results"].map(|name| bench.sink(name).expect("it exists"));
        bench.reset(2);
        let mut rig = Self {
            bench,
            rng: SplitMix64::new(3),
            chunks,
            chunk_data,
            access,
            data,
            done,
            ended,
            results,
            asked: std::array::from_fn(|_| VecDeque::new()),
            open: std::array::from_fn(|_| VecDeque::new()),
            accesses: VecDeque::new(),
            packet: Vec::new(),
            dones: VecDeque::new(),
            memory: BTreeMap::new(),
            latency: 30,
            bad_page: None,
            staged: BTreeMap::new(),
            sending: VecDeque::new(),
            sent: Vec::new(),
            ends: Vec::new(),
            moments: BTreeMap::new(),
            command: None,
        };
        rig.set_ports();
        rig
    }

    pub(super) fn sinks(&self) -> [SinkId; 4] {
        [self.access, self.data, self.ended, self.results]
    }

    /// Gives an answer, in chunks of the path MTU.
    pub(super) fn answer(&mut self, port: usize, answer: Answer) {
        let mtu = 128_usize << answer.path_mtu;
        let pieces: Vec<&[u8]> =
            if answer.bytes.is_empty() { vec![&[]] } else { answer.bytes.chunks(mtu).collect() };
        for (index, piece) in pieces.iter().enumerate() {
            let chunk = Chunk {
                qpn: answer.qpn.into(),
                path_mtu: answer.path_mtu.into(),
                place: answer.place.into(),
                offset: ((index * mtu) as u64).into(),
                len: (piece.len() as u64).into(),
                ends: index + 1 == pieces.len(),
                status: answer.status.into(),
                is_orphan: answer.is_orphan,
                ..noise(&mut self.rng)
            };
            push(&mut self.bench, self.chunks[port], &[chunk]);
            self.asked[port].push_back(answer.qpn);
            if !piece.is_empty() {
                push(&mut self.bench, self.chunk_data[port], &beats::<D>(piece));
            }
        }
        if !answer.is_orphan {
            self.open[port].push_back(answer);
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn set_ports(&mut self) {
        let (sends, frees, number) = match self.command.take() {
            Some((true, number)) => (1, 0, number),
            Some((false, number)) => (0, 1, number),
            None => (0, 0, 0),
        };
        self.set("sends", sends);
        self.set("frees", frees);
        self.set("number", number);
    }

    fn note(&mut self, what: &'static str) {
        let now = self.bench.cycle();
        self.moments.entry(what).or_default().push(now);
    }

    /// Tells what becomes of a staged packet, in the next cycle.
    pub(super) fn tell(&mut self, sends: bool, stage: u64) {
        assert!(self.command.is_none(), "one a cycle");
        let bytes = self.staged.remove(&stage).expect("it is staged");
        if sends {
            self.sending.push_back(bytes);
        }
        self.command = Some((sends, stage));
        self.set_ports();
    }

    pub(super) fn step(&mut self) {
        let taken = self.chunks.map(|port| self.bench[port].sent());
        self.bench.step();
        // The table answers in the cycle behind the question, and stays.
        for (port, taken) in taken.into_iter().enumerate() {
            if self.bench[self.chunks[port]].sent() > taken {
                let qpn = self.asked[port].pop_front().expect("only what was queued is taken");
                let place = self.bench.model().port("area").expect("the port exists");
                self.bench.model_mut().set_wide(place, &area(qpn).to_words());
            }
        }
        self.set_ports();
        let now = self.bench.cycle();
        for access in collect::<Access>(&mut self.bench, self.access) {
            self.note("access");
            self.accesses.push_back(access);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.data) {
            self.note("data");
            self.packet.push(beat);
            if beat.eop {
                let access = self.accesses.pop_front().expect("an access before its data");
                let packet = bytes(&std::mem::take(&mut self.packet));
                assert_eq!(packet.len() as u64, u64::from(access.len));
                let va = u64::from(access.va);
                let ending = if access.refused {
                    Ending::Refused
                } else if self.bad_page == Some(va >> 12) {
                    Ending::Failed
                } else {
                    self.memory.extend((va..).zip(packet));
                    Ending::Good
                };
                let done = SlotDone { err: (ending as u64).into() };
                self.dones.push_back((now + self.latency, done));
            }
        }
        while self.dones.front().is_some_and(|(due, _)| *due <= now) {
            let (_, done) = self.dones.pop_front().expect("it is there");
            push(&mut self.bench, self.done, &[done]);
        }
        for ended in collect::<Ended>(&mut self.bench, self.ended) {
            self.note("ended");
            self.conclude(&ended);
            self.ends.push((now, ended));
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.results) {
            self.note("results");
            self.sent.push(beat);
            if beat.eop {
                let packet = bytes(&std::mem::take(&mut self.sent));
                assert!(Some(packet) == self.sending.pop_front(), "another packet");
            }
        }
    }

    /// Holds an end against the answer it belongs to.
    fn conclude(&mut self, ended: &Ended) {
        let (qpn, place) = (u64::from(ended.qpn), u64::from(ended.place));
        let is_it = |answer: &Answer| answer.qpn == qpn && answer.place == place;
        let port = self.open.iter().position(|open| open.iter().any(is_it)).expect("an answer is open");
        let at = self.open[port].iter().position(is_it).expect("it was found");
        let answer = self.open[port][at].clone();
        assert_eq!(ended.status, answer.status);
        assert_eq!(u64::from(ended.length), answer.bytes.len() as u64);
        if !ended.is_kept {
            assert!(answer.bytes.len() <= 128 << answer.path_mtu && !answer.bytes.is_empty());
            let before = self.staged.insert(ended.stage.into(), answer.bytes);
            assert!(before.is_none(), "a stage is given twice");
            return;
        }
        self.open[port].remove(at);
        let row = area(qpn);
        let va = u64::from(row.base) << 12 | place << u64::from(row.log);
        let pages = (va >> 12)..=((va + answer.bytes.len().saturating_sub(1) as u64) >> 12);
        let is_bad = !answer.bytes.is_empty()
            && (!row.exists || self.bad_page.is_some_and(|page| pages.contains(&page)));
        assert_eq!(ended.is_lost, is_bad, "lost");
        if !is_bad {
            let kept: Vec<u8> = (va..).take(answer.bytes.len()).map(|at| self.memory[&at]).collect();
            assert!(kept == answer.bytes, "other bytes in the area");
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while self.open.iter().any(|open| !open.is_empty())
            || !self.sending.is_empty()
            || !self.bench.is_sent()
        {
            self.step();
            assert!(self.bench.cycle() - start < LIMIT, "stuck: {}", self.bench.stuck(LIMIT));
        }
        self.run(3);
        assert!(!read::<bool>(&self.bench, "busy"), "busy without a reason");
    }
}
