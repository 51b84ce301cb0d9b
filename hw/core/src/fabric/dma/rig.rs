//! Dma on a bench, between kernels, an MMU, a read engine and a writer.

use std::collections::{BTreeMap, VecDeque};

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Dma;
use super::{readers, writers};
use crate::fabric::records::Access;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::HostWrite;
use crate::slot::{Ending, SlotData, SlotDone};
use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, verilated};
use crate::transport::fetch::model::{answers, byte, is_broken};

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 200_000;
pub(super) const READERS: usize = 2;
pub(super) const WRITERS: usize = 3;
/// Streams that may pause: accesses and data of kernels, the MMU, the host.
pub(super) const STREAMS: usize = 9;

/// What comes of a read.
type Read = (Ending, Vec<u8>);

pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    pub(super) rng: SplitMix64,
    pub(super) read_access: [SourceId; READERS],
    pub(super) read_data: [SinkId; READERS],
    pub(super) write_access: [SourceId; WRITERS],
    pub(super) write_data: [SourceId; WRITERS],
    pub(super) write_done: [SinkId; WRITERS],
    xlats: [SinkId; 2],
    pub(super) answer: SourceId,
    pub(super) read: SinkId,
    pub(super) data: SourceId,
    pub(super) write: SinkId,
    pub(super) bytes: SinkId,
    pub(super) hold: u64,
    /// What is expected, by kernel.
    reads: [VecDeque<Read>; READERS],
    writes: [VecDeque<Ending>; WRITERS],
    packets: [Vec<SlotData<D>>; READERS],
    /// Answers and beats on their way.
    answers: [VecDeque<(u64, XlatResponse)>; 2],
    flights: VecDeque<(u64, ReadData<D>)>,
    /// Commands whose bytes have not come, bytes of the one under way, and when each that is complete becomes visible.
    commands: VecDeque<HostWrite>,
    packet: Vec<Beat<D>>,
    visibles: VecDeque<u64>,
    issued: u16,
    visible: u16,
    /// What was written, and what should be.
    pub(super) memory: BTreeMap<u64, u8>,
    pub(super) expected: BTreeMap<u64, u8>,
    pub(super) latency: u64,
    pub(super) at: Moments,
    pub(super) endings: Vec<Ending>,
}

