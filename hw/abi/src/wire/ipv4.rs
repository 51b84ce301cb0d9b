//! IPv4 without options, and its header checksum.

use core::net::Ipv4Addr;

use crate::layout::layout;

layout! {
    /// IPv4 header of five words, the only length the card accepts.
    Ipv4: Big, 20 bytes;
    VERSION        version:        u8       =  0, 0,  4, "4";
    IHL            ihl:            u8       =  0, 4,  4, "header length in words: 5";
    DSCP           dscp:           u8       =  1, 0,  6, "traffic class; not in the ICRC";
    ECN            ecn:            u8       =  1, 6,  2, "congestion mark; not in the ICRC";
    TOTAL_LENGTH   total_length:   u16      =  2, 0, 16, "bytes from here to the end of the packet";
    IDENTIFICATION identification: u16      =  4, 0, 16, "of use to fragments only";
    RESERVED       reserved:       bool     =  6, 0,  1, "zero";
    DONT_FRAGMENT  dont_fragment:  bool     =  6, 1,  1, "set by RoCE senders";
    MORE_FRAGMENTS more_fragments: bool     =  6, 2,  1, "this is a fragment";
    FRAGMENT       fragment:       u16      =  6, 3, 13, "offset of a fragment, in units of 8 bytes";
    TTL            ttl:            u8       =  8, 0,  8, "hops left; not in the ICRC";
    PROTOCOL       protocol:       u8       =  9, 0,  8, "17: UDP";
    CHECKSUM       checksum:       u16      = 10, 0, 16, "of this header; not in the ICRC";
    SOURCE         source:         Ipv4Addr = 12, 0, 32, "sender";
    DESTINATION    destination:    Ipv4Addr = 16, 0, 32, "receiver";
}

/// The checksum a header should carry: RFC 1071 over all of it but the checksum itself.
///
/// # Panics
/// When `header` is shorter than [`Ipv4::LEN`].
#[must_use]
pub fn checksum(header: &[u8]) -> u16 {
    let words = header[..Ipv4::LEN].chunks_exact(2).enumerate();
    let skipped = Ipv4::CHECKSUM.byte / 2;
    let sum = words
        .filter(|(index, _)| *index != skipped)
        .fold(0_u32, |sum, (_, word)| sum + u32::from(u16::from_be_bytes([word[0], word[1]])));
    let once = (sum & 0xffff) + (sum >> 16);
    let [_, _, high, low] = ((once & 0xffff) + (once >> 16)).to_be_bytes();
    !u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the IPv4 header checksum in wide circulation (Wikipedia, "Internet checksum").
    const EXAMPLE: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn the_published_example_has_its_published_checksum() {
        assert_eq!(checksum(&EXAMPLE), 0xb861);
    }

    #[test]
    fn the_published_example_reads_as_its_fields() {
        let header = Ipv4::parse(&EXAMPLE).unwrap();
        assert_eq!((header.version, header.ihl, header.total_length), (4, 5, 0x73));
        assert!(header.dont_fragment && !header.more_fragments && !header.reserved);
        assert_eq!((header.ttl, header.protocol), (64, 17));
        assert_eq!(header.source, Ipv4Addr::new(192, 168, 0, 1));
        assert_eq!(header.destination, Ipv4Addr::new(192, 168, 0, 199));
        assert_eq!(header.to_bytes(), EXAMPLE);
    }
}
