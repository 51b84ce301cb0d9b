//! A kernel on a bench, and the slot's other side: the caller's memory behind DMA, and a model that knows the answers.
//!
//! Every answer is held against the model's, every packet and every promise of [`stroma_hw::slot`] against its contract. Kernels
//! that write change a memory that is really there; the model has a copy of its own, and the two are compared whenever no invocation
//! is open.

mod foresight;
mod host;
mod moves;
mod reads;
mod tests;
mod writes;

use std::collections::VecDeque;

use rust_hdl::prelude::*;
use stroma_abi::Qpn;
use stroma_abi::desc::{Parameters, SlotCommand as Head};
use stroma_hw::slot::{OPEN, SlotCommand, SlotResponse};
use stroma_hw::stream::{Beat, beats, bytes};
use stroma_hw::testing::{collect, push, verilated};
use stroma_kernel_models::{Invocation, Outcome};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use foresight::Foresight;
pub(crate) use host::Host;
pub(crate) use moves::Moves;
use reads::Reads;
use writes::Writes;

/// Cycles without anything moving after which the kernel counts as stuck.
const LIMIT: u64 = 10_000;

/// Streams that may pause: `command`, `data_in`, `read`, `read_data`, `write`, `write_data`, `write_done`, `data_out`, `response`.
pub(crate) const STREAMS: usize = 9;

/// The model of a kernel.
pub(crate) type Twin = fn(&Invocation, &mut Host) -> Outcome;

pub(crate) struct Rig<const D: usize> {
    pub(crate) bench: Bench,
    pub(crate) host: Host,
    pub(crate) rng: SplitMix64,
    /// Cycles from a read to its data, and from the last data of a write to its end: at least, and below.
    pub(crate) latency: (u64, u64),
    /// Most writes that are taken and not yet told of; more wait.
    pub(crate) outstanding: usize,
    /// The kernel takes keys from its parameters, and not only that of its command.
    pub(crate) has_own_keys: bool,
    /// The queue pair of all calls; else each is somebody's.
    pub(crate) caller: Option<Qpn>,
    pub(crate) moves: Moves,
    twin: Twin,
    command: SourceId,
    data_in: SourceId,
    data_out: SinkId,
    response: SinkId,
    reads: Option<Reads<D>>,
    writes: Option<Writes<D>>,
    next_ticket: u64,
    /// By ticket: what is expected of those that are open, in the order of their commands.
    open: VecDeque<(Head, Outcome)>,
    foresight: Foresight,
    packet: Vec<Beat<D>>,
    packets: VecDeque<Vec<u8>>,
    /// Statuses told.
    pub(crate) told: Vec<u32>,
}

impl<const D: usize> Rig<D> {
    /// A kernel that does not write. Those that do not read have no streams for it.
    pub(crate) fn new<B: Block>(name: &str, build: impl FnOnce() -> B + Send, twin: Twin) -> Self {
        Self::on(verilated(&format!("{name}_{D}"), build), twin)
    }

    /// A kernel that writes.
    pub(crate) fn with_writes<B: Block>(name: &str, build: impl FnOnce() -> B + Send, twin: Twin) -> Self {
        let mut bench = verilated(&format!("{name}_{D}"), build);
        let writes = Writes::new(&mut bench);
        Self { writes: Some(writes), ..Self::on(bench, twin) }
    }

    fn on(mut bench: Bench, twin: Twin) -> Self {
        let [command, data_in] =
            ["command", "data_in"].map(|name| bench.source(name).expect("the stream exists"));
        let [data_out, response] =
            ["data_out", "response"].map(|name| bench.sink(name).expect("the stream exists"));
        let reads = Reads::new(&mut bench);
        let mut rig = Self {
            bench,
            host: Host::default(),
            rng: SplitMix64::new(0),
            latency: (10, 11),
            outstanding: usize::MAX,
            has_own_keys: false,
            caller: None,
            moves: Moves::default(),
            twin,
            command,
            data_in,
            data_out,
            response,
            reads,
            writes: None,
            next_ticket: 0,
            open: VecDeque::new(),
            foresight: Foresight::default(),
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
        for sink in [self.data_out, self.response] {
            self.bench[sink].take();
        }
        if let Some(reads) = &mut self.reads {
            reads.reset(&mut self.bench);
        }
        if let Some(writes) = &mut self.writes {
            writes.reset(&mut self.bench);
        }
        self.open.clear();
        self.packet.clear();
        self.packets.clear();
        self.told.clear();
        self.moves = Moves::default();
        self.rng = SplitMix64::new(seed);
        self.host = Host::new(self.rng.next_u32());
    }

    pub(crate) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let [command, data_in, read, read_data, write, write_data, write_done, data_out, response] = pauses;
        self.bench[self.command].pause(command);
        self.bench[self.data_in].pause(data_in);
        self.bench[self.data_out].pause(data_out);
        self.bench[self.response].pause(response);
        if let Some(reads) = &mut self.reads {
            reads.pause(&mut self.bench, read, read_data);
        }
        if let Some(writes) = &mut self.writes {
            writes.pause(&mut self.bench, write, write_data, write_done);
        }
    }

