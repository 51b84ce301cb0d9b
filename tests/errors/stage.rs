//! A card, its driver, and a peer that sends any packet.

use std::sync::Arc;
use std::time::Duration;

use stroma_abi::wire::print::line;
use stroma_abi::wire::{Frame, Mac, Syndrome};
use stroma_abi::{Psn, Qpn};
use stroma_device::{Backing, DmaMemory};
use stroma_sim::host::attach::Event;
use stroma_sim::link::LinkConfig;
use stroma_sim::model::{Addresses, Packet, Path};
use stroma_sim::peer::Raw;
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, LIMIT, address, pattern};
use stroma_top::Profile;
use stroma_verbs::{Access, AsyncEvent, Connection, MemoryRegion, QueuePair, QueuePairState, Status};
use stroma_verilate::Options;

use crate::packets::Answer;

/// Bytes of a packet that is full, and its code.
pub(crate) const MTU: usize = 256;
const PATH_MTU: u8 = 1;
/// An answer is overdue after 33 us; nothing is repeated more than once.
const PATIENCE: (u8, u8) = (3, 1);
/// PSN of the first request of either side.
pub(crate) const CARD_PSN: u32 = 0x100;
pub(crate) const PEER_PSN: u32 = 0x200;
const PARTITION: u16 = 0xffff;
/// Station, and queue pair, of the peer.
const PEER: usize = 1;
const PEER_QP: u32 = 0x77;
/// Cycles between two looks at the wire.
const GLANCE: u64 = 50;
/// Where [`Stage::dma_base`] works; no story uses this memory.
const SCRATCH: usize = 0xf_0000;

/// The card and the cable.
pub(crate) struct Stage {
    pub(crate) end: End,
    shared: Arc<Shared>,
}

