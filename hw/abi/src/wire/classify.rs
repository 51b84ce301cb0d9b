//! The rule that sorts frames. The RTL follows it beat by beat, this is its model byte by byte.

use super::{
    Class, Ethernet, Ipv4, Ipv6, Opcode, Reject, Tag, Udp, bth::Bth, ethernet::ethertype, icrc, ipv4, udp,
};
use crate::Field;

/// Longest payload: the largest path MTU.
pub const PAYLOAD_MAX: usize = 4096;

/// Where the parts of an accepted frame begin. All values are bytes from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// IP header; the Ethernet header and tag lie before it.
    pub ip_at: usize,
    /// IPv6 rather than IPv4?
    pub is_ipv6: bool,
    /// UDP header.
    pub udp_at: usize,
    /// BTH.
    pub bth_at: usize,
    /// Row of the op-code.
    pub opcode: &'static Opcode,
    /// Payload.
    pub payload_at: usize,
    /// Pad bytes behind the payload.
    pub pad_at: usize,
    /// ICRC.
    pub icrc_at: usize,
    /// End of the IP packet; what follows is Ethernet padding.
    pub end: usize,
}

/// Sorts a frame (without FCS): where its parts are, or why it is not RoCE for us.
///
/// The rule: **layer by layer, in the order of the wire; within a layer in the order of [`Class`]; the first
/// reason wins. A layer is judged when all its bytes are there, and the frame is [`Class::Runt`] when they
/// are not.**
///
/// | layer | bytes | judged |
/// |---|---|---|
/// | Ethernet, plus the tag if its type is 0x8100 | 14, or 18 | `NotIp` |
/// | IPv4 or IPv6 | 20 or 40 | `IpVersion`, `IpOptions`, `IpChecksum`, `Fragment`, `NotUdp` |
/// | UDP | 8 | `WrongPort` |
/// | BTH | 12 | `Length`, `Oversize`, `BthVersion`, `Opcode` |
/// | the rest of the IP packet | by its length | `Truncated`, then `Icrc` |
///
/// So an ARP frame of 20 bytes is `NotIp`, an IPv4 frame of 20 bytes a `Runt`, and one of TCP `NotUdp`
/// however short. For `Length` and `Oversize` an op-code outside the table carries no extended headers.
/// Bytes beyond the headers of an op-code that expects no payload are payload here: refusing them is the
/// transport's answer to give. `MacError` comes from the MAC alone and beats all others.
///
/// # Errors
/// [`Reject`] names the class and the values that decided it.
pub fn classify(frame: &[u8]) -> Result<Shape, Reject> {
    let (ip_at, is_ipv6) = ethernet_layer(frame)?;
    let (udp_at, end) = ip_layer(frame, ip_at, is_ipv6)?;
    let bth_at = udp_layer(frame, udp_at)?;
    let shape = transport_layer(frame, &Outer { ip_at, is_ipv6, udp_at, bth_at, end })?;
    demand(Class::Truncated, shape.end <= frame.len(), frame.len(), shape.end)?;
    let packet = &frame[ip_at..shape.end];
    let (found, wanted) = (icrc::carried(packet), icrc::compute(packet));
    demand(Class::Icrc, found == wanted, found, wanted)?;
    Ok(shape)
}

fn ethernet_layer(frame: &[u8]) -> Result<(usize, bool), Reject> {
    demand(Class::Runt, frame.len() >= Ethernet::LEN, frame.len(), Ethernet::LEN)?;
    let mut kind: u16 = Ethernet::ETHERTYPE.get(frame);
    let mut ip_at = Ethernet::LEN;
    if kind == ethertype::TAG {
        ip_at += Tag::LEN;
        demand(Class::Runt, frame.len() >= ip_at, frame.len(), ip_at)?;
        kind = Tag::ETHERTYPE.at(Ethernet::LEN).get(frame);
    }
    demand(Class::NotIp, matches!(kind, ethertype::IPV4 | ethertype::IPV6), kind, ethertype::IPV4)?;
    Ok((ip_at, kind == ethertype::IPV6))
}

