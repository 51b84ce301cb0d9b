//! A golden peer as a side.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Sge, SgeList};
use stroma_abi::wire::Mac;
use stroma_sim::Shared;
use stroma_sim::model::{
    self, Addresses, Completion, Datagram, DatagramSettings, Path, ReceiveQueue, Received, Region, Settings,
    Window, Work,
};
use stroma_sim::peer::Golden;

use super::side::{HOP_LIMIT, TRAFFIC_CLASS, queue_key};
use super::terms::{READS, TIMEOUT as USUAL_TIMEOUT};
use super::{
    Area, Grant, Kind, Offer, Operation, PAIRS, PairTerms, Piece, Queue, Receive, Service, Services, Side,
    first_psn,
};

/// Cycles without progress before a request is sent again, at the usual code: all queue pairs at once, a window of each, fit in well.
const TIMEOUT: u64 = 400_000;
/// Below the keys of windows.
const WINDOWS: u32 = 0x8000_0000;
/// What the far side may do with a target.
const OPEN: u8 = rights::REMOTE_WRITE | rights::REMOTE_READ;

/// A golden peer of a shared world. It has no inline requests: a source does not change, so its bytes are the same later.
pub struct GoldenSide {
    shared: Arc<Shared>,
    station: usize,
    end: usize,
    services: Services,
    far: [Option<(Offer, Path)>; PAIRS],
    receives: ReceiveQueue,
    /// Keys of windows given out.
    keys: u32,
}

impl GoldenSide {
    /// The golden peer at a station, as end 0 or 1 of the wire.
    pub fn new(shared: &Arc<Shared>, station: usize, end: usize, services: &Services) -> Self {
        let (shared, receives) = (Arc::clone(shared), ReceiveQueue::new(0));
        let side = Self { shared, station, end, services: *services, far: [None; PAIRS], receives, keys: 0 };
        for area in Area::all() {
            let rights = match area {
                Area::Words => rights::REMOTE_ATOMIC,
                Area::Target(pair) if !services.is_windowed(pair) => OPEN,
                Area::Source | Area::Target(_) => 0,
                Area::Landing(_) | Area::Results(_) | Area::Room(_) => rights::LOCAL_WRITE,
            };
            let region = Region { base: base(area), bytes: vec![0; area.len()], domain: 0, rights };
            side.peer(|peer| peer.memory().register(key(area), region));
        }
        side
    }

    /// The peer, to be asked.
    pub fn peer<T>(&self, ask: impl FnOnce(&mut Golden) -> T) -> T {
        ask(self.shared.world().peer_mut(self.station))
    }
}

fn key(area: Area) -> u32 {
    let number = |pair: usize| u32::try_from(pair).expect("few");
    match area {
        Area::Source => 0x100,
        Area::Words => 0x101,
        Area::Target(pair) => 0x200 + number(pair),
        Area::Landing(pair) => 0x300 + number(pair),
        Area::Results(pair) => 0x400 + number(pair),
        Area::Room(Queue::Own(pair)) => 0x500 + number(pair),
        Area::Room(Queue::Shared) => 0x600,
    }
}

/// Far from all others, and aligned to nothing, but for words.
fn base(area: Area) -> u64 {
    u64::from(key(area)) << 32 | if area == Area::Words { 0x128 } else { 0x123 }
}

fn list(area: Area, pieces: &[Piece]) -> Vec<Sge> {
    let piece = |piece: &Piece| Sge {
        address: base(area) + piece.place as u64,
        local_key: key(area),
        length: u32::try_from(piece.length).expect("a megabyte at most"),
    };
    pieces.iter().map(piece).collect()
}

/// The operation, on a queue pair of this index and number.
fn operation(kind: Kind, pair: usize, queue_pair: Qpn) -> model::Operation {
    match kind {
        Kind::Send => model::Operation::Send,
        Kind::SendImm(data) => model::Operation::SendImm(data),
        Kind::SendInv(key) => model::Operation::SendInv(key),
        Kind::Write => model::Operation::Write,
        Kind::WriteImm(data) => model::Operation::WriteImm(data),
        Kind::Read => model::Operation::Read,
        Kind::CompareSwap { compare, swap } => model::Operation::CompareSwap { compare, swap },
        Kind::FetchAdd(add) => model::Operation::FetchAdd(add),
        Kind::Bind(Grant { key: new, part }) => {
            let area = Area::Target(pair);
            let (base, length) = (base(area) + part.place as u64, part.length as u64);
            let window = Window { region: key(area), base, length, rights: OPEN, queue_pair };
            model::Operation::Bind { key: new, window }
        }
        Kind::Invalidate(key) => model::Operation::Invalidate(key),
    }
}

