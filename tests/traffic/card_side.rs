//! A card behind its driver as a side.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use stroma_abi::Qpn;
use stroma_abi::wire::Mac;
use stroma_device::Backend;
use stroma_sim::model::Completion;
use stroma_sim::{Shared, SimBackend};
use stroma_verbs::{
    Access, Address, CompletionQueue, Connection, Device, MemoryRegion, QueuePair, QueuePairKind,
    WorkCompletion,
};

use super::{AREA, Area, Kind, OPEN, Offer, Operation, PAIRS, Side, first_psn};

/// Code of the wait for an answer: 4.2 ms, in which all queue pairs at once have their turn, on the slower line as well.
const TIMEOUT: u8 = 10;

/// One queue pair, and its part of the memory.
struct Link {
    queue_pair: QueuePair,
    target: MemoryRegion,
    landing: MemoryRegion,
    far: Option<Offer>,
    found: VecDeque<Completion>,
}

/// A card of a shared world.
pub struct CardSide {
    device: Arc<Device>,
    end: usize,
    completions: Arc<CompletionQueue>,
    source: MemoryRegion,
    pairs: Vec<Link>,
}

fn addresses(end: usize) -> [IpAddr; 2] {
    let end = u8::try_from(end + 1).expect("one of two");
    [Ipv4Addr::new(10, 0, 0, end).into(), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, end.into()).into()]
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
        let all = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
        let area = |access| domain.allocate(AREA, access).expect("memory");
        let pair = |_| Link {
            queue_pair: domain
                .queue_pair(&completions)
                .kind(QueuePairKind::Reliable)
                .send_units(2 * OPEN)
                .build()
                .expect("a queue pair"),
            target: area(all),
            landing: area(Access::LOCAL_WRITE),
            far: None,
            found: VecDeque::new(),
        };
        let pairs = (0..PAIRS).map(pair).collect();
        Self { end, source: area(Access::LOCAL_READ), completions, pairs, device }
    }

    /// Its card, opened.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    fn region(&self, area: Area) -> &MemoryRegion {
        match area {
            Area::Source => &self.source,
            Area::Target(pair) => &self.pairs[pair].target,
            Area::Landing(pair) => &self.pairs[pair].landing,
        }
    }

    /// Takes all completions there are.
    fn take(&mut self) {
        let mut room = [WorkCompletion::default(); 32];
        loop {
            let count = self.completions.poll(&mut room).expect("entries with a sense");
            for found in &room[..count] {
                let of = |pair: &&mut Link| pair.queue_pair.number() == found.queue_pair;
                let pair = self.pairs.iter_mut().find(of).expect("a queue pair of this side");
                pair.found.push_back(Completion {
                    id: found.wr_id,
                    status: found.status,
                    bytes: found.length,
                });
            }
            if count < room.len() {
                return;
            }
        }
    }
}

impl Side for CardSide {
    fn offer(&self, pair: usize) -> Offer {
        let target = &self.pairs[pair].target;
        Offer {
            number: Qpn::new(self.pairs[pair].queue_pair.number()),
            psn: first_psn(self.end, pair),
            mac: Mac([2, 0, 0, 0, 0, u8::try_from(self.end + 1).expect("one of two")]),
            address: addresses(self.end)[pair % 2],
            key: target.rkey(),
            base: target.address(0).expect("its first byte"),
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
        self.pairs[pair].queue_pair.connect(&connection).expect("a connection");
        self.pairs[pair].far = Some(*far);
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let Link { queue_pair, landing, far, .. } = &self.pairs[pair];
        let far = far.expect("it is connected");
        let remote = far.base + operation.remote as u64;
        let batch = queue_pair.start().wr_id(operation.id).signaled();
        let piece = |region: &MemoryRegion| {
            (operation.length > 0).then(|| region.piece(operation.local, operation.length).expect("inside"))
        };
        let batch = match operation.kind {
            Kind::Write => batch.write(piece(&self.source).as_slice(), remote, far.key),
            Kind::Read => batch.read(piece(landing), remote, far.key),
        };
        batch.post().expect("room in the queue");
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        // A look that finds nothing costs time, so one does for all queue pairs.
        if pair == 0 && self.pairs[pair].found.is_empty() {
            self.take();
        }
        self.pairs[pair].found.pop_front()
    }

    fn write(&mut self, area: Area, bytes: &[u8]) {
        self.region(area).write(0, bytes).expect("an area");
    }

    fn read(&self, area: Area) -> Vec<u8> {
        let mut bytes = vec![0; AREA];
        self.region(area).read(0, &mut bytes).expect("an area");
        bytes
    }
}
