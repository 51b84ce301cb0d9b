//! A card behind its driver as a side.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stroma_abi::Qpn;
use stroma_abi::desc::Sge;
use stroma_abi::wire::Mac;
use stroma_device::Backend;
use stroma_sim::model::{Completion, Received};
use stroma_sim::{Shared, SimBackend};
use stroma_verbs::{
    Access, Address, CompletionQueue, Connection, Device, Error, MemoryRegion, QueuePair, QueuePairKind,
    SharedReceiveQueue, WorkCompletion,
};

use super::receiver::PLACES;
use super::{
    Area, Kind, OPEN, Offer, Operation, PAIRS, PIECES, Piece, Queue, Receive, SHARED, Side, first_psn,
};

/// Code of the wait for an answer: 4.2 ms, in which all queue pairs at once have their turn, on the slower line as well.
const TIMEOUT: u8 = 10;
/// Units of a request with [`PIECES`] pieces: two in the first, four in each other.
const UNITS: usize = 1 + (PIECES - 2).div_ceil(4);

/// One queue pair, and what of it has completed.
struct Link {
    queue_pair: QueuePair,
    far: Option<Offer>,
    found: VecDeque<Completion>,
    received: VecDeque<Received>,
}

/// A card of a shared world.
pub struct CardSide {
    device: Arc<Device>,
    end: usize,
    completions: Arc<CompletionQueue>,
    /// Of receives.
    arrivals: Arc<CompletionQueue>,
    receives: Arc<SharedReceiveQueue>,
    regions: Vec<(Area, MemoryRegion)>,
    pairs: Vec<Link>,
}

fn addresses(end: usize) -> [IpAddr; 2] {
    let end = u8::try_from(end + 1).expect("one of two");
    [Ipv4Addr::new(10, 0, 0, end).into(), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, end.into()).into()]
}

fn access(area: Area) -> Access {
    match area {
        Area::Source => Access::LOCAL_READ,
        Area::Words => Access::LOCAL_WRITE | Access::REMOTE_ATOMIC,
        Area::Target(_) => Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ,
        Area::Landing(_) | Area::Results(_) | Area::Room(_) => Access::LOCAL_WRITE,
    }
}

impl CardSide {
    /// The card at a station, as end 0 or 1 of the wire.
    pub fn new(shared: &Arc<Shared>, station: usize, end: usize) -> Self {
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
        let region = |area: Area| (area, domain.allocate(area.len(), access(area)).expect("memory"));
        let pair = |pair| {
            let builder = domain
                .queue_pair(&completions)
                .kind(QueuePairKind::Reliable)
                .send_units(UNITS * OPEN)
                .receive_cq(&arrivals);
            let builder = match Queue::of(pair) {
                Queue::Own(_) => builder.receive_entries(PLACES).receive_pieces(PIECES),
                Queue::Shared => builder.shared_receive_queue(&receives),
            };
            let queue_pair = builder.build().expect("a queue pair");
            Link { queue_pair, far: None, found: VecDeque::new(), received: VecDeque::new() }
        };
        let pairs = (0..PAIRS).map(pair).collect();
        let regions = Area::all().map(region).collect();
        Self { device, end, completions, arrivals, receives, regions, pairs }
    }

    /// Its card, opened.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    fn region(&self, wanted: Area) -> &MemoryRegion {
        let found = self.regions.iter().find(|(area, _)| *area == wanted);
        found.map(|(_, region)| region).expect("all are registered")
    }

    fn list(&self, area: Area, pieces: &[Piece]) -> Vec<Sge> {
        let region = self.region(area);
        pieces.iter().map(|piece| region.piece(piece.place, piece.length).expect("inside")).collect()
    }

    /// Takes all completions of a queue there are.
    fn take(&mut self, queue: &CompletionQueue) {
        let mut room = [WorkCompletion::default(); 32];
        loop {
            let count = queue.poll(&mut room).expect("entries with a sense");
            for found in &room[..count] {
                let of = |pair: &&mut Link| pair.queue_pair.number() == found.queue_pair;
                let pair = self.pairs.iter_mut().find(of).expect("a queue pair of this side");
                let &WorkCompletion { wr_id: id, status, length: bytes, .. } = found;
                if found.is_receive {
                    let &WorkCompletion {
                        op: operation,
                        immediate,
                        invalidated,
                        is_solicited: solicited,
                        ..
                    } = found;
                    pair.received.push_back(Received {
                        id,
                        status,
                        operation,
                        bytes,
                        immediate,
                        invalidated,
                        solicited,
                    });
                } else {
                    pair.found.push_back(Completion { id, status, bytes });
                }
            }
            if count < room.len() {
                return;
            }
        }
    }
}

