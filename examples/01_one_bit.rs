//! Lesson 1: one bit.
//!
//! *Hardware idea*: a RoCE packet carries a CRC over everything that does not change on its way. The receive front end
//! keeps a packet back until its last byte has passed the CRC, so a damaged one leaves nothing behind but a count.
//! *Software idea*: packets are fields, not bytes. The same tables that place a field for the model place it in the RTL.
//!
//! `cargo run -p stroma-sim --example 01_one_bit`

use std::error::Error;
use std::net::Ipv4Addr;

use rust_hdl::prelude::bit_cast;
use stroma_abi::wire::{Class, opcode, print};
use stroma_hw::head::Head;
use stroma_sim::{Fronts, Packet};
use stroma_top::Profile;
use stroma_verilate::Options;

fn main() -> Result<(), Box<dyn Error>> {
    // An IPv4 address travels as the GID that stands for it.
    let mapped = |last| {
        bit_cast::<128, 64>((0xffff_0000_0000 | u64::from(Ipv4Addr::new(192, 0, 2, last).to_bits())).into())
    };
    let head = Head {
        dmac: 0x0200_0000_0002_u64.into(),
        smac: 0x0200_0000_0001_u64.into(),
        src_ip: mapped(1),
        dst_ip: mapped(2),
        hops: 64.into(),
        sport: 49_152.into(),
        op: u64::from(opcode::RC_SEND_ONLY.code).into(),
        pkey: 0xffff.into(),
        dqpn: 0x11.into(),
        psn: 7.into(),
        payload_len: 13.into(),
        ..Head::default()
    };
    let mut fronts = Fronts::new(Profile::TenGig, &Options::default())?;
    fronts.transmit(&Packet { head, payload: b"Hello, Stroma".to_vec() });
    fronts.run_until_idle(1000)?;
    let (frame, _) = fronts.frames().remove(0);
    println!("sent                 {}", print::line(&frame));

    fronts.receive(&frame, false);
    let mut damaged = frame.clone();
    damaged[60] ^= 0x01;
    fronts.receive(&damaged, false);
    fronts.run_until_idle(1000)?;
    for packet in fronts.packets() {
        println!("received             {:?}", String::from_utf8_lossy(&packet.payload));
    }
    println!("the damaged copy     {}", print::line(&damaged));
    println!("counted as accepted  {}", fronts.count(Class::Roce));
    println!("counted as ICRC      {}", fronts.count(Class::Icrc));
    Ok(())
}
