use std::collections::VecDeque;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_hw::testing::{collect, push, read, stalls, verilated};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::Interrupts;
use super::model::Twin;
use crate::pcie::completer::{RegAnswer, RegRequest};

/// Cycles from a vector that may go to its message, at most: the one before it may have been masked at the last moment.
const PROMPT: u64 = 16;
/// Cycles in which nothing goes behind a failure.
const REST: u64 = 256;

/// What the hard block does with a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    Sent,
    Fail,
}

fn number<const N: usize>(bits: Bits<N>) -> u64 {
    BigUint::from(bits).to_u64_digits().first().copied().unwrap_or(0)
}

/// The block with its twin, in lock step.
struct Room {
    bench: Bench,
    irq: SourceId,
    requests: SourceId,
    answers: SinkId,
    twin: Twin,
    raised: VecDeque<u32>,
    asked: VecDeque<RegRequest>,
    expected: Vec<Option<u64>>,
    /// Pins, now and in the cycle before.
    enabled: bool,
    masked: bool,
    was_open: bool,
    reply: Option<(u64, Reply)>,
    delay: u64,
    percent_failing: u64,
    rng: SplitMix64,
    /// Cycles in which a vector could have gone.
    late: u64,
    rests_until: u64,
    /// Messages of others since a vector may go.
    passed: [u32; 32],
    messages: Vec<u32>,
}

impl Room {
    fn new() -> Self {
        let mut bench = verilated("interrupts", Interrupts::default);
        let irq = bench.source("irq").expect("a stream");
        let requests = bench.source("requests").expect("a stream");
        let answers = bench.sink("answers").expect("a stream");
        bench.reset(2);
        Self {
            bench,
            irq,
            requests,
            answers,
            twin: Twin::new(),
            raised: VecDeque::new(),
            asked: VecDeque::new(),
            expected: vec![],
            enabled: false,
            masked: false,
            was_open: false,
            reply: None,
            delay: 4,
            percent_failing: 0,
            rng: SplitMix64::new(5),
            late: 0,
            rests_until: 0,
            passed: [0; 32],
            messages: vec![],
        }
    }

    fn raise(&mut self, vector: u32) {
        push(&mut self.bench, self.irq, &[Bits::<5>::from(u64::from(vector))]);
        self.raised.push_back(vector);
    }

    fn access(&mut self, addr: u32, store: Option<(u64, u8)>) {
        let (data, strb) = store.unwrap_or_default();
        let request = RegRequest {
            addr: u64::from(addr).into(),
            data: data.into(),
            strb: u64::from(strb).into(),
            is_write: store.is_some(),
        };
        push(&mut self.bench, self.requests, &[request]);
        self.asked.push_back(request);
    }

    /// Gives every vector an address and data of its own, all masked still.
    fn fill(&mut self) {
        for vector in 0..32_u32 {
            let address = 0xfee0_0000_0000 + 0x1000 * u64::from(vector) + 4;
            self.access(16 * vector, Some((address, 0xff)));
            self.access(16 * vector + 8, Some((0x1_0000_4000 + u64::from(vector), 0xff)));
        }
        self.settle();
    }

    fn mask(&mut self, vector: u32, is_masked: bool) {
        self.access(16 * vector + 8, Some((u64::from(is_masked) << 32, 0xf0)));
    }

    fn pin(&mut self, name: &str, level: bool) {
        let port = self.bench.model().port(name).expect("a port");
        self.bench.model_mut().set(port, level.into());
    }

