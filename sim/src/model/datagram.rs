//! Datagrams as they are posted, and what a queue pair that speaks them is told.

use std::net::IpAddr;

use stroma_abi::desc::{Sge, SgeList};
use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};

use super::Path;

/// Attributes of one queue pair for datagrams, ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramSettings {
    /// Own number.
    pub local: Qpn,
    /// Own Ethernet address.
    pub mac: Mac,
    /// Own network addresses.
    pub addresses: Vec<IpAddr>,
    /// Groups that it belongs to.
    pub groups: Vec<IpAddr>,
    /// `Q_Key` demanded, and sent by who asks for it.
    pub key: u32,
    /// `P_Key` sent and demanded.
    pub partition: u16,
    /// Protection domain.
    pub domain: u16,
    /// PSN of the first datagram sent.
    pub send_psn: Psn,
}

impl DatagramSettings {
    /// A queue pair of the default partition and domain, that belongs to no group.
    #[must_use]
    pub fn new(local: Qpn, mac: Mac, addresses: &[IpAddr], key: u32) -> Self {
        Self {
            local,
            mac,
            addresses: addresses.to_vec(),
            groups: vec![],
            key,
            partition: 0xffff,
            domain: 0,
            send_psn: Psn::new(0),
        }
    }
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The poster's own number, back in the completion.
    pub id: u64,
    /// Local bytes, 0 to 4096 of them.
    pub pieces: SgeList,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// The way it takes.
    pub path: Path,
    /// The queue pair at the end of it.
    pub remote: Qpn,
    /// `Q_Key` of that; with its highest bit the sender's own is sent.
    pub key: u32,
    /// Ask the receiver to be woken.
    pub solicited: bool,
}

impl Datagram {
    /// A datagram without immediate data or wake-up.
    ///
    /// # Panics
    /// When there are more than 16 pieces.
    #[must_use]
    pub fn new(id: u64, pieces: &[Sge], path: Path, remote: Qpn, key: u32) -> Self {
        let count = pieces.len();
        let pieces = SgeList::new(pieces).unwrap_or_else(|| panic!("{count} pieces are too many"));
        Self { id, pieces, immediate: None, path, remote, key, solicited: false }
    }
}
