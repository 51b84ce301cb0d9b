//! What the cards are made to say: on each network every length, every loss, every refusal.

use std::cell::Cell;
use std::net::{IpAddr, Ipv6Addr};

use stroma_abi::Psn;
use stroma_sim::host::attach::Event;
use stroma_sim::link::{Faults, LinkConfig, Verdict, nth};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_top::Profile;
use stroma_verbs::{Access, Connection, QueuePair, Status};

/// Codes of the smallest path MTU and of the largest.
const MTU_256: u8 = 1;
const MTU_4096: u8 = 5;
/// Bytes of a message: every pad count alone, around a beat of either width, and around a path MTU.
const SHORT: [usize; 10] = [0, 1, 2, 3, 4, 5, 63, 64, 65, 255];
const AROUND_256: [usize; 9] = [256, 257, 258, 259, 260, 511, 512, 513, 1023];
const AROUND_4096: [usize; 9] = [4095, 4096, 4097, 4098, 4099, 4100, 8192, 8193, 12_288];
/// Bytes of a WRITE and of a READ at the smaller MTU; how many frames go each way at most: the packets of the one and the
/// request of the other, the acknowledgement of the one and the packets of the other; does the READ wait for the WRITE?
const EXCHANGES: [(usize, u64, bool); 2] = [(700, 4, false), (50, 2, true)];
/// Queue pairs below this one are those of management, for IBTA and for whoever reads a frame: its payload would be read as a
/// management datagram. No connection gets one.
const FIRST_QUEUE_PAIR: u32 = 2;
/// Rights of a peer.
const REMOTE: fn() -> Access = || Access::REMOTE_WRITE | Access::REMOTE_READ;
/// Waits for an answer 33 us, so that a lost one is asked for soon.
const TIMEOUT: u8 = 3;
/// An address of each port beside the first, which is of IPv4.
const V6_PLACE: u8 = 1;
/// VLAN 100 at priority 3.
const TAG: u16 = (3 << 13) + 100;

/// How frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) is_ipv6: bool,
    pub(crate) is_tagged: bool,
}

impl Network {
    pub(crate) const ALL: [Self; 4] = [
        Self { is_ipv6: false, is_tagged: false },
        Self { is_ipv6: false, is_tagged: true },
        Self { is_ipv6: true, is_tagged: false },
        Self { is_ipv6: true, is_tagged: true },
    ];

    pub(crate) fn name(self) -> &'static str {
        match (self.is_ipv6, self.is_tagged) {
            (false, false) => "IPv4",
            (false, true) => "IPv4 behind a tag",
            (true, false) => "IPv6",
            (true, true) => "IPv6 behind a tag",
        }
    }

    /// Leads a connection of `end` over this network. Fields the ICRC does not cover are anything but zero and ones.
    fn lead(self, end: usize, connection: &mut Connection) {
        let address = &mut connection.address;
        // DSCP 26, and the sender understands congestion marks.
        (address.traffic_class, address.hop_limit) = (26 << 2 | 2, 37);
        address.vlan = self.is_tagged.then_some(TAG);
        if self.is_ipv6 {
            (address.ip, address.source_address) = (ipv6(1 - end), V6_PLACE);
            address.flow_label = 0x5_a5c3;
        }
    }
}

fn ipv6(end: usize) -> IpAddr {
    let number = u16::try_from(end + 1).expect("two ends");
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x1234, 0, 0, 0, 0xab, 0, number))
}

/// Two cards that have addresses on every network, and bytes to send.
pub(crate) struct Cards {
    pub(crate) pair: Pair,
    /// Connections made so far: each has PSNs of its own, so that a frame sent again is known by its number.
    connections: Cell<u32>,
    _kept_idle: Vec<QueuePair>,
}

impl Cards {
    /// Cards on a cable that marks what finds so many bytes waiting.
    pub(crate) fn new(profile: Profile, mark_bytes: Option<usize>) -> Self {
        let pair = Pair::with(profile, LinkConfig { mark_bytes, ..LinkConfig::cable(profile) }, 256);
        for (index, end) in pair.ends.iter().enumerate() {
            end.put(0, &pattern(index as u64, 32_768));
            end.device.port().set_address(V6_PLACE.into(), ipv6(index)).expect("a register");
        }
        let idle = |end: &End| {
            let made = std::iter::repeat_with(|| end.queue_pair(64));
            made.take_while(|queue_pair| queue_pair.number() < FIRST_QUEUE_PAIR).collect::<Vec<_>>()
        };
        let kept_idle = pair.ends.iter().flat_map(idle).collect();
        Self { pair, connections: Cell::new(0), _kept_idle: kept_idle }
    }

    fn connect(&self, network: Network, path_mtu: u8) -> [QueuePair; 2] {
        self.connect_for(network, path_mtu, REMOTE())
    }

