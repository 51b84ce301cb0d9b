//! Connections of a card with itself, made by hand, so that their rings can hold what a driver would never write.

use std::net::Ipv4Addr;

use stroma_abi::desc::{
    ObjectKind, QueuePair, QueuePairKind, QueuePairState, Receive, Sge, SgeList, SharedQueue, Verb,
    queue_pair::attribute, region::rights, wqe::UNIT,
};
use stroma_abi::regs::map::{doorbells, port};
use stroma_abi::{Psn, Qpn};
use stroma_device::compose;
use stroma_sim::World;
use stroma_tests::rig::{Buffer, Completions, Rig};
use stroma_top::Profile;
use stroma_verilate::Options;

/// log2 of the units of a send queue and of the entries of a receive queue.
pub(crate) const LOG: u8 = 6;
/// Code of a receive queue's stride: four pieces and the head fit in.
pub(crate) const STRIDE: u8 = 3;
/// The protection domain of all queue pairs.
pub(crate) const PD: u16 = 3;

/// The card's only address, which is its peer's as well.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The MTU is 256 bytes: messages of a KiB have packets of all kinds.
const PATH_MTU: u8 = 1;

/// One end of a connection.
pub(crate) struct Port {
    /// Its number.
    pub number: u32,
    /// Doorbell page.
    pub page: usize,
    /// Units put into the send queue.
    pub producer: u16,
    /// Entries put into the receive queue.
    pub posted: u16,
    /// The send queue.
    pub send: Buffer,
    /// The receive queue.
    pub receive: Buffer,
}

/// A card without a wire, which talks to itself.
pub(crate) fn rig(profile: Profile) -> Rig {
    let options = Options { seed: 7, ..Options::default() };
    let mut world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
    world.card(0).set_timing(super::BRISK);
    let rig = Rig::with_world(world);
    let bytes = ADDRESS.to_ipv6_mapped().octets();
    let half = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    rig.set(&port::BLOCK, &port::MAC, 0x0100_0000_0002);
    let write = |reg, value| rig.card.write_element(&port::BLOCK, reg, 0, value).expect("a register");
    write(&port::ADDRESS_LOW, half(&bytes[..8]));
    write(&port::ADDRESS_HIGH, half(&bytes[8..]));
    rig
}

/// Makes one end, in RESET; with a shared queue it has no receive queue of its own.
pub(crate) fn make(rig: &mut Rig, number: u32, completions: &Completions, srq: Option<u32>) -> Port {
    let (send, receive) = (rig.buffer(UNIT << LOG), rig.buffer(16 << STRIDE << LOG));
    let body = QueuePair {
        kind: QueuePairKind::Reliable as u8,
        pd: PD,
        send_cq: completions.number,
        receive_cq: completions.number,
        send_log: LOG,
        receive_log: if srq.is_some() { 0 } else { LOG },
        receive_stride: STRIDE,
        page: u16::try_from(completions.page).expect("a page"),
        send_base: send.iova(),
        receive_base: if srq.is_some() { 0 } else { receive.iova() },
        has_srq: srq.is_some(),
        srq: srq.unwrap_or(0),
        ..QueuePair::default()
    };
    rig.done(Verb::Create, ObjectKind::QueuePair, number, 0, &body.to_bytes());
    Port { number, page: completions.page, producer: 0, posted: 0, send, receive }
}

/// From RESET to ready to send, with this peer.
pub(crate) fn connect(rig: &Rig, port: &mut Port, peer: u32) {
    let body = QueuePair {
        rights: rights::REMOTE_WRITE | rights::REMOTE_READ | rights::REMOTE_ATOMIC,
        p_key: 0xffff,
        path_mtu: PATH_MTU,
        peer: Qpn::new(peer),
        send_psn: Psn::new(0xff_fff0),
        receive_psn: Psn::new(0xff_fff0),
        reads_in: 16,
        reads_out: 16,
        min_rnr: 1,
        retry: 7,
        rnr_retry: 1,
        peer_mac: 0x0100_0000_0002,
        source_port: 0xc001,
        peer_ip: u128::from_le_bytes(ADDRESS.to_ipv6_mapped().octets()),
        hop_limit: 64,
        ..QueuePair::default()
    };
    let modify = |state: QueuePairState, attributes: u64| {
        let body = QueuePair { state: state as u8, ..body };
        let mask = attribute::STATE | attributes;
        rig.done(Verb::Modify, ObjectKind::QueuePair, port.number, mask, &body.to_bytes());
    };
    modify(QueuePairState::Init, attribute::RIGHTS | attribute::P_KEY);
    let receive = attribute::ADDRESS | attribute::PATH_MTU | attribute::PEER | attribute::RECEIVE_PSN;
    modify(QueuePairState::ReadyToReceive, receive | attribute::READS_IN | attribute::MIN_RNR);
    let send = attribute::SEND_PSN | attribute::TIMEOUT | attribute::RETRY;
    modify(QueuePairState::ReadyToSend, send | attribute::RNR_RETRY | attribute::READS_OUT);
    (port.producer, port.posted) = (0, 0);
}

/// Makes a shared receive queue of the same shape.
pub(crate) fn shared(rig: &mut Rig, number: u32, page: usize) -> Buffer {
    let entries = rig.buffer(16 << STRIDE << LOG);
    let body = SharedQueue {
        base: entries.iova(),
        log: LOG,
        stride: STRIDE,
        page: u16::try_from(page).expect("a page"),
        pd: PD,
        limit: 0,
    };
    rig.done(Verb::Create, ObjectKind::SharedQueue, number, 0, &body.to_bytes());
    entries
}

/// A receive entry as bytes.
pub(crate) fn entry(pieces: &[Sge]) -> Vec<u8> {
    let mut bytes = vec![0; 16 << STRIDE];
    Receive(SgeList::new(pieces).expect("few pieces")).encode(&mut bytes);
    bytes
}

impl Port {
    /// Puts units into the send queue as they are.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        for unit in bytes.chunks(UNIT) {
            self.send.write(usize::from(self.producer) % (1 << LOG) * UNIT, unit);
            self.producer = self.producer.wrapping_add(1);
        }
    }

    /// Puts an entry into the receive queue as it is.
    pub(crate) fn put_receive(&mut self, bytes: &[u8]) {
        self.receive.write(usize::from(self.posted) % (1 << LOG) * (16 << STRIDE), bytes);
        self.posted = self.posted.wrapping_add(1);
    }

    /// Rings for what was put into the send queue.
    pub(crate) fn ring(&self, rig: &Rig) {
        let parts = [("queue_pair", u64::from(self.number)), ("producer", u64::from(self.producer))];
        rig.ring(self.page, &doorbells::SEND, compose(&doorbells::SEND, parts));
    }

    /// Rings for what was put into the receive queue.
    pub(crate) fn ring_receive(&self, rig: &Rig) {
        let parts = [("queue_pair", u64::from(self.number)), ("producer", u64::from(self.posted))];
        rig.ring(self.page, &doorbells::RECEIVE, compose(&doorbells::RECEIVE, parts));
    }
}
