//! `docs/wire.md` against the encoders: what it shows of kernel invocations is what they make.

use std::fmt::Write;

use crate::common::addressed;
use stroma_abi::wire::opcode::{RPC_PARAMS, RPC_RESPONSE_END, TABLE};
use stroma_abi::wire::{
    Aeth, Bth, Extended, Frame, Header, Ip, Reth, Role, RpcEth, RpcStatus, RpcTarget, Syndrome, Transport,
    print,
};
use stroma_abi::{Entry, Psn, Qpn};

const DOCUMENT: &str = include_str!("../../../../docs/wire.md");

/// The document has this line, or one that begins so.
fn assert_line(begins: &str) {
    assert!(DOCUMENT.lines().any(|line| line.starts_with(begins)), "docs/wire.md lacks: {begins}");
}

/// What the document calls the example's packets: the printer's line, then the frame's bytes, 16 a line.
fn shown(frame: &Frame) -> String {
    let bytes = frame.seal().unwrap().to_vec().unwrap();
    let mut text = format!("```text\n{}\n", print::line(&bytes));
    for (line, at) in bytes.chunks(16).zip((0..).step_by(16)) {
        let digits: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{at:04x}  {}", digits.join(" ")).unwrap();
    }
    text + "```\n"
}

fn example(opcode: u8, to: u32, extended: Extended, payload: &[u8]) -> Frame<'_> {
    let bth = Bth {
        opcode,
        migration: true,
        partition: 0xffff,
        destination_qp: Qpn::new(to),
        ack_request: opcode == RPC_PARAMS.code,
        psn: Psn::new(0x102),
        ..Bth::default()
    };
    Frame { bth, extended, payload, ..addressed() }
}

#[test]
fn the_frames_in_the_document_are_those_of_the_encoders() {
    let target = RpcTarget { response_max: 600, flags: 0, parameter_words: 4, operation: 7 };
    let reth = Reth { address: target.to_address(), remote_key: 0x1a2b, length: 16 };
    let parameters: Vec<u8> = (0..16).collect();
    let extended = Extended { reth: Some(reth), ..Extended::default() };
    let request = shown(&example(RPC_PARAMS.code, 0x11, extended, &parameters));

    let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }.encode(), msn: Psn::new(1) };
    let rpc = RpcEth { status: RpcStatus::Ok as u32, length: 5 };
    let extended = Extended { aeth: Some(aeth), rpc: Some(rpc), ..Extended::default() };
    let mut end = example(RPC_RESPONSE_END.code, 0x12, extended, b"hello");
    (end.ethernet.source, end.ethernet.destination) = (end.ethernet.destination, end.ethernet.source);
    let Ip::V4(ip) = &mut end.ip else { unreachable!("the example is IPv4") };
    (ip.source, ip.destination) = (ip.destination, ip.source);

    let wanted = format!("{request}\n{}", shown(&end));
    assert!(DOCUMENT.ends_with(&wanted), "docs/wire.md ends with other frames than:\n{wanted}");
}

#[test]
fn the_op_codes_in_the_document_are_those_of_the_table() {
    let rows = TABLE.iter().filter(|row| row.transport == Transport::Rpc);
    for row in rows.clone() {
        let sender = if row.role == Role::Request { "requester" } else { "responder" };
        let name = |header: &Header| match header {
            Header::Reth => "RETH",
            Header::Aeth => "AETH",
            Header::RpcEth => "RpcEth",
            other => panic!("the document has no word for {other:?}"),
        };
        let headers: Vec<&str> = row.headers.iter().map(name).collect();
        let headers = if headers.is_empty() { "–".to_string() } else { headers.join(", ") };
        assert_line(
            &format!("| {:#04X} | `{}` | {sender} | {headers} |", row.code, row.name).replace("0X", "0x"),
        );
    }
    assert_eq!(DOCUMENT.lines().filter(|line| line.starts_with("| 0xD")).count(), rows.count());
}

#[test]
fn the_layouts_and_statuses_in_the_document_are_those_of_the_encoders() {
    for Entry { name, field, prose } in RpcTarget::TABLE.iter().chain(RpcEth::TABLE) {
        assert_line(&format!("| {} | {} | `{name}` | {prose} |", field.byte, field.width));
    }
    for (status, prose) in RpcStatus::ALL {
        assert_line(&format!("| {} | `{status:?}` | {prose} |", *status as u32));
    }
}
