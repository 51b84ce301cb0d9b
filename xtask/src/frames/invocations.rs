//! Kernel invocations and their answers, each with what is to be seen of it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::opcode::{RPC_PARAMS, RPC_RESPONSE_END, TABLE};
use stroma_abi::wire::{
    Aeth, Bth, Ethernet, Extended, Frame, Header, Ip, Ipv4, Ipv6, Mac, Opcode, Reth, RpcEth, RpcStatus,
    RpcTarget, Syndrome, Tag, Transport, Udp, icrc, ipv4, udp,
};
use stroma_abi::{Psn, Qpn};

/// What the script says of a packet that ends too early.
const TRUNCATED: &str = "The packet ends too early";
/// Where the invocations go, and in which place of the PSNs.
const QUEUE_PAIR: u32 = 0x00_0abc;
const PSN: u32 = 0xff_fffe;
const PARTITION: u16 = 0xffff;

/// Fields of one frame that are shown, with their values.
pub(super) type Shown = BTreeMap<&'static str, String>;

/// A frame, and what is to be seen of it.
pub(super) struct Case {
    pub(super) bytes: Vec<u8>,
    pub(super) shown: Shown,
}

/// Every op-code over both networks, every status, and packets that end too early.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (opcode, is_ipv6) in invocations().flat_map(|opcode| [(opcode, false), (opcode, true)]) {
        cases.push(case(opcode, is_ipv6, RpcStatus::Ok as u32));
    }
    let statuses = RpcStatus::ALL.iter().map(|(status, _)| *status as u32);
    // The last below the kernels' own has no meaning yet.
    for status in statuses.chain([RpcStatus::KERNEL - 1, RpcStatus::KERNEL, u32::MAX]) {
        cases.push(case(&RPC_RESPONSE_END, false, status));
    }
    for opcode in invocations() {
        cases.extend((0..opcode.extended_len()).step_by(4).map(|kept| truncated(opcode, kept)));
    }
    cases.push(parameters_beyond_the_payload());
    cases
}

fn invocations() -> impl Iterator<Item = &'static Opcode> {
    TABLE.iter().filter(|opcode| opcode.transport == Transport::Rpc)
}

/// A sound invocation or answer, with parameters where there may be some.
fn case(opcode: &Opcode, is_ipv6: bool, status: u32) -> Case {
    let has = |header| opcode.headers.contains(&header);
    let payload: Vec<u8> = (0..if opcode.payload { 21 } else { 0 }).collect();
    let target = RpcTarget { response_max: 70_000, flags: 0x5a, parameter_words: 4, operation: 0x1234 };
    let reth = Reth { address: target.to_address(), remote_key: 0xfeed_f00d, length: 21 };
    let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }.encode(), msn: Psn::new(0x01_0203) };
    let rpc = RpcEth { status, length: 9000 };
    let extended = Extended {
        reth: has(Header::Reth).then_some(reth),
        aeth: has(Header::Aeth).then_some(aeth),
        rpc: has(Header::RpcEth).then_some(rpc),
        ..Extended::default()
    };
    let frame = frame(opcode, is_ipv6, extended, &payload);
    let bytes = frame.to_vec().expect("a sealed frame has the headers of its op-code");

    let (mut shown, mut told) = (Shown::new(), Vec::new());
    if extended.reth.is_some() {
        told.push(" rpc 0x1234 response-max 70000 len 21".to_string());
        shown.extend([
            ("stroma.response_max", "70000".to_string()),
            ("stroma.flags", "0x5a".to_string()),
            ("stroma.parameter_words", "4".to_string()),
            ("stroma.operation", "0x1234".to_string()),
            ("stroma.key", "0xfeedf00d".to_string()),
            ("stroma.length", "21".to_string()),
            ("stroma.parameters", hex(&payload[..16])),
        ]);
    }
    if extended.aeth.is_some() {
        told.push(" ack".to_string());
        shown.extend([("stroma.syndrome", "0x1f".to_string()), ("stroma.msn", 0x01_0203.to_string())]);
    }
    if extended.rpc.is_some() {
        told.push(format!(" status {} bytes 9000", name(status)));
        shown.extend([("stroma.status", format!("{status:#010x}")), ("stroma.bytes", "9000".to_string())]);
    }
    if !payload.is_empty() {
        told.push(" payload 21".to_string());
        shown.insert("stroma.payload", hex(&payload));
    }
    shown.insert("stroma.payload_length", payload.len().to_string());
    shown.insert("stroma.icrc", format!("{:#010x}", frame.icrc));
    shown.extend(outline(opcode, &told.concat()));
    Case { bytes, shown }
}

