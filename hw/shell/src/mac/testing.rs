//! Two clocks around a block, frames on one side and frames on the other.

use std::collections::VecDeque;

use rust_hdl::prelude::Block;
use stroma_hw::verilog::emit;
use stroma_verilate::{Model, Options, Pause, PortId, SplitMix64, Verilog as Design};

/// Periods of core and MAC and the phase between them, in picoseconds or any other unit: as on the boards, the other way round, equal
/// with two phases, and far apart.
pub(super) const CLOCKS: [(u64, u64, u64); 6] =
    [(4000, 3103, 17), (3103, 4000, 17), (10, 10, 0), (10, 10, 3), (7, 2, 1), (2, 7, 1)];

/// The core's side and the MAC's.
pub(super) const CORE: usize = 0;
pub(super) const MAC: usize = 1;

/// A block as text, to be made a model of as often as needed.
pub(super) fn design<B: Block>(name: &str, build: impl FnOnce() -> B + Send) -> Design {
    let rtl = emit(name, build).unwrap_or_else(|error| panic!("{error}"));
    Design::new(&rtl.text, &rtl.manifest()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A model whose registers start as noise.
pub(super) fn model(design: &Design) -> Model {
    let options = Options { seed: 0x0005_7120, ..Options::default() };
    Model::load_with(design, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// One clock with its reset.
struct Side {
    clock: PortId,
    reset: PortId,
    period: u64,
    rises: u64,
    cycle: u64,
    /// Cycles for which `reset` stays high.
    resets: u64,
}

/// A model with the clocks of core and MAC.
pub(super) struct Clocked {
    pub(super) model: Model,
    sides: [Side; 2],
}

impl Clocked {
    pub(super) fn new(design: &Design, (core, mac, phase): (u64, u64, u64)) -> Self {
        let model = model(design);
        let side = |prefix: &str, period, phase| {
            let port = |name| model.port(&format!("{prefix}{name}")).expect("a clock with its reset");
            let (clock, reset) = (port("clock"), port("reset"));
            Side { clock, reset, period, rises: period + phase, cycle: 0, resets: 0 }
        };
        let sides = [side("", core, 0), side("mac_", mac, phase)];
        Self { model, sides }
    }

    pub(super) fn port(&self, name: &str) -> PortId {
        self.model.port(name).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn get(&self, name: &str) -> u64 {
        self.model.get(self.port(name))
    }

    pub(super) fn set(&mut self, name: &str, value: u64) {
        let port = self.port(name);
        self.model.set(port, value);
    }

    pub(super) fn cycle(&self, side: usize) -> u64 {
        self.sides[side].cycle
    }

    /// Holds the reset of one side for some of its cycles, from now on.
    pub(super) fn pulse(&mut self, side: usize, cycles: u64) {
        self.sides[side].resets = cycles;
        self.model.set(self.sides[side].reset, 1);
        self.model.eval();
    }

    pub(super) fn is_reset(&self, side: usize) -> bool {
        self.sides[side].resets > 0
    }

    /// Lets one clock stand still for so long.
    pub(super) fn stand(&mut self, side: usize, units: u64) {
        self.sides[side].rises += units;
    }

    /// Which sides rise at the next edge.
    pub(super) fn next(&self) -> [bool; 2] {
        let now = self.sides[CORE].rises.min(self.sides[MAC].rises);
        [self.sides[CORE].rises == now, self.sides[MAC].rises == now]
    }

    /// The next rising edge, of one clock or of both.
    pub(super) fn edge(&mut self) {
        let rises = self.next();
        for level in [1, 0] {
            for (side, _) in self.sides.iter().zip(rises).filter(|(_, rises)| *rises) {
                self.model.set(side.clock, level);
            }
            self.model.eval();
            self.model.advance(1);
        }
        for (side, _) in self.sides.iter_mut().zip(rises).filter(|(_, rises)| *rises) {
            side.rises += side.period;
            side.cycle += 1;
            side.resets = side.resets.saturating_sub(1);
            if side.resets == 0 {
                self.model.set(side.reset, 0);
            }
        }
        self.model.eval();
    }

    /// Both resets, long enough, and then until all is quiet.
    pub(super) fn start(&mut self) {
        self.pulse(CORE, 4);
        self.pulse(MAC, 4);
        let until = self.sides.each_ref().map(|side| side.cycle + 100);
        while self.sides[CORE].cycle < until[CORE] || self.sides[MAC].cycle < until[MAC] {
            self.edge();
        }
    }
}

/// A frame, and whether its end says that it is bad.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) is_bad: bool,
}

/// One transfer on the pins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transfer {
    pub(super) data: Vec<u32>,
    pub(super) keep: u64,
    pub(super) last: bool,
    pub(super) user: bool,
}

impl Frame {
    pub(super) fn good(bytes: Vec<u8>) -> Self {
        Self { bytes, is_bad: false }
    }

    /// A frame of that many random bytes.
    pub(super) fn random(rng: &mut SplitMix64, len: usize, is_bad: bool) -> Self {
        Self { bytes: (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect(), is_bad }
    }

    pub(super) fn transfers(&self) -> Vec<Transfer> {
        let count = self.bytes.len().div_ceil(64);
        let one = |(index, chunk): (usize, &[u8])| {
            let mut bytes = chunk.to_vec();
            bytes.resize(64, 0xa5);
            let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
            Transfer {
                data: bytes.chunks(4).map(word).collect(),
                keep: u64::MAX >> (64 - chunk.len()),
                last: index + 1 == count,
                user: index + 1 == count && self.is_bad,
            }
        };
        self.bytes.chunks(64).enumerate().map(one).collect()
    }

    fn from_transfers(transfers: &[Transfer]) -> Self {
        let bytes = |transfer: &Transfer| {
            let kept = transfer.keep.trailing_ones() as usize;
            assert_eq!(transfer.keep.count_ones() as usize, kept, "tkeep has a hole");
            assert!(transfer.last || kept == 64, "tkeep is partial before tlast");
            transfer.data.iter().flat_map(|word| word.to_le_bytes()).take(kept).collect::<Vec<u8>>()
        };
        let is_bad = transfers.last().is_some_and(|transfer| transfer.user);
        Self { bytes: transfers.iter().flat_map(bytes).collect(), is_bad }
    }
}

/// The pins of one AXI4-Stream.
struct Axis {
    valid: PortId,
    ready: Option<PortId>,
    data: PortId,
    keep: PortId,
    last: PortId,
    user: PortId,
}

impl Axis {
    fn new(model: &Model, prefix: &str) -> Self {
        let port = |name: &str| model.port(&format!("{prefix}{name}"));
        let pin = |name: &str| port(name).unwrap_or_else(|error| panic!("{error}"));
        let (valid, data, keep) = (pin("tvalid"), pin("tdata"), pin("tkeep"));
        Self { valid, ready: port("tready").ok(), data, keep, last: pin("tlast"), user: pin("tuser") }
    }

    fn moves(&self, model: &Model) -> bool {
        model.get(self.valid) == 1 && self.ready.is_none_or(|ready| model.get(ready) == 1)
    }

    fn shown(&self, model: &Model) -> Option<Transfer> {
        (model.get(self.valid) == 1).then(|| Transfer {
            data: model.get_wide(self.data),
            keep: model.get(self.keep),
            last: model.get(self.last) == 1,
            user: model.get(self.user) == 1,
        })
    }

    fn show(&self, model: &mut Model, transfer: Option<&Transfer>) {
        model.set(self.valid, transfer.is_some().into());
        if let Some(transfer) = transfer {
            model.set_wide(self.data, &transfer.data);
            model.set(self.keep, transfer.keep);
            model.set(self.last, transfer.last.into());
            model.set(self.user, transfer.user.into());
        }
    }
}

/// A block with frames going in on one side and out on the other.
pub(super) struct Path {
    pub(super) clocked: Clocked,
    from: usize,
    into: Axis,
    out: Axis,
    waiting: VecDeque<Transfer>,
    /// The first of them is not the first of its frame.
    is_inside: bool,
    /// Idle of whoever sends, and back-pressure of whoever takes.
    pub(super) idle: Pause,
    pub(super) pressure: Pause,
    offer: Option<Transfer>,
    open: Vec<Transfer>,
    /// Frames that came out, in order.
    pub(super) taken: Vec<Frame>,
    /// A frame that has begun must be shown in every cycle until it ends.
    pub(super) is_gapless: bool,
}

impl Path {
    /// Frames go in on side `from`.
    pub(super) fn new(design: &Design, clocks: (u64, u64, u64), from: usize) -> Self {
        let clocked = Clocked::new(design, clocks);
        let prefix = ["", "mac_"];
        let (into, out) =
            (Axis::new(&clocked.model, prefix[from]), Axis::new(&clocked.model, prefix[1 - from]));
        let mut path = Self {
            clocked,
            from,
            into,
            out,
            waiting: VecDeque::new(),
            is_inside: false,
            idle: Pause::None,
            pressure: Pause::None,
            offer: None,
            open: Vec::new(),
            taken: Vec::new(),
            is_gapless: false,
        };
        path.into.show(&mut path.clocked.model, None);
        path
    }

    pub(super) fn send(&mut self, frame: &Frame) {
        self.waiting.extend(frame.transfers());
    }

    pub(super) fn send_all(&mut self, frames: &[Frame]) {
        for frame in frames {
            self.send(frame);
        }
    }

    pub(super) fn send_transfers(&mut self, transfers: &[Transfer]) {
        self.waiting.extend(transfers.iter().cloned());
    }

    pub(super) fn is_sent(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Is there a frame whose beginning has come out, or is on offer, and whose end has not?
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty() || self.offer.is_some()
    }

    /// A reset of one side: whoever is on that side begins anew as well.
    pub(super) fn pulse(&mut self, side: usize, cycles: u64) {
        self.clocked.pulse(side, cycles);
        if side == self.from {
            self.into.show(&mut self.clocked.model, None);
            let rest = self.waiting.iter().position(|transfer| transfer.last).map_or(0, |last| last + 1);
            if self.is_inside {
                self.waiting.drain(..rest);
                self.is_inside = false;
            }
        } else {
            self.open.clear();
            self.offer = None;
        }
    }

    /// One edge with traffic: notes what moves before it, checks the law, drives what comes after it.
    pub(super) fn step(&mut self) {
        self.clocked.model.eval();
        let rises = self.clocked.next();
        let enters = self.into.moves(&self.clocked.model);
        let leaves = self.out.moves(&self.clocked.model);
        let shown = self.out.shown(&self.clocked.model);
        let is_reset = |side| self.clocked.is_reset(side);
        let (from_resets, to_resets) = (is_reset(self.from), is_reset(1 - self.from));
        if !to_resets {
            assert!(self.offer.is_none() || self.offer == shown, "an offer was changed or withdrawn");
            if self.is_gapless && rises[1 - self.from] && !self.open.is_empty() {
                assert!(shown.is_some(), "a gap inside a frame");
            }
        }
        self.clocked.edge();
        if rises[1 - self.from] {
            if !to_resets {
                self.offer = if leaves { None } else { shown.clone() };
                if let (true, Some(transfer)) = (leaves, shown) {
                    let ends = transfer.last;
                    self.open.push(transfer);
                    if ends {
                        self.taken.push(Frame::from_transfers(&std::mem::take(&mut self.open)));
                    }
                }
            }
            let is_ready = !self.pressure.at(self.clocked.cycle(1 - self.from));
            let ready = self.out.ready.expect("whoever takes may wait");
            self.clocked.model.set(ready, is_ready.into());
        } else if !to_resets {
            self.offer = shown;
        }
        if rises[self.from] {
            if enters && !from_resets {
                let moved = self.waiting.pop_front().expect("only what waits moves");
                self.is_inside = !moved.last;
            }
            let is_offering = self.clocked.model.get(self.into.valid) == 1 && !enters;
            let rests = self.idle.at(self.clocked.cycle(self.from)) && !is_offering;
            let front = self.waiting.front().filter(|_| !rests && !self.clocked.is_reset(self.from));
            self.into.show(&mut self.clocked.model, front);
        }
    }

    pub(super) fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    /// Sends what waits, and some cycles more.
    pub(super) fn drain(&mut self) {
        let mut quiet = 0;
        for _ in 0..2_000_000 {
            let before = self.taken.len();
            self.step();
            let moves = !self.is_sent() || self.is_open() || self.taken.len() > before;
            quiet = if moves { 0 } else { quiet + 1 };
            if quiet > 3000 {
                return;
            }
        }
        panic!("{} transfers still wait, a frame is open: {}", self.waiting.len(), self.is_open());
    }
}

/// Is every one of `found` in `all`, in the same order? A panic says which is not.
pub(super) fn assert_among(found: &[Frame], all: &[Frame]) {
    let mut candidates = all.iter();
    for (index, frame) in found.iter().enumerate() {
        assert!(
            candidates.any(|candidate| candidate == frame),
            "frame {index}, of {} bytes: nobody sent it, or it is out of order",
            frame.bytes.len()
        );
    }
}