    fn step(&mut self) {
        self.pin("cfg_interrupt_msix_enable", self.enabled);
        self.pin("cfg_interrupt_msix_mask", self.masked);
        let reply = self.reply.take_if(|(at, _)| *at <= self.bench.cycle()).map(|(_, reply)| reply);
        self.pin("cfg_interrupt_msi_sent", reply == Some(Reply::Sent));
        self.pin("cfg_interrupt_msi_fail", reply == Some(Reply::Fail));
        let before = (self.bench[self.irq].sent(), self.bench[self.requests].sent());
        self.bench.step();
        let (open, pending) = (self.twin.open(), self.twin.pending);
        match reply {
            Some(Reply::Sent) => self.twin.is_sent(),
            Some(Reply::Fail) => {
                self.twin.has_failed();
                self.rests_until = self.bench.cycle() + REST;
            }
            None => {}
        }
        self.watch(&open);
        if self.bench[self.irq].sent() > before.0 {
            self.twin.pending |= 1 << self.raised.pop_front().expect("only what was raised moves");
        }
        if self.bench[self.requests].sent() > before.1 {
            let request = self.asked.pop_front().expect("only what was asked moves");
            let addr = u32::try_from(number(request.addr)).expect("small");
            if request.is_write {
                let strobe = u8::try_from(number(request.strb)).expect("small");
                self.twin.store(addr, number(request.data), strobe);
                self.expected.push(None);
            } else {
                // Pending bits as they were when the request came.
                self.expected.push(Some(if addr & !7 == 0x800 {
                    pending.into()
                } else {
                    self.twin.load(addr)
                }));
            }
        }
        self.was_open = self.enabled && !self.masked;
    }

    /// A message must be one that may go, and must go in time.
    fn watch(&mut self, open: &[u32]) {
        if read::<bool>(&self.bench, "cfg_interrupt_msix_int") {
            let address = read::<Bits<64>>(&self.bench, "cfg_interrupt_msix_address");
            let data = read::<Bits<32>>(&self.bench, "cfg_interrupt_msix_data");
            let vector = self.twin.find(number(address), number(data));
            assert_eq!(self.twin.under_way, None, "one message at a time");
            assert!(open.contains(&vector), "vector {vector} may not go");
            assert!(self.was_open, "no message may go");
            assert!(self.bench.cycle() > self.rests_until, "a failure needs time");
            self.twin.pending &= !(1 << vector);
            self.twin.under_way = Some(vector);
            let reply = if self.rng.below(100) < self.percent_failing { Reply::Fail } else { Reply::Sent };
            self.reply = Some((self.bench.cycle() + self.rng.below(self.delay), reply));
            self.messages.push(vector);
            for other in 0..32 {
                self.passed[other as usize] += 1;
                if other == vector || !open.contains(&other) {
                    self.passed[other as usize] = 0;
                }
                assert!(self.passed[other as usize] < 32, "vector {other} waits for ever");
            }
        }
        let rests = self.bench.cycle() <= self.rests_until;
        if open.is_empty() || self.twin.under_way.is_some() || !self.was_open || rests {
            self.late = 0;
        } else {
            self.late += 1;
            assert!(self.late <= PROMPT, "vectors {open:?} wait");
        }
    }

    /// Resets the block; its table keeps addresses and data.
    fn restart(&mut self) {
        self.bench.reset(1);
        self.reply = None;
        self.late = 0;
        self.twin.restart();
        self.bench[self.answers].take();
        self.expected.clear();
    }

    /// Until nothing is left to do, and every answer is right.
    fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 300 {
            self.step();
            let rests = self.bench.is_sent() && self.twin.under_way.is_none();
            quiet = if rests { quiet + 1 } else { 0 };
        }
        let answers: Vec<RegAnswer> = collect(&mut self.bench, self.answers);
        assert_eq!(answers.len(), self.expected.len(), "an answer for each access");
        for (index, (answer, expected)) in answers.iter().zip(self.expected.drain(..)).enumerate() {
            if let Some(expected) = expected {
                assert_eq!(number(answer.data), expected, "answer {index}");
            }
        }
        assert_eq!(number(read::<Bits<32>>(&self.bench, "failures")), self.twin.failures);
    }
}

#[test]
fn the_table_keeps_what_is_stored_and_nothing_else_does() {
    let mut room = Room::new();
    let mut rng = SplitMix64::new(1);
    for (idle, pressure) in stalls() {
        room.bench[room.requests].pause(idle);
        room.bench[room.answers].pause(pressure);
        for _ in 0..150 {
            let at = [0, 0, 0, 0x1f8, 0x200, 0x7f8, 0x800, 0x808, 0x1000, 0x8000_u64];
            let at = at[usize::try_from(rng.below(10)).expect("small")];
            let addr = u32::try_from(at + if at == 0 { 4 * rng.below(128) } else { 0 }).expect("small");
            let strobe = [0xff, 0x0f, 0xf0, 0x10, 0x01, 0x3c][usize::try_from(rng.below(6)).expect("small")];
            let store = (rng.below(2) == 0).then(|| (rng.next_u64(), strobe));
            room.access(if store.is_some() { addr & !7 } else { addr }, store);
        }
        room.settle();
    }
}

