//! What the tests share: paths, regions, endpoints that are joined.

use std::net::{Ipv4Addr, Ipv6Addr};

use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Sge, SgeList};
use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};

use super::channel::{Channel, Faults};
use crate::model::{Addresses, Dropped, Endpoint, Operation, Path, Region, Settings, Work};

/// The way from end `from` (0 or 1) to the other.
pub(super) fn path(from: u8, is_ipv6: bool) -> Path {
    let mac = |end: u8| Mac([2, 0, 0, 0, 0, end]);
    let v4 = |end: u8| Ipv4Addr::new(10, 0, 0, end + 1);
    let v6 = |end: u8| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::from(end) + 1);
    let to = 1 - from;
    Path {
        local: mac(from),
        remote: mac(to),
        tag: is_ipv6.then_some((3, 100)),
        addresses: if is_ipv6 {
            Addresses::V6 { local: v6(from), remote: v6(to) }
        } else {
            Addresses::V4 { local: v4(from), remote: v4(to) }
        },
        source_port: 0xc001,
        traffic_class: 0b10,
        hop_limit: 64,
    }
}

/// Number of queue pair `index` at end `from`.
pub(super) fn number(from: u8, index: u32) -> Qpn {
    Qpn::new(0x100 * (u32::from(from) + 1) + index)
}

/// Queue pair `index` of end `from`.
pub(super) fn settings(from: u8, index: u32, mtu: u32) -> Settings {
    let psn = |end: u8| Psn::new(0xff_fffb - 0x25 * index * (u32::from(end) + 1));
    Settings {
        send_psn: psn(from),
        receive_psn: psn(1 - from),
        timeout: Some(20_000),
        ..Settings::new(number(from, index), number(1 - from, index), path(from, index % 2 == 1), mtu)
    }
}

pub(super) const ALL: u8 =
    rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ | rights::REMOTE_ATOMIC;

pub(super) fn region(base: u64, length: usize, salt: u8) -> Region {
    let byte = |index: usize| (index % 251).to_le_bytes()[0].wrapping_mul(7) ^ salt;
    Region { base, bytes: (0..length).map(byte).collect(), domain: 0, rights: ALL }
}

/// Two endpoints and the wire between them.
pub(super) struct Pair {
    pub(super) ends: [Endpoint; 2],
    pub(super) wires: [Channel; 2],
    pub(super) now: u64,
    pub(super) sent: [Vec<Vec<u8>>; 2],
    pub(super) keep: bool,
    pub(super) dropped: Vec<Dropped>,
}

impl Pair {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self {
            ends: [Endpoint::default(), Endpoint::default()],
            wires: [Channel::new(seed, faults), Channel::new(!seed, faults)],
            now: 0,
            sent: [vec![], vec![]],
            keep: true,
            dropped: vec![],
        }
    }

    /// One queue pair of MTU 256, and 64 KiB under key 1 (this end) and key 2 (that end), on a perfect wire.
    pub(super) fn simple() -> Self {
        Self::simple_with(|_| {})
    }

    pub(super) fn simple_with(change: impl Fn(&mut Settings)) -> Self {
        let mut pair = Self::new(0, Faults::default());
        for end in 0..2 {
            let mut settings = settings(end, 0, 256);
            change(&mut settings);
            pair.ends[usize::from(end)].connect(settings);
            let base = 0x1000 * (u64::from(end) + 1);
            pair.ends[usize::from(end)].memory.register(u32::from(end) + 1, region(base, 0x1_0000, end));
        }
        pair
    }

    /// Posts from this end (0) to that (1): `length` bytes between the starts of both regions.
    pub(super) fn post(&mut self, id: u64, operation: Operation, length: u32) {
        self.ends[0].post(number(0, 0), work(id, operation, length));
    }

    /// One tick: a frame from each end, arrivals, timers. When nothing moves, time jumps to what comes next.
    pub(super) fn step(&mut self) {
        let mut moved = false;
        for end in 0..2 {
            if let Some(frame) = self.ends[end].transmit(self.now) {
                moved = true;
                if self.keep {
                    self.sent[end].push(frame.clone());
                }
                self.wires[end].send(self.now, frame);
            }
            while let Some(frame) = self.wires[1 - end].arrive(self.now) {
                moved = true;
                self.dropped.extend(self.ends[end].receive(self.now, &frame).err());
            }
            // What is due by now may make this end send in the next tick.
            moved |= self.ends[end].deadline().is_some_and(|due| due <= self.now);
            self.ends[end].tick(self.now);
        }
        let events = self.wires.iter().map(Channel::next).chain(self.ends.iter().map(Endpoint::deadline));
        let next = if moved { None } else { events.flatten().min() };
        self.now = next.unwrap_or(0).max(self.now + 1);
    }

    /// Until nothing is left to do.
    pub(super) fn run(&mut self) {
        let is_done = |pair: &Self| {
            pair.ends.iter().all(Endpoint::is_idle) && pair.wires.iter().all(|wire| wire.next().is_none())
        };
        let limit = self.now + 10_000_000;
        loop {
            self.step();
            if is_done(self) {
                break;
            }
            assert!(self.now < limit, "the endpoints never come to rest");
        }
    }
}

pub(super) fn work(id: u64, operation: Operation, length: u32) -> Work {
    Work::new(id, operation, &[sge(1, 0x1000, length)], 2, 0x2000)
}

pub(super) fn sge(local_key: u32, address: u64, length: u32) -> Sge {
    Sge { address, local_key, length }
}

pub(super) fn list(pieces: &[Sge]) -> SgeList {
    SgeList::new(pieces).unwrap()
}
