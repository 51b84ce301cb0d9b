//! Frames to receive: recorded, built in every shape, spoilt on purpose, and mutated.

use std::fs::File;
use std::path::Path;

use pcap_file::pcap::PcapReader;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::opcode::{RC_SEND_ONLY, RC_WRITE_ONLY, TABLE, UD_SEND_ONLY, UD_SEND_ONLY_IMM};
use stroma_abi::wire::{
    Bth, Class, Ethernet, Extended, Frame, Ip, Ipv4, Ipv6, Opcode, Tag, Udp, classify, icrc, ipv4, udp,
};
use stroma_verilate::SplitMix64;

/// One frame on its way in.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) bytes: Vec<u8>,
    /// The MAC says that it is bad.
    pub(super) is_bad: bool,
}

fn good(bytes: Vec<u8>) -> Arrival {
    Arrival { bytes, is_bad: false }
}

/// What Soft-RoCE sent.
pub(super) fn recorded() -> Vec<Arrival> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let read = |name: &str| {
        let file = File::open(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let packets = PcapReader::new(file).unwrap().into_iter();
        packets.map(|packet| good(packet.unwrap().data().to_vec())).collect::<Vec<_>>()
    };
    ["golden_rxe61.pcap", "uc_pingpong_rxe61.pcap", "ud_pingpong_rxe61.pcap"]
        .into_iter()
        .flat_map(read)
        .collect()
}

fn noise(count: usize, rng: &mut SplitMix64) -> Vec<u8> {
    (0..count).map(|_| rng.next_u64().to_le_bytes()[0]).collect()
}

/// A good frame of random fields.
fn build(opcode: &Opcode, is_v6: bool, is_tagged: bool, payload: usize, rng: &mut SplitMix64) -> Vec<u8> {
    let kind = if is_v6 { ethertype::IPV6 } else { ethertype::IPV4 };
    let outer = if is_tagged { ethertype::TAG } else { kind };
    let v4 = Ipv4::parse(&noise(Ipv4::LEN, rng)).unwrap();
    let v6 = Ipv6::parse(&noise(Ipv6::LEN, rng)).unwrap();
    let payload = noise(payload, rng);
    let frame = Frame {
        ethernet: Ethernet { ethertype: outer, ..Ethernet::parse(&noise(Ethernet::LEN, rng)).unwrap() },
        tag: is_tagged.then(|| Tag { ethertype: kind, ..Tag::parse(&noise(Tag::LEN, rng)).unwrap() }),
        ip: if is_v6 {
            Ip::V6(Ipv6 { version: 6, next_header: udp::PROTOCOL, ..v6 })
        } else {
            Ip::V4(Ipv4 {
                version: 4,
                ihl: 5,
                more_fragments: false,
                fragment: 0,
                protocol: udp::PROTOCOL,
                ..v4
            })
        },
        udp: Udp { destination_port: udp::ROCE_PORT, ..Udp::parse(&noise(Udp::LEN, rng)).unwrap() },
        bth: Bth { opcode: opcode.code, version: 0, ..Bth::parse(&noise(Bth::LEN, rng)).unwrap() },
        extended: Extended::parse(opcode.headers, &noise(64, rng)).unwrap(),
        payload: &payload,
        pad: &[],
        icrc: 0,
        padding: &[],
    };
    frame.seal().unwrap().to_vec().unwrap()
}

