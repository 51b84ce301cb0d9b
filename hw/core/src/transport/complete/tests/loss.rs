//! Queue pairs that send to peers over a wire that loses packets, both ways, and peers that are not always ready.

use std::collections::VecDeque;

use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{self, CmpSwap, FetchAdd, Read, Rpc, RpcWrite, Send, Write, WriteImm};
use stroma_abi::wire::{NakCode, Syndrome, opcode};
use stroma_verilate::SplitMix64;

use crate::transport::complete::model::{ahead, fetches, front, is_atomic, is_call};
use crate::transport::complete::rig::{PAIRS, RING, Rig, Settings};
use crate::transport::records::{Arrival, Errand, List, Occasion, Sent};

/// Cycles without an answer after which the timer of a queue pair runs out.
const PATIENCE: u64 = 400;
/// Cycles of a rest, by code.
const REST: u64 = 30;

const OPS: [WorkOp; 10] = [Write, WriteImm, Send, Read, Read, CmpSwap, FetchAdd, Rpc, RpcWrite, RpcWrite];

/// A request on the wire.
#[derive(Clone, Copy)]
struct Request {
    psn: u64,
    /// Of a READ: the packets and bytes of its answer.
    reads: Option<(u64, u64)>,
    is_atomic: bool,
    /// Of an RPC's last packet, or where its answer is asked for again: the first PSN of that, how many it has, and the bytes of
    /// the longest.
    calls: Option<(u64, u64, u64)>,
    /// It takes a receive, or room at a kernel.
    takes: bool,
    /// It asks for an answer.
    asks: bool,
}

