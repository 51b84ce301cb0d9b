//! The head in plain Rust: from a parsed frame, and back to one. What both front ends must agree with.

use std::net::{Ipv4Addr, Ipv6Addr};

use rust_hdl::prelude::Bits;
use stroma_abi::wire::frame::{EmitError, Frame, Ip};
use stroma_abi::wire::grh::{self, GRH_LEN};
use stroma_abi::wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Deth, Ethernet, Extended, Header, HeaderSet, Ieth, ImmDt, Ipv4,
    Ipv6, Mac, Opcode, Reth, RpcEth, Tag, Udp, ethernet::ethertype, icrc, udp,
};
use stroma_abi::{Psn, Qpn};

use super::Head;
use crate::pack::{from_bytes, from_number, to_number};

fn wide<const N: usize>(value: impl Into<u128>) -> Bits<N> {
    from_number(value.into())
}

/// A field as a smaller integer; its width in [`Head`] makes it fit.
fn small<const N: usize, T: TryFrom<u128>>(bits: Bits<N>) -> T {
    T::try_from(to_number(bits)).ok().expect("the field is as wide as its Rust type")
}

fn mac(address: Mac) -> Bits<48> {
    let mut bytes = address.0;
    bytes.reverse();
    from_bytes(&bytes)
}

fn to_mac(bits: Bits<48>) -> Mac {
    let bytes = small::<48, u64>(bits).to_be_bytes();
    Mac(std::array::from_fn(|at| bytes[at + 2]))
}

