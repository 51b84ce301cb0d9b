//! Any frame on one line, in the manner of tcpdump.
//!
//! ```text
//! 10.0.0.1 > 10.0.0.2 RC_WRITE_ONLY qp 0x000011 psn 0xfffff8 ack-request va 0x2000000000 rkey 0x1a2b len 64 payload 64
//! [icrc: found 0x1, wanted 0x2] 10.0.0.1 > 10.0.0.2 RC_SEND_ONLY qp 0x000011 psn 0x000001 ip-length 60
//! [not-ip: found 0x806, wanted 0x800] ARP who-has 10.0.0.2 tell 10.0.0.1
//! ```

use core::fmt::{self, Display, Formatter, Result};

use super::{
    Aeth, Arp, Bth, Ethernet, Extended, Frame, Ip, Ipv4, Ipv6, Opcode, Reth, RpcTarget, Syndrome, Tag,
    Transport, Udp, arp, ethernet::ethertype, udp,
};

/// Renders a frame (without FCS) whatever its bytes.
#[must_use]
pub fn line(bytes: &[u8]) -> Line<'_> {
    Line(bytes)
}

/// A frame waiting to be displayed.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a>(&'a [u8]);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match Frame::parse(self.0) {
            Ok(frame) => frame.fmt(f),
            Err(reject) => {
                write!(f, "[{reject}] ")?;
                outline(f, self.0)
            }
        }
    }
}

impl Display for Frame<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(tag) = self.tag {
            write!(f, "vlan {} ", tag.vlan)?;
        }
        match self.ip {
            Ip::V4(ip) => write!(f, "{} > {} ", ip.source, ip.destination)?,
            Ip::V6(ip) => write!(f, "{} > {} ", ip.source, ip.destination)?,
        }
        transport(f, &self.bth)?;
        extended(f, &self.bth, &self.extended)?;
        if !self.payload.is_empty() {
            write!(f, " payload {}", self.payload.len())?;
        }
        Ok(())
    }
}

fn transport(f: &mut Formatter<'_>, bth: &Bth) -> Result {
    match Opcode::lookup(bth.opcode) {
        Some(opcode) => f.write_str(opcode.name)?,
        None => write!(f, "op-code {:#04x}", bth.opcode)?,
    }
    write!(f, " qp {} psn {}", bth.destination_qp, bth.psn)?;
    let flags = [
        (bth.ack_request, "ack-request"),
        (bth.solicited, "solicited"),
        (bth.fecn, "fecn"),
        (bth.becn, "becn"),
    ];
    for (_, name) in flags.iter().filter(|(set, _)| *set) {
        write!(f, " {name}")?;
    }
    Ok(())
}

fn extended(f: &mut Formatter<'_>, bth: &Bth, extended: &Extended) -> Result {
    if let Some(deth) = extended.deth {
        write!(f, " qkey {:#x} from-qp {}", deth.queue_key, deth.source_qp)?;
    }
    if let Some(header) = extended.reth {
        reth(f, bth, &header)?;
    }
    if let Some(atomic) = extended.atomic {
        write!(f, " va {:#x} rkey {:#x}", atomic.address, atomic.remote_key)?;
        write!(f, " swap-add {:#x} compare {:#x}", atomic.swap_add, atomic.compare)?;
    }
    if let Some(header) = extended.aeth {
        aeth(f, header)?;
    }
    if let Some(atomic) = extended.atomic_ack {
        write!(f, " original {:#x}", atomic.original)?;
    }
    if let Some(rpc) = extended.rpc {
        write!(f, " status {:#x} bytes {}", rpc.status, rpc.length)?;
    }
    if let Some(imm) = extended.imm {
        write!(f, " imm {:#x}", imm.data)?;
    }
    if let Some(ieth) = extended.ieth {
        write!(f, " invalidate {:#x}", ieth.remote_key)?;
    }
    Ok(())
}

