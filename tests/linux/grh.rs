//! What a received datagram begins with: the IP header that it came with, which either end gives to its application.
//!
//! Read here byte by byte, after the RFCs, and not with what the card's driver has for it.

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use stroma_verbs::Grh;

/// Where an IPv4 header lies.
const V4_AT: usize = 20;
/// The protocol that RoCE v2 is carried by, in headers of both kinds.
const UDP: u8 = 17;
/// Bytes of UDP, BTH and DETH, and of the ICRC.
const AROUND: usize = 8 + 12 + 8 + 4;

/// A datagram as its IP header has to describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// Bytes of its payload.
    pub(crate) bytes: usize,
    pub(crate) has_immediate: bool,
}

impl Carried {
    /// Bytes behind the IP header; a payload is padded to whole words.
    fn behind(&self) -> usize {
        AROUND + if self.has_immediate { 4 } else { 0 } + self.bytes.next_multiple_of(4)
    }

    /// Is this its header?
    pub(crate) fn check(&self, bytes: &[u8; Grh::LEN]) -> Result<()> {
        match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let header = &bytes[V4_AT..];
                equal("version and length", header[0], 0x45)?;
                equal("total length", number(&header[2..4])?, self.behind() + 20)?;
                equal("protocol", header[9], UDP)?;
                equal("source", &header[12..16], &from.octets())?;
                equal("destination", &header[16..20], &to.octets())?;
                equal("sum of the header with its checksum", sum(header)?, 0xffff)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                equal("version", bytes[0] >> 4, 6)?;
                equal("payload length", number(&bytes[4..6])?, self.behind())?;
                equal("next header", bytes[6], UDP)?;
                equal("source", &bytes[8..24], &from.octets())?;
                equal("destination", &bytes[24..40], &to.octets())
            }
            (from, to) => anyhow::bail!("nothing goes from {from} to {to}"),
        }
        .with_context(|| format!("GRH {bytes:02x?}"))
    }
}

fn equal<T: Copy + PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<()> {
    ensure!(found == expected, "{what}: {found:?}, expected {expected:?}");
    Ok(())
}

/// Sixteen bits, first byte highest.
fn number(bytes: &[u8]) -> Result<usize> {
    Ok(u16::from_be_bytes(bytes.try_into()?).into())
}

/// RFC 1071: with its checksum, the words of a header have this sum in ones' complement.
fn sum(header: &[u8]) -> Result<usize> {
    let mut sum: usize = header.chunks(2).map(number).sum::<Result<_>>()?;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header that Wikipedia's article on the checksum works out by hand: 115 bytes over UDP, from 192.168.0.1 to 192.168.0.199.
    const KNOWN: [u8; 20] =
        [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];

    /// The same of a datagram with immediate data and 58 bytes, which are padded to 60: 96 behind its header, one more than there, and so a
    /// checksum that is one less.
    fn known() -> ([u8; Grh::LEN], Carried) {
        let mut bytes = [0; Grh::LEN];
        bytes[V4_AT..].copy_from_slice(&KNOWN);
        (bytes[V4_AT + 3], bytes[V4_AT + 11]) = (0x74, 0x60);
        let (from, to) = ([192, 168, 0, 1].into(), [192, 168, 0, 199].into());
        (bytes, Carried { from, to, bytes: 58, has_immediate: true })
    }

    #[test]
    fn a_known_header_has_the_sum_that_it_should() {
        assert_eq!(sum(&KNOWN).unwrap(), 0xffff);
        let (bytes, carried) = known();
        carried.check(&bytes).unwrap();
    }

    #[test]
    fn every_byte_of_an_ipv4_header_counts() {
        let (bytes, carried) = known();
        for place in V4_AT..Grh::LEN {
            let mut wrong = bytes;
            wrong[place] ^= 0x10;
            assert!(carried.check(&wrong).is_err(), "byte {place}");
        }
    }

    #[test]
    fn addresses_and_length_of_an_ipv6_header_count() {
        let mut bytes = [0; Grh::LEN];
        (bytes[0], bytes[5], bytes[6], bytes[7]) = (0x60, 33 + 3, UDP, 64);
        (bytes[8], bytes[23], bytes[24], bytes[39]) = (0xfd, 1, 0xfd, 2);
        let (from, to) = ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
        let carried = Carried { from, to, bytes: 1, has_immediate: false };
        carried.check(&bytes).unwrap();
        for place in [0, 5, 6, 8, 23, 24, 39] {
            let mut wrong = bytes;
            wrong[place] ^= 0x10;
            assert!(carried.check(&wrong).is_err(), "byte {place}");
        }
    }
}