    /// As [`Self::connect`]; the near end has such rights at the far one.
    fn connect_for(&self, network: Network, path_mtu: u8, rights: Access) -> [QueuePair; 2] {
        let number = self.connections.replace(self.connections.get() + 1);
        let psn = |end: usize| Psn::new(number << 16 | if end == 0 { 0 } else { 1 << 23 });
        self.pair.connect_with(64, |end, connection| {
            network.lead(end, connection);
            (connection.path_mtu, connection.timeout) = (path_mtu, TIMEOUT);
            (connection.send_psn, connection.receive_psn) = (psn(end), psn(1 - end));
            connection.rights = if end == 1 { rights } else { REMOTE() };
        })
    }

    /// A WRITE of so many bytes, and a READ of them, which waits for its end or follows at once.
    fn there_and_back(&self, sender: &QueuePair, end: usize, size: usize, waits: bool) {
        let (near, far) = (&self.pair.ends[end], &self.pair.ends[1 - end]);
        let (place, key) = (size % 61, far.memory.rkey());
        let from: Vec<_> = (size > 0).then(|| near.piece(place, size)).into_iter().collect();
        let to = (size > 0).then(|| near.piece(100_000 + place, size));
        let mut batch = sender.start().wr_id(1).signaled().write(&from, far.at(200_000 + place), key);
        if waits {
            batch.post().expect("room for one");
            near.expect(1);
            batch = sender.start();
        }
        batch
            .wr_id(2)
            .signaled()
            .read(to.as_slice(), far.at(200_000 + place), key)
            .post()
            .expect("room for two");
        if !waits {
            near.expect(1);
        }
        near.expect(2);
    }

    /// Messages of all lengths: short packets one way, long ones the other.
    pub(crate) fn lengths(&self, network: Network) {
        for (end, path_mtu, around) in [(0, MTU_256, AROUND_256), (1, MTU_4096, AROUND_4096)] {
            let pairs = self.connect(network, path_mtu);
            for size in SHORT.iter().chain(&around) {
                self.there_and_back(&pairs[end], end, *size, false);
            }
        }
    }

    /// Each of the frames of an exchange, either way, is lost in one run and arrives twice in another.
    pub(crate) fn faults(&self, network: Network) {
        let [sender, _receiver] = self.connect(network, MTU_256);
        for (size, frames, waits) in EXCHANGES {
            for (end, number) in (0..2).flat_map(|end| (1..=frames).map(move |number| (end, number))) {
                for verdict in [Verdict::Drop, Verdict::Duplicate] {
                    let script = Some(nth(number, |_| true, verdict));
                    self.pair.shared.world().line(end).set_faults(Faults { script, ..Faults::default() });
                    self.there_and_back(&sender, 0, size, waits);
                    // The copy of a frame is answered, too.
                    self.pair.run(2000);
                }
                self.pair.shared.world().line(end).set_faults(Faults::default());
            }
        }
    }

    /// Requests that the far end refuses, each for another reason.
    pub(crate) fn refusals(&self, network: Network) {
        let [near, far] = &self.pair.ends;
        let refused = |is_read: bool, rights: Access, address: u64, key: u32, status: Status| {
            let [sender, _receiver] = self.connect_for(network, MTU_256, rights);
            let (piece, batch) = (near.piece(0, 600), sender.start().signaled());
            let batch = if is_read {
                batch.read(&[piece], address, key)
            } else {
                batch.write(&[piece], address, key)
            };
            batch.post().expect("room for one");
            assert_eq!(near.complete().status, status, "{}, READ {is_read}", network.name());
        };
        let key = far.memory.rkey();
        for is_read in [false, true] {
            refused(is_read, REMOTE(), far.at(0), key ^ 1, Status::RemoteAccess);
            refused(is_read, Access::LOCAL_READ, far.at(0), key, Status::RemoteInvalid);
        }
        // A page that the host took away without a word: the far end finds out while it reads.
        let page = self.page_that_is_read(network);
        self.pair.shared.world().card(1).iommu().hide(page);
        refused(true, REMOTE(), far.at(0), key, Status::RemoteOperation);
        self.pair.shared.world().card(1).iommu().show(page);
    }

    /// Where the far card reads when a READ asks for the beginning of its memory.
    fn page_that_is_read(&self, network: Network) -> u64 {
        let [near, far] = &self.pair.ends;
        let [sender, _receiver] = self.connect(network, MTU_256);
        self.pair.shared.world().card(1).start_trace();
        let batch = sender.start().signaled().read(&[near.piece(0, 1)], far.at(0), far.memory.rkey());
        batch.post().expect("room for one");
        near.expect(0);
        let trace = self.pair.shared.world().card(1).take_trace();
        let mut reads = trace.iter().filter_map(|(_, event)| match event {
            Event::Read { address, .. } => Some(*address),
            _ => None,
        });
        reads.next_back().expect("what is sent was read")
    }

    /// Some of each kind of request, for a cable that marks all of them.
    pub(crate) fn congestion(&self, network: Network) {
        let pairs = self.connect(network, MTU_256);
        for (end, sender) in pairs.iter().enumerate() {
            for size in [0, 1, 700] {
                self.there_and_back(sender, end, size, true);
            }
        }
    }
}
