//! What a card's side is made of.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use stroma_device::{Backend, DmaMemory};
use stroma_sim::{Shared, SimBackend};
use stroma_verbs::{Access, Device, MemoryRegion, ProtectionDomain, QueuePairKind};

use super::super::receiver::PLACES;
use super::super::{Area, OPEN, PAIRS, PIECES, Queue, SHARED, Service, Services};
use super::{CardSide, Link};

/// Units of a request with [`PIECES`] pieces: two in the first, four in each other.
const UNITS: usize = 1 + (PIECES - 2).div_ceil(4);
/// What the far side may do with a target.
pub(super) fn open_to_peers() -> Access {
    Access::REMOTE_WRITE | Access::REMOTE_READ
}

pub(super) fn addresses(end: usize) -> [IpAddr; 2] {
    let end = u8::try_from(end + 1).expect("one of two");
    [Ipv4Addr::new(10, 0, 0, end).into(), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, end.into()).into()]
}

fn kind(service: Service) -> QueuePairKind {
    match service {
        Service::Reliable => QueuePairKind::Reliable,
        Service::Unreliable => QueuePairKind::Unreliable,
        Service::Datagram => QueuePairKind::Datagram,
    }
}

fn access(area: Area, services: &Services) -> Access {
    match area {
        Area::Source => Access::LOCAL_READ,
        Area::Words => Access::LOCAL_WRITE | Access::REMOTE_ATOMIC,
        Area::Target(pair) if !services.is_windowed(pair) => Access::LOCAL_WRITE | open_to_peers(),
        Area::Target(_) | Area::Landing(_) | Area::Results(_) | Area::Room(_) => Access::LOCAL_WRITE,
    }
}

fn region(domain: &Arc<ProtectionDomain>, area: Area, services: &Services) -> MemoryRegion {
    let memory = DmaMemory::allocate(area.len(), None).expect("memory");
    let builder = domain.region(access(area, services));
    let is_bindable = matches!(area, Area::Target(pair) if services.is_windowed(pair));
    let builder = if is_bindable { builder.bindable() } else { builder };
    builder.register(Arc::new(memory)).expect("a region")
}

impl CardSide {
    /// The card at a station, as end 0 or 1 of the wire.
    pub fn new(shared: &Arc<Shared>, station: usize, end: usize, services: &Services) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(shared, station));
        let device = Device::builder().timeout(Duration::from_mins(1)).open(backend).expect("a card");
        let number = u8::try_from(end + 1).expect("one of two");
        device.port().set_mac([2, 0, 0, 0, 0, number]).expect("a register");
        for (index, address) in addresses(end).into_iter().enumerate() {
            device.port().set_address(index, address).expect("a register");
        }
        let domain = device.protection_domain().expect("a domain");
        let completions = device.completion_queue(PAIRS * OPEN).expect("a completion queue");
        let arrivals = device.completion_queue((SHARED + 1) * PLACES).expect("a completion queue");
        let receives = domain.shared_receive_queue(PLACES, PIECES).expect("a shared receive queue");
        let pair = |pair| {
            let builder = domain
                .queue_pair(&completions)
                .kind(kind(services.of(pair)))
                .send_units(UNITS * OPEN)
                .receive_cq(&arrivals);
            let builder = match Queue::of(pair) {
                Queue::Own(_) => builder.receive_entries(PLACES).receive_pieces(PIECES),
                Queue::Shared => builder.shared_receive_queue(&receives),
            };
            let queue_pair = builder.build().expect("a queue pair");
            let window = services.is_windowed(pair).then(|| domain.memory_window().expect("a window"));
            Link {
                queue_pair,
                window,
                far: None,
                way: None,
                found: VecDeque::new(),
                received: VecDeque::new(),
            }
        };
        let pairs = (0..PAIRS).map(pair).collect();
        let regions = Area::all().map(|area| (area, region(&domain, area, services))).collect();
        Self { device, domain, end, completions, arrivals, receives, pairs, regions }
    }
}