/// Every op-code, tagged or not, IPv4 and IPv6, with short payloads; then payloads of every length to 200 bytes and
/// around the path MTUs; then datagrams with a few of these lengths, in each of these forms.
pub(super) fn every_shape() -> Vec<Arrival> {
    let mut rng = SplitMix64::new(1);
    let mut frames = Vec::new();
    for opcode in TABLE {
        for shape in 0..4 {
            let payload = usize::try_from(rng.below(30)).unwrap();
            frames.push(good(build(opcode, shape & 1 != 0, shape & 2 != 0, payload, &mut rng)));
        }
    }
    let lengths = (0..200).chain([255, 256, 257, 511, 512, 1023, 1024, 1025, 2048, 4093, 4094, 4095, 4096]);
    for (at, length) in lengths.enumerate() {
        let opcode = if at % 2 == 0 { &RC_WRITE_ONLY } else { &RC_SEND_ONLY };
        let mut bytes = build(opcode, at % 3 == 0, at % 5 == 0, length, &mut rng);
        // Ethernet pads, and some switches more than they must: what follows the ICRC is nobody's.
        bytes.extend(noise([0, 0, 1, 4, 70][at % 5], &mut rng));
        frames.push(good(bytes));
    }
    for length in (0..40).chain([63, 64, 65, 88, 256, 1024, 4095, 4096]) {
        for opcode in [&UD_SEND_ONLY, &UD_SEND_ONLY_IMM] {
            for shape in 0..4 {
                frames.push(good(build(opcode, shape & 1 != 0, shape & 2 != 0, length, &mut rng)));
            }
        }
    }
    frames
}

/// One frame for each class, and a good one behind each, so that a pipe that hangs or leaks is found out.
pub(super) fn crafted() -> Vec<(Class, Arrival)> {
    let mut rng = SplitMix64::new(4);
    let base = build(&RC_WRITE_ONLY, false, false, 100, &mut rng);
    let with = |at: usize, value: u8| {
        let mut bytes = base.clone();
        bytes[at] = value;
        bytes
    };
    let fixed = |at, value| {
        let mut bytes = with(at, value);
        mend(&mut bytes);
        bytes
    };
    // The sum of the other words is minus zero: the checksum is plus zero, which minus zero does not stand for.
    let mut minus_zero = base.clone();
    let (ident, checksum) = (Ipv4::IDENTIFICATION.at(14), Ipv4::CHECKSUM.at(14));
    let sum = ident.get::<u32>(&base) + checksum.get::<u32>(&base);
    ident.set(&mut minus_zero, (sum & 0xffff) + (sum >> 16));
    mend(&mut minus_zero);
    assert_eq!(checksum.get::<u16>(&minus_zero), 0);
    let mut wrong_zero = minus_zero.clone();
    checksum.set(&mut wrong_zero, u16::MAX);
    let long =
        |count: usize, rng: &mut SplitMix64| [noise(12, rng), vec![0x08, 0x06], noise(count, rng)].concat();
    let last = base.len() - 1;
    let odd = [
        (Class::MacError, Arrival { bytes: base.clone(), is_bad: true }),
        (Class::MacError, Arrival { bytes: vec![], is_bad: true }),
        (Class::Runt, good(vec![])),
        (Class::Runt, good(base[..13].to_vec())),
        (Class::Runt, good(base[..53].to_vec())),
        (Class::NotIp, good(with(13, 0x06))),
        (Class::NotIp, good(base[..20].iter().copied().map(|byte| byte | 1).collect())),
        (Class::NotIp, good(long(20_000, &mut rng))),
        (Class::IpVersion, good(with(14, 0x65))),
        (Class::IpOptions, good(with(14, 0x46))),
        (Class::IpChecksum, good(with(24, base[24] ^ 1))),
        (Class::IpChecksum, good(wrong_zero)),
        (Class::Roce, good(minus_zero)),
        (Class::Fragment, good(fixed(20, 0x20))),
        (Class::NotUdp, good(fixed(23, 6))),
        (Class::WrongPort, good(with(37, base[37] ^ 1))),
        (Class::Length, good(with(39, base[39] ^ 4))),
        (Class::Oversize, good(build(&RC_WRITE_ONLY, false, false, 4100, &mut rng))),
        (Class::Oversize, good(build(&RC_SEND_ONLY, true, true, 60_000, &mut rng))),
        (Class::Oversize, good(build(&UD_SEND_ONLY, false, true, 4100, &mut rng))),
        (Class::Roce, good(build(&UD_SEND_ONLY_IMM, true, false, 4096, &mut rng))),
        (Class::Roce, good(build(&UD_SEND_ONLY, false, false, 0, &mut rng))),
        (Class::BthVersion, good(with(43, base[43] | 1))),
        (Class::Opcode, good(with(42, 0x15))),
        (Class::Truncated, good(base[..last].to_vec())),
        (Class::Truncated, good(base[..60].to_vec())),
        (Class::Icrc, good(with(last, base[last] ^ 0x80))),
        (Class::Icrc, good(with(75, base[75] ^ 1))),
        (Class::Roce, good([base.clone(), noise(9000, &mut rng)].concat())),
    ];
    odd.into_iter().flat_map(|pair| [pair, (Class::Roce, good(base.clone()))]).collect()
}

