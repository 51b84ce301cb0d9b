//! ECN: marked above the threshold, and only what may be.

use std::collections::BTreeSet;

use stroma_abi::wire::{Ipv4, Ipv6, ipv4};

use super::super::ecn::mark;
use super::*;

fn v4(ecn: u8, is_tagged: bool) -> Vec<u8> {
    let header = Ipv4 { version: 4, ihl: 5, dscp: 26, ecn, total_length: 86, ttl: 64, ..Ipv4::default() };
    let mut packet = header.to_bytes().to_vec();
    let sum = ipv4::checksum(&packet);
    Ipv4::CHECKSUM.set(&mut packet, sum);
    packet.resize(86, 0xcc);
    ethernet(ethertype::IPV4, is_tagged, &packet)
}

fn v6(ecn: u8) -> Vec<u8> {
    let header = Ipv6 { version: 6, traffic_class: 26 << 2 | ecn, flow_label: 0xf_ffff, ..Ipv6::default() };
    let mut packet = header.to_bytes().to_vec();
    packet.resize(86, 0xcc);
    ethernet(ethertype::IPV6, false, &packet)
}

fn ethernet(kind: u16, is_tagged: bool, packet: &[u8]) -> Vec<u8> {
    let outer = if is_tagged { ethertype::TAG } else { kind };
    let mut bytes = Ethernet { ethertype: outer, ..Ethernet::default() }.to_bytes().to_vec();
    if is_tagged {
        bytes.extend(Tag { ethertype: kind, ..Tag::default() }.to_bytes());
    }
    bytes.extend_from_slice(packet);
    bytes
}

#[test]
fn a_mark_changes_the_two_bits_and_the_checksum_alone() {
    for is_tagged in [false, true] {
        for ecn in [1, 2] {
            let mut marked = v4(ecn, is_tagged);
            assert!(mark(&mut marked));
            assert_eq!(marked, v4(3, is_tagged), "as if the sender had written it");
        }
    }
    for ecn in [1, 2] {
        let mut marked = v6(ecn);
        assert!(mark(&mut marked));
        assert_eq!(marked, v6(3));
    }
}

#[test]
fn what_may_not_be_marked_stays_as_it_is() {
    let short = v4(2, false)[..30].to_vec();
    let arp = ethernet(ethertype::ARP, false, &[1; 46]);
    for bytes in [v4(0, false), v4(3, true), v6(0), v6(3), short, arp, vec![0; 5], Vec::new()] {
        let mut marked = bytes.clone();
        assert!(!mark(&mut marked));
        assert_eq!(marked, bytes);
    }
}

/// The field at 18 takes the checksum through all its values, those at which the sum carries around its end among them.
#[test]
fn the_checksum_is_right_whatever_the_header_holds() {
    let mut sums = BTreeSet::new();
    for identification in 0..=u16::MAX {
        for ecn in [1, 2] {
            let mut bytes = v4(ecn, false);
            bytes[18..20].copy_from_slice(&identification.to_be_bytes());
            let sum = ipv4::checksum(&bytes[14..]);
            Ipv4::CHECKSUM.set(&mut bytes[14..], sum);
            assert!(mark(&mut bytes));
            let marked = Ipv4::CHECKSUM.get::<u16>(&bytes[14..]);
            assert_eq!(marked, ipv4::checksum(&bytes[14..]), "identification {identification:#x}, ECN {ecn}");
            sums.insert(marked);
        }
    }
    assert_eq!(sums.len(), usize::from(u16::MAX), "all but that of a header of zeros");
}

#[test]
fn frames_that_find_a_queue_above_the_threshold_are_marked() {
    let config = LinkConfig { mark_bytes: Some(250), ..BARE };
    let mut link = Link::new(config, KHZ, Faults::default());
    // The first leaves at once; then 0, 100, 200, 300 bytes wait.
    (0..5).for_each(|_| link.push(0, v4(2, false), false));
    // 124 bytes a frame with all around: after 10 cycles, the queue is empty again.
    link.push(20, v4(2, false), false);
    let marks: Vec<u8> = drain(&mut link).iter().map(|(_, bytes, _)| Ipv4::ECN.get(&bytes[14..])).collect();
    assert_eq!(marks, [2, 2, 2, 2, 3, 2]);
    assert_eq!(link.line.counters().marked, 1);
}
