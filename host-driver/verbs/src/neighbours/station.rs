//! Who speaks, and what a frame says to him.

use std::net::IpAddr;

use smoltcp::wire::{EthernetAddress, EthernetFrame, EthernetProtocol};

use super::{arp, discovery, echo};
use crate::way::source;

/// A card's MAC address, and its addresses.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) mac: [u8; 6],
    pub(crate) addresses: Vec<IpAddr>,
}

/// What a frame says, if it concerns this station.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Somebody has an address, and may have asked for one of ours: the answer.
    Neighbour { address: IpAddr, mac: [u8; 6], answer: Option<Vec<u8>> },
    /// Somebody wants an answer, and tells nothing of himself.
    Question { answer: Vec<u8> },
    /// The answer to an echo of this number, with these bytes.
    Echo { from: IpAddr, number: u16, bytes: Vec<u8> },
}

impl Station {
    pub(super) fn hardware(&self) -> EthernetAddress {
        EthernetAddress(self.mac)
    }

    /// The question: who has `wanted`?
    pub(crate) fn question(&self, wanted: IpAddr) -> Vec<u8> {
        match wanted {
            IpAddr::V4(wanted) => arp::question(self, wanted),
            IpAddr::V6(wanted) => discovery::question(self, wanted),
        }
    }

    /// The address that this station speaks from to another, if it has one of its kind: link-local to link-local.
    pub(super) fn source(&self, to: IpAddr) -> Option<IpAddr> {
        source(&self.addresses, to).map(|place| self.addresses[place])
    }

    /// Understands a frame. Whatever does not concern one of this station's addresses, or contradicts itself, says nothing: who
    /// hears others talk learns nothing from it.
    pub(crate) fn hear(&self, bytes: &[u8]) -> Option<Heard> {
        let frame = EthernetFrame::new_checked(bytes).ok()?;
        match frame.ethertype() {
            EthernetProtocol::Arp => arp::hear(self, &frame),
            EthernetProtocol::Ipv4 => echo::hear_v4(self, &frame),
            EthernetProtocol::Ipv6 => discovery::hear(self, &frame),
            EthernetProtocol::Unknown(_) => None,
        }
    }
}
