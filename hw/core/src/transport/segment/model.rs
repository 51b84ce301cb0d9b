//! The same in plain Rust: packets cut from the message as a line of bytes, on which the entries lie one behind the other.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::SgeList;
use stroma_abi::desc::WorkOp;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT};
use stroma_abi::wire::opcode::{
    RC_CMP_SWAP, RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_ONLY, RC_SEND_ONLY_IMM, RPC_PARAMS, TABLE,
};
use stroma_abi::wire::{Header, Opcode};

use super::MTU_BASE;
use crate::transport::records::{Message, TxStep};

/// What comes of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Its steps.
    pub steps: Vec<TxStep>,
    /// Its packets with inline data.
    pub inline: Vec<Vec<u8>>,
}

/// Bytes of a full packet.
#[must_use]
pub fn mtu(message: &Message) -> u64 {
    (MTU_BASE as u64) << message.path_mtu.index()
}

/// Segments `message`, whose WQE is `wqe`.
///
/// # Panics
/// If the message is nothing to be sent, or the WQE does not hold its entries or its inline data.
#[must_use]
pub fn segment(message: &Message, wqe: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let (skips, length) = (u64::from(message.skips), u64::from(message.length));
    let common = TxStep {
        qpn: message.qpn,
        slot: message.slot,
        again: message.again,
        colour: message.colour,
        epoch: message.epoch,
        pd: message.pd,
        ..TxStep::default()
    };
    let (family, tail, takes_receive) = match operation(message) {
        WorkOp::Send => ("RC_SEND", "", true),
        WorkOp::SendImm => ("RC_SEND", "_IMM", true),
        WorkOp::SendInv => ("RC_SEND", "_INV", true),
        WorkOp::Write => ("RC_WRITE", "", false),
        WorkOp::WriteImm => ("RC_WRITE", "_IMM", true),
        WorkOp::Rpc => ("RPC_PARAMS", "", false),
        WorkOp::RpcWrite => ("RPC_WRITE", "", false),
        other => {
            let head = with_headers(message, &common, request(other), 0);
            outcome.steps.push(TxStep { last: true, ackreq: true, frees: true, ..head });
            return outcome;
        }
    };
    let packets = u64::from(message.packets).min((length - skips).div_ceil(mtu(message)).max(1));
    for packet in 0..packets {
        let begin = skips + packet * mtu(message);
        let end = length.min(begin + mtu(message));
        let name = match (begin == 0, end == length) {
            (true, true) => format!("{family}_ONLY{tail}"),
            (true, false) => format!("{family}_FIRST"),
            (false, false) => format!("{family}_MIDDLE"),
            (false, true) => format!("{family}_LAST{tail}"),
        };
        let opcode = match operation(message) {
            WorkOp::Rpc => &RPC_PARAMS,
            _ => TABLE.iter().find(|row| row.name == name).expect("every packet has an op-code"),
        };
        let mut head = with_headers(message, &common, opcode, packet);
        head.payload_len = (end - begin).into();
        head.solicited = message.solicited && takes_receive && end == length;
        head.frees = packet + 1 == packets;
        head.ackreq = head.frees || end == length;
        if message.inline && begin < end {
            let data = &wqe[body_at(message)..];
            outcome.inline.push(data[place(begin)..place(end)].to_vec());
            head.inline = true;
        }
        let mut steps = if message.inline { Vec::new() } else { pieces(message, wqe, &head, begin..end) };
        if steps.is_empty() {
            steps.push(head);
        }
        steps.last_mut().expect("there is one at least").last = true;
        outcome.steps.append(&mut steps);
    }
    outcome
}

/// What a message asks for.
///
/// # Panics
/// If that is nothing.
#[must_use]
pub fn operation(message: &Message) -> WorkOp {
    u8::try_from(u64::from(message.opcode))
        .ok()
        .and_then(WorkOp::from_code)
        .expect("a message has an operation")
}

/// The op-code of an operation that is one packet without payload.
fn request(operation: WorkOp) -> &'static Opcode {
    match operation {
        WorkOp::Read => &RC_READ_REQUEST,
        WorkOp::CmpSwap => &RC_CMP_SWAP,
        WorkOp::FetchAdd => &RC_FETCH_ADD,
        other => panic!("{other:?} is not sent"),
    }
}

/// A step with the packet's op-code and PSN, and with what stands in the headers of that op-code.
fn with_headers(message: &Message, step: &TxStep, opcode: &Opcode, packet: u64) -> TxStep {
    let psn = (u64::from(message.psn) + packet) & 0xff_ffff;
    let mut step = TxStep { op: u64::from(opcode.code).into(), psn: psn.into(), ..*step };
    if [RC_SEND_ONLY, RC_SEND_ONLY_IMM].contains(opcode) {
        (step.va, step.rkey) = (message.remote, message.key);
    }
    for header in opcode.headers {
        match header {
            // For everything from `skips` on.
            Header::Reth => {
                step.va = u64::from(message.remote).wrapping_add(u64::from(message.skips)).into();
                step.rkey = message.key;
                step.len = message.length - message.skips;
            }
            Header::AtomicEth => {
                (step.va, step.rkey) = (message.remote, message.key);
                (step.a1, step.a2) = (message.a1, message.a2);
            }
            Header::ImmDt | Header::Ieth => step.imm = message.imm,
            other => panic!("{other:?} stands in no request"),
        }
    }
    step
}

/// The parts of each entry that lie in `packet`, as steps like `head`.
fn pieces(message: &Message, wqe: &[u8], head: &TxStep, packet: std::ops::Range<u64>) -> Vec<TxStep> {
    let list =
        SgeList::decode(message.sge_count.index(), &wqe[body_at(message)..]).expect("the entries are there");
    let mut starts_at = 0;
    let mut steps = Vec::new();
    for sge in list.as_slice() {
        let ends_at = starts_at + u64::from(sge.length);
        let (from, to) = (starts_at.max(packet.start), ends_at.min(packet.end));
        if from < to {
            let address = sge.address.wrapping_add(from - starts_at);
            steps.push(TxStep {
                address: address.into(),
                key: Bits::from(u64::from(sge.local_key)),
                bytes: (to - from).into(),
                ..*head
            });
        }
        starts_at = ends_at;
    }
    steps
}

/// Where the entries or the data of a WQE begin: those of an RPC behind the entry of its result.
#[must_use]
pub fn body_at(message: &Message) -> usize {
    if matches!(operation(message), WorkOp::Rpc | WorkOp::RpcWrite) { SECOND_AT } else { BODY_AT }
}

fn place(byte: u64) -> usize {
    usize::try_from(byte).expect("inline data are short")
}
