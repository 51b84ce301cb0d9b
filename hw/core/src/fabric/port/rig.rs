//! The port on a bench: the rig plays transport, kernel and memory, and holds everything against the model.

pub(super) mod kernel;

use std::array;
use std::collections::VecDeque;

use stroma_abi::desc::region::rights;
use stroma_abi::wire::RpcTarget;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Port;
use super::model::{Twin, mtu};
use crate::fabric::records::{Access, Call, Calling, Chunk};
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::slot::{SlotCommand, SlotRead, SlotResponse};
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, push, read, verilated};
use kernel::{Kernel, Out, Plan, noise_bytes};

/// Queue pairs that call.
pub(super) const PEERS: usize = 4;
const LIMIT: u64 = 400_000;
/// The streams that a kernel gives: their ports, by name. A name is looked up in every cycle, and made in none.
const GIVEN: [[&str; 3]; 4] = [
    ["read$valid", "read$ready", "read$payload"],
    ["write$valid", "write$ready", "write$payload"],
    ["data_out$valid", "data_out$ready", "data_out$payload"],
    ["response$valid", "response$ready", "response$payload"],
];
/// As [`GIVEN`], of those that it takes.
const TAKEN: [[&str; 3]; 2] = [
    ["command$valid", "command$ready", "command$payload"],
    ["data_in$valid", "data_in$ready", "data_in$payload"],
];

/// A packet of a request, before it is reserved.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) call: Call,
    bytes: Vec<u8>,
}

/// One that is: its stream, and the beats that have to move before its call comes.
struct Coming {
    packet: Packet,
    stream: Option<usize>,
    due: u64,
    beats: u64,
}

/// A queue pair that calls.
#[derive(Default)]
pub(super) struct Peer {
    pub(super) packets: VecDeque<Packet>,
    stream: Option<usize>,
    pub(super) path_mtu: u64,
    pub(super) is_still: bool,
    place: u64,
    /// What it may do.
    pub(super) rights: u8,
}

/// How the rig behaves.
pub(super) struct Manners {
    /// Percent of cycles in which: a packet is reserved; the kernel takes a command, data, offers what it puts out.
    pub(super) reserves: u64,
    pub(super) takes: u64,
    pub(super) gives: u64,
    /// Cycles from reservation to payload, and of memory: at least, and below.
    pub(super) delay: (u64, u64),
    pub(super) memory: (u64, u64),
}

/// Pulses seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulses {
    pub(super) invoked: usize,
    pub(super) answered_ok: usize,
    pub(super) answered_failed: usize,
    pub(super) expired: usize,
    pub(super) aborted: usize,
}