impl Stage {
    pub(crate) fn new(profile: Profile) -> Self {
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.add_peer(Box::new(Raw::default())), PEER);
        world.cable(0, PEER, LinkConfig::cable(profile));
        let shared = Shared::new(world);
        Self { end: End::open(&shared, 0, 256), shared }
    }

    /// A queue pair that is connected to the peer, with room for receives.
    pub(crate) fn connect(&self, change: impl Fn(&mut Connection)) -> QueuePair {
        let queue_pair = self.end.queue_pair(64);
        let psns = [CARD_PSN, PEER_PSN].map(Psn::new);
        let mut connection = Connection::new(address(1), Qpn::new(PEER_QP), psns[0], psns[1]);
        connection.path_mtu = PATH_MTU;
        (connection.timeout, connection.retry) = PATIENCE;
        change(&mut connection);
        queue_pair.connect(&connection).expect("a connection");
        queue_pair
    }

    /// The way from the peer to the card.
    pub(crate) fn path() -> Path {
        let [local, remote] = [address(1), address(0)];
        let (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to)) = (local.ip, remote.ip) else {
            panic!("the pair's addresses are IPv4");
        };
        Path {
            local: Mac(local.mac),
            remote: Mac(remote.mac),
            tag: None,
            addresses: Addresses::V4 { local: from, remote: to },
            source_port: 0xc001,
            traffic_class: 0,
            hop_limit: 64,
        }
    }

    /// The peer sends a packet.
    pub(crate) fn send(&self, queue_pair: &QueuePair, packet: &Packet) {
        self.send_frame(Self::path().frame(packet, Qpn::new(queue_pair.number()), PARTITION));
    }

    /// The peer sends these bytes.
    pub(crate) fn send_frame(&self, frame: Vec<u8>) {
        self.shared.world().peer_mut::<Raw>(PEER).send(frame);
    }

    /// The next frame of the card.
    pub(crate) fn next(&self, what: &str) -> Vec<u8> {
        let mut world = self.shared.world();
        let end = world.now() + LIMIT;
        // In short steps: a long one would go on to the card's next timer when the frame is there.
        while world.peer_mut::<Raw>(PEER).arrived().is_empty() {
            assert!(world.now() < end, "{what}: the card sends nothing in {LIMIT} cycles");
            world.run(GLANCE);
        }
        let frames = world.peer_mut::<Raw>(PEER).take();
        assert_eq!(frames.len(), 1, "{what}: one frame at a time");
        frames.into_iter().next().expect("one").bytes
    }

    /// What the card sends next is this acknowledgement.
    pub(crate) fn answers(&self, what: &str, answer: Answer) {
        let bytes = self.next(what);
        let frame = Frame::parse(&bytes).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let aeth = frame.extended.aeth.unwrap_or_else(|| panic!("{what}: {frame:?} is no answer"));
        let found = Answer { syndrome: Syndrome::decode(aeth.syndrome), psn: frame.bth.psn.value() };
        assert_eq!((found, frame.payload.len()), (answer, 0), "{what}");
    }

    /// All frames that the card still sends.
    pub(crate) fn drain(&self) -> Vec<Vec<u8>> {
        self.run(10_000);
        let frames = self.shared.world().peer_mut::<Raw>(PEER).take();
        frames.into_iter().map(|frame| frame.bytes).collect()
    }

    /// The card sends nothing, nothing completes, and no event is told.
    pub(crate) fn rests(&self, what: &str) {
        let frames = self.drain();
        let frames: Vec<String> = frames.iter().map(|frame| line(frame).to_string()).collect();
        assert!(frames.is_empty(), "{what}: {frames:?}");
        let found = self.end.poll();
        assert!(found.is_none(), "{what}: {found:?}");
        let event = self.end.device.wait_async_event(Duration::ZERO).expect("a card that answers");
        assert!(event.is_none(), "{what}: {event:?}");
    }

    /// A queue pair went into error without a request to tell it.
    pub(crate) fn tells_error(&self, what: &str, queue_pair: &QueuePair, status: Status) {
        let expected = AsyncEvent::QueuePairError { queue_pair: queue_pair.number(), status: Some(status) };
        assert_eq!(self.end.event(), expected, "{what}");
    }

    pub(crate) fn run(&self, cycles: u64) {
        self.shared.world().run(cycles);
    }

    /// Does something to the world between two cycles.
    pub(crate) fn world<T>(&self, ask: impl FnOnce(&mut World) -> T) -> T {
        ask(&mut self.shared.world())
    }

    /// Where the card finds the first byte of a region: a copy out of it is watched.
    pub(crate) fn dma_base(&self, region: &MemoryRegion) -> u64 {
        let marker = pattern(0xfeed, 64);
        region.write(0, &marker).expect("inside the region");
        let reads = self.reads_of_a_copy(region);
        let holds = |address: &u64| self.look(*address, 64).is_some_and(|bytes| bytes == marker);
        reads.into_iter().find(holds).expect("it has read the marker")
    }

    /// A region of 64 pages with a list of them, of which the card knows the first eight, and where it reads the list.
    pub(crate) fn listed(&self) -> (MemoryRegion, u64) {
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC;
        let memory = Arc::new(DmaMemory::allocate(64 * 4096, None).expect("memory"));
        let region = self.end.domain.region(rights).page_list(Backing::Small).register(memory);
        let region = region.expect("a region");
        // The first copy reads the list; the second finds the page without.
        let reads = self.reads_of_a_copy(&region);
        let base = self.dma_base(&region);
        let entry = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("an entry has eight bytes"));
        let is_list = |address: &u64| {
            let bytes = self.look(*address, 16);
            bytes.is_some_and(|bytes| [entry(&bytes[..8]), entry(&bytes[8..])] == [base, base + 4096])
        };
        (region, reads.into_iter().find(is_list).expect("it has read the list"))
    }

    /// What the card reads of the host to copy the first bytes of a region.
    fn reads_of_a_copy(&self, region: &MemoryRegion) -> Vec<u64> {
        self.world(|world| world.card(0).start_trace());
        let queue_pair = self.connect(|_| {});
        let batch = queue_pair.start().wr_id(0).signaled();
        let piece = region.piece(0, 64).expect("inside the region");
        batch.gather(&[piece], self.end.at(SCRATCH), self.end.memory.lkey()).post().expect("room");
        self.end.expect(0);
        let trace = self.world(|world| world.card(0).take_trace());
        let address = |event| if let Event::Read { address, .. } = event { Some(address) } else { None };
        trace.into_iter().filter_map(|(_, event)| address(event)).collect()
    }

    /// Bytes of the host as the card would find them.
    pub(crate) fn peek(&self, address: u64, length: usize) -> Vec<u8> {
        self.look(address, length).expect("mapped memory")
    }

    /// The same, of what may be mapped no more.
    fn look(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.world(|world| world.card(0).iommu().read(address, length))
    }

    /// Changes bytes of the host.
    pub(crate) fn poke(&self, address: u64, bytes: &[u8]) {
        assert!(self.world(|world| world.card(0).iommu().write(address, bytes)), "mapped memory");
    }

    /// The page of the host at this address faults, from now on or no more.
    pub(crate) fn hide(&self, address: u64, is_hidden: bool) {
        self.world(|world| {
            let iommu = world.card(0).iommu();
            if is_hidden { iommu.hide(address) } else { iommu.show(address) }
        });
    }
}

/// Is it in this state?
pub(crate) fn is(queue_pair: &QueuePair, state: QueuePairState) -> bool {
    queue_pair.query().expect("a card").state == state as u8
}

/// The name of a case on one of the cards.
pub(crate) fn on(profile: Profile, case: &str) -> String {
    format!("{profile:?}, {case}")
}
