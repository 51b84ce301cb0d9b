//! What a receive of a datagram begins with, so that the application knows who has sent it: the packet's IP header.

use super::{Ip, Ipv4, Ipv6};

/// Bytes in front of a datagram's payload: an IPv6 header, or zeros and an IPv4 header behind them.
pub const GRH_LEN: usize = Ipv6::LEN;
/// Where an IPv4 header begins.
pub const IPV4_AT: usize = GRH_LEN - Ipv4::LEN;

/// The bytes in front of the payload.
#[must_use]
pub fn emit(ip: &Ip) -> [u8; GRH_LEN] {
    let mut bytes = [0; GRH_LEN];
    match ip {
        Ip::V4(header) => bytes[IPV4_AT..].copy_from_slice(&header.to_bytes()),
        Ip::V6(header) => bytes.copy_from_slice(&header.to_bytes()),
    }
    bytes
}

/// The header that such bytes hold, by its version; `None` if they hold none.
#[must_use]
pub fn parse(bytes: &[u8; GRH_LEN]) -> Option<Ip> {
    let six = Ipv6::parse(bytes)?;
    let four = Ipv4::parse(&bytes[IPV4_AT..])?;
    match (six.version, four.version) {
        (6, _) => Some(Ip::V6(six)),
        (_, 4) => Some(Ip::V4(four)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_comes_back_as_it_was(bytes in any::<[u8; GRH_LEN]>()) {
            let six = Ipv6 { version: 6, ..Ipv6::parse(&bytes).unwrap() };
            let four = Ipv4 { version: 4, ..Ipv4::parse(&bytes).unwrap() };
            prop_assert_eq!(parse(&emit(&Ip::V6(six))), Some(Ip::V6(six)));
            prop_assert_eq!(parse(&emit(&Ip::V4(four))), Some(Ip::V4(four)));
            prop_assert_eq!(&emit(&Ip::V4(four))[..IPV4_AT], [0; IPV4_AT]);
        }
    }

    #[test]
    fn what_is_no_header_is_none() {
        assert_eq!(parse(&[0; GRH_LEN]), None);
    }
}