type Planner<const D: usize> = Box<dyn FnMut(&mut SplitMix64, &SlotCommand) -> Plan<D>>;

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    payload: SourceId,
    call: SourceId,
    access: [SinkId; 2],
    chunk: SinkId,
    chunk_data: SinkId,
    pub(super) rng: SplitMix64,
    pub(super) twin: Twin,
    pub(super) kernel: Kernel<D>,
    pub(super) planner: Planner<D>,
    pub(super) peers: Vec<Peer>,
    pub(super) manners: Manners,
    pub(super) pulses: Pulses,
    pub(super) resets: usize,
    /// Accesses seen, reads and writes, and whether foreign tickets are looked at.
    pub(super) accesses: Vec<Access>,
    pub(super) is_strict: bool,
    /// The kernel's offers, and what was offered to it.
    offers: [bool; 4],
    offered: [Option<Vec<u32>>; 2],
    was_reset: bool,
    line: VecDeque<Coming>,
    calls: VecDeque<Coming>,
    beats_pushed: u64,
    calls_moved: u64,
    expected: [VecDeque<(u64, Access)>; 2],
    /// Cycle in which a read or write comes back, and whose it is.
    backs: [VecDeque<(u64, u64)>; 2],
    idle_at: u64,
    chunks: VecDeque<Chunk>,
    packets: VecDeque<Vec<u8>>,
    packet: Vec<Beat<D>>,
    changes: VecDeque<QpChange>,
    /// Who asked for room in the cycle before; who is told that there is none, and when.
    asked: usize,
    refusals: VecDeque<(u64, usize)>,
    /// Cycles of moves: reservations, commands, data, chunks.
    pub(super) command_cycles: Vec<u64>,
    pub(super) data_cycles: Vec<u64>,
    pub(super) call_cycles: Vec<u64>,
    pub(super) response_cycles: Vec<u64>,
    pub(super) chunk_cycles: Vec<u64>,
    pub(super) chunk_data_cycles: Vec<u64>,
    pub(super) reserve_cycles: Vec<u64>,
    pub(super) abort_cycles: Vec<u64>,
    pub(super) expire_cycles: Vec<u64>,
    /// What requests wait for.
    pub(super) ticket: u16,
    pub(super) back_cycles: Vec<u64>,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = if D == 64 {
            verilated("port_64", Port::<64, 10>::default)
        } else {
            verilated("port_512", Port::<512, 9>::default)
        };
        let [payload, call] = ["payload", "call"].map(|name| bench.source(name).expect("the stream exists"));
        let [read, write, chunk, chunk_data] = ["read_access", "write_access", "chunk", "chunk_data"]
            .map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            payload,
            call,
            access: [read, write],
            chunk,
            chunk_data,
            rng: SplitMix64::new(1),
            twin: Twin::default(),
            kernel: Kernel::new(),
            planner: Box::new(right),
            peers: Vec::new(),
            manners: Manners { reserves: 100, takes: 100, gives: 100, delay: (0, 1), memory: (0, 1) },
            pulses: Pulses::default(),
            resets: 0,
            accesses: Vec::new(),
            is_strict: true,
            offers: [false; 4],
            offered: [None, None],
            was_reset: false,
            line: VecDeque::new(),
            calls: VecDeque::new(),
            beats_pushed: 0,
            calls_moved: 0,
            expected: Default::default(),
            backs: Default::default(),
            idle_at: 0,
            chunks: VecDeque::new(),
            packets: VecDeque::new(),
            packet: Vec::new(),
            changes: VecDeque::new(),
            asked: 0,
            refusals: VecDeque::new(),
            command_cycles: Vec::new(),
            data_cycles: Vec::new(),
            call_cycles: Vec::new(),
            response_cycles: Vec::new(),
            chunk_cycles: Vec::new(),
            chunk_data_cycles: Vec::new(),
            reserve_cycles: Vec::new(),
            abort_cycles: Vec::new(),
            expire_cycles: Vec::new(),
            back_cycles: Vec::new(),
            ticket: 0,
        };
        let (all, reads) = (0x1f, rights::RPC | rights::REMOTE_READ);
        for (path_mtu, rights) in [(1, all), (3, reads), (5, all), (2, rights::RPC | rights::REMOTE_WRITE)] {
            rig.peers.push(Peer { path_mtu, rights, ..Peer::default() });
        }
        let idle = [
            "reserves",
            "change_valid",
            "read_ends",
            "write_ends",
            "limit",
            "patience",
            "visible",
            "refused",
        ];
        for port in idle {
            rig.set(port, 0);
        }
        for [valid, ..] in GIVEN {
            rig.set(valid, 0);
        }
        for [_, ready, _] in TAKEN {
            rig.set(ready, 0);
        }
        rig.bench.reset(2);
        rig
    }

    /// Resets the port and all around it, in the middle of whatever it does.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        for port in ["reserves", "change_valid", "read_ends", "write_ends"] {
            self.set(port, 0);
        }
        for [valid, ..] in GIVEN {
            self.set(valid, 0);
        }
        self.bench.reset(2);
        for sink in [self.access[0], self.access[1], self.chunk, self.chunk_data] {
            self.bench[sink].take();
        }
        self.kernel.reset();
        self.twin = Twin::default();
        self.peers.iter_mut().for_each(|peer| peer.packets.clear());
        (self.offers, self.offered, self.was_reset) = ([false; 4], [None, None], false);
        self.line.clear();
        self.calls.clear();
        (self.beats_pushed, self.calls_moved) =
            (self.bench[self.payload].sent(), self.bench[self.call].sent());
        (self.expected, self.backs) = Default::default();
        self.chunks.clear();
        self.packets.clear();
        self.packet.clear();
        self.refusals.clear();
        self.pulses = Pulses::default();
    }

    pub(super) fn set(&mut self, port: &str, value: u64) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn offer<T: Packed>(&mut self, payload: &str, value: &T) {
        let port = self.bench.model().port(payload).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
    }

    /// Pauses of payload and call; of both accesses, chunk and `chunk_data`.
    pub(super) fn pause(&mut self, pauses: [Pause; 6]) {
        let [payload, call, reads, writes, chunk, chunk_data] = pauses;
        self.bench[self.payload].pause(payload);
        self.bench[self.call].pause(call);
        for (sink, pause) in [
            (self.access[0], reads),
            (self.access[1], writes),
            (self.chunk, chunk),
            (self.chunk_data, chunk_data),
        ] {
            self.bench[sink].pause(pause);
        }
    }

    /// Queues a request of a peer: `payload` of which the first `words` are parameters, in packets of its path MTU.
    pub(super) fn request(&mut self, peer: usize, words: usize, payload: &[u8], response_max: u32) -> Call {
        let target = RpcTarget {
            response_max,
            flags: self.rng.next_u64().to_le_bytes()[0],
            parameter_words: u8::try_from(words).expect("few"),
            operation: 7,
        };
        let key = self.rng.next_u32();
        let from = &mut self.peers[peer];
        from.place = (from.place + 1) % 16;
        let begin = Call {
            calling: (Calling::Begins as u64).into(),
            ends: true,
            qpn: (0x10_0000 + peer as u64).into(),
            pd: (0x300 + peer as u64).into(),
            path_mtu: from.path_mtu.into(),
            place: from.place.into(),
            target: target.to_address().into(),
            key: u64::from(key).into(),
            rights: u64::from(from.rights).into(),
            length: (payload.len() as u64).into(),
            ticket: u64::from(self.ticket).into(),
            ..Call::default()
        };
        let mut pieces: Vec<Vec<u8>> = payload.chunks(mtu(&begin)).map(<[u8]>::to_vec).collect();
        if pieces.is_empty() {
            pieces.push(Vec::new());
        }
        let last = pieces.len() - 1;
        for (at, bytes) in pieces.into_iter().enumerate() {
            let calling = if at == 0 { Calling::Begins } else { Calling::GoesOn } as u64;
            // What only a begin tells is noise elsewhere.
            let noise = |value: u64| if at == 0 { value } else { !value };
            let call = Call {
                calling: calling.into(),
                ends: at == last,
                target: noise(begin.target.into()).into(),
                key: (noise(begin.key.into()) & 0xffff_ffff).into(),
                rights: (noise(begin.rights.into()) & 0x1f).into(),
                length: (noise(begin.length.into()) & 0xffff_ffff).into(),
                ticket: (noise(begin.ticket.into()) & 0xffff).into(),
                ..begin
            };
            from.packets.push_back(Packet { call, bytes });
        }
        begin
    }

    /// A random one.
    pub(super) fn random_request(&mut self) {
        let peer = self.rng.below(PEERS as u64);
        let peer = usize::try_from(peer).expect("few");
        let mtu = 128_u64 << self.peers[peer].path_mtu;
        let words = self.rng.below(17);
        let length = match self.rng.below(4) {
            0 => 4 * words,
            1 => 4 * words + self.rng.below(mtu + 1 - 4 * words),
            2 => mtu + 1 + self.rng.below(200),
            _ => mtu + 1 + self.rng.below(5 * mtu),
        };
        let length = usize::try_from(length).expect("few");
        let response_max = match self.rng.below(4) {
            0 => 0,
            1 => self.rng.below(100),
            2 => self.rng.below(3 * mtu),
            _ => mtu * self.rng.below(4),
        };
        let payload = noise_bytes(&mut self.rng, length);
        let words = usize::try_from(words).expect("few");
        self.request(peer, words, &payload, u32::try_from(response_max).expect("few"));
    }

    /// A queue pair stops, with the next cycle, and sends nothing more.
    pub(super) fn stop(&mut self, peer: usize) {
        let qpn = (0x10_0000 + peer as u64).into();
        self.changes.push_back(QpChange { qpn, stops: true, ..QpChange::default() });
        self.peers[peer].packets.clear();
    }

    /// Its packets behind the one that is to be reserved next give up.
    pub(super) fn give_up(&mut self, peer: usize, from: usize) {
        for packet in self.peers[peer].packets.iter_mut().skip(from) {
            packet.call.gives_up = true;
            packet.bytes.clear();
        }
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn between(&mut self, (least, below): (u64, u64)) -> u64 {
        least + self.rng.below(below - least)
    }

    /// Who asks next: one of those who begin something, by chance.
    fn ask_for_room(&mut self) {
        let begins = |peer: &Peer| {
            let front = peer.packets.front().filter(|_| !peer.is_still);
            front.is_some_and(|packet| packet.call.calling == Calling::Begins as u64)
        };
        let who: Vec<usize> = (0..PEERS).filter(|at| begins(&self.peers[*at])).collect();
        if !who.is_empty() {
            self.asked = who[usize::try_from(self.rng.below(who.len() as u64)).expect("few")];
        }
        self.set("asks_qpn", 0x10_0000 + self.asked as u64);
    }

    fn reserve(&mut self, now: u64) {
        let refused = self.refusals.pop_front_if(|(due, _)| *due <= now);
        self.set("refused", refused.is_some().into());
        self.set("refused_qpn", refused.map_or(0, |(_, peer)| 0x10_0000 + peer as u64));
        self.look_for_room(now);
        self.ask_for_room();
    }

    fn look_for_room(&mut self, now: u64) {
        self.set("reserves", 0);
        if !self.changes.is_empty() || !self.percent(self.manners.reserves) {
            return;
        }
        let first = usize::try_from(self.rng.below(PEERS as u64)).expect("few");
        let (room, more) = (self.port("room"), self.port("room_more"));
        for peer in (0..PEERS).map(|at| (first + at) % PEERS) {
            let from = &mut self.peers[peer];
            let Some(packet) = from.packets.front().filter(|_| !from.is_still) else { continue };
            let begins = packet.call.calling == Calling::Begins as u64;
            if begins && peer != self.asked {
                continue;
            }
            if !(if begins { room } else { more }) {
                if begins {
                    self.refusals.push_back((now + 2, peer));
                }
                continue;
            }
            let packet = from.packets.pop_front().expect("it is there");
            let stream = self.twin.reserve(&packet.call).or(if begins { None } else { from.stream });
            from.stream = stream;
            self.set("reserves", 1);
            self.set("reserves_begins", begins.into());
            self.set("reserves_ends", packet.call.ends.into());
            self.set("reserves_qpn", packet.call.qpn.into());
            let due = now + self.between(self.manners.delay);
            self.reserve_cycles.push(now);
            self.line.push_back(Coming { packet, stream, due, beats: 0 });
            return;
        }
    }

    fn send(&mut self, now: u64) {
        while self.line.front().is_some_and(|coming| coming.due <= now) {
            let mut coming = self.line.pop_front().expect("it is there");
            if !coming.packet.bytes.is_empty() {
                let packet = beats::<D>(&coming.packet.bytes);
                self.beats_pushed += packet.len() as u64;
                push(&mut self.bench, self.payload, &packet);
            }
            coming.beats = self.beats_pushed;
            coming.due = u64::MAX;
            self.calls.push_back(coming);
        }
        let moved = self.bench[self.payload].sent();
        for coming in &mut self.calls {
            if coming.due == u64::MAX && coming.beats <= moved {
                coming.due = 0;
                push(&mut self.bench, self.call, &[coming.packet.call]);
            }
        }
    }

    /// The kernel's side of a cycle: what it offers and takes.
    fn play_kernel(&mut self) {
        let gives = self.manners.gives;
        let is_reset = self.port("kernel_reset");
        for (at, [valid, _, payload]) in GIVEN.into_iter().enumerate() {
            if is_reset {
                self.offers[at] = false;
            } else if !self.offers[at] && self.percent(gives) {
                let front = self.kernel.out.front().copied();
                let second = self.kernel.out.get(1).copied();
                match (at, front, second) {
                    (0, ..) => {
                        if let Some((_, ask)) = self.kernel.reads.front().copied() {
                            self.offers[0] = true;
                            self.offer(payload, &ask);
                        }
                    }
                    (1, ..) => {
                        if let Some((_, ask)) = self.kernel.writes.front().copied() {
                            self.offers[1] = true;
                            self.offer(payload, &ask);
                        }
                    }
                    // A beat behind a response is offered with it at the earliest.
                    (2, Some(Out::Beat(beat)), _) | (2, Some(Out::Response(_)), Some(Out::Beat(beat)))
                        if matches!(front, Some(Out::Beat(_))) || self.offers[3] =>
                    {
                        self.offers[2] = true;
                        self.offer(payload, &beat);
                    }
                    (3, Some(Out::Response(response)), _) => {
                        self.offers[3] = true;
                        self.offer(payload, &response);
                    }
                    _ => {}
                }
            }
            self.set(valid, self.offers[at].into());
        }
        let takes = self.manners.takes;
        let command = !self.kernel.is_dull && self.percent(takes);
        let data = self.kernel.takes_data() && self.percent(takes);
        self.set("command$ready", command.into());
        self.set("data_in$ready", data.into());
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let now = self.bench.cycle();
        self.watch(now);
        self.reserve(now);
        self.send(now);
        self.play_kernel();
        self.play_memory(now);
        let change = self.changes.pop_front();
        self.set("change_valid", change.is_some().into());
        if let Some(change) = change {
            let port = self.bench.model().port("change").expect("the port exists");
            self.bench.model_mut().set_wide(port, &change.to_words());
        }
        assert!(self.port("payload$ready") && self.port("call$ready"), "what is reserved is taken at once");

        let gone: [bool; 4] = array::from_fn(|at| self.offers[at] && self.port(GIVEN[at][1]));
        let [takes_command, takes_data] = TAKEN.map(|[valid, ready, _]| self.port(ready) && self.port(valid));
        let command = takes_command.then(|| read::<SlotCommand>(&self.bench, TAKEN[0][2]));
        let data = takes_data.then(|| read::<Beat<D>>(&self.bench, TAKEN[1][2]));
        let invoked = command.is_some();
        self.bench.step();

        self.pulses.invoked += usize::from(invoked);
        while self.bench[self.call].sent() > self.calls_moved {
            self.calls_moved += 1;
            self.call_cycles.push(now);
            let coming = self.calls.pop_front().expect("a call was pushed");
            self.twin.arrive(&coming.packet.call, &coming.packet.bytes, coming.stream);
        }
        self.take_output(now, &gone);
        if let Some(beat) = data {
            self.data_cycles.push(now);
            self.twin.data(&beat);
            self.kernel.data(beat.nbytes.index());
        }
        if let Some(command) = command {
            self.command_cycles.push(now);
            self.twin.command(&command);
            let plan = (self.planner)(&mut self.rng, &command);
            self.kernel.command(&command, plan);
        }
        if let Some(change) = change {
            self.twin.change(change.qpn.into());
        }
        self.take_accesses(now);
        self.take_chunks(now);
    }

    fn take_output(&mut self, now: u64, taken: &[bool]) {
        for (at, ask) in [(0, self.kernel.reads.front().copied()), (1, self.kernel.writes.front().copied())] {
            if taken[at] {
                let (job, ask) = ask.expect("it was offered");
                let right = [rights::REMOTE_READ, rights::REMOTE_WRITE][at];
                self.expected[at].push_back((job, self.twin.access(&ask, right)));
                if at == 0 { &mut self.kernel.reads } else { &mut self.kernel.writes }.pop_front();
                self.offers[at] = false;
                self.kernel.go_on();
            }
        }
        // A response belongs to what came before the beat of its cycle.
        for at in [3, 2] {
            if taken[at] {
                self.offers[at] = false;
                match self.kernel.out.pop_front().expect("it was offered") {
                    Out::Beat(beat) => self.twin.output(&beat),
                    Out::Response(response) => {
                        self.response_cycles.push(now);
                        self.twin.respond(&response);
                    }
                }
            }
        }
    }

    /// What the port says before a cycle.
    fn watch(&mut self, now: u64) {
        let is_reset = self.port("kernel_reset");
        assert_eq!(is_reset, self.port("dma_reset"), "both resets");
        self.pulses.answered_ok += usize::from(self.port("answered_ok"));
        self.pulses.answered_failed += usize::from(self.port("answered_failed"));
        let is_expired = self.port("expired");
        if is_expired {
            self.pulses.expired += 1;
            self.expire_cycles.push(now);
        }
        if self.port("aborted") {
            self.pulses.aborted += 1;
            self.abort_cycles.push(now - 1);
            self.twin.abort();
        }
        if is_reset && !self.was_reset {
            self.resets += 1;
            self.kernel.reset();
            let offered = self.offered[0].as_deref().map(SlotCommand::from_words);
            self.twin.restart(is_expired, offered.as_ref());
            self.idle_at = now + self.rng.below(30);
        }
        // What is on offer to the kernel stays, unless it is reset.
        for (at, [valid, ready, payload]) in TAKEN.into_iter().enumerate() {
            let is_offered = self.port(valid);
            let port = self.bench.model().port(payload).expect("the port exists");
            let words = is_offered.then(|| self.bench.model().get_wide(port));
            let was_taken = self.port(ready);
            if let Some(before) = self.offered[at].take().filter(|_| !is_reset && !was_taken) {
                assert_eq!(Some(before), words, "{payload} of an offer changed");
            }
            assert!(!(is_reset && is_offered), "{valid} under reset");
            self.offered[at] = words;
        }
        self.was_reset = is_reset;
    }

    fn play_memory(&mut self, now: u64) {
        let is_reset = self.was_reset;
        for (at, port) in ["read_ends", "write_ends"].into_iter().enumerate() {
            let mut ends = false;
            if is_reset {
                // What is thrown away may be told, or not.
                ends = !self.backs[at].is_empty() && self.percent(50);
                if now >= self.idle_at {
                    self.backs[at].clear();
                    ends = false;
                }
            } else if self.backs[at].front().is_some_and(|(due, _)| *due <= now) {
                let (_, job) = self.backs[at].pop_front().expect("it is there");
                self.kernel.come_back(job);
                self.back_cycles.push(now);
                ends = true;
            }
            self.set(port, ends.into());
        }
        let is_idle = self.backs.iter().all(VecDeque::is_empty);
        self.set("dma_idle", is_idle.into());
    }

    fn take_accesses(&mut self, now: u64) {
        for at in 0..2 {
            for access in collect::<Access>(&mut self.bench, self.access[at]) {
                let (job, expected) = self.expected[at].pop_front().expect("it was asked for");
                let seen = if access.refused && expected.refused {
                    Access { qpn: expected.qpn, pd: expected.pd, ..access }
                } else {
                    access
                };
                if self.is_strict {
                    assert_eq!(seen, expected);
                }
                self.accesses.push(access);
                let due = now + 1 + self.between(self.manners.memory);
                let due = due.max(self.backs[at].back().map_or(0, |(due, _)| *due));
                self.backs[at].push_back((due, job));
            }
        }
    }

    fn take_chunks(&mut self, now: u64) {
        for beat in collect::<Beat<D>>(&mut self.bench, self.chunk_data) {
            self.chunk_data_cycles.push(now);
            self.packet.push(beat);
            if beat.eop {
                let packet = std::mem::take(&mut self.packet);
                let bytes = bytes(&packet);
                assert_eq!(packet, beats::<D>(&bytes), "beats of a chunk");
                self.packets.push_back(bytes);
            }
        }
        for chunk in collect::<Chunk>(&mut self.bench, self.chunk) {
            self.chunk_cycles.push(now);
            self.chunks.push_back(chunk);
        }
        while let Some(chunk) = self.chunks.front().copied() {
            let data = if chunk.len.any() { self.packets.pop_front() } else { Some(Vec::new()) };
            let Some(data) = data else { break };
            self.chunks.pop_front();
            self.twin.chunk(&chunk, &data);
        }
    }

    /// Steps until something has happened.
    pub(super) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        let start = self.bench.cycle();
        while !done(self) {
            self.step();
            assert!(self.bench.cycle() - start < LIMIT, "it never happens: {}", self.bench.stuck(LIMIT));
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn is_done(&self) -> bool {
        let is_sent = self.peers.iter().all(|peer| peer.packets.is_empty() || peer.is_still);
        is_sent && self.line.is_empty() && self.calls.is_empty() && self.twin.is_quiet()
    }

    /// Steps until everything is answered, and sees that nothing is left behind.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.is_done() || self.port("busy") {
            self.step();
            assert!(
                self.bench.cycle() - start < LIMIT,
                "the port is stuck: {}\n{:?}, {} resets, {} packets to come, {} calls; {}; {:?}",
                self.bench.stuck(LIMIT),
                self.pulses,
                self.resets,
                self.peers.iter().map(|peer| peer.packets.len()).sum::<usize>(),
                self.calls.len() + self.line.len(),
                self.twin.state(),
                ["room", "room_more", "kernel_reset", "busy", "dma_idle"].map(|name| self.port(name)),
            );
        }
        // Nobody who has streamed asks.
        self.asked = PEERS;
        self.run(20);
        assert!(self.is_done() && !self.port("busy"), "something comes behind it all");
        assert!(self.port("room") && self.port("room_more"), "all room is back");
        assert!(self.packets.is_empty() && self.packet.is_empty(), "bytes without a chunk");
    }
}