/// Cycles in which things moved.
#[derive(Default)]
pub(super) struct Moments {
    pub(super) question: Vec<u64>,
    pub(super) answer: Vec<u64>,
    pub(super) command: Vec<u64>,
    pub(super) came: Vec<u64>,
    pub(super) given: Vec<u64>,
    pub(super) write: Vec<u64>,
    pub(super) bytes: Vec<u64>,
    pub(super) done: Vec<u64>,
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("dma_{D}"), Dma::<D, READERS, WRITERS, LOG>::default);
        let source = |bench: &mut Bench, name: String| bench.source(&name).expect("the stream exists");
        let sink = |bench: &mut Bench, name: String| bench.sink(&name).expect("the stream exists");
        let read_access = std::array::from_fn(|way| source(&mut bench, format!("read_access${way}")));
        let read_data = std::array::from_fn(|way| sink(&mut bench, format!("read_data${way}")));
        let write_access = std::array::from_fn(|way| source(&mut bench, format!("write_access${way}")));
        let write_data = std::array::from_fn(|way| source(&mut bench, format!("write_data${way}")));
        let write_done = std::array::from_fn(|way| sink(&mut bench, format!("write_done${way}")));
        let xlats = ["read_xlat", "write_xlat"].map(|name| sink(&mut bench, name.into()));
        let [answer, data] = ["answer", "data"].map(|name| source(&mut bench, name.into()));
        let [read, write, bytes] = ["read", "write", "bytes"].map(|name| sink(&mut bench, name.into()));
        bench.reset(2);
        let mut rig = Self {
            bench,
            rng: SplitMix64::new(1),
            read_access,
            read_data,
            write_access,
            write_data,
            write_done,
            xlats,
            answer,
            read,
            data,
            write,
            bytes,
            hold: 0,
            reads: std::array::from_fn(|_| VecDeque::new()),
            writes: std::array::from_fn(|_| VecDeque::new()),
            packets: std::array::from_fn(|_| Vec::new()),
            answers: std::array::from_fn(|_| VecDeque::new()),
            flights: VecDeque::new(),
            commands: VecDeque::new(),
            packet: Vec::new(),
            visibles: VecDeque::new(),
            issued: 0xfff8,
            visible: 0xfff8,
            memory: BTreeMap::new(),
            expected: BTreeMap::new(),
            latency: 10,
            at: Moments::default(),
            endings: Vec::new(),
        };
        rig.set_ports();
        rig
    }

    /// Resets the block and all around it.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        self.bench.reset(2);
        (0..WRITERS).for_each(|way| self.forget(way));
        self.answers = std::array::from_fn(|_| VecDeque::new());
        self.flights.clear();
        self.commands.clear();
        self.packet.clear();
        self.visibles.clear();
        self.visible = self.issued;
        self.set_ports();
    }

    /// Pauses of read accesses, their data, write accesses, their data, ends, questions, answers, the reader, the writer.
    pub(super) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let [read_access, read_data, write_access, write_data, write_done, xlat, answer, reader, writer] =
            pauses;
        for way in 0..READERS {
            self.bench[self.read_access[way]].pause(read_access.clone());
            self.bench[self.read_data[way]].pause(read_data.clone());
        }
        for way in 0..WRITERS {
            self.bench[self.write_access[way]].pause(write_access.clone());
            self.bench[self.write_data[way]].pause(write_data.clone());
            self.bench[self.write_done[way]].pause(write_done.clone());
        }
        for sink in self.xlats {
            self.bench[sink].pause(xlat.clone());
        }
        self.bench[self.answer].pause(answer);
        self.bench[self.read].pause(reader.clone());
        self.bench[self.data].pause(reader);
        self.bench[self.write].pause(writer.clone());
        self.bench[self.bytes].pause(writer);
    }

    /// Kernel `way` reads.
    pub(super) fn reads(&mut self, way: usize, access: &Access) {
        push(&mut self.bench, self.read_access[way], &[*access]);
        self.reads[way].push_back(outcome(access));
    }

    /// Client `way` writes; the packet is what it gives, whatever the access says.
    pub(super) fn writes(&mut self, way: usize, access: &Access, packet: &[u8]) {
        push(&mut self.bench, self.write_access[way], &[*access]);
        push(&mut self.bench, self.write_data[way], &beats::<D>(packet));
        let wrong = access.refused || packet.len() as u64 != u64::from(access.len);
        let places = if wrong { Err(Ending::Refused) } else { places(access, writers::CLIENT) };
        if let Ok(places) = &places {
            self.expected.extend(places.iter().copied().zip(packet.iter().copied()));
        }
        self.writes[way].push_back(places.err().unwrap_or(Ending::Good));
    }

    pub(super) fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    pub(super) fn get(&self, name: &str) -> u64 {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model().get(port)
    }

    fn set_ports(&mut self) {
        self.set("hold", self.hold);
        self.set("issued", self.issued.into());
        self.set("visible", self.visible.into());
        self.set("drain", 0);
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let sent = [self.bench[self.answer].sent(), self.bench[self.data].sent()];
        self.bench.step();
        let now = self.bench.cycle();
        if self.bench[self.answer].sent() > sent[0] {
            self.at.answer.push(now);
        }
        if self.bench[self.data].sent() > sent[1] {
            self.at.came.push(now);
        }
        self.kernels(now);
        self.translate(now);
        self.read_host(now);
        self.write_host(now);
        self.set_ports();
        let is_due = self.reads.iter().any(|due| !due.is_empty()) && self.bench.is_sent();
        assert!(!is_due || read::<bool>(&self.bench, "busy"), "something is inside, and it is not busy");
    }

    fn kernels(&mut self, now: u64) {
        for way in 0..READERS {
            for beat in collect::<SlotData<D>>(&mut self.bench, self.read_data[way]) {
                self.at.given.push(now);
                self.packets[way].push(beat);
                if beat.eop {
                    let packet = std::mem::take(&mut self.packets[way]);
                    let (ending, expected) = self.reads[way].pop_front().expect("a read is due");
                    assert_eq!(beat.err, ending as u64, "ending");
                    let plain: Vec<Beat<D>> = packet
                        .iter()
                        .map(|beat| Beat {
                            data: beat.data,
                            nbytes: beat.nbytes,
                            sop: beat.sop,
                            eop: beat.eop,
                            err: false,
                        })
                        .collect();
                    assert!(packet.iter().all(|beat| beat.nbytes.any()), "a beat without bytes");
                    if ending == Ending::Good {
                        assert!(bytes(&plain) == expected, "other bytes");
                        assert_eq!(plain, beats::<D>(&expected), "beats");
                    }
                    self.endings.push(ending);
                }
            }
        }
        for way in 0..WRITERS {
            for done in collect::<SlotDone>(&mut self.bench, self.write_done[way]) {
                self.at.done.push(now);
                let ending = self.writes[way].pop_front().expect("a write is due");
                assert_eq!(done.err, ending as u64, "ending");
                self.endings.push(ending);
            }
        }
    }

    /// The MMU: answers of each client in order.
    fn translate(&mut self, now: u64) {
        assert!(read::<bool>(&self.bench, "answer$ready"), "an answer has to wait");
        for (side, client) in [readers::CLIENT, writers::CLIENT].into_iter().enumerate() {
            for request in collect::<XlatRequest>(&mut self.bench, self.xlats[side]) {
                assert_eq!(request.client, u64::from(client));
                self.at.question.push(now);
                let due = now + 6 + self.rng.below(1 + self.latency / 4);
                self.answers[side].extend(answers(&request).into_iter().map(|answer| (due, answer)));
            }
        }
        let first = usize::from(self.rng.below(2) == 1);
        for side in [first, 1 - first] {
            if self.bench[self.answer].is_empty()
                && self.answers[side].front().is_some_and(|(due, _)| *due <= now)
            {
                let (_, answer) = self.answers[side].pop_front().expect("it is there");
                push(&mut self.bench, self.answer, &[answer]);
            }
        }
    }

    /// The read engine: commands are answered in order.
    fn read_host(&mut self, now: u64) {
        for command in collect::<ReadCommand>(&mut self.bench, self.read) {
            self.at.command.push(now);
            let (iova, len) = (u64::from(command.iova), u64::from(command.len));
            let due = now + self.latency;
            for beat in beats::<D>(&(iova..iova + len).map(byte).collect::<Vec<u8>>()) {
                let err = if beat.eop { is_broken(iova) } else { self.rng.below(2) == 1 };
                let Beat { data, nbytes, sop, eop, .. } = beat;
                self.flights.push_back((due, ReadData { data, nbytes, sop, eop, err, tag: command.tag }));
            }
        }
        while self.flights.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.flights.pop_front().expect("it is there");
            push(&mut self.bench, self.data, &[beat]);
        }
    }

    /// The writer: bytes come in the order of commands, and are visible later.
    fn write_host(&mut self, now: u64) {
        for command in collect::<HostWrite>(&mut self.bench, self.write) {
            self.at.write.push(now);
            self.issued = self.issued.wrapping_add(1);
            self.commands.push_back(command);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.bytes) {
            self.at.bytes.push(now);
            self.packet.push(beat);
            if beat.eop {
                let command = self.commands.pop_front().expect("bytes behind their command");
                let packet = bytes(&std::mem::take(&mut self.packet));
                assert_eq!(packet.len() as u64, u64::from(command.len), "bytes of a command");
                let iova = u64::from(command.iova);
                self.memory.extend((iova..).zip(packet));
                self.visibles.push_back(now + self.latency);
            }
        }
        while self.visibles.front().is_some_and(|due| *due <= now) {
            self.visibles.pop_front();
            self.visible = self.visible.wrapping_add(1);
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    pub(super) fn is_settled(&self) -> bool {
        self.reads.iter().all(VecDeque::is_empty) && self.writes.iter().all(VecDeque::is_empty)
    }

    /// Forgets what a held client had been promised.
    pub(super) fn forget(&mut self, way: usize) {
        if way < READERS {
            self.reads[way].clear();
            self.packets[way].clear();
        }
        self.writes[way].clear();
    }

    /// Steps until all is over, and holds memory against what was expected.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.is_settled() {
            self.step();
            assert!(self.bench.cycle() - start < LIMIT, "stuck: {}", self.bench.stuck(LIMIT));
        }
        self.run(4);
        assert!(!read::<bool>(&self.bench, "busy"), "all is over, and it is busy");
        assert!(self.memory == self.expected, "memory");
    }
}