/// What an atomic found.
const fn found(psn: u64) -> u64 {
    psn.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Status and bytes of an RPC's answer.
fn answer(base: u64, longest: u64) -> (u32, u32) {
    let mixed = found(base + 1) >> 32;
    let status = u32::try_from(mixed).expect("32 bits");
    (status, u32::try_from(mixed % (longest + 1)).expect("short"))
}

/// One queue pair and its peer.
struct Pair {
    /// All messages, with the place of each in its 64.
    messages: Vec<Sent>,
    admitted: usize,
    /// What goes next: a message, and packets of it before.
    cursor: (usize, u64),
    /// Of the peer: the PSN it waits for, and whether it has said so.
    expected: u64,
    has_complained: bool,
    /// The RPC that still runs, by the first PSN of its answer, and how often the peer says so. Nothing behind it is answered.
    running: Option<(u64, u64)>,
    /// RPCs that ran, by the same.
    ran: Vec<u64>,
    /// Completions, and bytes of READs that came, by message.
    done: Vec<(u64, u64)>,
    placed: Vec<u64>,
    deadline: u64,
    /// The peer is not ready, and nothing is sent.
    is_held: bool,
    answers: VecDeque<Arrival>,
}

struct Wire {
    rig: Rig,
    pairs: Vec<Pair>,
    rng: SplitMix64,
    /// Of a hundred, packets that are lost and requests for which no receive is there.
    percent: u64,
    unready: u64,
    heard: [usize; 3],
    /// Packets that chance would have lost.
    spared: u64,
}

impl Wire {
    fn new(mut rig: Rig, seed: u64, percent: u64, unready: u64, count: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let mut pairs = Vec::new();
        for qpn in 0..PAIRS {
            rig.settings[qpn] = Settings { path_mtu: 1 + qpn as u64 % 5, ..Settings::default() };
            let first = 0xff_ffff - rng.below(40);
            let (unit, mut psn) = (rig.mtu(qpn), first);
            let mut message = |index: u64| {
                let op = OPS[usize::try_from(rng.below(OPS.len() as u64)).expect("small")];
                let length = if matches!(op, CmpSwap | FetchAdd) { 8 } else { rng.below(4 * unit) };
                let message = match op {
                    Rpc => rig.call(qpn, 1, length, psn),
                    RpcWrite => rig.call(qpn, 2 + rng.below(3), length, psn),
                    _ => rig.message(qpn, op, length, psn),
                };
                psn += u64::from(message.packets);
                Sent {
                    index: index.into(),
                    signaled: !index.is_multiple_of(3),
                    address: (index << 32).into(),
                    scatters: op == Read && index.is_multiple_of(2),
                    ..message
                }
            };
            let messages: Vec<Sent> = (0..count).map(&mut message).collect();
            pairs.push(Pair {
                placed: vec![0; messages.len()],
                messages,
                admitted: 0,
                cursor: (0, 0),
                expected: first,
                has_complained: false,
                running: None,
                ran: Vec::new(),
                done: Vec::new(),
                deadline: u64::MAX,
                is_held: false,
                answers: VecDeque::new(),
            });
        }
        Self { rig, pairs, rng, percent, unready, heard: [0; 3], spared: 0 }
    }

    /// Chance, but with mercy for the last try. At 25 % a READ's request or answer is lost in 44 of a hundred tries, so one READ in
    /// 750 loses all eight and is given up, as it should be: about every third run of so many messages. Since the last try
    /// comes through here, whoever gives up has not tried as often as it may, or has not sent what is missing.
    fn is_lost(&mut self, qpn: usize) -> bool {
        let is_struck = self.rng.below(100) < self.percent;
        let is_spared = is_struck && self.rig.rows[qpn].used == self.rig.settings[qpn].retry;
        self.spared += u64::from(is_spared);
        is_struck && !is_spared
    }

    /// Sends one packet of a queue pair.
    fn transmit(&mut self, qpn: usize) {
        let (at, skips) = self.pairs[qpn].cursor;
        let Some(message) = self.pairs[qpn].messages.get(at).copied() else { return };
        if self.pairs[qpn].is_held {
            return;
        }
        if at == self.pairs[qpn].admitted {
            if self.rig.held(qpn) == RING {
                return;
            }
            self.rig.admit(qpn, message, message.packets.into());
            self.pairs[qpn].admitted += 1;
        }
        let pair = &mut self.pairs[qpn];
        if pair.deadline == u64::MAX {
            pair.deadline = self.rig.bench.cycle() + PATIENCE;
        }
        let (packets, psn) = (u64::from(message.packets), u64::from(message.psn) + skips);
        let is_read = message.opcode == Read as u64;
        let is_called = is_call(&message) && skips >= front(&message);
        let sent = if is_read || is_called { packets - skips } else { 1 };
        pair.cursor = if skips + sent == packets { (at + 1, 0) } else { (at, skips + sent) };
        let (unit, is_last) = (self.rig.mtu(qpn), skips + sent == packets);
        let request = Request {
            psn: psn & 0xff_ffff,
            reads: is_read.then(|| (sent, u64::from(message.length) - skips * unit)),
            is_atomic: is_atomic(&message),
            calls: is_called.then(|| {
                let base = (u64::from(message.psn) + front(&message)) & 0xff_ffff;
                (base, u64::from(message.answers), u64::from(message.length))
            }),
            takes: is_called
                || message.opcode == Send as u64 && skips == 0
                || message.opcode == WriteImm as u64 && is_last,
            asks: is_last,
        };
        if !self.is_lost(qpn) {
            self.receive(qpn, request);
        }
    }

    /// What the peer does with a request.
    fn receive(&mut self, qpn: usize, request: Request) {
        let unit = self.rig.mtu(qpn);
        let behind = ahead(request.psn, self.pairs[qpn].expected);
        let is_new = behind == 0;
        if !is_new && behind < 1 << 23 {
            // What is to be said to that waits for the answers before it.
            if !self.pairs[qpn].has_complained && self.pairs[qpn].running.is_none() {
                self.pairs[qpn].has_complained = true;
                let expected = self.pairs[qpn].expected;
                let nak = self.rig.acknowledge(qpn, expected, Syndrome::Nak(NakCode::PsnSequence));
                self.give(qpn, &nak);
            }
            return;
        }
        let is_running = self.pairs[qpn].running.is_some();
        if is_new && request.takes && !is_running && self.rng.below(100) < self.unready {
            // What follows it is a gap of which the queue pair knows.
            self.pairs[qpn].has_complained = true;
            let timer = self.rng.next_u32().to_le_bytes()[0] & 0x1f;
            let nak = self.rig.acknowledge(qpn, request.psn, Syndrome::RnrNak { timer });
            return self.give(qpn, &nak);
        }
        let (mut count, length) = request.reads.unwrap_or((1, 0));
        if let Some((_, answers, _)) = request.calls {
            count = answers;
        }
        if is_new {
            self.pairs[qpn].expected = (request.psn + count) & 0xff_ffff;
            self.pairs[qpn].has_complained = false;
        }
        if let Some(call) = request.calls {
            return self.run(qpn, request.psn, call, is_new);
        }
        // Answers behind one that still runs wait for its end. An acknowledgement is always for the newest that arrived.
        let is_data = request.is_atomic || request.reads.is_some();
        let running = self.pairs[qpn].running;
        if running.is_some_and(|(base, _)| !is_data || ahead(request.psn, base) < 1 << 23) {
            return;
        }
        if request.is_atomic {
            let value = self.rig.value(qpn, request.psn, found(request.psn));
            return self.give(qpn, &value);
        }
        if request.reads.is_none() {
            if request.asks {
                // A request of the past is acknowledged with the last one that arrived.
                let last = self.pairs[qpn].expected.wrapping_sub(1);
                let ack = self.rig.acknowledge(qpn, last, Syndrome::Ack { credits: 31 });
                self.give(qpn, &ack);
            }
            return;
        }
        for part in 0..count {
            let op = match (part == 0, part + 1 == count) {
                (true, true) => opcode::RC_READ_RESPONSE_ONLY,
                (true, false) => opcode::RC_READ_RESPONSE_FIRST,
                (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
                (false, true) => opcode::RC_READ_RESPONSE_LAST,
            };
            let data = self.rig.data(qpn, request.psn + part, op, unit.min(length - part * unit));
            self.give(qpn, &data);
        }
    }

    /// What the peer does with an RPC that is there: runs it once, for longer or shorter, and answers from `psn` on.
    fn run(&mut self, qpn: usize, psn: u64, (base, _, longest): (u64, u64, u64), is_new: bool) {
        let unit = self.rig.mtu(qpn);
        if is_new {
            assert_eq!(psn, base, "the last packet itself");
            self.pairs[qpn].ran.push(base);
            // Behind one that still runs this one is not answered, whatever it does. Without loss, none runs for so long that it is
            // sent again.
            let is_slow = self.percent > 0 && self.rng.below(4) == 0;
            if self.pairs[qpn].running.is_none() && is_slow {
                self.pairs[qpn].running = Some((base, self.rng.below(12)));
                return;
            }
        }
        match self.pairs[qpn].running {
            Some((first, 0)) if first == base => self.pairs[qpn].running = None,
            Some((first, often)) if first == base => {
                self.pairs[qpn].running = Some((base, often - 1));
                let busy = self.rig.busy(qpn, psn);
                return self.give(qpn, &busy);
            }
            Some((first, _)) if ahead(base, first) < 1 << 23 => return,
            _ => {}
        }
        let (status, length) = answer(base, longest);
        let packets = u64::from(length).div_ceil(unit).max(1);
        for index in ahead(psn, base)..packets {
            let here = unit.min(u64::from(length) - index * unit);
            let end = (index + 1 == packets).then_some((status, length));
            let result = self.rig.result(qpn, base + index, here, end);
            self.give(qpn, &result);
        }
    }

    fn give(&mut self, qpn: usize, answer: &Arrival) {
        if !self.is_lost(qpn) {
            self.pairs[qpn].answers.push_back(*answer);
        }
    }

    /// Listens to what the block has said since.
    fn listen(&mut self) {
        let given = &self.rig.given;
        for (_, errand) in &given.errands[self.heard[0]..] {
            note(&mut self.pairs[errand.qpn.index()], errand);
        }
        let mut rewinds = given.rewinds[self.heard[1]..].iter().peekable();
        let mut rewind_until = |pairs: &mut [Pair], until: u64| {
            while let Some((_, rewind)) = rewinds.next_if(|(cycle, _)| *cycle <= until) {
                let pair = &mut pairs[rewind.qpn.index()];
                pair.cursor = (rewind.index.index(), rewind.skips.into());
                pair.is_held = rewind.holds;
                let message = &pair.messages[pair.cursor.0];
                assert_eq!(message.psn + rewind.skips, rewind.psn);
            }
        };
        // A message takes several cycles to be admitted, and arrivals go on meanwhile.
        for (cycle, alarm) in &given.alarms[self.heard[2]..] {
            rewind_until(&mut self.pairs, *cycle);
            let (pair, code) = (&mut self.pairs[alarm.qpn.index()], u64::from(alarm.timeout));
            assert_eq!(alarm.rests, pair.is_held, "the timer of a rest is left alone");
            pair.deadline = cycle + if alarm.rests { REST * code } else { PATIENCE };
        }
        rewind_until(&mut self.pairs, u64::MAX);
        self.heard = [given.errands.len(), given.rewinds.len(), given.alarms.len()];
    }

    fn step(&mut self) {
        let qpn = usize::try_from(self.rng.below(PAIRS as u64)).expect("small");
        match self.rng.below(3) {
            0 => self.transmit(qpn),
            1 if self.rig.arrivals.len() < 4 => {
                if let Some(answer) = self.pairs[qpn].answers.pop_front() {
                    self.rig.arrive(&answer);
                }
            }
            _ => {
                if self.pairs[qpn].deadline < self.rig.bench.cycle() {
                    self.pairs[qpn].deadline = u64::MAX;
                    self.rig.arrive(&self.rig.nudge(qpn, Occasion::Timeout));
                }
            }
        }
        self.rig.step();
        self.listen();
    }

    fn is_over(&self) -> bool {
        self.rig.arrivals.is_empty()
            && (0..PAIRS).all(|qpn| {
                let pair = &self.pairs[qpn];
                pair.admitted == pair.messages.len()
                    && self.rig.rows[qpn].outstanding(&self.rig.sent[qpn]) == 0
            })
    }
}

/// What an errand does, with the data in order and each byte once.
fn note(pair: &mut Pair, errand: &Errand) {
    assert!(!errand.fails, "message {:?} fails with status {:?}", errand.index, errand.status);
    if errand.places {
        let at = errand.index.index();
        let message = &pair.messages[at];
        if message.scatters {
            assert_eq!(u64::from(errand.list), List::Send as u64);
            assert_eq!(u64::from(errand.offset), pair.placed[at], "data of message {at}");
        } else {
            assert_eq!(u64::from(errand.list), List::None as u64);
            assert_eq!(u64::from(errand.va), ((at as u64) << 32) + pair.placed[at], "data of message {at}");
        }
        assert_eq!(errand.has_value, is_atomic(message));
        if errand.has_value {
            assert_eq!(u64::from(errand.value), found(message.psn.into()));
        }
        pair.placed[at] += u64::from(errand.span);
    }
    let called = pair.messages.get(errand.index.index()).filter(|_| errand.flags.any() && errand.completes);
    if let Some(message) = called {
        let base = (u64::from(message.psn) + front(message)) & 0xff_ffff;
        let (status, length) = answer(base, message.length.into());
        let told = (u64::from(errand.detail), u64::from(errand.length));
        assert!(is_call(message));
        assert_eq!(told, (status.into(), length.into()), "message {:?}", errand.index);
    }
    if errand.completes {
        pair.done.push((errand.index.into(), errand.status.into()));
    }
}

#[test]
fn whatever_is_lost_each_message_completes_once_and_in_order() {
    let mut rig = Rig::default();
    for (seed, percent, unready) in [(1, 0, 0), (2, 3, 0), (3, 10, 20), (4, 25, 25), (5, 0, 40), (6, 40, 60)]
    {
        rig.reset();
        let mut wire = Wire::new(rig, seed, percent, unready, 90);
        let start = wire.rig.bench.cycle();
        while !wire.is_over() {
            assert!(wire.rig.bench.cycle() - start < 2_000_000, "the wire is silent");
            wire.step();
        }
        wire.rig.settle();
        wire.listen();
        let rewinds = &wire.rig.given.rewinds;
        let rests = rewinds.iter().filter(|(_, rewind)| rewind.holds).count();
        let repeats = rewinds.len() - 2 * rests;
        assert_eq!(repeats > 50, percent > 0, "{repeats} rewinds at {percent} %");
        assert_eq!(rests > 20, unready > 0, "{rests} rests at {unready} %");
        assert!(percent < 40 || wire.spared > 20, "last tries lost {} packets", wire.spared);
        for pair in &wire.pairs {
            let success = Status::Success as u64;
            let signaled = pair.messages.iter().filter(|message| message.signaled);
            let expected: Vec<_> = signaled.map(|message| (u64::from(message.index), success)).collect();
            assert_eq!(pair.done, expected);
            for (message, placed) in pair.messages.iter().zip(&pair.placed) {
                let base = (u64::from(message.psn) + front(message)) & 0xff_ffff;
                let expected = match message.length.into() {
                    longest if is_call(message) => answer(base, longest).1.into(),
                    length if fetches(message) => length,
                    _ => 0,
                };
                assert_eq!(*placed, expected);
            }
            let called = pair.messages.iter().filter(|message| is_call(message));
            let once: Vec<u64> =
                called.map(|message| (u64::from(message.psn) + front(message)) & 0xff_ffff).collect();
            assert_eq!(pair.ran, once, "each RPC runs once, in order");
        }
        rig = wire.rig;
    }
}
