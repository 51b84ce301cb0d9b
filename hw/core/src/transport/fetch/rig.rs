//! Fetch on a bench, between those who send, an MMU, a read engine and a wire.

mod around;

use std::collections::VecDeque;

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Fetch;
use super::model::{Fate, Packet, fate, question};
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{TxFailure, TxPacket};

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 200_000;
/// Streams of the block: six in, five out.
pub(super) const STREAMS: usize = 11;

pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    /// Requests and responses.
    pub(super) steps: [SourceId; 2],
    /// Inline data of requests and of responses.
    pub(super) inline: [SourceId; 2],
    answer: SourceId,
    read_data: SourceId,
    xlat: SinkId,
    read: SinkId,
    pub(super) packet: SinkId,
    pub(super) payload: SinkId,
    pub(super) failed: SinkId,
    rng: SplitMix64,
    /// Packets that are queued, of either side, and the steps of the first that were taken.
    queued: [VecDeque<Packet>; 2],
    begun: [usize; 2],
    /// Sides of the packets, in the order in which they were taken.
    pub(super) order: Vec<usize>,
    /// What is to come: questions, reads, packets and failures with their first step, payloads.
    questions: VecDeque<XlatRequest>,
    commands: VecDeque<ReadCommand>,
    fates: VecDeque<(Fate, Packet)>,
    payloads: VecDeque<Vec<u8>>,
    beats: Vec<Beat<D>>,
    /// Answers and beats of reads that were seen to be taken.
    seen: [u64; 2],
    /// Answers on their way and on offer; questions that are open.
    answers: VecDeque<(u64, XlatResponse)>,
    answering: VecDeque<XlatResponse>,
    open_questions: usize,
    pub(super) most_questions: usize,
    /// Reads that wait for the host, beats on their way and on offer; reads that are open.
    reads: VecDeque<ReadCommand>,
    flights: VecDeque<(u64, ReadData<D>)>,
    reading: VecDeque<ReadData<D>>,
    open_reads: usize,
    pub(super) most_reads: usize,
    /// Cycles of a translation and of a read: at least, and below.
    pub(super) xlat_latency: (u64, u64),
    pub(super) read_latency: (u64, u64),
    /// Cycles in which things moved.
    pub(super) at: Moments,
    pub(super) sent: usize,
    pub(super) failures: Vec<TxFailure>,
}

