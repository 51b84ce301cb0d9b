//! For whom a packet or a nudge is, in plain Rust.

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::{QueuePairKind, QueuePairState};
use stroma_abi::wire::{Opcode, Role, Transport};

use crate::head::Head;
use crate::transport::records::{Arrival, Nudge, Occasion, Order, PeerRow};

/// What comes of a packet or a nudge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// For the judge of requests.
    pub request: Option<Arrival>,
    /// For the judge of answers.
    pub response: Option<Arrival>,
    /// For whoever has the payload.
    pub order: Option<Order>,
    /// This queue pair's request met congestion.
    pub notice: Option<Bits<24>>,
    /// A packet for nobody.
    pub dropped: bool,
    /// A congestion notification.
    pub notified: bool,
}

fn small<const N: usize>(bits: Bits<N>) -> u64 {
    u64::try_from(BigUint::from(bits)).expect("no such field is wider than 64 bits")
}

fn state(row: &PeerRow) -> Option<QueuePairState> {
    u8::try_from(small(row.state)).ok().and_then(QueuePairState::from_code)
}

/// What of an arrival comes from the row.
fn of_row(row: &PeerRow, colour: bool) -> Arrival {
    Arrival {
        pd: row.pd,
        rights: row.rights,
        path_mtu: row.path_mtu,
        receive_psn: row.receive_psn,
        cq: row.cq,
        timeout: row.timeout,
        retry: row.retry,
        rnr_retry: row.rnr_retry,
        min_rnr: row.min_rnr,
        reads_in: row.reads_in,
        receive_cq: row.receive_cq,
        has_srq: row.has_srq,
        srq: row.srq,
        colour,
        ..Arrival::default()
    }
}

/// A nudge, under the row of its queue pair.
#[must_use]
pub fn nudge(nudge: &Nudge, row: &PeerRow, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, Error, ReadyToSend, SendError};
    let is_recall = small(nudge.occasion) == Occasion::Recall as u64;
    let is_reliable = small(row.kind) == QueuePairKind::Reliable as u64;
    let passes = match state(row) {
        Some(Error) => !is_recall || is_reliable,
        Some(ReadyToSend | Drained | SendError) => !is_recall,
        _ => false,
    };
    if pause || !row.exists || !passes {
        return Outcome::default();
    }
    let arrival = Arrival {
        occasion: nudge.occasion,
        qpn: nudge.qpn,
        slot: nudge.slot,
        status: nudge.status,
        vendor: nudge.vendor,
        ..of_row(row, colour)
    };
    Outcome {
        request: is_recall.then_some(arrival),
        response: (!is_recall).then_some(arrival),
        order: Some(Order { is_request: is_recall, colour, ..Order::default() }),
        ..Outcome::default()
    }
}

/// A packet, under the row of its queue pair, whose address here is `address`.
#[must_use]
pub fn packet(head: &Head, row: &PeerRow, address: Bits<128>, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, ReadyToReceive, ReadyToSend};
    let order = Order { is_request: false, drops: true, payload_len: head.payload_len, colour };
    let thrown = (small(head.payload_len) > 0).then_some(order);
    let nobody = Outcome { dropped: true, order: thrown, ..Outcome::default() };

    let is_reliable = small(row.kind) == QueuePairKind::Reliable as u64;
    let is_mine = row.exists && is_reliable && head.src_ip == row.peer_ip && head.dst_ip == address;
    let Some(op) = u8::try_from(small(head.op)).ok().and_then(Opcode::lookup) else { return nobody };
    if pause || !is_mine {
        return nobody;
    }
    if op.transport == Transport::Cnp {
        return Outcome { dropped: false, notified: true, ..nobody };
    }
    let (theirs, ours) = (small(head.pkey), small(row.p_key));
    let full = 1 << 15;
    if op.transport != Transport::Rc || theirs | full != ours | full || (theirs | ours) & full == 0 {
        return nobody;
    }
    let arrival = Arrival {
        occasion: (Occasion::Packet as u64).into(),
        qpn: head.dqpn,
        op: head.op,
        ackreq: head.ackreq,
        solicited: head.solicited,
        imm: head.imm,
        a1: head.a1,
        a2: head.a2,
        psn: head.psn,
        va: head.va,
        rkey: head.rkey,
        len: head.len,
        aeth: head.aeth,
        payload_len: head.payload_len,
        ..of_row(row, colour)
    };
    let is_request = op.role == Role::Request;
    let order = Some(Order { is_request, drops: false, ..order });
    match state(row) {
        Some(ReadyToReceive | ReadyToSend | Drained) if is_request => {
            let notice = (small(head.tclass) % 4 == 3).then_some(head.dqpn);
            Outcome { request: Some(arrival), order, notice, ..Outcome::default() }
        }
        Some(ReadyToSend | Drained) if !is_request => {
            Outcome { response: Some(arrival), order, ..Outcome::default() }
        }
        _ => nobody,
    }
}
