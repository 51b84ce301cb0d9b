//! A golden peer as a side.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::Mac;
use stroma_sim::Shared;
use stroma_sim::model::{self, Addresses, Completion, Path, Region, Settings, Work};
use stroma_sim::peer::Golden;

use super::{AREA, Area, Kind, Offer, Operation, PAIRS, Side, first_psn};

/// Cycles without progress before a request is sent again: all queue pairs at once, a window of each, fit in well.
const TIMEOUT: u64 = 400_000;

/// A golden peer of a shared world.
pub struct GoldenSide {
    shared: Arc<Shared>,
    station: usize,
    end: usize,
    far: [Option<Offer>; PAIRS],
}

impl GoldenSide {
    /// The golden peer at a station, as end 0 or 1 of the wire.
    pub fn new(shared: &Arc<Shared>, station: usize, end: usize) -> Self {
        let side = Self { shared: Arc::clone(shared), station, end, far: [None; PAIRS] };
        let per_pair = (0..PAIRS).flat_map(|pair| [Area::Target(pair), Area::Landing(pair)]);
        for area in per_pair.chain([Area::Source]) {
            let all = rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ;
            let rights = if area == Area::Source { 0 } else { all };
            let region = Region { base: base(area), bytes: vec![0; AREA], domain: 0, rights };
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
        Area::Target(pair) => 0x200 + number(pair),
        Area::Landing(pair) => 0x300 + number(pair),
    }
}

/// Far from all others, and aligned to nothing.
fn base(area: Area) -> u64 {
    u64::from(key(area)) << 32 | 0x123
}

impl Side for GoldenSide {
    fn offer(&self, pair: usize) -> Offer {
        let end = u8::try_from(self.end + 1).expect("one of two");
        let v4 = IpAddr::V4(Ipv4Addr::new(10, 0, 0, end));
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, end.into()));
        Offer {
            number: Qpn::new(u32::try_from(0x100 * (self.end + 1) + pair).expect("small")),
            psn: first_psn(self.end, pair),
            mac: Mac([2, 0, 0, 0, 0, end]),
            address: if pair.is_multiple_of(2) { v4 } else { v6 },
            key: key(Area::Target(pair)),
            base: base(Area::Target(pair)),
        }
    }

    fn connect(&mut self, pair: usize, mtu: u32, far: &Offer) {
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
            traffic_class: 0b10,
            hop_limit: 64,
        };
        let settings = Settings {
            send_psn: near.psn,
            receive_psn: far.psn,
            timeout: Some(TIMEOUT),
            ..Settings::new(near.number, far.number, path, mtu)
        };
        self.peer(|peer| peer.connect(settings));
        self.far[pair] = Some(*far);
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let far = self.far[pair].expect("it is connected");
        let (kind, local) = match operation.kind {
            Kind::Write => (model::Operation::Write, Area::Source),
            Kind::Read => (model::Operation::Read, Area::Landing(pair)),
        };
        let work = Work {
            id: operation.id,
            operation: kind,
            local_key: key(local),
            local_address: base(local) + operation.local as u64,
            remote_key: far.key,
            remote_address: far.base + operation.remote as u64,
            length: u32::try_from(operation.length).expect("a megabyte at most"),
        };
        let number = self.offer(pair).number;
        self.peer(|peer| peer.post(number, work));
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        let number = self.offer(pair).number;
        self.peer(|peer| peer.poll(number))
    }

    fn write(&mut self, area: Area, bytes: &[u8]) {
        self.peer(|peer| {
            let region = peer.memory().region_mut(key(area)).expect("all are registered");
            region.bytes.copy_from_slice(bytes);
        });
    }

    fn read(&self, area: Area) -> Vec<u8> {
        self.peer(|peer| peer.memory().region(key(area)).expect("all are registered").bytes.clone())
    }
}