/// An invocation or answer that has only the first `kept` bytes of its extended headers, and is sound otherwise.
fn truncated(opcode: &Opcode, kept: usize) -> Case {
    let mut case = case(opcode, false, 0);
    let headers_at = Ethernet::LEN + Ipv4::LEN + Udp::LEN + Bth::LEN;
    case.bytes.truncate(headers_at + kept + icrc::LEN);
    let length = case.bytes.len() - Ethernet::LEN;
    Ipv4::TOTAL_LENGTH.at(Ethernet::LEN).set(&mut case.bytes, short(length));
    let checksum = ipv4::checksum(&case.bytes[Ethernet::LEN..]);
    Ipv4::CHECKSUM.at(Ethernet::LEN).set(&mut case.bytes, checksum);
    Udp::LENGTH.at(Ethernet::LEN + Ipv4::LEN).set(&mut case.bytes, short(length - Ipv4::LEN));
    icrc::seal(&mut case.bytes[Ethernet::LEN..]);

    // An AETH may be there though what follows it is not.
    let has_aeth = opcode.headers.first() == Some(&Header::Aeth) && kept >= Aeth::LEN;
    case.shown.retain(|name, _| has_aeth && ["stroma.syndrome", "stroma.msn"].contains(name));
    case.shown.extend(outline(opcode, if has_aeth { " ack truncated" } else { " truncated" }));
    case.shown.extend(warning());
    case
}

/// A request that says it has more parameters than it has payload.
fn parameters_beyond_the_payload() -> Case {
    let mut case = case(&RPC_PARAMS, false, 0);
    let words_at = Ethernet::LEN + Ipv4::LEN + Udp::LEN + Bth::LEN;
    RpcTarget::PARAMETER_WORDS.at(words_at).set(&mut case.bytes, 255_u8);
    icrc::seal(&mut case.bytes[Ethernet::LEN..]);
    let icrc = icrc::carried(&case.bytes);
    case.shown.insert("stroma.parameter_words", "255".to_string());
    case.shown.insert("stroma.parameters", case.shown["stroma.payload"].clone());
    case.shown.insert("stroma.icrc", format!("{icrc:#010x}"));
    case.shown.extend(warning());
    case
}

/// What is shown of any packet with this op-code; the info column ends with what is `told` of its headers.
fn outline(opcode: &Opcode, told: &str) -> Shown {
    let info = format!("{} qp {QUEUE_PAIR:#08x} psn {PSN:#08x}{told}", opcode.name);
    Shown::from([
        ("_ws.col.Protocol", "Stroma".to_string()),
        ("_ws.col.Info", info),
        ("stroma.opcode", format!("{:#04x}", opcode.code)),
    ])
}

/// What is shown beside the fields of a packet that ends too early: the script's words, and the mark that Wireshark filters by.
fn warning() -> Shown {
    Shown::from([
        ("_ws.malformed", "_ws.malformed".to_string()),
        ("_ws.expert.message", TRUNCATED.to_string()),
    ])
}

/// A status as the info column has it.
fn name(status: u32) -> String {
    match RpcStatus::from_code(status) {
        Some(status) => format!("{status:?}"),
        None if status >= RpcStatus::KERNEL => format!("kernel's own {status:#x}"),
        None => format!("unknown {status:#x}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn short(length: usize) -> u16 {
    u16::try_from(length).expect("the frames of this file are short")
}

/// A sealed frame; over IPv6 it has a tag, too.
fn frame<'a>(opcode: &Opcode, is_ipv6: bool, extended: Extended, payload: &'a [u8]) -> Frame<'a> {
    let ipv4 = Ipv4 {
        version: 4,
        ihl: 5,
        ttl: 64,
        protocol: udp::PROTOCOL,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        ..Ipv4::default()
    };
    let ipv6 = Ipv6 {
        version: 6,
        next_header: udp::PROTOCOL,
        hop_limit: 64,
        source: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        ..Ipv6::default()
    };
    let frame = Frame {
        ethernet: Ethernet {
            destination: Mac([2, 0, 0, 0, 0, 2]),
            source: Mac([2, 0, 0, 0, 0, 1]),
            ethertype: if is_ipv6 { ethertype::TAG } else { ethertype::IPV4 },
        },
        tag: is_ipv6.then(|| Tag { vlan: 5, ethertype: ethertype::IPV6, ..Tag::default() }),
        ip: if is_ipv6 { Ip::V6(ipv6) } else { Ip::V4(ipv4) },
        udp: Udp { source_port: 0xc000, destination_port: udp::ROCE_PORT, ..Udp::default() },
        bth: Bth {
            opcode: opcode.code,
            migration: true,
            partition: PARTITION,
            destination_qp: Qpn::new(QUEUE_PAIR),
            psn: Psn::new(PSN),
            ..Bth::default()
        },
        extended,
        payload,
        pad: &[],
        icrc: 0,
        padding: &[],
    };
    frame.seal().expect("a frame of this file has the headers of its op-code")
}
