//! ARP for IPv4 over Ethernet: the driver answers it, the printer shows it.

use core::net::Ipv4Addr;

use super::Mac;
use crate::layout::layout;

/// Values of [`Arp::operation`].
pub mod operation {
    /// Who has this address?
    pub const REQUEST: u16 = 1;
    /// I have.
    pub const REPLY: u16 = 2;
}

layout! {
    /// An ARP packet (RFC 826) with the sizes of IPv4 over Ethernet.
    Arp: Big, 28 bytes;
    HARDWARE        hardware:        u16      =  0, 0, 16, "1: Ethernet";
    PROTOCOL        protocol:        u16      =  2, 0, 16, "0x0800: IPv4";
    HARDWARE_LENGTH hardware_length: u8       =  4, 0,  8, "6";
    PROTOCOL_LENGTH protocol_length: u8       =  5, 0,  8, "4";
    OPERATION       operation:       u16      =  6, 0, 16, "1 request, 2 reply";
    SENDER_MAC      sender_mac:      Mac      =  8, 0, 48, "who asks or answers";
    SENDER_IP       sender_ip:       Ipv4Addr = 14, 0, 32, "its address";
    TARGET_MAC      target_mac:      Mac      = 18, 0, 48, "zero in a request";
    TARGET_IP       target_ip:       Ipv4Addr = 24, 0, 32, "the address asked for";
}

impl Arp {
    /// Is this ARP of the kind the layout describes, IPv4 over Ethernet?
    #[must_use]
    pub fn is_ipv4_over_ethernet(&self) -> bool {
        (self.hardware, self.protocol, self.hardware_length, self.protocol_length) == (1, 0x0800, 6, 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_bytes_of_rfc_826() {
        let request = Arp {
            hardware: 1,
            protocol: 0x0800,
            hardware_length: 6,
            protocol_length: 4,
            operation: operation::REQUEST,
            sender_mac: Mac([2, 0, 0, 0, 0, 1]),
            sender_ip: Ipv4Addr::new(10, 0, 0, 1),
            target_mac: Mac::default(),
            target_ip: Ipv4Addr::new(10, 0, 0, 2),
        };
        let bytes = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
        assert_eq!(request.to_bytes(), bytes);
        assert_eq!(Arp::parse(&bytes), Some(request));
        assert!(request.is_ipv4_over_ethernet());
    }
}