    /// For long runs of a kernel that others have shown to keep the stream law: less of it is checked.
    pub(crate) fn hurry(&mut self) {
        self.bench.steady(true);
        let writes = self.writes.iter().flat_map(Writes::sinks);
        let reads = self.reads.iter().map(Reads::sink);
        for sink in [self.data_out, self.response].into_iter().chain(reads).chain(writes) {
            self.bench[sink].check_independence(false);
        }
    }

    /// An invocation under the memory's key; the memory must stay as it is until it has answered.
    pub(crate) fn invocation(&mut self, parameters: &[u8], response_max: u32) -> Invocation {
        self.streamed(parameters, Vec::new(), response_max)
    }

    /// As [`Rig::invocation`], with payload behind the parameters.
    pub(crate) fn streamed(&mut self, parameters: &[u8], data: Vec<u8>, response_max: u32) -> Invocation {
        let command = Head { key: self.host.key, response_max, ..Head::default() };
        Invocation::new(command, Parameters::new(parameters).expect("whole words"), data)
    }

    /// Queues an invocation, under a ticket of its own.
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
        invocation.command.queue_pair = self.caller.unwrap_or_else(|| Qpn::new(self.rng.next_u32()));
        if self.open.is_empty() {
            self.foresight.begin(&self.host);
        }
        let outcome = self.foresight.follow(&invocation, self.twin);
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
        if let Some(writes) = &mut self.writes {
            writes.hold(&mut self.bench, self.outstanding);
        }
        let before = self.sent();
        self.bench.step();
        let after = self.sent();
        let has_moved: [bool; 4] = std::array::from_fn(|at| after[at] > before[at]);
        let [command, data_in, read_data, write_done] = has_moved;
        if command {
            self.moves.commands.push(now);
        }
        if data_in {
            self.moves.payload.push(now);
        }
        if read_data {
            self.moves.beats_in.push(now);
            if self.reads.as_mut().expect("it reads").note_beat() {
                self.moves.read_ends.push(now);
            }
        }
        if write_done {
            self.moves.writes_done.push(now);
            self.writes.as_mut().expect("it writes").note_done();
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
        self.serve(now);
    }

    /// Beats that the kernel has taken: of `command`, `data_in`, `read_data`, `write_done`.
    fn sent(&self) -> [u64; 4] {
        let done = self.writes.as_ref().map_or(0, |writes| writes.sent(&self.bench));
        let [command, data_in] = [self.command, self.data_in].map(|source| self.bench[source].sent());
        let read = self.reads.as_ref().map_or(0, |reads| reads.sent(&self.bench));
        [command, data_in, read, done]
    }

    /// The DMA of a cycle.
    fn serve(&mut self, now: u64) {
        let open = &self.open;
        let head =
            |ticket: u64| open.iter().map(|(head, _)| *head).find(|head| u64::from(head.ticket) == ticket);
        let (least, below) = self.latency;
        let latency = |rng: &mut SplitMix64| least + rng.below(below - least);
        let (bench, host, rng, own_keys) =
            (&mut self.bench, &mut self.host, &mut self.rng, self.has_own_keys);
        if let Some(reads) = &mut self.reads {
            let moved = reads.step(bench, host, rng, head, own_keys, latency);
            self.moves.reads.extend(std::iter::repeat_n(now, moved));
        }
        if let Some(writes) = &mut self.writes {
            let moved = writes.step(bench, host, rng, head, own_keys, latency);
            self.moves.writes.extend(moved.sizes.iter().map(|size| (now, *size)));
            self.moves.write_beats.extend(std::iter::repeat_n(now, moved.beats));
        }
    }

    fn conclude(&mut self, response: &SlotResponse) {
        let place = self.open.iter().position(|(head, _)| response.ticket == u64::from(head.ticket));
        let place = place.unwrap_or_else(|| panic!("nobody has the ticket of {response:?}"));
        let (head, outcome) = self.open.remove(place).expect("it was found");
        assert!(self.packet.is_empty(), "an answer before the end of its data");
        let ticket = u64::from(head.ticket);
        let reads = self.reads.as_ref();
        assert!(reads.is_none_or(|reads| !reads.has(ticket)), "an answer before the end of its reads");
        let writes = self.writes.as_ref();
        assert!(writes.is_none_or(|writes| !writes.has(ticket)), "an answer before the end of its writes");
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
        if self.open.is_empty() && self.writes.is_some() {
            self.foresight.compare(&self.host);
        }
    }

    pub(crate) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until everything is taken and answered, and sees that nothing comes behind it.
    pub(crate) fn settle(&mut self) {
        let (mut since, mut before) = (self.bench.cycle(), 0);
        while !self.open.is_empty() || !self.bench.is_sent() {
            self.step();
            if self.moves.count() != before {
                (since, before) = (self.bench.cycle(), self.moves.count());
            }
            assert!(self.bench.cycle() - since < LIMIT, "the kernel is stuck: {}", self.bench.stuck(LIMIT));
        }
        let before = self.moves.count();
        self.run(10);
        assert_eq!(self.moves.count(), before, "something moves without an invocation");
        assert!(self.packet.is_empty() && self.packets.is_empty(), "data without an invocation");
    }
}
