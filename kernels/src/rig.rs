//! A kernel on a bench, and the slot's other side: the caller's memory behind DMA, and a model that knows the answers.
//!
//! Every answer is held against the model's, every packet and every promise of [`stroma_hw::slot`] against its contract.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use rust_hdl::prelude::*;
use stroma_abi::desc::{Parameters, SlotCommand as Head};
use stroma_hw::slot::{Ending, OPEN, SlotCommand, SlotData, SlotRead, SlotResponse, TRANSFER_MAX, slot_data};
use stroma_hw::stream::{Beat, beats, bytes};
use stroma_hw::testing::{collect, push, verilated};
use stroma_kernel_models::{Failure, Invocation, Memory, Outcome};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

/// Cycles without anything moving after which the kernel counts as stuck.
const LIMIT: u64 = 10_000;

/// The caller's memory: all addresses are there, filled with noise unless something was stored, but for some ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    stored: BTreeMap<u64, u8>,
    /// The only key that opens it.
    pub(crate) key: u32,
    /// Addresses that are not the caller's.
    pub(crate) refused: Vec<Range<u64>>,
    /// Addresses that cannot be read.
    pub(crate) failing: Vec<Range<u64>>,
}

impl Host {
    /// Stores words, one behind the other.
    pub(crate) fn store(&mut self, va: u64, words: &[u64]) {
        let all = words.iter().flat_map(|word| word.to_le_bytes());
        self.stored.extend((0..).map(|at: u64| va.wrapping_add(at)).zip(all));
    }

    fn byte(&self, va: u64) -> u8 {
        let noise = || SplitMix64::at(0xb17e, va).to_le_bytes()[0];
        self.stored.get(&va).copied().unwrap_or_else(noise)
    }

    fn check(&self, key: u32, va: u64, len: usize) -> Result<(), Failure> {
        let meets = |range: &Range<u64>| range.contains(&va) || range.start.wrapping_sub(va) < len as u64;
        if key != self.key || self.refused.iter().any(meets) {
            Err(Failure::Refused)
        } else if self.failing.iter().any(meets) {
            Err(Failure::Host)
        } else {
            Ok(())
        }
    }
}

impl Memory for Host {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        self.check(key, va, len)?;
        Ok((0..len as u64).map(|at| self.byte(va.wrapping_add(at))).collect())
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.check(key, va, bytes.len())?;
        self.stored.extend((0..).map(|at: u64| va.wrapping_add(at)).zip(bytes.iter().copied()));
        Ok(())
    }
}

/// The cycles in which things moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    pub(crate) commands: Vec<u64>,
    pub(crate) reads: Vec<u64>,
    /// Last beats of what was read.
    pub(crate) read_ends: Vec<u64>,
    /// All of its beats.
    pub(crate) beats_in: Vec<u64>,
    pub(crate) beats_out: Vec<u64>,
    pub(crate) responses: Vec<u64>,
}

/// Streams that may pause: command, read, `read_data`, `data_out`, response.
pub(crate) const STREAMS: usize = 5;

/// The model of a kernel.
pub(crate) type Twin = fn(&Invocation, &mut Host) -> Outcome;

pub(crate) struct Rig<const D: usize> {
    pub(crate) bench: Bench,
    pub(crate) host: Host,
    pub(crate) rng: SplitMix64,
    /// Cycles from a read to its data: at least, and below.
    pub(crate) latency: (u64, u64),
    pub(crate) moves: Moves,
    twin: Twin,
    command: SourceId,
    data_in: SourceId,
    read_data: SourceId,
    read: SinkId,
    data_out: SinkId,
    response: SinkId,
    next_ticket: u64,
    /// By ticket: what is expected of those that are open, in the order of their commands.
    open: VecDeque<(Head, Outcome)>,
    /// Data of reads, and when they are due.
    answers: VecDeque<(u64, Vec<SlotData<D>>)>,
    /// Beats on their way to the kernel: is it the last of its read?
    under_way: VecDeque<bool>,
    packet: Vec<Beat<D>>,
    packets: VecDeque<Vec<u8>>,
    /// Statuses told.
    pub(crate) told: Vec<u32>,
}

