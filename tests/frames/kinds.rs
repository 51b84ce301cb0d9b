//! Which kinds of frame there are, and which of them were seen.

use std::collections::{BTreeMap, BTreeSet};

use stroma_abi::wire::opcode::{
    CNP, RC_ACKNOWLEDGE, RC_READ_REQUEST, RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_LAST,
    RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_ONLY, RC_WRITE_FIRST, RC_WRITE_LAST, RC_WRITE_MIDDLE,
    RC_WRITE_ONLY,
};
use stroma_abi::wire::{Frame, Ip, NakCode, Opcode, Role, Syndrome};
use stroma_sim::pcap::Direction;

use crate::traffic::Network;

/// Op-codes with a payload that begin or continue a message, and those that end one.
const BEGINS: [Opcode; 4] =
    [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_MIDDLE];
const ENDS: [Opcode; 4] = [RC_WRITE_ONLY, RC_WRITE_LAST, RC_READ_RESPONSE_ONLY, RC_READ_RESPONSE_LAST];
/// Op-codes without a payload.
const BARE: [Opcode; 3] = [RC_READ_REQUEST, RC_ACKNOWLEDGE, CNP];
/// Path MTUs in use.
const PATH_MTUS: [usize; 2] = [256, 4096];
/// Why a request is refused.
const NAKS: [NakCode; 4] =
    [NakCode::PsnSequence, NakCode::InvalidRequest, NakCode::RemoteAccess, NakCode::RemoteOperational];
/// The two bits of a traffic class that tell of congestion, when it was met.
const CONGESTION: u8 = 3;

/// Every kind that this build of the card sends, by name.
pub(crate) fn wanted() -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for network in Network::ALL.map(Network::name) {
        kinds.extend(BEGINS.iter().chain(&BARE).map(|opcode| on(network, opcode.name)));
        for opcode in ENDS {
            kinds.extend((0..4).map(|pad| on(network, &padded(opcode.name, pad))));
        }
        for opcode in BEGINS.iter().chain(&ENDS) {
            kinds.extend(PATH_MTUS.map(|bytes| on(network, &full(opcode.name, bytes))));
        }
        for opcode in [RC_WRITE_ONLY, RC_READ_RESPONSE_ONLY] {
            kinds.insert(on(network, &full(opcode.name, 0)));
        }
        kinds.extend(NAKS.map(|code| on(network, &refused(code))));
        for opcode in BEGINS.iter().chain(&ENDS).chain(&BARE[..2]) {
            kinds.insert(on(network, &again(opcode.name)));
        }
        for opcode in [RC_WRITE_FIRST, RC_WRITE_ONLY, RC_READ_REQUEST] {
            kinds.insert(on(network, &marked(opcode.name)));
        }
    }
    kinds
}

fn on(network: &str, kind: &str) -> String {
    format!("{kind}, {network}")
}

fn padded(opcode: &str, pad: usize) -> String {
    format!("{opcode} with {pad} bytes of pad")
}

fn full(opcode: &str, bytes: usize) -> String {
    format!("{opcode} of {bytes} bytes")
}

fn refused(code: NakCode) -> String {
    format!("NAK {}", code.name())
}

fn again(opcode: &str) -> String {
    format!("{opcode} sent again")
}

fn marked(opcode: &str) -> String {
    format!("{opcode} marked on the way")
}

/// Was it marked on the way? No card sends marked frames.
pub(crate) fn is_marked(frame: &Frame) -> bool {
    match frame.ip {
        Ip::V4(header) => header.ecn == CONGESTION,
        Ip::V6(header) => header.traffic_class & CONGESTION == CONGESTION,
    }
}

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Seen {
    /// Kinds of frame.
    pub(crate) kinds: BTreeSet<String>,
    /// Frames, by op-code.
    pub(crate) counts: BTreeMap<u8, u64>,
    /// Queue pair, PSN and op-code of what was sent.
    sent: BTreeSet<(u32, u32, u8)>,
}

impl Seen {
    /// One more frame. Queue pairs of different stories are told apart by [`Self::forget`].
    pub(crate) fn add(&mut self, frame: &Frame, direction: Direction) {
        let network =
            Network { is_ipv6: matches!(frame.ip, Ip::V6(_)), is_tagged: frame.tag.is_some() }.name();
        let Some(opcode) = frame.opcode() else { return };
        *self.counts.entry(opcode.code).or_default() += 1;
        let mut add = |kind: &str| self.kinds.insert(on(network, kind));
        if direction == Direction::In {
            add(&marked(opcode.name));
            return;
        }
        add(opcode.name);
        add(&padded(opcode.name, frame.pad.len()));
        add(&full(opcode.name, frame.payload.len()));
        match frame.extended.aeth.map(|aeth| Syndrome::decode(aeth.syndrome)) {
            Some(Syndrome::Nak(code)) => {
                add(&refused(code));
            }
            // A notification has no PSN, and two acknowledgements of one request may well differ in kind.
            _ if opcode.role != Role::Notice => {
                let key = (frame.bth.destination_qp.value(), frame.bth.psn.value(), opcode.code);
                if !self.sent.insert(key) {
                    add(&again(opcode.name));
                }
            }
            _ => {}
        }
    }

    /// What comes now belongs to other queue pairs, though they may have the numbers of those before.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
    }
}