/// A response as it ought to be.
pub(super) fn response(command: &SlotCommand, status: u32, len: usize) -> SlotResponse {
    SlotResponse { ticket: command.ticket, status: u64::from(status).into(), len: (len as u64).into() }
}

/// A read or write of an invocation.
pub(super) fn ask(rng: &mut SplitMix64, command: &SlotCommand) -> SlotRead {
    SlotRead {
        ticket: command.ticket,
        va: rng.next_u64().into(),
        key: command.key,
        len: (1 + rng.below(4096)).into(),
    }
}

/// What a kernel may do.
pub(super) fn right<const D: usize>(rng: &mut SplitMix64, command: &SlotCommand) -> Plan<D> {
    let most = u64::from(command.response_max);
    let len = match rng.below(3) {
        0 => 0,
        1 => most,
        _ => rng.below(most + 1),
    };
    let bytes = noise_bytes(rng, usize::try_from(len).expect("few"));
    let status = if rng.below(4) == 0 { 0x100 + rng.next_u32() % 100 } else { 0 };
    let asks = |rng: &mut SplitMix64| (0..rng.below(4)).map(|_| ask(rng, command)).collect();
    Plan {
        reads: asks(rng),
        writes: asks(rng),
        beats: if bytes.is_empty() { Vec::new() } else { beats(&bytes) },
        responses: vec![response(command, status, bytes.len())],
        skips_data: rng.below(3) == 0,
        is_hasty: false,
        is_deaf: false,
    }
}
