//! What requests do, in plain Rust: byte by byte, without a thought for beats or cycles.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use stroma_verilate::SplitMix64;

use super::fields::{Place, UNSUPPORTED_REQUEST, completion, kind, refusal, request};
use super::gate::CqBeat;

/// Where the host has put BAR0, BAR2 and BAR4.
pub(super) const BARS: [(usize, u64); 3] =
    [(0, 0x0000_2000_4500_0000), (2, 0x0000_2000_4600_0000), (4, 0xfe5a_0000)];

fn put(bits: &mut BigUint, place: Place, value: u64) {
    assert!(place.width >= 64 || value >> place.width == 0, "{value:#x} does not fit {place:?}");
    *bits |= BigUint::from(value) << place.at;
}

/// The dwords of some bits.
fn dwords(bits: &BigUint, count: usize) -> Vec<u32> {
    let mut dwords = bits.to_u32_digits();
    dwords.resize(count, 0);
    dwords
}

/// A request, with everything that travels in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub kind: usize,
    pub bar: usize,
    /// As the host sees it.
    pub address: u64,
    pub count: usize,
    pub first_be: u8,
    pub last_be: u8,
    pub requester: u16,
    pub tag: u8,
    pub function: u8,
    pub class: u8,
    pub attributes: u8,
    pub address_type: u8,
    pub payload: Vec<u32>,
}

impl Request {
    /// A request with anything in the fields that are only copied.
    pub(super) fn new(
        rng: &mut SplitMix64,
        kind: usize,
        bar: usize,
        offset: u64,
        count: usize,
        enables: (u8, u8),
    ) -> Self {
        let base = BARS.iter().find(|(number, _)| *number == bar).map_or(0x7_7000_0000, |(_, base)| *base);
        let mut below = |bound: u64| u16::try_from(rng.below(bound)).expect("small");
        let mut byte = |bound: u64| u8::try_from(below(bound)).expect("small");
        let (tag, class, attributes, address_type) = (byte(256), byte(8), byte(8), byte(4));
        let requester = below(0x10000);
        let payload = if kind == kind::WRITE { (0..count).map(|_| rng.next_u32()).collect() } else { vec![] };
        let (first_be, last_be) = enables;
        let address = base + offset;
        Self {
            kind,
            bar,
            address,
            count,
            first_be,
            last_be,
            requester,
            tag,
            function: 0,
            class,
            attributes,
            address_type,
            payload,
        }
    }

    pub(super) fn descriptor(&self) -> Vec<u32> {
        let mut bits = BigUint::default();
        put(&mut bits, request::ADDRESS_TYPE, self.address_type.into());
        put(&mut bits, request::ADDRESS, self.address >> 2);
        put(&mut bits, request::COUNT, self.count as u64);
        put(&mut bits, request::KIND, self.kind as u64);
        put(&mut bits, request::REQUESTER, self.requester.into());
        put(&mut bits, request::TAG, self.tag.into());
        put(&mut bits, request::FUNCTION, self.function.into());
        put(&mut bits, request::BAR, self.bar as u64);
        put(&mut bits, request::APERTURE, 24);
        put(&mut bits, request::CLASS, self.class.into());
        put(&mut bits, request::ATTRIBUTES, self.attributes.into());
        dwords(&bits, 4)
    }

    /// The request as the hard block gives it. Beats behind the first say nothing about byte enables.
    pub(super) fn beats(&self) -> Vec<CqBeat> {
        let all: Vec<u32> = self.descriptor().into_iter().chain(self.payload.iter().copied()).collect();
        let count = all.len().div_ceil(16);
        let beat = |(index, chunk): (usize, &[u32])| CqBeat {
            data: BigUint::new(chunk.to_vec()).into(),
            keep: ((1_u64 << chunk.len()) - 1).into(),
            first_be: u64::from(if index == 0 { self.first_be } else { 0 }).into(),
            last_be: u64::from(if index == 0 { self.last_be } else { 0 }).into(),
            discontinue: false,
            last: index + 1 == count,
        };
        all.chunks(16).enumerate().map(beat).collect()
    }

    /// Is this byte of what it reads or writes enabled?
    fn enables(&self, byte: usize) -> bool {
        let enables = match byte / 4 {
            0 => self.first_be,
            last if last + 1 == self.count => self.last_be,
            _ => 0xf,
        };
        enables >> (byte % 4) & 1 == 1
    }

    /// The place in the card of a byte.
    fn place(&self, byte: usize) -> (Target, u32) {
        let base = BARS.iter().find(|(number, _)| *number == self.bar).expect("a BAR of ours").1;
        let offset =
            u32::try_from(self.address - base).expect("in its BAR") + u32::try_from(byte).expect("small");
        match (self.bar, offset) {
            (4, _) => (Target::Table, offset),
            (0, 0xf000..0x1_0000) => (Target::Board, offset),
            (0, _) => (Target::Card, offset),
            _ => (Target::Card, (1 << 24) + offset),
        }
    }
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Card,
    Table,
    Board,
}

/// One access to eight aligned bytes: at which address, and what is stored to which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub target: Target,
    pub addr: u32,
    pub store: Option<(u64, u8)>,
}

/// What is behind the bus: words of eight bytes that keep what is stored, and begin with a value of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(BTreeMap<(Target, u32), u64>);