impl Side for GoldenSide {
    fn offer(&self, pair: usize) -> Offer {
        let end = u8::try_from(self.end + 1).expect("one of two");
        let v4 = IpAddr::V4(Ipv4Addr::new(10, 0, 0, end));
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, end.into()));
        let place = |area| (key(area), base(area));
        Offer {
            number: Qpn::new(u32::try_from(0x100 * (self.end + 1) + pair).expect("small")),
            psn: first_psn(self.end, pair),
            mac: Mac([2, 0, 0, 0, 0, end]),
            address: if pair.is_multiple_of(2) { v4 } else { v6 },
            target: place(Area::Target(pair)),
            words: place(Area::Words),
            queue_key: queue_key(self.end, pair),
        }
    }

    fn connect(&mut self, pair: usize, terms: &PairTerms, far: &Offer) {
        let near = self.offer(pair);
        let addresses = match (near.address, far.address) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => Addresses::V4 { local, remote },
            (IpAddr::V6(local), IpAddr::V6(remote)) => Addresses::V6 { local, remote },
            _ => panic!("queue pair {pair} has two kinds of addresses"),
        };
        let path = Path {
            local: near.mac,
            remote: far.mac,
            tag: None,
            addresses,
            source_port: 0xc001,
            traffic_class: TRAFFIC_CLASS,
            hop_limit: HOP_LIMIT,
        };
        self.far[pair] = Some((*far, path));
        if self.services.of(pair) == Service::Datagram {
            let settings = DatagramSettings::new(near.number, near.mac, &[near.address], near.queue_key);
            let settings = DatagramSettings { send_psn: near.psn, ..settings };
            return self.peer(|peer| match Queue::of(pair) {
                Queue::Own(_) => peer.open(settings),
                Queue::Shared => peer.open_sharing(settings, &self.receives),
            });
        }
        let settings = Settings {
            unreliable: self.services.of(pair) == Service::Unreliable,
            send_psn: near.psn,
            receive_psn: far.psn,
            timeout: terms.timeout.checked_sub(USUAL_TIMEOUT).map(|longer| TIMEOUT << longer),
            retries: terms.retry,
            reads_out: terms.reads.into(),
            reads_in: READS.into(),
            rnr_timer: terms.min_rnr,
            ticks_per_ms: self.shared.world().cycles(Duration::from_millis(1)),
            ..Settings::new(near.number, far.number, path, terms.mtu)
        };
        self.peer(|peer| match Queue::of(pair) {
            Queue::Own(_) => peer.connect(settings),
            Queue::Shared => peer.connect_sharing(settings, &self.receives),
        });
    }

    fn next_key(&mut self, _pair: usize) -> u32 {
        self.keys += 1;
        WINDOWS + self.keys
    }

    fn post(&mut self, pair: usize, posted: &Operation) {
        let (far, path) = self.far[pair].expect("it is connected");
        let (key, address) = far.remote(posted);
        let pieces = list(posted.local(pair), &posted.pieces);
        let &Operation { id, kind, fence, solicited, .. } = posted;
        let number = self.offer(pair).number;
        if self.services.of(pair) == Service::Datagram {
            let datagram = Datagram::new(id, &pieces, path, far.number, far.queue_key);
            let datagram = Datagram { immediate: kind.immediate(), solicited, ..datagram };
            return self.peer(|peer| peer.post_datagram(number, datagram));
        }
        let operation = operation(kind, pair, number);
        let work = Work { fence, solicited, ..Work::new(id, operation, &pieces, key, address) };
        self.peer(|peer| peer.post(number, work));
    }

    /// It has no rings, and always room.
    fn post_receive(&mut self, queue: Queue, receive: &Receive) -> bool {
        let pieces = SgeList::new(&list(Area::Room(queue), &receive.pieces)).expect("16 at most");
        let receive = model::Receive { id: receive.id, pieces };
        match queue {
            Queue::Shared => self.receives.post(receive),
            Queue::Own(pair) => {
                let number = self.offer(pair).number;
                self.peer(|peer| peer.post_receive(number, receive));
            }
        }
        true
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        let number = self.offer(pair).number;
        self.peer(|peer| peer.poll(number))
    }

    fn poll_receive(&mut self, pair: usize) -> Option<Received> {
        let number = self.offer(pair).number;
        self.peer(|peer| peer.poll_receive(number))
    }

    fn write(&mut self, area: Area, place: usize, bytes: &[u8]) {
        self.peer(|peer| {
            let region = peer.memory().region_mut(key(area)).expect("all are registered");
            region.bytes[place..place + bytes.len()].copy_from_slice(bytes);
        });
    }

    fn read(&self, area: Area, range: Range<usize>) -> Vec<u8> {
        self.peer(|peer| peer.memory().region(key(area)).expect("all are registered").bytes[range].to_vec())
    }
}
