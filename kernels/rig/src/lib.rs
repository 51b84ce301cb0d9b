//! A kernel on a bench, and the slot's other side: the caller's memory behind DMA, and a model that knows the answers.
//!
//! Every answer is held against the model's, every packet and every promise of [`stroma_hw::slot`] against its contract. Kernels
//! that write change a memory that is really there; the model has a copy of its own, and the two are compared whenever no invocation
//! is open.
//!
//! ```no_run
//! use rust_hdl::prelude::Block;
//! use stroma_hw::testing::stalls_of;
//! use stroma_kernel_rig::{Rig, STREAMS, Twin};
//!
//! /// A kernel that reads, in a request with these parameters, under every kind of stall.
//! fn agrees<K: Block>(kernel: fn() -> K, model: Twin, parameters: &[u8]) {
//!     let mut rig = Rig::<512>::new("mine", kernel, model);
//!     rig.latency = (10, 2000);
//!     for (seed, pauses) in (0..).zip(stalls_of::<STREAMS>()) {
//!         rig.reset(seed);
//!         rig.pause(pauses);
//!         rig.host.store(0x1000, &[1, 2, 3]);
//!         let invocation = rig.invocation(parameters, 64);
//!         rig.call(invocation);
//!         rig.settle();
//!         assert_eq!(rig.told, [0]);
//!     }
//! }
//! ```

#![forbid(unsafe_code)]
#![expect(
    clippy::missing_panics_doc,
    reason = "whatever is not as promised is a panic: it is a rig for tests"
)]

mod cycle;
mod foresight;
mod host;
mod moves;
mod reads;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::VecDeque;

use rust_hdl::prelude::*;
use stroma_abi::Qpn;
use stroma_abi::desc::{Parameters, SlotCommand as Head};
use stroma_hw::slot::{OPEN, SlotCommand};
use stroma_hw::stream::{Beat, beats};
use stroma_hw::testing::{push, verilated};
use stroma_kernel_models::{Invocation, Outcome};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use foresight::Foresight;
pub use host::Host;
pub use moves::Moves;
use reads::Reads;
use writes::Writes;

/// Cycles without anything moving after which the kernel counts as stuck.
const LIMIT: u64 = 10_000;

/// Streams that may pause: `command`, `data_in`, `read`, `read_data`, `write`, `write_data`, `write_done`, `data_out`, `response`.
pub const STREAMS: usize = 9;

/// The model of a kernel.
pub type Twin = fn(&Invocation, &mut Host) -> Outcome;

/// A kernel with a datapath of `D` bits, and all around it.
pub struct Rig<const D: usize> {
    /// The kernel's streams.
    pub bench: Bench,
    /// The caller's memory.
    pub host: Host,
    /// Where chance comes from; anew with each reset.
    pub rng: SplitMix64,
    /// Cycles from a read to its data, and from the last data of a write to its end: at least, and below.
    pub latency: (u64, u64),
    /// Most writes that are taken and not yet told of; more wait.
    pub outstanding: usize,
    /// The kernel takes keys from its parameters, and not only that of its command.
    pub has_own_keys: bool,
    /// The queue pair of all calls; else each is somebody's.
    pub caller: Option<Qpn>,
    /// When things moved, since the last reset.
    pub moves: Moves,
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
    /// Statuses told, since the last reset.
    pub told: Vec<u32>,
}

impl<const D: usize> Rig<D> {
    /// A kernel that does not write. Those that do not read have no streams for it.
    #[must_use]
    pub fn new<B: Block>(name: &str, build: impl FnOnce() -> B + Send, twin: Twin) -> Self {
        Self::on(verilated(&format!("{name}_{D}"), build), twin)
    }

    /// A kernel that writes.
    #[must_use]
    pub fn with_writes<B: Block>(name: &str, build: impl FnOnce() -> B + Send, twin: Twin) -> Self {
        let mut bench = verilated(&format!("{name}_{D}"), build);
        let writes = Writes::new(&mut bench);
        Self { writes: Some(writes), ..Self::on(bench, twin) }
    }

    fn on(mut bench: Bench, twin: Twin) -> Self {
        if let Ok(port) = bench.model().port("restart") {
            bench.model_mut().set(port, 0);
        }
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
    pub fn reset(&mut self, seed: u64) {
        self.bench.clear();
        self.bench.reset(2);
        self.forget();
        self.told.clear();
        self.moves = Moves::default();
        self.rng = SplitMix64::new(seed);
        self.host = Host::new(self.rng.next_u32());
    }

    /// Ends the kernel's work as the other side does, by its port `restart`, which a kernel that keeps something has beside its reset. Memory stays.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn restart(&mut self) {
        self.bench.clear();
        let port = self.bench.model().port("restart").expect("a kernel that keeps something");
        self.bench.model_mut().set(port, 1);
        self.bench.rest(2);
        self.bench.model_mut().set(port, 0);
        self.forget();
        self.told.clear();
    }

    /// Nothing is under way.
    fn forget(&mut self) {
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
    }

    /// Has streams pause from now on, in the order of [`STREAMS`].
    pub fn pause(&mut self, pauses: [Pause; STREAMS]) {
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
    pub fn hurry(&mut self) {
        self.bench.steady(true);
        let writes = self.writes.iter().flat_map(Writes::sinks);
        let reads = self.reads.iter().map(Reads::sink);
        for sink in [self.data_out, self.response].into_iter().chain(reads).chain(writes) {
            self.bench[sink].check_independence(false);
        }
    }

    /// An invocation under the memory's key; the memory must stay as it is until it has answered.
    #[must_use]
    pub fn invocation(&mut self, parameters: &[u8], response_max: u32) -> Invocation {
        self.streamed(parameters, Vec::new(), response_max)
    }

    /// As [`Rig::invocation`], with payload behind the parameters.
    #[must_use]
    pub fn streamed(&mut self, parameters: &[u8], data: Vec<u8>, response_max: u32) -> Invocation {
        let command = Head { key: self.host.key, response_max, ..Head::default() };
        Invocation::new(command, Parameters::new(parameters).expect("whole words"), data)
    }

    /// Queues an invocation, under a ticket of its own.
    pub fn call(&mut self, mut invocation: Invocation) {
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

    /// Some cycles.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until everything is taken and answered, and sees that nothing comes behind it.
    pub fn settle(&mut self) {
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
