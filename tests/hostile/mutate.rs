//! Frames are changed, one to three fields at a time, and sealed again: the ICRC is right, the rest is not.

use stroma_abi::Field;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Deth, Ethernet, Header, Ieth, ImmDt, Ipv4, Ipv6, Reth, RpcEth,
    Tag, Udp, classify, icrc, ipv4,
};
use stroma_verilate::SplitMix64;

use super::forge::{below, noise, one_of};

/// Values that mean something to the card under attack.
pub(crate) struct Hints {
    /// Queue pairs in all states, and of none.
    pub numbers: Vec<u32>,
    /// Keys, living, dead and foreign.
    pub keys: Vec<u32>,
    /// Addresses at and around the ends of regions.
    pub addresses: Vec<u64>,
    /// Lengths at and around limits.
    pub lengths: Vec<u32>,
    /// Distances between a PSN and the one before.
    pub steps: Vec<u32>,
}

/// A field of a frame.
struct Place {
    header: &'static str,
    name: &'static str,
    field: Field,
}

/// Changes a good frame.
pub(crate) fn mutate(good: &[u8], hints: &Hints, random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let places = places(good);
    if random.below(8) == 0 {
        resize(&mut bytes, random);
    }
    let mut keeps_checksum = true;
    // One change is the sharpest attack: all else is right.
    for _ in 0..one_of(random, &[1, 1, 2, 3]) {
        let place = &places[below(random, places.len())];
        let old = place.field.read(&bytes);
        place.field.write(&mut bytes, value(place, old, hints, random));
        keeps_checksum &= !(place.header == "ipv4" && place.name == "checksum");
    }
    if random.below(16) == 0 {
        cut(&mut bytes, random);
    }
    seal(&mut bytes, keeps_checksum);
    bytes
}

/// Every field of every header, where it is in this frame.
fn places(bytes: &[u8]) -> Vec<Place> {
    let shape = classify(bytes).expect("it is good so far");
    let mut places = Vec::new();
    let mut add = |header, table: &[stroma_abi::Entry], at: usize| {
        places.extend(table.iter().map(|row| Place { header, name: row.name, field: row.field.at(at) }));
    };
    add("ethernet", Ethernet::TABLE, 0);
    if shape.ip_at > Ethernet::LEN {
        add("tag", Tag::TABLE, Ethernet::LEN);
    }
    if shape.is_ipv6 {
        add("ipv6", Ipv6::TABLE, shape.ip_at);
    } else {
        add("ipv4", Ipv4::TABLE, shape.ip_at);
    }
    add("udp", Udp::TABLE, shape.udp_at);
    // More likely than what is around it: here are most of the decisions.
    (0..3).for_each(|_| add("bth", Bth::TABLE, shape.bth_at));
    (0..6).for_each(|_| add("bth", Bth::TABLE.last_chunk::<1>().expect("the PSN"), shape.bth_at));
    let mut at = shape.bth_at + Bth::LEN;
    for header in shape.opcode.headers {
        let (name, table) = table(*header);
        (0..8).for_each(|_| add(name, table, at));
        at += header.len();
    }
    places
}

fn table(header: Header) -> (&'static str, &'static [stroma_abi::Entry]) {
    match header {
        Header::Reth => ("reth", Reth::TABLE),
        Header::AtomicEth => ("atomic", AtomicEth::TABLE),
        Header::Aeth => ("aeth", Aeth::TABLE),
        Header::AtomicAckEth => ("atomic_ack", AtomicAckEth::TABLE),
        Header::ImmDt => ("imm", ImmDt::TABLE),
        Header::Ieth => ("ieth", Ieth::TABLE),
        Header::Deth => ("deth", Deth::TABLE),
        Header::Cnp => ("cnp", Cnp::TABLE),
        Header::RpcEth => ("rpc", RpcEth::TABLE),
    }
}