/// Cycles in which things moved.
#[derive(Default)]
pub(super) struct Moments {
    pub(super) step: Vec<u64>,
    pub(super) question: Vec<u64>,
    pub(super) answer: Vec<u64>,
    pub(super) command: Vec<u64>,
    /// Last beats read.
    pub(super) read: Vec<u64>,
    pub(super) packet: Vec<u64>,
    pub(super) payload: Vec<u64>,
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("fetch_{D}"), Fetch::<D, LOG>::default);
        let [requests, responses, inline, results, answer, read_data] =
            ["requests", "responses", "inline", "results", "answer", "read_data"]
                .map(|name| bench.source(name).expect("the stream exists"));
        let [xlat, read, packet, payload, failed] = ["xlat", "read", "packet", "payload", "failed"]
            .map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self {
            bench,
            steps: [requests, responses],
            inline: [inline, results],
            answer,
            read_data,
            xlat,
            read,
            packet,
            payload,
            failed,
            rng: SplitMix64::new(1),
            queued: [VecDeque::new(), VecDeque::new()],
            begun: [0; 2],
            order: Vec::new(),
            questions: VecDeque::new(),
            commands: VecDeque::new(),
            fates: VecDeque::new(),
            payloads: VecDeque::new(),
            beats: Vec::new(),
            seen: [0; 2],
            answers: VecDeque::new(),
            answering: VecDeque::new(),
            open_questions: 0,
            most_questions: 0,
            reads: VecDeque::new(),
            flights: VecDeque::new(),
            reading: VecDeque::new(),
            open_reads: 0,
            most_reads: 0,
            xlat_latency: (6, 7),
            read_latency: (10, 11),
            at: Moments::default(),
            sent: 0,
            failures: Vec::new(),
        }
    }

    /// Pauses of requests, responses, inline, results, answer, `read_data`, xlat, read, packet, payload, failed.
    pub(super) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let [requests, responses, inline, results, answer, read_data, sinks @ ..] = pauses;
        let sources =
            [self.steps[0], self.steps[1], self.inline[0], self.inline[1], self.answer, self.read_data];
        let of_sources = [requests, responses, inline, results, answer, read_data];
        for (source, pause) in sources.into_iter().zip(of_sources) {
            self.bench[source].pause(pause);
        }
        for (sink, pause) in
            [self.xlat, self.read, self.packet, self.payload, self.failed].into_iter().zip(sinks)
        {
            self.bench[sink].pause(pause);
        }
    }

    /// Queues packets; the steps say which side they are of.
    pub(super) fn send(&mut self, packets: &[Packet]) {
        for packet in packets {
            let side = usize::from(packet.steps[0].is_response);
            push(&mut self.bench, self.steps[side], &packet.steps);
            if !packet.inline.is_empty() {
                push(&mut self.bench, self.inline[side], &beats::<D>(&packet.inline));
            }
            self.queued[side].push_back(packet.clone());
        }
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let count = |rig: &Self| rig.steps.map(|side| rig.bench[side].sent());
        let before = count(self);
        self.bench.step();
        let (now, after) = (self.bench.cycle(), count(self));
        let moved: Vec<usize> = (0..2).filter(|&side| after[side] > before[side]).collect();
        assert!(moved.len() < 2, "steps of both sides were taken in one cycle");
        if let Some(&side) = moved.first() {
            self.take(side, now);
        }
        self.translate(now);
        self.host(now);
        self.wire(now);
        let is_due = !self.fates.is_empty() || !self.payloads.is_empty() || self.begun != [0; 2];
        assert!(!is_due || self.port("busy"), "something is inside, and it is not busy");
    }

    /// A step was taken: what it leads to is known now.
    fn take(&mut self, side: usize, now: u64) {
        self.at.step.push(now);
        assert_eq!(self.begun[1 - side], 0, "a packet is not taken whole");
        let packet = &self.queued[side][0];
        self.questions.extend(question(&packet.steps[self.begun[side]]));
        self.begun[side] += 1;
        if self.begun[side] == packet.steps.len() {
            self.begun[side] = 0;
            self.order.push(side);
            let packet = self.queued[side].pop_front().expect("it was there");
            let fate = fate(&packet);
            if let Fate::Sent(_, bytes) = &fate {
                self.payloads.extend((!bytes.is_empty()).then(|| bytes.clone()));
            }
            self.fates.push_back((fate, packet));
        }
    }

    /// What leaves: in order, and each with its pulse.
    fn wire(&mut self, now: u64) {
        let mut pulses = [None; 2];
        let packets = collect::<TxPacket>(&mut self.bench, self.packet);
        let failures = collect::<TxFailure>(&mut self.bench, self.failed);
        assert!(packets.len() + failures.len() < 2, "two left in one cycle");
        self.at.packet.extend(packets.first().map(|_| now));
        self.sent += packets.len();
        self.failures.extend(&failures);
        if packets.len() + failures.len() == 1 {
            let (fate, packet) = self.fates.pop_front().expect("a packet nobody sent");
            match fate {
                Fate::Sent(sent, _) => assert_eq!(packets, [*sent]),
                Fate::Failed(failure) => assert_eq!(failures, [failure]),
            }
            let head = packet.steps[0];
            if head.frees {
                pulses[usize::from(head.is_response)] = Some(head.colour);
            }
        }
        for (side, pulse) in pulses.into_iter().enumerate() {
            assert_eq!(self.port(&format!("leaves${side}")), pulse.is_some(), "leaves {side}");
            if let Some(colour) = pulse {
                assert_eq!(self.port(&format!("leaves_colour${side}")), colour, "colour {side}");
            }
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.payload) {
            self.at.payload.push(now);
            self.beats.push(beat);
            if beat.eop {
                let bytes = self.payloads.pop_front().expect("a payload nobody sent");
                assert!(self.beats == beats::<D>(&bytes), "a payload of {} bytes differs", bytes.len());
                self.beats.clear();
            }
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn is_over(&self) -> bool {
        let nothing_waits = self.answers.is_empty() && self.flights.is_empty() && self.reads.is_empty();
        nothing_waits && self.bench.is_sent() && !self.port("busy")
    }

    /// Steps until all is through, and looks for what did not come; the cycles it took.
    pub(super) fn finish(&mut self) -> u64 {
        let start = self.bench.cycle();
        while !self.is_over() {
            self.step();
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
        }
        let cycles = self.bench.cycle() - start;
        self.run(20);
        assert!(self.is_over(), "busy comes back by itself");
        assert!(self.questions.is_empty() && self.commands.is_empty(), "questions or reads are missing");
        assert!(self.fates.is_empty() && self.payloads.is_empty(), "packets or payloads are missing");
        assert_eq!((self.open_questions, self.open_reads), (0, 0));
        cycles
    }

    /// Resets the block and all around it.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        self.bench.reset(1);
        for sink in [self.xlat, self.read, self.packet, self.payload, self.failed] {
            self.bench[sink].take();
        }
        self.queued.iter_mut().for_each(VecDeque::clear);
        self.questions.clear();
        self.commands.clear();
        self.fates.clear();
        self.payloads.clear();
        self.beats.clear();
        self.answers.clear();
        self.answering.clear();
        self.reads.clear();
        self.flights.clear();
        self.reading.clear();
        (self.begun, self.open_questions, self.open_reads) = ([0; 2], 0, 0);
        self.order.clear();
    }
}