impl<const D: usize> Rig<D> {
    /// A kernel that neither writes nor has registers.
    pub(crate) fn new<B: Block>(name: &str, build: impl FnOnce() -> B + Send, twin: Twin) -> Self {
        let mut bench = verilated(&format!("{name}_{D}"), build);
        let [command, data_in, read_data] =
            ["command", "data_in", "read_data"].map(|name| bench.source(name).expect("the stream exists"));
        let [read, data_out, response] =
            ["read", "data_out", "response"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            host: Host::default(),
            rng: SplitMix64::new(0),
            latency: (10, 11),
            moves: Moves::default(),
            twin,
            command,
            data_in,
            read_data,
            read,
            data_out,
            response,
            next_ticket: 0,
            open: VecDeque::new(),
            answers: VecDeque::new(),
            under_way: VecDeque::new(),
            packet: Vec::new(),
            packets: VecDeque::new(),
            told: Vec::new(),
        };
        rig.reset(0);
        rig
    }

    /// Resets the kernel and all around it: memory is noise again.
    pub(crate) fn reset(&mut self, seed: u64) {
        self.bench.clear();
        self.bench.reset(2);
        for sink in [self.read, self.data_out, self.response] {
            self.bench[sink].take();
        }
        self.open.clear();
        self.answers.clear();
        self.under_way.clear();
        self.packet.clear();
        self.packets.clear();
        self.told.clear();
        self.moves = Moves::default();
        self.rng = SplitMix64::new(seed);
        self.host = Host { key: self.rng.next_u32(), ..Host::default() };
    }

