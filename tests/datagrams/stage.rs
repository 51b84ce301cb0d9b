//! A card and who is beside it, and what datagrams between them are like.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use stroma_abi::Psn;
use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Sge, SgeList};
use stroma_abi::wire::{Deth, Extended, Frame, ImmDt, Mac, grh, opcode};
use stroma_sim::link::LinkConfig;
use stroma_sim::model::{Addresses, Datagram, DatagramSettings, Packet, Path, Receive, Received, Region};
use stroma_sim::peer::{Golden, Peer};
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, address};
use stroma_top::Profile;
use stroma_verbs::{
    Address, Batch, Datagrams, Grh, QueuePair, QueuePairBuilder, QueuePairKind, Status, WorkCompletion,
    WorkOp,
};
use stroma_verilate::Options;

/// Bytes of datagrams.
pub(crate) const LENGTHS: [usize; 6] = [0, 1, 3, 40, 1024, 4096];
/// Where receives go at a card, one every [`ROOM`] bytes, and at a golden end, where what it sends begins at 0.
pub(crate) const INBOX: usize = 1 << 18;
pub(crate) const ROOM: usize = 8192;
/// Key and base of memory at a golden end.
const KEY: u32 = 0x55;
const BASE: u64 = 0x7000_0000;
const GOLDEN_INBOX: usize = 1 << 16;
/// The queue pair of a golden end.
pub(crate) const GOLDEN: Qpn = Qpn::new(0x321);
/// `Q_Key` of the queue pair at station `index`.
pub(crate) fn key(index: usize) -> u32 {
    0x1000_0001 * u32::try_from(index + 1).expect("small")
}
/// Time for a datagram to arrive.
const SOON: u64 = 4000;
/// Time that passes between two looks.
const STEP: u64 = 50;

/// The IPv6 address of station `index`, at place 1 of a card's port.
pub(crate) fn six(index: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::try_from(index + 1).expect("small"))
}

/// The way to station `index`.
pub(crate) fn way(index: usize, is_ipv6: bool) -> Address {
    let four = address(index);
    let ip = if is_ipv6 { six(index).into() } else { four.ip };
    Address { ip, source_address: is_ipv6.into(), ..four }
}

/// The way from one station to another, as the golden endpoint has it. Packets say by their UDP port where they go.
pub(crate) fn path(from: usize, to: usize, is_ipv6: bool) -> Path {
    let four = |index: usize| match address(index).ip {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => unreachable!("stations have addresses of IPv4"),
    };
    Path {
        local: Mac(address(from).mac),
        remote: Mac(address(to).mac),
        tag: None,
        addresses: if is_ipv6 {
            Addresses::V6 { local: six(from), remote: six(to) }
        } else {
            Addresses::V4 { local: four(from), remote: four(to) }
        },
        source_port: address(to).source_port,
        traffic_class: address(to).traffic_class,
        hop_limit: address(to).hop_limit,
    }
}

/// A datagram as a frame: with the sender's key, number and immediate data.
pub(crate) fn frame(path: &Path, to: Qpn, deth: Deth, immediate: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let imm = immediate.map(|data| ImmDt { data });
    let row = if imm.is_some() { opcode::UD_SEND_ONLY_IMM } else { opcode::UD_SEND_ONLY };
    let extended = Extended { deth: Some(deth), imm, ..Extended::default() };
    let packet = Packet { extended, payload: payload.to_vec(), ..Packet::new(row, Psn::new(0)) };
    path.frame(&packet, to, 0xffff)
}

/// What a receive of such a datagram begins with. The sender's numbers make no difference.
pub(crate) fn header(path: &Path, immediate: Option<u32>, payload: &[u8]) -> [u8; Grh::LEN] {
    let bytes = frame(path, GOLDEN, Deth::default(), immediate, payload);
    grh::emit(&Frame::parse(&bytes).expect("a frame").ip)
}

/// Gives a card its second address.
pub(crate) fn name(end: &End, index: usize) {
    end.device.port().set_address(1, six(index).into()).expect("a register");
}

/// A builder for datagrams, with room for receives of up to 16 pieces.
pub(crate) fn builder(end: &End) -> QueuePairBuilder {
    let builder = end.domain.queue_pair(&end.completions).kind(QueuePairKind::Datagram);
    builder.receive_entries(32).receive_pieces(16).send_units(128)
}

/// A queue pair for datagrams, ready to send, of a card that is station `index`.
pub(crate) fn queue_pair(end: &End, index: usize) -> QueuePair {
    let queue_pair = builder(end).build().expect("a queue pair");
    queue_pair.activate_datagrams(&Datagrams::new(key(index))).expect("it is fresh");
    queue_pair
}

/// Posts a receive of so many bytes, under the number of its slot.
pub(crate) fn post_receive(end: &End, queue_pair: &QueuePair, slot: usize, length: usize) {
    let batch = queue_pair.receives().expect("it has a queue");
    batch.receive(slot as u64, &[end.piece(INBOX + slot * ROOM, length)]).post().expect("room");
}

/// `send` or `send_imm`.
pub(crate) fn send<'a>(batch: Batch<'a>, pieces: &[Sge], immediate: Option<u32>) -> Batch<'a> {
    match immediate {
        Some(immediate) => batch.send_imm(pieces, immediate),
        None => batch.send(pieces),
    }
}

