//! IPv6 without extension headers.

use core::net::Ipv6Addr;

use crate::layout::layout;

layout! {
    /// IPv6 header (RFC 8200).
    Ipv6: Big, 40 bytes;
    VERSION        version:        u8       =  0, 0,   4, "6";
    TRAFFIC_CLASS  traffic_class:  u8       =  0, 4,   8, "DSCP and ECN; not in the ICRC";
    FLOW_LABEL     flow_label:     u32      =  1, 4,  20, "names a flow; not in the ICRC";
    PAYLOAD_LENGTH payload_length: u16      =  4, 0,  16, "bytes behind this header";
    NEXT_HEADER    next_header:    u8       =  6, 0,   8, "17: UDP";
    HOP_LIMIT      hop_limit:      u8       =  7, 0,   8, "hops left; not in the ICRC";
    SOURCE         source:         Ipv6Addr =  8, 0, 128, "sender";
    DESTINATION    destination:    Ipv6Addr = 24, 0, 128, "receiver";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_of_rfc_8200() {
        let header = Ipv6 {
            version: 6,
            traffic_class: 0xab,
            flow_label: 0xc_def1,
            payload_length: 0x0102,
            next_header: 17,
            hop_limit: 64,
            source: Ipv6Addr::LOCALHOST,
            destination: "fe80::2".parse().unwrap(),
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes[..8], [0x6a, 0xbc, 0xde, 0xf1, 0x01, 0x02, 17, 64]);
        assert_eq!((bytes[23], bytes[24], bytes[25], bytes[39]), (1, 0xfe, 0x80, 2));
        assert_eq!(Ipv6::parse(&bytes), Some(header));
    }
}