impl Side for CardSide {
    fn offer(&self, pair: usize) -> Offer {
        let place = |area| {
            let region = self.region(area);
            (region.rkey(), region.address(0).expect("its first byte"))
        };
        Offer {
            number: Qpn::new(self.pairs[pair].queue_pair.number()),
            psn: first_psn(self.end, pair),
            mac: Mac([2, 0, 0, 0, 0, u8::try_from(self.end + 1).expect("one of two")]),
            address: addresses(self.end)[pair % 2],
            target: place(Area::Target(pair)),
            words: place(Area::Words),
        }
    }

    fn connect(&mut self, pair: usize, mtu: u32, far: &Offer) {
        let address = Address {
            mac: far.mac.0,
            ip: far.address,
            source_port: 0xc001,
            hop_limit: 64,
            traffic_class: 0b10,
            vlan: None,
            flow_label: 0,
            source_address: u8::try_from(pair % 2).expect("small"),
        };
        let mut connection = Connection::new(address, far.number, first_psn(self.end, pair), far.psn);
        connection.path_mtu = u8::try_from(mtu.ilog2() - 7).expect("small");
        connection.timeout = TIMEOUT;
        connection.min_rnr = 1 + u8::try_from(pair % 3).expect("small");
        self.pairs[pair].queue_pair.connect(&connection).expect("a connection");
        self.pairs[pair].far = Some(*far);
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let Link { queue_pair, far, .. } = &self.pairs[pair];
        let (key, remote) = far.expect("it is connected").remote(operation);
        let batch = queue_pair.start().wr_id(operation.id).signaled();
        let batch = if operation.fence { batch.fence() } else { batch };
        let batch = if operation.solicited { batch.solicited() } else { batch };
        let area = operation.local(pair);
        let pieces = self.list(area, &operation.pieces);
        let bytes = || -> Vec<u8> {
            operation.pieces.iter().flat_map(|piece| self.read(area, piece.range())).collect()
        };
        let batch = match operation.kind {
            Kind::Send if operation.inline => batch.inline_send(&bytes()),
            Kind::Send => batch.send(&pieces),
            Kind::SendImm(data) => batch.send_imm(&pieces, data),
            Kind::Write if operation.inline => batch.inline_write(&bytes(), remote, key),
            Kind::Write => batch.write(&pieces, remote, key),
            Kind::WriteImm(data) => batch.write_imm(&pieces, remote, key, data),
            Kind::Read => batch.read(&pieces, remote, key),
            Kind::CompareSwap { compare, swap } => batch.compare_swap(pieces[0], remote, key, compare, swap),
            Kind::FetchAdd(add) => batch.fetch_add(pieces[0], remote, key, add),
        };
        batch.post().expect("room in the queue");
    }

    fn post_receive(&mut self, queue: Queue, receive: &Receive) -> bool {
        let pieces = self.list(Area::Room(queue), &receive.pieces);
        let batch = match queue {
            Queue::Own(pair) => self.pairs[pair].queue_pair.receives().expect("a queue of its own"),
            Queue::Shared => self.receives.receives(),
        };
        match batch.receive(receive.id, &pieces).post() {
            Ok(()) => true,
            Err(Error::ReceiveQueueFull { .. }) => false,
            Err(error) => panic!("receive {}: {error}", receive.id),
        }
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        // A look that finds nothing costs time, so one does for all queue pairs.
        if pair == 0 && self.pairs[pair].found.is_empty() {
            self.take(&Arc::clone(&self.completions));
        }
        self.pairs[pair].found.pop_front()
    }

    fn poll_receive(&mut self, pair: usize) -> Option<Received> {
        if pair == 0 && self.pairs[pair].received.is_empty() {
            self.take(&Arc::clone(&self.arrivals));
        }
        self.pairs[pair].received.pop_front()
    }

    fn write(&mut self, area: Area, place: usize, bytes: &[u8]) {
        self.region(area).write(place, bytes).expect("an area");
    }

    fn read(&self, area: Area, range: Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; range.len()];
        self.region(area).read(range.start, &mut bytes).expect("an area");
        bytes
    }
}
