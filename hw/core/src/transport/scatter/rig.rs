//! The block on a bench, between judges, rows, host memory and whoever takes the pieces.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::wqe::{BODY_AT, UNIT};
use stroma_abi::desc::{Receive, Sge, SgeList, WqeHead};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64, StreamPorts};

use super::Scatter;
use super::model::{World, scatter};
use crate::host::dma_read::ReadCommand;
use crate::host::work::Unit;
use crate::pack::Packed;
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{Errand, List, RingRow, SharedRow};

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 200_000;
/// Streams that may pause.
pub(super) const STREAMS: usize = 4;

/// Posts lists, each to a ring of its own.
#[derive(Default)]
pub(super) struct Poster {
    pub(super) world: World,
    count: u64,
}

/// A place in a ring: log2 of its entries, and an index.
pub(super) type Slot = (u64, u64);

impl Poster {
    /// A page of its own, with room for the longest ring behind it.
    fn page(&mut self, rng: &mut SplitMix64) -> u64 {
        self.count += 1;
        (rng.below(1 << 8) << 44 | self.count << 20 | rng.below(1 << 15)) & ((1 << 52) - 1)
    }

    /// An errand for the first byte of a list; all that means nothing is noise.
    fn errand(&self, rng: &mut SplitMix64, list: List, index: u64) -> Errand {
        Errand {
            list: (list as u64).into(),
            qpn: self.count.into(),
            srq: self.count.into(),
            index: index.into(),
            places: true,
            has_value: false,
            payload_len: 1.into(),
            offset: 0.into(),
            ..noise(rng)
        }
    }

    /// Posts a receive with a head that says `said`.
    pub(super) fn receive(
        &mut self,
        rng: &mut SplitMix64,
        is_shared: bool,
        (log, index): Slot,
        stride: u64,
        entries: &[Sge],
        said: u8,
    ) -> Errand {
        let base = self.page(rng);
        let receive = Receive(SgeList::new(entries).expect("not too many"));
        let mut bytes = vec![0; receive.encoded_len()];
        receive.encode(&mut bytes);
        bytes[0] = said;
        let size = 16 << stride;
        bytes.truncate(usize::try_from(size).expect("small"));
        self.world.write((base << 12) + (index % (1 << log)) * size, &bytes);
        if is_shared {
            let row = SharedRow {
                exists: true,
                base: base.into(),
                log: log.into(),
                stride: stride.into(),
                ..noise(rng)
            };
            self.world.shareds.insert(self.count, row);
            self.errand(rng, List::Shared, index)
        } else {
            let row = RingRow {
                exists: true,
                receive_base: base.into(),
                receive_log: log.into(),
                receive_stride: stride.into(),
                ..noise(rng)
            };
            self.world.rings.insert(self.count, row);
            self.errand(rng, List::Receive, index)
        }
    }

    /// Posts a receive of the shortest stride that holds it.
    pub(super) fn plain(&mut self, rng: &mut SplitMix64, entries: &[Sge]) -> Errand {
        let stride = Receive::stride_log(entries.len()).into();
        let said = u8::try_from(entries.len()).expect("few");
        self.receive(rng, false, (8, 5), stride, entries, said)
    }

    /// Posts a WQE whose head says `said` as its index.
    pub(super) fn send(
        &mut self,
        rng: &mut SplitMix64,
        (log, index): Slot,
        entries: &[Sge],
        said: u64,
    ) -> Errand {
        let base = self.page(rng);
        let list = SgeList::new(entries).expect("not too many");
        let mut wqe = vec![0; BODY_AT + list.encoded_len()];
        let head = WqeHead {
            opcode: 7,
            sge_count: u8::try_from(entries.len() % 16).expect("few"),
            index: u16::try_from(said).expect("16 bits"),
            key: rng.next_u32(),
            ..WqeHead::default()
        };
        head.emit(&mut wqe);
        list.encode(&mut wqe[BODY_AT..]);
        for (unit, bytes) in (index..).zip(wqe.chunks(UNIT)) {
            self.world.write((base << 12) + unit % (1 << log) * UNIT as u64, bytes);
        }
        let row = RingRow { exists: true, send_base: base.into(), send_log: log.into(), ..noise(rng) };
        self.world.rings.insert(self.count, row);
        self.errand(rng, List::Send, index)
    }
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) errand: SourceId,
    pub(super) units: SourceId,
    read: SinkId,
    piece: SinkId,
    rng: SplitMix64,
    pub(super) world: World,
    pieces: VecDeque<(Errand, bool)>,
    commands: VecDeque<ReadCommand>,
    /// Units with the cycle in which they come.
    answers: VecDeque<(u64, Unit)>,
    /// Cycles of a read: at least, and below.
    pub(super) latency: (u64, u64),
    /// Rows that were asked for in the cycle under way.
    asked: (Option<u64>, Option<u64>),
    /// When beats moved.
    pub(super) read_cycles: Vec<u64>,
    pub(super) unit_cycles: Vec<u64>,
    pub(super) piece_cycles: Vec<u64>,
}