impl Head {
    /// The fields of a frame, `payload_len` as of one that is sent. Reserved bits are dropped, but for IPv4's.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        let mut head = Self {
            dmac: mac(frame.ethernet.destination),
            smac: mac(frame.ethernet.source),
            sport: wide(frame.udp.source_port),
            udp_sum: wide(frame.udp.checksum),
            op: wide(frame.bth.opcode),
            solicited: frame.bth.solicited,
            migrated: frame.bth.migration,
            pad: wide(frame.bth.pad),
            pkey: wide(frame.bth.partition),
            congestion: wide(
                u8::from(frame.bth.fecn) << 7 | u8::from(frame.bth.becn) << 6 | frame.bth.reserved6,
            ),
            dqpn: wide(frame.bth.destination_qp.value()),
            ackreq: frame.bth.ack_request,
            psn: wide(frame.bth.psn.value()),
            payload_len: wide(frame.payload.len() as u128),
            ..Self::default()
        };
        if let Some(tag) = frame.tag {
            head.tagged = true;
            head.tci = wide(u16::from(tag.priority) << 13 | u16::from(tag.drop_eligible) << 12 | tag.vlan);
        }
        match frame.ip {
            Ip::V4(ip) => {
                head.tclass = wide(ip.dscp << 2 | ip.ecn);
                head.ident = wide(ip.identification);
                head.dont_fragment = ip.dont_fragment;
                head.ip_reserved = ip.reserved;
                head.ip_sum = wide(ip.checksum);
                head.hops = wide(ip.ttl);
                head.src_ip = wide(ip.source.to_ipv6_mapped().to_bits());
                head.dst_ip = wide(ip.destination.to_ipv6_mapped().to_bits());
            }
            Ip::V6(ip) => {
                head.v6 = true;
                head.tclass = wide(ip.traffic_class);
                head.flow = wide(ip.flow_label);
                head.hops = wide(ip.hop_limit);
                head.src_ip = wide(ip.source.to_bits());
                head.dst_ip = wide(ip.destination.to_bits());
            }
        }
        head.take_extended(&frame.extended);
        head
    }

    fn take_extended(&mut self, extended: &Extended) {
        if let Some(reth) = extended.reth {
            (self.va, self.rkey, self.len) = (wide(reth.address), wide(reth.remote_key), wide(reth.length));
        }
        if let Some(atomic) = extended.atomic {
            (self.va, self.rkey) = (wide(atomic.address), wide(atomic.remote_key));
            (self.a1, self.a2) = (wide(atomic.swap_add), wide(atomic.compare));
        }
        if let Some(aeth) = extended.aeth {
            self.aeth = wide(u32::from(aeth.syndrome) << 24 | aeth.msn.value());
        }
        if let Some(ack) = extended.atomic_ack {
            self.a1 = wide(ack.original);
        }
        if let Some(rpc) = extended.rpc {
            self.a1 = wide(u64::from(rpc.status) << 32 | u64::from(rpc.length));
        }
        if let Some(imm) = extended.imm {
            self.imm = wide(imm.data);
        }
        if let Some(ieth) = extended.ieth {
            self.imm = wide(ieth.remote_key);
        }
        if let Some(deth) = extended.deth {
            (self.qkey, self.sqpn) = (wide(deth.queue_key), wide(deth.source_qp.value()));
        }
    }

    /// The frame these fields and this payload make: lengths, pad, checksum and ICRC filled in, reserved bits zero.
    ///
    /// # Errors
    /// When the op-code is unknown or the payload longer than IP can say.
    ///
    /// # Panics
    /// Never: each field is as wide as the header's.
    pub fn frame<'a>(&self, payload: &'a [u8]) -> Result<Frame<'a>, EmitError> {
        let inner = if self.v6 { ethertype::IPV6 } else { ethertype::IPV4 };
        let tci: u16 = small(self.tci);
        let tag = Tag {
            priority: u8::try_from(tci >> 13).expect("three bits"),
            drop_eligible: tci >> 12 & 1 == 1,
            vlan: tci & 0xfff,
            ethertype: inner,
        };
        let ethernet = Ethernet {
            destination: to_mac(self.dmac),
            source: to_mac(self.smac),
            ethertype: if self.tagged { ethertype::TAG } else { inner },
        };
        let congestion: u8 = small(self.congestion);
        let bth = Bth {
            opcode: small(self.op),
            solicited: self.solicited,
            migration: self.migrated,
            pad: 0,
            version: 0,
            partition: small(self.pkey),
            fecn: congestion >> 7 == 1,
            becn: congestion >> 6 & 1 == 1,
            reserved6: congestion & 0x3f,
            destination_qp: Qpn::new(small(self.dqpn)),
            ack_request: self.ackreq,
            reserved7: 0,
            psn: Psn::new(small(self.psn)),
        };
        let (source_port, checksum) = (small(self.sport), small(self.udp_sum));
        let frame = Frame {
            ethernet,
            tag: self.tagged.then_some(tag),
            ip: self.ip(),
            udp: Udp { source_port, destination_port: udp::ROCE_PORT, length: 0, checksum },
            bth,
            extended: self.extended(),
            payload,
            pad: &[],
            icrc: 0,
            padding: &[],
        };
        frame.seal()
    }

    fn ip(&self) -> Ip {
        let (source, destination) = (to_number(self.src_ip), to_number(self.dst_ip));
        let tclass: u8 = small(self.tclass);
        if self.v6 {
            return Ip::V6(Ipv6 {
                version: 6,
                traffic_class: tclass,
                flow_label: small(self.flow),
                payload_length: 0,
                next_header: udp::PROTOCOL,
                hop_limit: small(self.hops),
                source: Ipv6Addr::from_bits(source),
                destination: Ipv6Addr::from_bits(destination),
            });
        }
        let v4 =
            |bits: u128| Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).expect("masked to 32 bits"));
        Ip::V4(Ipv4 {
            version: 4,
            ihl: 5,
            dscp: tclass >> 2,
            ecn: tclass & 3,
            total_length: 0,
            identification: small(self.ident),
            reserved: false,
            dont_fragment: self.dont_fragment,
            more_fragments: false,
            fragment: 0,
            ttl: small(self.hops),
            protocol: udp::PROTOCOL,
            checksum: 0,
            source: v4(source),
            destination: v4(destination),
        })
    }

    /// What the receive of a datagram begins with: the IP header that it came with. `None` if this is no datagram.
    ///
    /// # Panics
    /// When `payload_len` does not count these bytes.
    #[must_use]
    pub fn grh(&self) -> Option<[u8; GRH_LEN]> {
        let has_sender = |row: &&Opcode| !self.raw && row.headers.contains(&Header::Deth);
        let row = Opcode::lookup(small(self.op)).filter(has_sender)?;
        let payload = self.payload_len.index().checked_sub(GRH_LEN).expect("the length counts the header");
        let length = Udp::LEN + row.header_len() + payload + self.pad.index() + icrc::LEN;
        let length = |more| u16::try_from(length + more).expect("a payload is short");
        Some(grh::emit(&match self.ip() {
            Ip::V4(ip) => Ip::V4(Ipv4 {
                total_length: length(Ipv4::LEN),
                reserved: self.ip_reserved,
                checksum: small(self.ip_sum),
                ..ip
            }),
            Ip::V6(ip) => Ip::V6(Ipv6 { payload_length: length(0), ..ip }),
        }))
    }

    fn extended(&self) -> Extended {
        let set = Opcode::lookup(small(self.op)).map_or(HeaderSet(0), Opcode::header_set);
        let has = |header| set.contains(header);
        let a1: u64 = small(self.a1);
        let aeth: u32 = small(self.aeth);
        let (address, remote_key) = (small(self.va), small(self.rkey));
        Extended {
            deth: has(Header::Deth).then(|| Deth {
                queue_key: small(self.qkey),
                reserved: 0,
                source_qp: Qpn::new(small(self.sqpn)),
            }),
            reth: has(Header::Reth).then(|| Reth { address, remote_key, length: small(self.len) }),
            atomic: has(Header::AtomicEth).then(|| AtomicEth {
                address,
                remote_key,
                swap_add: a1,
                compare: small(self.a2),
            }),
            aeth: has(Header::Aeth).then(|| Aeth {
                syndrome: u8::try_from(aeth >> 24).expect("eight bits"),
                msn: Psn::new(aeth & 0xff_ffff),
            }),
            atomic_ack: has(Header::AtomicAckEth).then_some(AtomicAckEth { original: a1 }),
            rpc: has(Header::RpcEth).then(|| RpcEth {
                status: u32::try_from(a1 >> 32).expect("the upper half"),
                length: u32::try_from(a1 & 0xffff_ffff).expect("the lower half"),
            }),
            imm: has(Header::ImmDt).then(|| ImmDt { data: small(self.imm) }),
            ieth: has(Header::Ieth).then(|| Ieth { remote_key: small(self.imm) }),
            cnp: has(Header::Cnp).then_some(Cnp { reserved: 0 }),
        }
    }
}