fn reth(f: &mut Formatter<'_>, bth: &Bth, reth: &Reth) -> Result {
    if Opcode::lookup(bth.opcode).is_some_and(|opcode| opcode.transport == Transport::Rpc) {
        let target = RpcTarget::of(reth);
        write!(f, " rpc {:#x} flags {:#x}", target.operation, target.flags)?;
        write!(
            f,
            " parameters {} response-max {}",
            u16::from(target.parameter_words) * 4,
            target.response_max
        )?;
    } else {
        write!(f, " va {:#x}", reth.address)?;
    }
    write!(f, " rkey {:#x} len {}", reth.remote_key, reth.length)
}

fn aeth(f: &mut Formatter<'_>, aeth: Aeth) -> Result {
    match Syndrome::decode(aeth.syndrome) {
        Syndrome::Ack { credits } => match super::aeth::CREDITS.get(usize::from(credits)) {
            Some(messages) => write!(f, " ack credits {messages}")?,
            None => f.write_str(" ack")?,
        },
        Syndrome::RnrNak { timer } => {
            write!(f, " rnr-nak wait-us {}", super::aeth::RNR_TIMER_US[usize::from(timer)])?;
        }
        Syndrome::Nak(code) => write!(f, " nak {}", code.name())?,
        Syndrome::Reserved(bits) => write!(f, " syndrome {bits:#04x}")?,
    }
    write!(f, " msn {}", aeth.msn)
}

/// As much of a rejected frame as its bytes and its types tell.
fn outline(f: &mut Formatter<'_>, bytes: &[u8]) -> Result {
    let Some(ethernet) = Ethernet::parse(bytes) else {
        return write!(f, "{} bytes", bytes.len());
    };
    let (mut kind, mut rest) = (ethernet.ethertype, &bytes[Ethernet::LEN..]);
    if let (ethertype::TAG, Some(tag)) = (kind, Tag::parse(rest)) {
        write!(f, "vlan {} ", tag.vlan)?;
        (kind, rest) = (tag.ethertype, &rest[Tag::LEN..]);
    }
    match kind {
        ethertype::IPV4 if let Some(ip) = Ipv4::parse(rest) => {
            // The header says how long it is; a nonsensical length leaves nothing to look at.
            let inner = rest.get(usize::from(ip.ihl.max(5)) * 4..).unwrap_or_default();
            let inner = if ip.fragment == 0 { inner } else { &[] };
            packet(f, ip.source, ip.destination, ip.protocol, inner)?;
            write!(f, " ip-length {}", ip.total_length)
        }
        ethertype::IPV6 if let Some(ip) = Ipv6::parse(rest) => {
            packet(f, ip.source, ip.destination, ip.next_header, &rest[Ipv6::LEN..])?;
            write!(f, " ip-length {}", Ipv6::LEN + usize::from(ip.payload_length))
        }
        ethertype::ARP if let Some(arp) = Arp::parse(rest).filter(Arp::is_ipv4_over_ethernet) => {
            resolution(f, &arp)
        }
        _ => {
            write!(f, "{} > {} type {kind:#06x}", ethernet.source, ethernet.destination)?;
            write!(f, " {} bytes", bytes.len())
        }
    }
}

fn resolution(f: &mut Formatter<'_>, arp: &Arp) -> Result {
    match arp.operation {
        arp::operation::REQUEST => write!(f, "ARP who-has {} tell {}", arp.target_ip, arp.sender_ip),
        arp::operation::REPLY => write!(f, "ARP {} is-at {}", arp.sender_ip, arp.sender_mac),
        other => write!(f, "ARP operation {other} from {}", arp.sender_ip),
    }
}

fn packet(
    f: &mut Formatter<'_>,
    from: impl fmt::Display,
    to: impl fmt::Display,
    protocol: u8,
    inner: &[u8],
) -> Result {
    write!(f, "{from} > {to} ")?;
    match Udp::parse(inner) {
        Some(header) if protocol == udp::PROTOCOL => match Bth::parse(&inner[Udp::LEN..]) {
            Some(bth) if header.destination_port == udp::ROCE_PORT => transport(f, &bth),
            _ => {
                write!(f, "UDP {} > {} length {}", header.source_port, header.destination_port, header.length)
            }
        },
        _ => write!(f, "protocol {protocol}"),
    }
}