/// The next completion of a card is of the receive of this slot: a datagram from `source`, with these bytes in front of these.
pub(crate) fn check(
    end: &End,
    slot: usize,
    source: Qpn,
    immediate: Option<u32>,
    header: &[u8],
    payload: &[u8],
) -> WorkCompletion {
    let found = end.received(slot as u64, Grh::LEN + payload.len());
    let op = if immediate.is_some() { WorkOp::SendImm } else { WorkOp::Send };
    assert_eq!((found.op, found.immediate), (op, immediate));
    assert_eq!((found.source_qp, found.has_grh), (Some(source), true));
    let place = end.bytes(INBOX + slot * ROOM, Grh::LEN + payload.len());
    assert_eq!(place[..Grh::LEN], *header, "{} bytes", payload.len());
    assert!(place[Grh::LEN..] == *payload, "{} other bytes than sent", payload.len());
    found
}

/// A card, station 0, and a peer, station 1, on a cable; a queue pair for datagrams of the card.
pub(crate) struct Stage {
    pub(crate) shared: Arc<Shared>,
    pub(crate) end: End,
    pub(crate) queue_pair: QueuePair,
}

impl Stage {
    pub(crate) fn new(profile: Profile, peer: Box<dyn Peer>) -> Self {
        let mut world = World::new(profile, 1, &Options { seed: 7, ..Options::default() }).expect("a card");
        let station = world.add_peer(peer);
        world.cable(0, station, LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let end = End::open(&shared, 0, 256);
        name(&end, 0);
        let queue_pair = queue_pair(&end, 0);
        Self { shared, end, queue_pair }
    }

    /// With a golden endpoint.
    pub(crate) fn golden(profile: Profile) -> (Self, GoldenEnd) {
        let stage = Self::new(profile, Box::new(Golden::default()));
        let golden = GoldenEnd::new(&stage.shared, 1, &[]);
        (stage, golden)
    }

    pub(crate) fn number(&self) -> Qpn {
        Qpn::new(self.queue_pair.number())
    }

    /// Lets time pass for a datagram to arrive.
    pub(crate) fn settle(&self) {
        self.shared.world().run(SOON);
    }
}

/// A golden endpoint at a station, and its queue pair for datagrams.
pub(crate) struct GoldenEnd {
    shared: Arc<Shared>,
    index: usize,
}

impl GoldenEnd {
    /// Its queue pair belongs to these groups.
    pub(crate) fn new(shared: &Arc<Shared>, index: usize, groups: &[IpAddr]) -> Self {
        let golden = Self { shared: Arc::clone(shared), index };
        let addresses = [address(index).ip, six(index).into()];
        let settings = DatagramSettings::new(GOLDEN, Mac(address(index).mac), &addresses, key(index));
        let bytes = vec![0; 1 << 18];
        golden.ask(|golden| {
            golden.open(DatagramSettings { groups: groups.to_vec(), ..settings });
            golden
                .memory()
                .register(KEY, Region { base: BASE, bytes, domain: 0, rights: rights::LOCAL_WRITE });
        });
        golden
    }

    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&mut Golden) -> T) -> T {
        ask(self.shared.world().peer_mut(self.index))
    }

    pub(crate) fn post_receive(&self, slot: usize, length: usize) {
        let piece = piece(GOLDEN_INBOX + slot * ROOM, length);
        let pieces = SgeList::new(&[piece]).expect("one");
        self.ask(|golden| golden.post_receive(GOLDEN, Receive { id: slot as u64, pieces }));
    }

    /// Sends a datagram, of bytes that it has in its memory then.
    pub(crate) fn send(&self, path: Path, to: Qpn, key: u32, immediate: Option<u32>, payload: &[u8]) {
        let datagram = Datagram::new(0, &[piece(0, payload.len())], path, to, key);
        self.ask(|golden| {
            let region = golden.memory().region_mut(KEY).expect("it is registered");
            region.bytes[..payload.len()].copy_from_slice(payload);
            golden.post_datagram(GOLDEN, Datagram { immediate, ..datagram });
        });
        // The bytes are its own again when the datagram has left.
        let done = (0..SOON / STEP).find_map(|_| {
            self.shared.world().run(STEP);
            self.ask(|golden| golden.poll(GOLDEN))
        });
        let done = done.expect("it leaves at once");
        assert_eq!((done.status, done.bytes as usize), (Status::Success, payload.len()));
    }

    /// The next receive is of this slot: a datagram from `source`, with these bytes in front of these.
    pub(crate) fn check(
        &self,
        slot: usize,
        source: Qpn,
        immediate: Option<u32>,
        header: &[u8],
        payload: &[u8],
    ) {
        let found = (0..SOON / STEP).find_map(|_| {
            self.shared.world().run(STEP);
            self.ask(|golden| golden.poll_receive(GOLDEN))
        });
        let found = found.unwrap_or_else(|| panic!("a datagram of {} bytes did not arrive", payload.len()));
        let expected = Received {
            id: slot as u64,
            status: Status::Success,
            operation: if immediate.is_some() { WorkOp::SendImm } else { WorkOp::Send },
            bytes: u32::try_from(Grh::LEN + payload.len()).expect("short"),
            immediate,
            invalidated: None,
            solicited: false,
            source: Some(source),
        };
        assert_eq!(found, expected);
        let place = self.ask(|golden| {
            let bytes = &golden.memory().region(KEY).expect("it is registered").bytes;
            bytes[GOLDEN_INBOX + slot * ROOM..][..Grh::LEN + payload.len()].to_vec()
        });
        assert_eq!(place[..Grh::LEN], *header, "{} bytes", payload.len());
        assert!(place[Grh::LEN..] == *payload, "{} other bytes than sent", payload.len());
    }
}

fn piece(offset: usize, length: usize) -> Sge {
    let length = u32::try_from(length).expect("short");
    Sge { address: BASE + offset as u64, local_key: KEY, length }
}
