//! A card in the place of one of the machines, and a cable to a peer that says what the other one said.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_abi::wire::Ip;
use stroma_sim::link::LinkConfig;
use stroma_sim::peer::{Arrived, Raw};
use stroma_sim::{Shared, World};
use stroma_tests::pair::{self, End, LIMIT};
use stroma_top::Profile;
use stroma_verbs::{Access, Address, Connection, MemoryRegion, QueuePair};
use stroma_verilate::Options;

use crate::recording::{Phase, parsed};

/// Bytes of either buffer.
pub(crate) const BUFFER: usize = 0x1_0000;
/// The timer code of the recorded RNR NAKs: 1.28 ms.
const NOT_READY: u8 = 14;
/// The code of 1024 bytes, the recorded path MTU.
const PATH_MTU: u8 = 3;
/// Station of the peer.
const PEER: usize = 1;

/// Which of the machines the card stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Client,
    Server,
}

impl Part {
    /// What its buffer holds at first, as README.md beside the recording gives it.
    fn byte(self, index: usize) -> u8 {
        let value = match self {
            Self::Client => index * 7 + (index >> 8) * 3 + 1,
            Self::Server => index * 13 + (index >> 8) + 0x80,
        };
        value.to_le_bytes()[0]
    }
}

/// The card, its buffer, and the cable.
pub(crate) struct Stage {
    pub(crate) end: End,
    pub(crate) buffer: MemoryRegion,
    part: Part,
    shared: Arc<Shared>,
    /// Frames of the card that nobody has asked for yet.
    arrived: VecDeque<Arrived>,
}

/// Addresses of the client and the server, as a request has them.
fn addresses(request: &[u8]) -> [Address; 2] {
    let frame = parsed(request);
    let Ip::V4(ip) = frame.ip else { panic!("the recording is IPv4") };
    let address = |mac: [u8; 6], ip| Address { mac, ip: IpAddr::V4(ip), ..pair::address(0) };
    [address(frame.ethernet.source.0, ip.source), address(frame.ethernet.destination.0, ip.destination)]
}

impl Stage {
    /// A card that has the addresses of this machine in the recording, and its buffer.
    pub(crate) fn new(profile: Profile, part: Part, phases: &[Phase]) -> Self {
        let options = Options { seed: 7, ..Options::default() };
        let mut world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.add_peer(Box::new(Raw::default())), PEER);
        world.cable(0, PEER, LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let end = End::open(&shared, 0, 256);
        let own = addresses(&phases[0].steps[0].rounds[0].requests[0])[part as usize];
        end.device.port().set_mac(own.mac).expect("a register");
        end.device.port().set_address(0, own.ip).expect("a register");
        let remote = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC;
        let buffer = end.domain.allocate(BUFFER, Access::LOCAL_WRITE | remote).expect("memory");
        let bytes: Vec<u8> = (0..BUFFER).map(|index| part.byte(index)).collect();
        buffer.write(0, &bytes).expect("inside the buffer");
        Self { end, buffer, part, shared, arrived: VecDeque::new() }
    }

    /// A queue pair connected as that of the recording was.
    pub(crate) fn connect(&self, phase: &Phase) -> QueuePair {
        let queue_pair = self.end.queue_pair(64);
        let request = &phase.steps[0].rounds[0].requests[0];
        let peer = addresses(request)[1 - self.part as usize];
        let [own_psn, peer_psn] = [self.part as usize, 1 - self.part as usize].map(|index| phase.psns[index]);
        let mut connection = Connection::new(peer, phase.queue_pair, own_psn, peer_psn);
        (connection.path_mtu, connection.min_rnr) = (PATH_MTU, NOT_READY);
        connection.p_key = parsed(request).bth.partition;
        queue_pair.connect(&connection).expect("a connection");
        queue_pair
    }

    /// Sends a frame to the card.
    pub(crate) fn send(&self, frame: Vec<u8>) {
        self.shared.world().peer_mut::<Raw>(PEER).send(frame);
    }

    /// The next frame of the card.
    pub(crate) fn next(&mut self, what: &str) -> Arrived {
        if self.arrived.is_empty() {
            let mut world = self.shared.world();
            let is_there = |world: &mut World| !world.peer_mut::<Raw>(PEER).arrived().is_empty();
            assert!(world.run_until(LIMIT, is_there), "{what}: the card sends nothing in {LIMIT} cycles");
            self.arrived.extend(world.peer_mut::<Raw>(PEER).take());
        }
        let frame = self.arrived.pop_front().expect("one has arrived");
        assert!(!frame.bad, "{what}: a bad FCS");
        frame
    }

    /// Nothing more is sent and nothing more completes.
    pub(crate) fn rests(&mut self, what: &str) {
        self.run(20_000);
        self.arrived.extend(self.shared.world().peer_mut::<Raw>(PEER).take());
        assert!(self.arrived.is_empty(), "{what}: {} frames too many", self.arrived.len());
        let found = self.end.poll();
        assert!(found.is_none(), "{what}: {found:?}");
    }

    /// Lets time pass.
    pub(crate) fn run(&self, cycles: u64) {
        self.shared.world().run(cycles);
    }

    /// A duration in cycles of the card.
    pub(crate) fn cycles(&self, duration: std::time::Duration) -> u64 {
        self.shared.world().cycles(duration)
    }

    /// Now, in cycles of the card.
    pub(crate) fn now(&self) -> u64 {
        self.shared.world().now()
    }

    /// The whole buffer.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; BUFFER];
        self.buffer.read(0, &mut bytes).expect("inside the buffer");
        bytes
    }

    /// 32-bit FNV-1a over the whole buffer.
    pub(crate) fn hash(&self) -> u32 {
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        self.bytes().into_iter().fold(0x811c_9dc5, step)
    }
}

/// The number of a queue pair as frames have it.
pub(crate) fn number(queue_pair: &QueuePair) -> Qpn {
    Qpn::new(queue_pair.number())
}