    pub(crate) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let [command, read, read_data, data_out, response] = pauses;
        self.bench[self.command].pause(command.clone());
        self.bench[self.data_in].pause(command);
        self.bench[self.read_data].pause(read_data);
        for (sink, pause) in [(self.read, read), (self.data_out, data_out), (self.response, response)] {
            self.bench[sink].pause(pause);
        }
    }

    /// An invocation under the memory's key; the memory must stay as it is until it has answered.
    pub(crate) fn invocation(&mut self, parameters: &[u8], response_max: u32) -> Invocation {
        let command = Head { key: self.host.key, response_max, ..Head::default() };
        Invocation::new(command, Parameters::new(parameters).expect("whole words"), Vec::new())
    }

    /// Queues an invocation, under a ticket of its own and the queue pair of somebody.
    pub(crate) fn call(&mut self, mut invocation: Invocation) {
        while self.open.len() == OPEN {
            self.step();
        }
        let is_taken = |ticket: u64| self.open.iter().any(|(head, _)| u64::from(head.ticket) == ticket);
        let ticket = (0..OPEN as u64)
            .map(|more| (self.next_ticket + more) % OPEN as u64)
            .find(|ticket| !is_taken(*ticket));
        let ticket = ticket.expect("fewer than all are open");
        self.next_ticket = ticket + 1 + self.rng.below(3);
        invocation.command.ticket = u8::try_from(ticket).expect("four bits");
        invocation.command.queue_pair = stroma_abi::Qpn::new(self.rng.next_u32());
        let outcome = (self.twin)(&invocation, &mut self.host);
        let command = SlotCommand::new(&invocation.command, &invocation.parameters);
        push(&mut self.bench, self.command, &[command]);
        if !invocation.data.is_empty() {
            push(&mut self.bench, self.data_in, &beats::<D>(&invocation.data));
        }
        self.open.push_back((invocation.command, outcome));
    }

    /// One cycle.
    pub(crate) fn step(&mut self) {
        let now = self.bench.cycle();
        let (commands, beats_in) = (self.bench[self.command].sent(), self.bench[self.read_data].sent());
        self.bench.step();
        if self.bench[self.command].sent() > commands {
            self.moves.commands.push(now);
        }
        if self.bench[self.read_data].sent() > beats_in {
            self.moves.beats_in.push(now);
            if self.under_way.pop_front().expect("a beat was queued") {
                self.moves.read_ends.push(now);
            }
        }
        // Before data of the same cycle: a response comes after its last beat.
        for response in collect::<SlotResponse>(&mut self.bench, self.response) {
            self.moves.responses.push(now);
            self.conclude(&response);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.data_out) {
            self.moves.beats_out.push(now);
            self.packet.push(beat);
            if beat.eop {
                let packet = std::mem::take(&mut self.packet);
                let bytes = bytes(&packet);
                assert_eq!(packet, beats::<D>(&bytes), "beats of an answer");
                self.packets.push_back(bytes);
            }
        }
        for read in collect::<SlotRead>(&mut self.bench, self.read) {
            self.moves.reads.push(now);
            self.serve(&read, now);
        }
        while self.answers.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beats) = self.answers.pop_front().expect("it is there");
            self.under_way.extend(beats.iter().map(|beat| beat.eop));
            push(&mut self.bench, self.read_data, &beats);
        }
    }

    fn serve(&mut self, read: &SlotRead, now: u64) {
        let head = self.open.iter().find(|(head, _)| read.ticket == u64::from(head.ticket));
        let (head, _) = head.unwrap_or_else(|| panic!("nobody has the ticket of {read:?}"));
        let (key, va, len) = (head.key, u64::from(read.va), read.len.index());
        assert_eq!(read.key, u64::from(key), "key of a read");
        assert!((1..=TRANSFER_MAX).contains(&len), "a read of {len} bytes");
        let beats = match self.host.read(key, va, len) {
            Ok(bytes) => slot_data(&bytes, Ending::Good),
            Err(failure) => {
                let len = 1 + self.rng.below(len as u64);
                let noise: Vec<u8> = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
                let ending = if failure == Failure::Refused { Ending::Refused } else { Ending::Failed };
                slot_data(&noise, ending)
            }
        };
        let (least, below) = self.latency;
        self.answers.push_back((now + least + self.rng.below(below - least), beats));
    }

    fn conclude(&mut self, response: &SlotResponse) {
        let place = self.open.iter().position(|(head, _)| response.ticket == u64::from(head.ticket));
        let place = place.unwrap_or_else(|| panic!("nobody has the ticket of {response:?}"));
        let (head, outcome) = self.open.remove(place).expect("it was found");
        assert!(self.packet.is_empty(), "an answer before the end of its data");
        assert!(
            self.answers.is_empty() && self.under_way.is_empty(),
            "an answer before the end of its reads"
        );
        let len = u64::from(response.len);
        assert!(len <= u64::from(head.response_max), "{len} bytes are more than allowed");
        let data = if len > 0 { self.packets.pop_front().expect("data of the answer") } else { Vec::new() };
        assert!(self.packets.is_empty(), "a packet that no answer tells of");
        assert_eq!(data.len() as u64, len, "length that the answer tells");
        assert_eq!(response.status, u64::from(outcome.status), "status, expected of {outcome:x?}");
        if outcome.status == 0 {
            assert!(data == outcome.data, "data of {len} bytes, expected {}", outcome.data.len());
        }
        self.told.push(outcome.status);
    }

    pub(crate) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until everything is taken and answered, and sees that nothing comes behind it.
    pub(crate) fn settle(&mut self) {
        let (mut since, mut before) = (self.bench.cycle(), 0);
        while !self.open.is_empty() || !self.bench.is_sent() {
            self.step();
            let moved = self.moves.reads.len() + self.moves.beats_in.len() + self.moves.beats_out.len();
            let moved = moved + self.moves.commands.len() + self.moves.responses.len();
            if moved != before {
                (since, before) = (self.bench.cycle(), moved);
            }
            assert!(self.bench.cycle() - since < LIMIT, "the kernel is stuck: {}", self.bench.stuck(LIMIT));
        }
        let reads = self.moves.reads.len();
        self.run(10);
        assert_eq!(self.moves.reads.len(), reads, "reads without an invocation");
        assert!(self.packet.is_empty() && self.packets.is_empty(), "data without an invocation");
    }
}