/// Where the bytes of an access are, or why it fails: as the first of its pages that does.
fn places(access: &Access, client: u8) -> Result<Vec<u64>, Ending> {
    let request = XlatRequest {
        client: u64::from(client).into(),
        tag: 0.into(),
        key: access.key,
        pd: access.pd,
        qpn: access.qpn,
        va: access.va,
        len: access.len,
        need: access.need,
    };
    let pieces = answers(&request).into_iter().map(|answer| {
        if answer.ok {
            let iova = u64::from(answer.iova);
            Ok((iova..iova + u64::from(answer.len)).collect::<Vec<u64>>())
        } else if answer.cause == Cause::PageList as u64 {
            Err(Ending::Failed)
        } else {
            Err(Ending::Refused)
        }
    });
    pieces.collect::<Result<Vec<_>, _>>().map(|pieces| pieces.concat())
}

/// What comes of a read: the first page that fails tells how.
fn outcome(access: &Access) -> Read {
    if access.refused {
        return (Ending::Refused, Vec::new());
    }
    match places(access, readers::CLIENT) {
        Ok(places) if places.iter().any(|iova| is_broken(*iova)) => (Ending::Failed, Vec::new()),
        Ok(places) => (Ending::Good, places.into_iter().map(byte).collect()),
        Err(ending) => (ending, Vec::new()),
    }
}