/// Where UDP begins and where the IP packet says that it ends.
fn ip_layer(frame: &[u8], ip_at: usize, is_ipv6: bool) -> Result<(usize, usize), Reject> {
    let udp_at = ip_at + if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN };
    demand(Class::Runt, frame.len() >= udp_at, frame.len(), udp_at)?;
    let get = |field: Field| field.at(ip_at).get::<u16>(frame);
    if is_ipv6 {
        equal(Class::IpVersion, get(Ipv6::VERSION), 6_u16)?;
        equal(Class::NotUdp, get(Ipv6::NEXT_HEADER), udp::PROTOCOL)?;
        Ok((udp_at, udp_at + usize::from(get(Ipv6::PAYLOAD_LENGTH))))
    } else {
        equal(Class::IpVersion, get(Ipv4::VERSION), 4_u16)?;
        equal(Class::IpOptions, get(Ipv4::IHL), 5_u16)?;
        equal(Class::IpChecksum, get(Ipv4::CHECKSUM), ipv4::checksum(&frame[ip_at..]))?;
        equal(Class::Fragment, get(Ipv4::MORE_FRAGMENTS), 0_u16)?;
        equal(Class::Fragment, get(Ipv4::FRAGMENT), 0_u16)?;
        equal(Class::NotUdp, get(Ipv4::PROTOCOL), udp::PROTOCOL)?;
        Ok((udp_at, ip_at + usize::from(get(Ipv4::TOTAL_LENGTH))))
    }
}

fn udp_layer(frame: &[u8], udp_at: usize) -> Result<usize, Reject> {
    let bth_at = udp_at + Udp::LEN;
    demand(Class::Runt, frame.len() >= bth_at, frame.len(), bth_at)?;
    let port: u16 = Udp::DESTINATION_PORT.at(udp_at).get(frame);
    equal(Class::WrongPort, port, udp::ROCE_PORT)?;
    Ok(bth_at)
}

struct Outer {
    ip_at: usize,
    is_ipv6: bool,
    udp_at: usize,
    bth_at: usize,
    end: usize,
}

fn transport_layer(frame: &[u8], outer: &Outer) -> Result<Shape, Reject> {
    let &Outer { ip_at, is_ipv6, udp_at, bth_at, end } = outer;
    let headers_end = bth_at + Bth::LEN;
    demand(Class::Runt, frame.len() >= headers_end, frame.len(), headers_end)?;
    let bth = |field: Field| field.at(bth_at).get::<u8>(frame);
    let opcode = Opcode::lookup(bth(Bth::OPCODE));
    let pad = usize::from(bth(Bth::PAD));
    let payload_at = headers_end + opcode.map_or(0, Opcode::extended_len);

    let ip_length = end - ip_at;
    demand(Class::Length, ip_length.is_multiple_of(4), ip_length, ip_length / 4 * 4)?;
    let udp_length = usize::from(Udp::LENGTH.at(udp_at).get::<u16>(frame));
    demand(Class::Length, udp_at + udp_length == end, udp_length, end.saturating_sub(udp_at))?;
    let least = payload_at + pad + icrc::LEN;
    demand(Class::Length, end >= least, ip_length, least - ip_at)?;
    demand(Class::Oversize, end - least <= PAYLOAD_MAX, end - least, PAYLOAD_MAX)?;
    equal(Class::BthVersion, bth(Bth::VERSION), 0_u8)?;
    let opcode = opcode.ok_or(Reject { class: Class::Opcode, found: bth(Bth::OPCODE).into(), wanted: 0 })?;

    let icrc_at = end - icrc::LEN;
    Ok(Shape { ip_at, is_ipv6, udp_at, bth_at, opcode, payload_at, pad_at: icrc_at - pad, icrc_at, end })
}

fn equal(class: Class, found: impl Into<u32>, wanted: impl Into<u32>) -> Result<(), Reject> {
    let (found, wanted) = (found.into(), wanted.into());
    if found == wanted { Ok(()) } else { Err(Reject { class, found, wanted }) }
}

fn demand(
    class: Class,
    holds: bool,
    found: impl TryInto<u32>,
    wanted: impl TryInto<u32>,
) -> Result<(), Reject> {
    // A slice longer than 4 GiB is reported as that long.
    let number = |value: Result<u32, _>| value.unwrap_or(u32::MAX);
    if holds {
        return Ok(());
    }
    Err(Reject {
        class,
        found: number(found.try_into().map_err(drop)),
        wanted: number(wanted.try_into().map_err(drop)),
    })
}
