//! The verdict on frames that are wrong in one way, in two ways, and cut short.

use crate::common::Recipe;
use stroma_abi::{
    Field, Value,
    wire::{
        Bth, Class, Ethernet, Ipv4, Ipv6, Opcode, Tag, Udp, class::Class::*, classify, frame::HEADERS_MAX,
        icrc, ipv4,
    },
};

const IP: usize = Ethernet::LEN;
const UDP4: usize = IP + Ipv4::LEN;
const BTH4: usize = UDP4 + Udp::LEN;
const UDP6: usize = IP + Ipv6::LEN;

fn class(bytes: &[u8]) -> Class {
    classify(bytes).map_or_else(|reject| reject.class, |_| Class::Roce)
}

/// A WRITE over IPv4 with one field changed; checksum and ICRC are right again unless they are the field.
fn changed<V: Value>(field: Field, value: V) -> Vec<u8> {
    let mut bytes = Recipe::write(64).bytes();
    field.set(&mut bytes, value);
    if field != Ipv4::CHECKSUM.at(IP) {
        let checksum = ipv4::checksum(&bytes[IP..]);
        Ipv4::CHECKSUM.at(IP).set(&mut bytes, checksum);
    }
    icrc::seal(&mut bytes[IP..]);
    bytes
}

#[test]
fn a_sound_frame_is_accepted_whatever_its_shape() {
    for ipv6 in [false, true] {
        for tagged in [false, true] {
            assert_eq!(class(&Recipe { ipv6, tagged, ..Recipe::write(64) }.bytes()), Roce);
        }
    }
}

#[test]
fn each_wrong_field_has_its_class() {
    let cases = [
        (changed(Ethernet::ETHERTYPE, 0x0806_u16), NotIp),
        (changed(Ethernet::ETHERTYPE, 0x86dd_u16), IpVersion),
        (changed(Ipv4::VERSION.at(IP), 6_u8), IpVersion),
        (changed(Ipv4::IHL.at(IP), 6_u8), IpOptions),
        (changed(Ipv4::CHECKSUM.at(IP), 0xbeef_u16), IpChecksum),
        (changed(Ipv4::MORE_FRAGMENTS.at(IP), true), Fragment),
        (changed(Ipv4::FRAGMENT.at(IP), 1_u16), Fragment),
        (changed(Ipv4::PROTOCOL.at(IP), 6_u8), NotUdp),
        (changed(Udp::DESTINATION_PORT.at(UDP4), 4790_u16), WrongPort),
        (changed(Ipv4::TOTAL_LENGTH.at(IP), 126_u16), Length),
        (changed(Udp::LENGTH.at(UDP4), 100_u16), Length),
        (changed(Bth::VERSION.at(BTH4), 1_u8), BthVersion),
        (changed(Bth::OPCODE.at(BTH4), 0x15_u8), Opcode),
        (changed(Bth::OPCODE.at(BTH4), 0xa0_u8), Opcode),
    ];
    for (bytes, expected) in cases {
        assert_eq!(class(&bytes), expected, "{bytes:02x?}");
    }
}

#[test]
fn an_ipv6_extension_header_is_not_udp() {
    let mut bytes = Recipe { ipv6: true, ..Recipe::write(8) }.bytes();
    Ipv6::NEXT_HEADER.at(IP).set(&mut bytes, 44_u8);
    assert_eq!(class(&bytes), NotUdp);
}

#[test]
fn a_second_tag_is_not_ip() {
    let mut bytes = Recipe { tagged: true, ..Recipe::write(8) }.bytes();
    Tag::ETHERTYPE.at(Ethernet::LEN).set(&mut bytes, 0x8100_u16);
    assert_eq!(class(&bytes), NotIp);
}

#[test]
fn flags_that_do_not_make_a_fragment_are_accepted() {
    assert_eq!(class(&changed(Ipv4::DONT_FRAGMENT.at(IP), false)), Roce);
    assert_eq!(class(&changed(Ipv4::RESERVED.at(IP), true)), Roce);
}

#[test]
fn a_length_that_cannot_hold_headers_pad_and_icrc_is_refused() {
    // An ACK needs 12 + 4 + 4 bytes behind UDP; as a SEND (12 + 4) the same bytes are enough, as a READ they are not.
    let ack = Recipe { opcode: Opcode::lookup(0x11).unwrap(), ..Recipe::write(0) }.bytes();
    let with = |opcode: u8, pad: u8| {
        let mut bytes = ack.clone();
        Bth::OPCODE.at(BTH4).set(&mut bytes, opcode);
        Bth::PAD.at(BTH4).set(&mut bytes, pad);
        icrc::seal(&mut bytes[IP..]);
        class(&bytes)
    };
    assert_eq!((with(0x11, 0), with(0x04, 0), with(0x0c, 0)), (Roce, Roce, Length));
    assert_eq!((with(0x11, 1), with(0x04, 3)), (Length, Roce));
    // Outside the table an op-code has no extended headers, so the length is right and the op-code is not.
    assert_eq!(with(0x1c, 0), Opcode);
}