/// A stream with a bit that goes along.
fn with_bit(bench: &Bench, name: &str, bit: &str) -> StreamPorts {
    let mut ports = StreamPorts::named(bench.model(), name).expect("the stream exists");
    ports.payload.push(bench.model().port(bit).expect("the port exists"));
    ports
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("scatter", Scatter::default);
        let ports = with_bit(&bench, "errand", "is_request");
        let errand = bench.source_on(ports);
        let units = bench.source("units").expect("the stream exists");
        let read = bench.sink("read").expect("the stream exists");
        let ports = with_bit(&bench, "piece", "piece_is_request");
        let piece = bench.sink_on(ports);
        let mut rig = Self {
            bench,
            errand,
            units,
            read,
            piece,
            rng: SplitMix64::new(1),
            world: World::default(),
            pieces: VecDeque::new(),
            commands: VecDeque::new(),
            answers: VecDeque::new(),
            latency: (20, 21),
            asked: (None, None),
            read_cycles: Vec::new(),
            unit_cycles: Vec::new(),
            piece_cycles: Vec::new(),
        };
        rig.reset();
        rig
    }

    /// Resets the block and all around it.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        self.bench.reset(2);
        for sink in [self.read, self.piece] {
            self.bench[sink].take();
        }
        self.pieces.clear();
        self.commands.clear();
        self.answers.clear();
        self.asked = (None, None);
        self.forget();
    }

    pub(super) fn forget(&mut self) {
        self.read_cycles.clear();
        self.unit_cycles.clear();
        self.piece_cycles.clear();
    }

    /// Pauses of errand, units, read, piece.
    pub(super) fn pause(&mut self, [errand, units, read, piece]: [Pause; STREAMS]) {
        self.bench[self.errand].pause(errand);
        self.bench[self.units].pause(units);
        self.bench[self.read].pause(read);
        self.bench[self.piece].pause(piece);
    }

    pub(super) fn send(&mut self, errands: &[(Errand, bool)]) {
        for (errand, is_request) in errands {
            let mut words = errand.to_words();
            words.push((*is_request).into());
            self.bench[self.errand].send(words);
            let (pieces, commands) = scatter(&self.world, errand, *is_request);
            self.pieces.extend(pieces.into_iter().map(|piece| (piece, *is_request)));
            self.commands.extend(commands);
        }
    }

    fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    fn asks(&self, name: &str) -> Option<u64> {
        let asks: bool = read(&self.bench, &format!("{name}_enable"));
        asks.then(|| read::<Bits<24>>(&self.bench, &format!("{name}_index")).into())
    }

    pub(super) fn step(&mut self) {
        let sent = self.bench[self.units].sent();
        self.bench.step();
        let now = self.bench.cycle();
        if self.bench[self.units].sent() > sent {
            self.unit_cycles.push(now);
        }
        // Rows show a cycle after they were asked for, and stay.
        let (ring, shared) = std::mem::take(&mut self.asked);
        if let Some(qpn) = ring {
            let row = self.world.ring(qpn);
            self.set("ring", &row);
        }
        if let Some(srq) = shared {
            let row = self.world.shared(srq);
            self.set("shared", &row);
        }
        self.asked = (self.asks("ring"), self.asks("shared"));
        for words in self.bench[self.piece].take() {
            let (is_request, words) = words.split_last().expect("there is a bit");
            let piece = (Errand::from_words(words), *is_request == 1);
            let expected = self.pieces.pop_front();
            assert_eq!(Some(piece), expected, "piece {}", self.piece_cycles.len());
            self.piece_cycles.push(now);
        }
        self.answer(now);
    }

    /// Host memory.
    fn answer(&mut self, now: u64) {
        for command in collect::<ReadCommand>(&mut self.bench, self.read) {
            let expected = self.commands.pop_front();
            assert_eq!(Some(command), expected, "command {}", self.read_cycles.len());
            self.read_cycles.push(now);
            let due = now + self.latency.0 + self.rng.below(self.latency.1 - self.latency.0);
            let (start, len) = (u64::from(command.iova), u64::from(command.len));
            let lines: Vec<u64> = (start..start + len).step_by(UNIT).collect();
            let is_bad = lines.iter().any(|line| self.world.bad.contains(line));
            for line in lines {
                let last = line + UNIT as u64 == start + len;
                let unit = Unit {
                    data: crate::pack::from_bytes(&self.world.line(line)),
                    last,
                    err: if last { is_bad } else { self.rng.below(2) == 1 },
                };
                self.answers.push_back((due, unit));
            }
        }
        while self.answers.front().is_some_and(|(due, _)| *due <= now) {
            let (_, unit) = self.answers.pop_front().expect("there is one");
            push(&mut self.bench, self.units, &[unit]);
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until all is through.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        loop {
            self.step();
            if self.bench.is_sent() && self.answers.is_empty() && !self.is_busy() {
                break;
            }
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck: {}", self.bench.stuck(LIMIT));
        }
        self.run(10);
        assert!(!self.is_busy(), "busy comes back by itself");
        assert!(self.pieces.is_empty() && self.commands.is_empty(), "something did not come");
    }
}