fn value(place: &Place, old: u128, hints: &Hints, random: &mut SplitMix64) -> u128 {
    let most = place.field.max();
    let hinted = match (place.header, place.name) {
        ("bth", "opcode") => Some(random.below(256).into()),
        ("bth", "psn") => Some(old.wrapping_add(one_of(random, &hints.steps).into())),
        ("bth", "destination_qp") => Some(one_of(random, &hints.numbers).into()),
        ("reth" | "atomic", "address") => Some(one_of(random, &hints.addresses).into()),
        ("reth" | "atomic" | "ieth", "remote_key") => Some(one_of(random, &hints.keys).into()),
        ("reth", "length") => Some(one_of(random, &hints.lengths).into()),
        ("aeth", "syndrome") => Some(one_of(
            random,
            &[0x00, 0x1f, 0x20, 0x21, 0x3f, 0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x40, 0x80, 0xff],
        )),
        _ => None,
    };
    let value = match (hinted, random.below(8)) {
        (Some(hinted), 0..6) => hinted,
        (_, 0) => 0,
        (_, 1) => most,
        (_, 2) => old.wrapping_add(1),
        (_, 3) => old.wrapping_sub(1),
        (_, 4 | 5) => old ^ 1 << random.below(place.field.width as u64),
        _ => u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()),
    };
    value & most
}

/// Makes the payload longer or shorter, with all lengths right.
fn resize(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    let shape = classify(bytes).expect("it is good so far");
    let old = shape.pad_at - shape.payload_at;
    let length = match random.below(6) {
        0 => 0,
        1 => old + 1,
        2 => old.saturating_sub(1),
        3 => old + 4,
        4 => one_of(random, &[255, 256, 257, 512, 1024, 1025]),
        _ => below(random, 2 * old + 8),
    };
    let pad = length.wrapping_neg() % 4;
    bytes.truncate(shape.payload_at);
    bytes.extend(noise(random, length));
    bytes.resize(bytes.len() + pad + icrc::LEN, 0);
    Bth::PAD.at(shape.bth_at).write(bytes, pad as u128);
    let end = bytes.len();
    Udp::LENGTH.at(shape.udp_at).write(bytes, (end - shape.udp_at) as u128);
    let (field, from) =
        if shape.is_ipv6 { (Ipv6::PAYLOAD_LENGTH, shape.udp_at) } else { (Ipv4::TOTAL_LENGTH, shape.ip_at) };
    field.at(shape.ip_at).write(bytes, (end - from) as u128);
    seal(bytes, true);
}

/// Bytes are missing at the end, or too many, whatever the headers say.
fn cut(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    if random.below(2) == 0 {
        bytes.truncate(bytes.len() - 1 - below(random, bytes.len() / 2));
    } else {
        let more = 1 + below(random, 64);
        bytes.extend(noise(random, more));
    }
}

/// Makes the IPv4 checksum right, unless it is what was changed, and the ICRC, where the IP header says that it is.
fn seal(bytes: &mut [u8], fixes_checksum: bool) {
    let mut kind: u16 = Ethernet::ETHERTYPE.get(bytes);
    let mut ip_at = Ethernet::LEN;
    if kind == ethertype::TAG && bytes.len() > ip_at + Tag::LEN {
        kind = Tag::ETHERTYPE.at(ip_at).get(bytes);
        ip_at += Tag::LEN;
    }
    let is_ipv6 = kind == ethertype::IPV6;
    let ip_len = if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN };
    let least = ip_at + ip_len + Udp::LEN + Bth::LEN + icrc::LEN;
    if bytes.len() < least {
        return;
    }
    if !is_ipv6 && fixes_checksum {
        let sum = ipv4::checksum(&bytes[ip_at..]);
        Ipv4::CHECKSUM.at(ip_at).set(bytes, sum);
    }
    let said: u16 = if is_ipv6 { Ipv6::PAYLOAD_LENGTH } else { Ipv4::TOTAL_LENGTH }.at(ip_at).get(bytes);
    let end = ip_at + usize::from(said) + if is_ipv6 { ip_len } else { 0 };
    let end = if (least..=bytes.len()).contains(&end) { end } else { bytes.len() };
    icrc::seal(&mut bytes[ip_at..end]);
}