#[test]
fn a_length_that_is_no_multiple_of_four_is_refused_though_ip_and_udp_agree() {
    for (less, expected) in [(0, Roce), (1, Length), (2, Length), (3, Length), (4, Roce)] {
        let mut bytes = Recipe::write(64).bytes();
        bytes.truncate(bytes.len() - less);
        let ip_length = u16::try_from(bytes.len() - IP).unwrap();
        Udp::LENGTH.at(UDP4).set(&mut bytes, ip_length - 20);
        Ipv4::TOTAL_LENGTH.at(IP).set(&mut bytes, ip_length);
        let checksum = ipv4::checksum(&bytes[IP..]);
        Ipv4::CHECKSUM.at(IP).set(&mut bytes, checksum);
        icrc::seal(&mut bytes[IP..]);
        assert_eq!(class(&bytes), expected, "{less} bytes less");
    }
}

#[test]
fn the_longest_payload_is_4096_bytes() {
    for len in [4093, 4096] {
        assert_eq!(class(&Recipe::write(len).bytes()), Roce, "{len}");
    }
    for len in [4097, 4100, 9000] {
        assert_eq!(class(&Recipe::write(len).bytes()), Oversize, "{len}");
    }
}

#[test]
fn a_wrong_icrc_and_only_that_is_an_icrc_error() {
    let mut bytes = Recipe { padding: 3, ..Recipe::write(9) }.bytes();
    let last = bytes.len() - 1;
    bytes[last] ^= 1; // Ethernet padding is nobody's business
    assert_eq!(class(&bytes), Roce);
    bytes[last - 3] ^= 1;
    assert_eq!(class(&bytes), Icrc);
}

#[test]
fn a_frame_cut_anywhere_is_a_runt_until_bth_is_there_and_then_truncated() {
    for (ipv6, tagged) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = Recipe { ipv6, tagged, ..Recipe::write(21) }.bytes();
        let headers = if ipv6 { UDP6 } else { UDP4 } + if tagged { 4 } else { 0 } + Udp::LEN + Bth::LEN;
        for len in 0..bytes.len() {
            let expected = if len < headers { Runt } else { Truncated };
            assert_eq!(class(&bytes[..len]), expected, "{len} of {} bytes", bytes.len());
        }
        assert_eq!(class(&bytes), Roce);
    }
}

#[test]
fn a_layer_is_judged_as_soon_as_its_bytes_are_there() {
    let cases = [
        (changed(Ethernet::ETHERTYPE, 0x0806_u16), IP, NotIp),
        (changed(Ipv4::PROTOCOL.at(IP), 6_u8), UDP4, NotUdp),
        (changed(Udp::DESTINATION_PORT.at(UDP4), 53_u16), BTH4, WrongPort),
        (changed(Bth::VERSION.at(BTH4), 1_u8), BTH4 + Bth::LEN, BthVersion),
    ];
    for (bytes, enough, expected) in cases {
        assert_eq!((class(&bytes[..enough - 1]), class(&bytes[..enough])), (Runt, expected));
    }
}

#[test]
fn of_several_reasons_the_first_in_order_wins() {
    // Break the frame from the last check to the first; each new fault takes the verdict over.
    let mut bytes = Recipe::write(64).bytes();
    let mut len = bytes.len();
    let set = |bytes: &mut [u8], field: Field, value: u16| {
        field.set(bytes, value);
        if field != Ipv4::CHECKSUM.at(IP) {
            let checksum = ipv4::checksum(&bytes[IP..]);
            Ipv4::CHECKSUM.at(IP).set(bytes, checksum);
        }
    };
    bytes[len - 1] ^= 1;
    assert_eq!(class(&bytes), Icrc);
    len -= 1;
    assert_eq!(class(&bytes[..len]), Truncated);
    let faults = [
        (Bth::OPCODE.at(BTH4), 0xff, Opcode),
        (Bth::VERSION.at(BTH4), 2, BthVersion),
        (Udp::LENGTH.at(UDP4), 3, Length),
        (Udp::DESTINATION_PORT.at(UDP4), 3, WrongPort),
        (Ipv4::PROTOCOL.at(IP), 1, NotUdp),
        (Ipv4::FRAGMENT.at(IP), 9, Fragment),
        (Ipv4::CHECKSUM.at(IP), 0, IpChecksum),
        (Ipv4::IHL.at(IP), 15, IpOptions),
        (Ipv4::VERSION.at(IP), 5, IpVersion),
        (Ethernet::ETHERTYPE, 0x88cc, NotIp),
    ];
    for (field, value, expected) in faults {
        set(&mut bytes, field, value);
        if expected == IpOptions || expected == IpVersion {
            Ipv4::CHECKSUM.at(IP).set(&mut bytes, 0_u16);
        }
        assert_eq!(class(&bytes[..len]), expected);
    }
    assert_eq!(class(&bytes[..13]), Runt);
}

#[test]
fn the_longest_headers_are_those_of_a_tagged_ipv6_atomic() {
    let atomic =
        Recipe { opcode: Opcode::lookup(0x13).unwrap(), ipv6: true, tagged: true, ..Recipe::write(0) };
    assert_eq!(atomic.bytes().len(), HEADERS_MAX + icrc::LEN);
}
