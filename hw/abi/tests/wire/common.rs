//! Frames to test with: sound ones of every shape.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use stroma_abi::wire::{
    Bth, Ethernet, Extended, Frame, Header, Ip, Ipv4, Ipv6, Mac, Opcode, Tag, Udp, ethernet::ethertype,
    opcode::TABLE, udp::ROCE_PORT,
};
use stroma_abi::{Psn, Qpn};

/// What a frame is made from.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) opcode: &'static Opcode,
    pub(crate) ipv6: bool,
    pub(crate) tagged: bool,
    pub(crate) payload: Vec<u8>,
    pub(crate) padding: usize,
    /// Values of the extended headers.
    pub(crate) noise: [u8; 32],
    pub(crate) psn: u32,
}

impl Recipe {
    /// A WRITE of `len` bytes over IPv4, with nothing special about it.
    pub(crate) fn write(len: usize) -> Self {
        let payload = (0..len).map(|index| index.to_le_bytes()[0]).collect();
        let opcode = Opcode::lookup(0x0a).unwrap();
        Self { opcode, ipv6: false, tagged: false, payload, padding: 0, noise: [7; 32], psn: 0xff_fffe }
    }

    /// The frame's bytes, consistent and with a right ICRC.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let padding = vec![0x5a; self.padding];
        self.frame(&padding).seal().unwrap().to_vec().unwrap()
    }

    fn frame<'a>(&'a self, padding: &'a [u8]) -> Frame<'a> {
        let kind = if self.ipv6 { ethertype::IPV6 } else { ethertype::IPV4 };
        let base = addressed();
        Frame {
            ethernet: Ethernet {
                ethertype: if self.tagged { ethertype::TAG } else { kind },
                ..base.ethernet
            },
            tag: self.tagged.then(|| Tag { vlan: 100, ethertype: kind, ..Tag::default() }),
            ip: if self.ipv6 { Ip::V6(ipv6()) } else { base.ip },
            bth: Bth {
                opcode: self.opcode.code,
                partition: 0xffff,
                destination_qp: Qpn::new(0x11),
                psn: Psn::new(self.psn),
                ..Bth::default()
            },
            extended: Extended::parse(self.opcode.headers, &self.noise).unwrap(),
            payload: if self.opcode.payload { &self.payload } else { &[] },
            padding,
            ..base
        }
    }
}

/// The addresses of a frame over IPv4, and nothing behind them.
pub(crate) fn addressed() -> Frame<'static> {
    Frame {
        ethernet: Ethernet {
            destination: Mac([2, 0, 0, 0, 0, 2]),
            source: Mac([2, 0, 0, 0, 0, 1]),
            ethertype: ethertype::IPV4,
        },
        tag: None,
        ip: Ip::V4(ipv4()),
        udp: Udp { source_port: 0xc000, destination_port: ROCE_PORT, ..Udp::default() },
        bth: Bth::default(),
        extended: Extended::default(),
        payload: &[],
        pad: &[],
        icrc: 0,
        padding: &[],
    }
}

fn ipv4() -> Ipv4 {
    Ipv4 {
        version: 4,
        ihl: 5,
        ttl: 64,
        protocol: 17,
        dont_fragment: true,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        ..Ipv4::default()
    }
}

fn ipv6() -> Ipv6 {
    Ipv6 {
        version: 6,
        next_header: 17,
        hop_limit: 64,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2),
        ..Ipv6::default()
    }
}

/// Sound frames of every op-code.
pub(crate) fn any_recipe() -> impl Strategy<Value = Recipe> {
    let payload = prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..100), 1 => Just(vec![0xee; 4096])];
    (0..TABLE.len(), any::<(bool, bool)>(), payload, 0..8_usize, any::<[u8; 32]>(), any::<u32>()).prop_map(
        |(row, (ipv6, tagged), payload, padding, noise, psn)| Recipe {
            opcode: &TABLE[row],
            ipv6,
            tagged,
            payload,
            padding,
            noise,
            psn,
        },
    )
}

const _: () = assert!(Header::AtomicEth.len() <= 32);
