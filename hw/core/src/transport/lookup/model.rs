//! For whom a packet or a nudge is, in plain Rust.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::{QueuePairKind, QueuePairState};
use stroma_abi::value::Value;
use stroma_abi::wire::opcode::{DATAGRAM_BITS, RC_ACKNOWLEDGE, UNRELIABLE_BIT};
use stroma_abi::wire::{Mac, Opcode, Role, Transport};

use crate::head::Head;
use crate::transport::records::{Arrival, Nudge, Occasion, Order, PeerRow, Station};
use crate::transport::sequence::reply::POSITIVE;

/// Who the port is to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// The MAC address.
    pub mac: Bits<48>,
    /// The one of its addresses that the queue pair has.
    pub address: Bits<128>,
    /// Whose the packet's destination is.
    pub station: Station,
}

/// What comes of a packet or a nudge.
#[expect(clippy::struct_excessive_bools, reason = "they are true in any combination")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// For the judge of requests.
    pub request: Option<Arrival>,
    /// For the judge of answers.
    pub response: Option<Arrival>,
    /// For whoever has the payload.
    pub order: Option<Order>,
    /// A request or an answer of this queue pair's peer met congestion.
    pub notice: Option<Bits<24>>,
    /// This connection is not ready to send yet, and has a request.
    pub first: Option<Bits<24>>,
    /// A packet for nobody.
    pub dropped: bool,
    /// One that was deferred.
    pub lost: bool,
    /// A raw frame for nobody.
    pub raw_dropped: bool,
    /// A congestion notification.
    pub notified: bool,
}

fn small<const N: usize>(bits: Bits<N>) -> u64 {
    u64::try_from(crate::pack::to_number(bits)).expect("no such field is wider than 64 bits")
}

fn is_datagram(row: &PeerRow) -> bool {
    small(row.kind) == QueuePairKind::Datagram as u64
}

/// Does nobody answer what it sends?
fn is_unreliable(row: &PeerRow) -> bool {
    small(row.kind) == QueuePairKind::Unreliable as u64 || is_datagram(row)
}

/// The queue pair that a RoCE packet is for.
#[must_use]
pub fn addressee(head: &Head, station: Station) -> Bits<24> {
    if small(head.dqpn) == 0xff_ffff && station.is_group { station.member } else { head.dqpn }
}

fn state(row: &PeerRow) -> Option<QueuePairState> {
    u8::try_from(small(row.state)).ok().and_then(QueuePairState::from_code)
}

/// What of an arrival comes from the row.
fn of_row(row: &PeerRow, colour: bool) -> Arrival {
    Arrival {
        pd: row.pd,
        rights: row.rights,
        path_mtu: if is_datagram(row) { 6_u64.into() } else { row.path_mtu },
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
        result_log: row.result_log,
        unreliable: is_unreliable(row),
        colour,
        ..Arrival::default()
    }
}

/// A nudge, under the row of its queue pair.
#[must_use]
pub fn nudge(nudge: &Nudge, row: &PeerRow, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, Error, ReadyToReceive, ReadyToSend, SendError};
    let is_recall = small(nudge.occasion) == Occasion::Recall as u64;
    let is_departure = small(nudge.occasion) == Occasion::Departed as u64;
    let is_astray = small(nudge.occasion) == Occasion::Astray as u64;
    let is_raw = small(row.kind) == QueuePairKind::Raw as u64;
    let is_reliable = small(row.kind) == QueuePairKind::Reliable as u64;
    let is_parted = small(nudge.occasion) == Occasion::Parted as u64;
    if nudge.again {
        return again(nudge, row, pause, colour);
    }
    let is_request = is_recall || is_parted;
    let passes = match state(row) {
        Some(Error) => !is_request || is_reliable || (is_recall && (is_raw || is_unreliable(row))),
        Some(ReadyToSend | Drained) => !is_request || (is_parted && is_reliable),
        Some(SendError) => !is_request,
        Some(ReadyToReceive) => is_parted && is_reliable,
        _ => false,
    };
    if pause || !row.exists || !passes || ((is_departure || is_astray) && !is_raw && !is_unreliable(row)) {
        return Outcome::default();
    }
    let mut arrival = Arrival {
        occasion: nudge.occasion,
        qpn: nudge.qpn,
        slot: nudge.slot,
        status: nudge.status,
        vendor: nudge.vendor,
        ..of_row(row, colour)
    };
    if is_departure {
        (arrival.occasion, arrival.raw) = ((Occasion::Packet as u64).into(), true);
        (arrival.op, arrival.psn) = (u64::from(RC_ACKNOWLEDGE.code).into(), nudge.psn);
        arrival.aeth = (u64::from(POSITIVE.encode()) << 24).into();
    }
    if is_astray {
        arrival.occasion = (Occasion::Failure as u64).into();
    }
    Outcome {
        request: is_request.then_some(arrival),
        response: (!is_request).then_some(arrival),
        order: Some(Order { is_request, colour, ..Order::default() }),
        ..Outcome::default()
    }
}

