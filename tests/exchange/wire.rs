//! When two frames say the same, and how a recorded frame is put into other words.
//!
//! Free are: the request for an acknowledgement, IP identification, TTL and TOS, the UDP source port, and what follows from
//! them (checksums, ICRC, Ethernet's padding). All else has to be equal: addresses, op-code, PSN, P_Key, pad count, solicited,
//! every extended header with its syndrome and MSN, and the payload.

use stroma_abi::Qpn;
use stroma_abi::wire::print::line;
use stroma_abi::wire::{Aeth, AtomicEth, Bth, Extended, Frame, Ip, Ipv4, NakCode, Reth, Syndrome, Udp};

use crate::recording::parsed;

/// A frame without what is free.
fn essence(bytes: &[u8]) -> Frame<'_> {
    let frame = parsed(bytes);
    let ip = match frame.ip {
        Ip::V4(ip) => Ip::V4(Ipv4 { dscp: 0, ecn: 0, identification: 0, ttl: 0, checksum: 0, ..ip }),
        other @ Ip::V6(_) => other,
    };
    let udp = Udp { source_port: 0, checksum: 0, ..frame.udp };
    Frame { ip, udp, bth: Bth { ack_request: false, ..frame.bth }, icrc: 0, padding: &[], ..frame }
}

/// What the card has to say for a recorded frame. Its path has always migrated, as it has no other; Linux 6.1 leaves the bit zero.
fn wanted(recorded: &[u8]) -> Frame<'_> {
    let frame = essence(recorded);
    Frame { bth: Bth { migration: true, ..frame.bth }, ..frame }
}

/// The card says what was recorded. Headers are shown first, for a payload fills the screen.
pub(crate) fn assert_same(found: &[u8], recorded: &[u8], what: &str) {
    let [found_line, recorded_line] = [found, recorded].map(line);
    let (found, wanted) = (essence(found), wanted(recorded));
    let headers = |frame| Frame { payload: &[], ..frame };
    assert_eq!(headers(found), headers(wanted), "{what}: {found_line} for {recorded_line}");
    assert!(found.payload == wanted.payload, "{what}: the payload of {found_line}");
}

/// A frame with some of its fields changed, sealed again.
fn changed(bytes: &[u8], change: impl FnOnce(&mut Frame<'_>)) -> Vec<u8> {
    let mut frame = parsed(bytes);
    change(&mut frame);
    frame.seal().and_then(|frame| frame.to_vec()).unwrap_or_else(|error| panic!("{error}"))
}

/// A frame for another queue pair.
pub(crate) fn directed(bytes: &[u8], queue_pair: Qpn) -> Vec<u8> {
    changed(bytes, |frame| frame.bth.destination_qp = queue_pair)
}

/// A NAK with another code.
pub(crate) fn refused(bytes: &[u8], code: NakCode) -> Vec<u8> {
    let syndrome = Syndrome::Nak(code).encode();
    changed(bytes, |frame| frame.extended.aeth = frame.extended.aeth.map(|aeth| Aeth { syndrome, ..aeth }))
}

/// Where a recorded request finds a region now: base and key, then and now.
pub(crate) struct Moved {
    pub(crate) from: (u64, u32),
    pub(crate) to: (u64, u32),
}

impl Moved {
    /// The same place in the region. A wrong key stays as wrong as it was.
    fn place(&self, address: u64, key: u32) -> (u64, u32) {
        (self.to.0 + (address - self.from.0), self.to.1 ^ key ^ self.from.1)
    }

    /// A request as it asks for the same in the region's new place.
    pub(crate) fn request(&self, bytes: &[u8]) -> Vec<u8> {
        changed(bytes, |frame| {
            let reth = frame.extended.reth.map(|reth| {
                let (address, remote_key) = self.place(reth.address, reth.remote_key);
                Reth { address, remote_key, ..reth }
            });
            let atomic = frame.extended.atomic.map(|atomic| {
                let (address, remote_key) = self.place(atomic.address, atomic.remote_key);
                AtomicEth { address, remote_key, ..atomic }
            });
            frame.extended = Extended { reth, atomic, ..frame.extended };
        })
    }
}
