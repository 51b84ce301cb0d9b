//! Frames for the rules.

use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::{
    Aeth, Bth, Ethernet, Extended, Frame, Header, Ip, Ipv4, NakCode, Opcode, Syndrome, Udp, opcode, udp,
};
use stroma_abi::{Psn, Qpn};

use super::*;
use crate::link::{Hold, PATIENCE_NS};

mod reading;
mod striking;
mod travelling;

/// A packet to a queue pair with a PSN, and so many bytes of payload if the op-code has any.
fn packet(row: &Opcode, queue_pair: u32, psn: u32, payload: usize) -> Vec<u8> {
    build(row, Syndrome::Ack { credits: 31 }, queue_pair, psn, payload)
}

/// An acknowledgement with this syndrome.
fn answer(syndrome: Syndrome) -> Vec<u8> {
    build(&opcode::RC_ACKNOWLEDGE, syndrome, 1, 0, 0)
}

fn build(row: &Opcode, syndrome: Syndrome, queue_pair: u32, psn: u32, payload: usize) -> Vec<u8> {
    let mut extended = Extended::parse(row.headers, &[0; 64]).expect("all headers are shorter");
    if row.headers.contains(&Header::Aeth) {
        extended.aeth = Some(Aeth { syndrome: syndrome.encode(), msn: Psn::new(0) });
    }
    let (destination_qp, psn) = (Qpn::new(queue_pair), Psn::new(psn));
    let frame = Frame {
        ethernet: Ethernet { ethertype: ethertype::IPV4, ..Ethernet::default() },
        tag: None,
        ip: Ip::V4(Ipv4 { version: 4, ihl: 5, ecn: 2, ttl: 64, protocol: udp::PROTOCOL, ..Ipv4::default() }),
        udp: Udp { destination_port: udp::ROCE_PORT, ..Udp::default() },
        bth: Bth { opcode: row.code, destination_qp, psn, ..Bth::default() },
        extended,
        payload: &vec![0x5a; if row.payload { payload } else { 0 }],
        pad: &[],
        icrc: 0,
        padding: &[],
    };
    frame.seal().and_then(|frame| frame.to_vec()).expect("a frame of this op-code")
}