#[test]
fn every_message_goes_once_when_it_may_whatever_happens() {
    let mut room = Room::new();
    room.fill();
    let mut rng = SplitMix64::new(2);
    for round in 0..60 {
        room.delay = [1, 4, 60][round % 3];
        room.percent_failing = [0, 20, 60][round / 3 % 3];
        for _ in 0..120 {
            let vector = u32::try_from(rng.below(32)).expect("small");
            match rng.below(16) {
                0..6 => room.raise(vector),
                6..8 => room.mask(vector, true),
                8..12 => room.mask(vector, false),
                12 => room.enabled = rng.below(3) > 0,
                13 => room.masked = rng.below(3) == 0,
                14 => room.access(0x800, None),
                _ => {}
            }
            for _ in 0..rng.below(9) {
                room.step();
            }
        }
        // Whatever is pending must go in the end.
        (room.enabled, room.masked, room.percent_failing) = (true, false, 0);
        for vector in 0..32 {
            room.mask(vector, false);
        }
        for _ in 0..3000 {
            room.step();
        }
        room.settle();
        assert_eq!(room.twin.pending, 0);
    }
    assert!(room.messages.len() > 1000 && room.twin.failures > 50);
}

#[test]
fn a_vector_that_always_comes_leaves_room_for_others() {
    let mut room = Room::new();
    room.fill();
    room.enabled = true;
    for vector in 0..32 {
        room.raise(vector);
    }
    for _ in 0..100 {
        room.step();
    }
    assert_eq!((room.messages.len(), room.twin.pending), (0, u32::MAX), "all are masked");
    for vector in (0..32).rev() {
        room.mask(vector, false);
    }
    while room.twin.pending & !(1 << 3) != 0 {
        room.raise(3);
        room.step();
        assert!(room.messages.len() < 70);
    }
}

#[test]
fn masked_vectors_are_taken_at_once() {
    let mut room = Room::new();
    room.fill();
    for round in 0..500 {
        room.raise(round % 32);
    }
    let start = room.bench.cycle();
    while !room.bench.is_sent() {
        room.step();
    }
    assert_eq!(room.bench.cycle() - start, 500);
    assert_eq!(room.messages, []);
}

#[test]
fn a_message_goes_seven_cycles_behind_its_interrupt() {
    let mut room = Room::new();
    room.fill();
    room.enabled = true;
    room.mask(9, false);
    room.settle();
    room.raise(9);
    let start = room.bench.cycle();
    while room.messages.is_empty() {
        room.step();
    }
    assert_eq!(room.bench.cycle() - start, 7);
}

#[test]
fn a_mask_holds_from_the_cycle_behind_its_store_on() {
    // The message is decided on six cycles behind the interrupt.
    for cycles in 0..12 {
        let mut room = Room::new();
        room.fill();
        room.enabled = true;
        room.mask(9, false);
        room.settle();
        room.raise(9);
        for _ in 0..cycles {
            room.step();
        }
        room.mask(9, true);
        for _ in 0..40 {
            room.step();
        }
        assert_eq!(
            room.messages.len(),
            usize::from(cycles > 5),
            "stored {cycles} cycles behind the interrupt"
        );
    }
}

#[test]
fn recovers_from_reset() {
    let mut room = Room::new();
    room.fill();
    room.enabled = true;
    room.delay = 1000;
    for vector in 0..8 {
        room.mask(vector, false);
        room.raise(vector);
    }
    for _ in 0..60 {
        room.step();
    }
    assert!(room.twin.under_way.is_some() && room.twin.pending != 0);
    room.restart();
    for vector in 0..8 {
        room.raise(vector);
    }
    room.access(0x800, None);
    for _ in 0..100 {
        room.step();
    }
    assert_eq!(room.messages.len(), 1, "all are masked again");
    for vector in 0..8 {
        room.mask(vector, false);
    }
    room.settle();
    assert_eq!(room.messages.len(), 9);
}