/// Gives a spoilt frame its checksum and ICRC back, as far as it has room for them, so that later checks are reached.
fn mend(bytes: &mut [u8]) {
    let ip_at = if bytes.get(12..14) == Some(&[0x81, 0x00]) { 18 } else { 14 };
    let Some(packet) = bytes.get_mut(ip_at..) else { return };
    if packet.len() < 44 {
        return;
    }
    let end = if packet[0] >> 4 == 6 {
        Ipv6::LEN + usize::from(Ipv6::PAYLOAD_LENGTH.get::<u16>(packet))
    } else {
        let checksum = ipv4::checksum(packet);
        Ipv4::CHECKSUM.set(packet, checksum);
        usize::from(Ipv4::TOTAL_LENGTH.get::<u16>(packet))
    };
    if let Some(packet) = packet.get_mut(..end).filter(|packet| packet.len() >= icrc::LEN) {
        icrc::seal(packet);
    }
}

/// A good frame with something done to it; half of them mended after.
pub(super) fn mutant(seeds: &[Arrival], rng: &mut SplitMix64) -> Arrival {
    let mut below = |bound: usize| usize::try_from(rng.below(bound as u64)).unwrap();
    let mut bytes = seeds[below(seeds.len())].bytes.clone();
    let headers = bytes.len().min(106);
    let (at, bit, kind) = (below(headers), below(8), below(12));
    let (anywhere, value, length) = (below(bytes.len()), below(256), below(bytes.len() + 1));
    let (spare, is_mended) = (below(90), below(2) == 0);
    match kind {
        0 | 1 => bytes[at] ^= 1 << bit,
        2 => bytes[anywhere] ^= 1 << bit,
        3 => bytes[at] = value.to_le_bytes()[0],
        4 => bytes.truncate(length),
        5 => bytes.truncate(length.min(130)),
        6 => bytes.extend(noise(spare, rng)),
        7 => bytes = noise(2 * spare, rng),
        8 | 9 => {
            // A length, of IP or UDP or both, that is a little off.
            if let Ok(shape) = classify(&bytes) {
                let off = |bytes: &mut [u8], at: usize, by: u8| bytes[at] = bytes[at].wrapping_add(by);
                let length_at = if shape.is_ipv6 { shape.ip_at + 5 } else { shape.ip_at + 3 };
                let by = [1, 4, 8, 252, 255, 16][value % 6];
                off(&mut bytes, length_at, by);
                if kind == 9 {
                    off(&mut bytes, shape.udp_at + 5, by);
                }
            }
        }
        10 => {
            if let Ok(shape) = classify(&bytes) {
                bytes[shape.bth_at] = value.to_le_bytes()[0];
            }
        }
        _ => {
            // A header length from nothing to far too much, told alike by IP and UDP.
            if let Ok(shape) = classify(&bytes) {
                let claimed = u16::try_from(4 * (value + if bit == 0 { 1000 } else { 0 })).unwrap();
                let ip_length = shape.udp_at - shape.ip_at;
                let outer = if shape.is_ipv6 { claimed } else { claimed + u16::try_from(ip_length).unwrap() };
                let length = if shape.is_ipv6 { Ipv6::PAYLOAD_LENGTH } else { Ipv4::TOTAL_LENGTH };
                length.at(shape.ip_at).set(&mut bytes, outer);
                Udp::LENGTH.at(shape.udp_at).set(&mut bytes, claimed);
            }
        }
    }
    if is_mended {
        mend(&mut bytes);
    }
    Arrival { bytes, is_bad: spare == 0 }
}
