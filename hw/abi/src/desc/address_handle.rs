//! Address handles as the mailbox makes them: the way to a station that datagrams are sent to.

use crate::layout::layout;

layout! {
    /// A way. Datagrams name it, beside the queue pair at its end, so that one queue pair may send to many.
    AddressHandle: Little, 40 bytes;
    PD             pd:             u16  =  0, 0, 16, "protection domain: of the queue pairs that may use it";
    SOURCE_PORT    source_port:    u16  =  2, 0, 16, "UDP port packets leave from";
    HOP_LIMIT      hop_limit:      u8   =  4, 0,  8, "hops packets may take";
    TRAFFIC_CLASS  traffic_class:  u8   =  5, 0,  8, "DSCP and ECN bits";
    VLAN           vlan:           u16  =  6, 0, 16, "tag, with `has_vlan`";
    PEER_MAC       peer_mac:       u64  =  8, 0, 48, "next hop, or the group's address, first byte lowest";
    SOURCE_ADDRESS source_address: u8   = 14, 0,  4, "which of the port's addresses packets leave from";
    HAS_VLAN       has_vlan:       bool = 14, 7,  1, "packets carry `vlan`";
    PEER_IP        peer_ip:        u128 = 16, 0, 128, "IPv6, or IPv4 as `::ffff:a.b.c.d`, first byte lowest; of a station or of a group";
    FLOW_LABEL     flow_label:     u32  = 32, 0, 20, "IPv6 flow label";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_the_card_reads() {
        let handle = AddressHandle {
            pd: 0x0201,
            source_port: 0x0403,
            hop_limit: 5,
            traffic_class: 6,
            vlan: 0x0807,
            peer_mac: 0x0e0d_0c0b_0a09,
            source_address: 0xf,
            has_vlan: true,
            peer_ip: 0x201f_1e1d_1c1b_1a19_1817_1615_1413_1211,
            flow_label: 0x3_2221,
        };
        let mut expected = [0; AddressHandle::LEN];
        expected[..14].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        expected[14] = 0x8f;
        expected[16..35].copy_from_slice(&[
            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 0x21, 0x22, 3,
        ]);
        assert_eq!(handle.to_bytes(), expected);
        assert_eq!(AddressHandle::parse(&expected), Some(handle));
    }
}