/// A request that was deferred, under the row of its queue pair.
fn again(nudge: &Nudge, row: &PeerRow, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, ReadyToReceive, ReadyToSend};
    let is_reliable = row.exists && small(row.kind) == QueuePairKind::Reliable as u64;
    if pause || !is_reliable || !matches!(state(row), Some(ReadyToReceive | ReadyToSend | Drained)) {
        return Outcome { dropped: true, lost: true, ..Outcome::default() };
    }
    let arrival = Arrival {
        again: true,
        qpn: nudge.qpn,
        slot: nudge.slot,
        status: nudge.status,
        vendor: nudge.vendor,
        ..of_row(row, colour)
    };
    Outcome {
        request: Some(arrival),
        order: Some(Order { is_request: true, colour, ..Order::default() }),
        ..Outcome::default()
    }
}

/// A raw frame, under the row of the raw queue pair, whose number is `qpn`.
#[must_use]
pub fn frame(head: &Head, qpn: u64, row: &PeerRow, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, ReadyToReceive, ReadyToSend};
    let is_raw = row.exists && small(row.kind) == QueuePairKind::Raw as u64;
    let takes = matches!(state(row), Some(ReadyToReceive | ReadyToSend | Drained));
    if pause || !is_raw || !takes {
        let order = Order { is_request: false, drops: true, payload_len: head.payload_len, colour };
        let order = (small(head.payload_len) > 0).then_some(order);
        return Outcome { raw_dropped: true, order, ..Outcome::default() };
    }
    let order = Order { is_request: true, drops: false, payload_len: head.payload_len, colour };
    let request = Arrival { qpn: qpn.into(), ..described(head, row, colour) };
    Outcome { request: Some(request), order: Some(order), ..Outcome::default() }
}

/// What is known of a packet.
fn described(head: &Head, row: &PeerRow, colour: bool) -> Arrival {
    let beyond = if is_unreliable(row) { (UNRELIABLE_BIT | DATAGRAM_BITS).into() } else { 0 };
    Arrival {
        occasion: (Occasion::Packet as u64).into(),
        qpn: head.dqpn,
        raw: head.raw,
        datagram: is_datagram(row),
        op: (small(head.op) & !beyond).into(),
        ackreq: head.ackreq,
        solicited: head.solicited,
        imm: head.imm,
        a1: if is_datagram(row) { small(head.sqpn).into() } else { head.a1 },
        a2: head.a2,
        psn: head.psn,
        va: head.va,
        rkey: head.rkey,
        len: head.len,
        aeth: head.aeth,
        payload_len: head.payload_len,
        ..of_row(row, colour)
    }
}

/// A RoCE packet, under the row of its queue pair.
#[must_use]
pub fn packet(head: &Head, row: &PeerRow, port: Port, pause: bool, colour: bool) -> Outcome {
    use QueuePairState::{Drained, ReadyToReceive, ReadyToSend};
    let order = Order { is_request: false, drops: true, payload_len: head.payload_len, colour };
    let thrown = (small(head.payload_len) > 0).then_some(order);
    let nobody = Outcome { dropped: true, order: thrown, ..Outcome::default() };

    let is_reliable = small(row.kind) == QueuePairKind::Reliable as u64;
    let is_here = head.dmac == port.mac || Mac::from_bits(small(head.dmac).into()).is_group();
    let is_peer = head.src_ip == row.peer_ip && head.dst_ip == port.address;
    let is_group = small(head.dqpn) == 0xff_ffff && port.station.is_group;
    let is_posted = head.qkey == row.q_key && (port.station.is_ours || is_group);
    let is_connection = is_reliable || (is_unreliable(row) && !is_datagram(row));
    let is_mine =
        row.exists && is_here && if is_datagram(row) { is_posted } else { is_connection && is_peer };
    let Some(op) = u8::try_from(small(head.op)).ok().and_then(Opcode::lookup) else { return nobody };
    if pause || !is_mine {
        return nobody;
    }
    if op.transport == Transport::Cnp && is_connection {
        return Outcome { dropped: false, notified: true, ..nobody };
    }
    let (theirs, ours) = (small(head.pkey), small(row.p_key));
    let full = 1 << 15;
    let is_request = op.role == Role::Request;
    let is_spoken = match op.transport {
        Transport::Rc | Transport::Rpc => is_reliable,
        Transport::Uc => is_request && is_unreliable(row) && !is_datagram(row),
        Transport::Ud => is_datagram(row),
        Transport::Cnp => false,
    };
    if !is_spoken || theirs | full != ours | full || (theirs | ours) & full == 0 {
        return nobody;
    }
    let qpn = addressee(head, port.station);
    let arrival = Arrival { qpn, ..described(head, row, colour) };
    let order = Some(Order { is_request, drops: false, ..order });
    let notice = (small(head.tclass) % 4 == 3 && !is_datagram(row)).then_some(qpn);
    match state(row) {
        Some(ReadyToReceive | ReadyToSend | Drained) if is_request => {
            let is_first = state(row) == Some(ReadyToReceive) && !is_datagram(row);
            let first = is_first.then_some(qpn);
            Outcome { request: Some(arrival), order, notice, first, ..Outcome::default() }
        }
        Some(ReadyToSend | Drained) if !is_request => {
            Outcome { response: Some(arrival), order, notice, ..Outcome::default() }
        }
        _ => nobody,
    }
}