impl Memory {
    pub(super) fn load(&self, target: Target, addr: u32) -> u64 {
        let start = SplitMix64::at(target as u64, u64::from(addr / 8));
        self.0.get(&(target, addr / 8)).copied().unwrap_or(start)
    }

    pub(super) fn store(&mut self, target: Target, addr: u32, data: u64, strobe: u8) {
        let mut bytes = self.load(target, addr).to_le_bytes();
        for (place, byte) in
            data.to_le_bytes().into_iter().enumerate().filter(|(place, _)| strobe >> place & 1 == 1)
        {
            bytes[place] = byte;
        }
        self.0.insert((target, addr / 8), u64::from_le_bytes(bytes));
    }
}

/// Carries out requests, and keeps what came of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Twin {
    pub memory: Memory,
    /// In order.
    pub accesses: Vec<Access>,
    /// Completions, each as its dwords.
    pub completions: Vec<Vec<u32>>,
    pub unsupported: u64,
}

impl Twin {
    pub(super) fn carry_out(&mut self, request: &Request) {
        let is_known = BARS.iter().any(|(bar, _)| *bar == request.bar);
        match request.kind {
            kind::WRITE if is_known => self.write(request),
            kind::READ if is_known => self.read(request),
            _ => {
                self.unsupported += 1;
                if request.kind != kind::WRITE && request.kind < kind::FIRST_MESSAGE {
                    self.refuse(request);
                }
            }
        }
    }

    fn write(&mut self, request: &Request) {
        let mut words: BTreeMap<(Target, u32), (u64, u8)> = BTreeMap::new();
        for byte in (0..4 * request.count).filter(|byte| request.enables(*byte)) {
            let (target, at) = request.place(byte);
            let word = words.entry((target, at & !7)).or_default();
            word.0 |= u64::from(request.payload[byte / 4].to_le_bytes()[byte % 4]) << (8 * (at % 8));
            word.1 |= 1 << (at % 8);
        }
        for ((target, addr), (data, strobe)) in words {
            self.memory.store(target, addr, data, strobe);
            self.accesses.push(Access { target, addr, store: Some((data, strobe)) });
        }
    }

    fn read(&mut self, request: &Request) {
        let is_nothing = request.count == 1 && request.first_be == 0;
        let mut loaded = None;
        let mut data = Vec::new();
        for dword in 0..request.count {
            let (target, addr) = request.place(4 * dword);
            if !is_nothing && loaded != Some((target, addr & !7)) {
                loaded = Some((target, addr & !7));
                self.accesses.push(Access { target, addr, store: None });
            }
            let word = if is_nothing { 0 } else { self.memory.load(target, addr) };
            data.push(u32::try_from(word >> (8 * (addr % 8)) & 0xffff_ffff).expect("four bytes"));
        }
        let enabled: Vec<usize> = (0..4 * request.count).filter(|byte| request.enables(*byte)).collect();
        let (first, last) = if is_nothing { (0, 0) } else { (enabled[0], enabled[enabled.len() - 1]) };
        let mut from = 0;
        while from < request.count {
            let room = 32 - usize::try_from(request.address / 4 % 32).expect("small");
            let until = if from == 0 { room.min(request.count) } else { (from + 32).min(request.count) };
            let begins = first.max(4 * from);
            let at = request.address + begins as u64;
            let sizes = (at & 0x7f, (last + 1 - begins) as u64, (until - from) as u64);
            let mut completion = dwords(&Self::opening(request, sizes, 0), 3);
            completion.extend(&data[from..until]);
            self.completions.push(completion);
            from = until;
        }
    }

    fn refuse(&mut self, request: &Request) {
        let reads = request.kind == kind::READ || request.kind == kind::LOCKED_READ;
        let lead = u64::from(if request.first_be == 0 { 0 } else { request.first_be.trailing_zeros() });
        let at = if reads { (request.address + lead) & 0x7f } else { 0 };
        let mut bits = Self::opening(request, (at, 20, 5), UNSUPPORTED_REQUEST as u64);
        put(&mut bits, completion::IS_LOCKED, (request.kind == kind::LOCKED_READ).into());
        put(&mut bits, refusal::FIRST_BE, request.first_be.into());
        put(&mut bits, refusal::LAST_BE, request.last_be.into());
        bits |= BigUint::new(request.descriptor()) << refusal::REQUEST.at;
        self.completions.push(dwords(&bits, 8));
    }

    fn opening(request: &Request, (at, bytes, count): (u64, u64, u64), status: u64) -> BigUint {
        let mut bits = BigUint::default();
        put(&mut bits, completion::LOWER_ADDRESS, at);
        put(&mut bits, completion::ADDRESS_TYPE, request.address_type.into());
        put(&mut bits, completion::BYTES, bytes);
        put(&mut bits, completion::COUNT, count);
        put(&mut bits, completion::STATUS, status);
        put(&mut bits, completion::REQUESTER, request.requester.into());
        put(&mut bits, completion::TAG, request.tag.into());
        put(&mut bits, completion::FUNCTION, request.function.into());
        put(&mut bits, completion::CLASS, request.class.into());
        put(&mut bits, completion::ATTRIBUTES, request.attributes.into());
        bits
    }
}
