//! The same in plain Rust: packets cut from the message as a line of bytes, on which the entries lie one behind the other.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::SgeList;
use stroma_abi::desc::wqe::BODY_AT;
use stroma_abi::wire::Opcode;
use stroma_abi::wire::opcode::{
    RC_READ_REQUEST, RC_WRITE_FIRST, RC_WRITE_LAST, RC_WRITE_MIDDLE, RC_WRITE_ONLY,
};

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
/// If the WQE does not hold the entries or the inline data of the message.
#[must_use]
pub fn segment(message: &Message, wqe: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let (skips, length) = (u64::from(message.skips), u64::from(message.length));
    let common = TxStep {
        qpn: message.qpn,
        slot: message.slot,
        again: message.again,
        colour: message.colour,
        pd: message.pd,
        ..TxStep::default()
    };
    if message.is_read {
        let head = with_reth(message, &with_op(message, &common, RC_READ_REQUEST, 0));
        outcome.steps.push(TxStep { last: true, ackreq: true, frees: true, ..head });
        return outcome;
    }
    let packets = u64::from(message.packets).min((length - skips).div_ceil(mtu(message)).max(1));
    for packet in 0..packets {
        let begin = skips + packet * mtu(message);
        let end = length.min(begin + mtu(message));
        let opcode = match (begin == 0, end == length) {
            (true, true) => RC_WRITE_ONLY,
            (true, false) => RC_WRITE_FIRST,
            (false, false) => RC_WRITE_MIDDLE,
            (false, true) => RC_WRITE_LAST,
        };
        let mut head = with_op(message, &common, opcode, packet);
        if begin == 0 {
            head = with_reth(message, &head);
        }
        head.payload_len = (end - begin).into();
        head.frees = packet + 1 == packets;
        head.ackreq = head.frees || end == length;
        if message.inline && begin < end {
            let data = &wqe[BODY_AT..];
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

/// A step with the packet's op-code and PSN.
fn with_op(message: &Message, step: &TxStep, opcode: Opcode, packet: u64) -> TxStep {
    let psn = (u64::from(message.psn) + packet) & 0xff_ffff;
    TxStep { op: u64::from(opcode.code).into(), psn: psn.into(), ..*step }
}

/// A step with a RETH for everything from `skips` on.
fn with_reth(message: &Message, step: &TxStep) -> TxStep {
    let va = u64::from(message.remote).wrapping_add(u64::from(message.skips));
    TxStep { va: va.into(), rkey: message.key, len: message.length - message.skips, ..*step }
}

/// The parts of each entry that lie in `packet`, as steps like `head`.
fn pieces(message: &Message, wqe: &[u8], head: &TxStep, packet: std::ops::Range<u64>) -> Vec<TxStep> {
    let list = SgeList::decode(message.sge_count.index(), &wqe[BODY_AT..]).expect("the entries are there");
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

fn place(byte: u64) -> usize {
    usize::try_from(byte).expect("inline data are short")
}
