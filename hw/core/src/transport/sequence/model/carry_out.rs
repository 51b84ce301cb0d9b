//! A request is carried out.

use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Cqe, Status, WorkOp};
use stroma_abi::wire::opcode;

use super::connection::acknowledge;
use super::{
    Connection, Family, Message, Opened, Parting, Reservation, View, begins, ends, ends_key, family,
    has_immediate, number, opcode_of, packets, short,
};
use crate::transport::records::{Answer, Arrival, Atomic, Errand, List};
use crate::transport::sequence::reply::POSITIVE;

/// A receive is completed.
pub(super) fn complete(
    errand: &mut Errand,
    arrival: &Arrival,
    index: u16,
    op: WorkOp,
    length: u32,
    status: Status,
) {
    let has_immediate = matches!(op, WorkOp::SendImm | WorkOp::WriteImm);
    let flags = 1 << Cqe::RECEIVE.bit
        | u64::from(has_immediate) << Cqe::HAS_IMMEDIATE.bit
        | u64::from(op == WorkOp::SendInv && status == Status::Success) << Cqe::HAS_INVALIDATED.bit
        | u64::from(arrival.datagram && status == Status::Success) << Cqe::HAS_GRH.bit
        | u64::from(arrival.solicited) << Cqe::SOLICITED.bit;
    errand.completes = true;
    errand.cq = arrival.receive_cq;
    errand.index = u64::from(index).into();
    errand.opcode = (op as u64).into();
    errand.flags = flags.into();
    errand.length = u64::from(length).into();
    errand.status = (status as u64).into();
    errand.detail = arrival.imm;
    if arrival.datagram {
        errand.value = arrival.a1;
    }
}

impl Connection {
    /// A request that keeps the rules, with the receive it takes; what is reserved for it.
    pub(super) fn carry_out(
        &mut self,
        arrival: &Arrival,
        view: &View,
        receive: Option<u16>,
        errand: &mut Errand,
    ) -> Option<Reservation> {
        let op = opcode_of(arrival);
        let psn = self.expected;
        (errand.va, errand.key) = (arrival.va, arrival.rkey);
        errand.counts = ends(&op) && !ends_key(&op);
        let mut reserves = None;
        match family(&op) {
            Family::Call => reserves = self.call(arrival, view, errand),
            Family::Read => {
                self.expected = psn.add(packets(arrival));
                self.open(Opened::Other);
                errand.answer = (Answer::Data as u64).into();
                errand.need = u64::from(rights::REMOTE_READ).into();
                (errand.span, errand.fresh) = (arrival.len, true);
            }
            Family::Atomic => {
                let kind = if op == opcode::RC_FETCH_ADD { Atomic::Add } else { Atomic::Swap };
                errand.atomic = (kind as u64).into();
                errand.place = u64::from(self.atomics % 16).into();
                errand.need = u64::from(rights::REMOTE_ATOMIC).into();
                (errand.span, errand.value, errand.compare) = (8_u64.into(), arrival.a1, arrival.a2);
                self.expected = psn.next();
                self.open(Opened::Other);
                self.atomics = (self.atomics + 1) % 32;
            }
            _ => {
                self.go_on(arrival, receive, errand);
                self.expected = psn.next();
                if arrival.ackreq && !ends_key(&op) {
                    acknowledge(errand, psn, POSITIVE);
                }
            }
        }
        if errand.counts {
            self.msn = self.msn.next();
        }
        reserves
    }

    /// A packet of a SEND or a WRITE.
    fn go_on(&mut self, arrival: &Arrival, taken: Option<u16>, errand: &mut Errand) {
        let op = opcode_of(arrival);
        let payload = short(arrival.payload_len);
        let message = self.message.unwrap_or_else(|| {
            if family(&op) == Family::Send {
                Message::Send { receive: taken.expect("a SEND begins with a receive"), received: 0 }
            } else {
                let (va, key) = (number(arrival.va), short(arrival.rkey));
                Message::Write { va, key, left: short(arrival.len), received: 0 }
            }
        });
        errand.places = payload > 0;
        errand.span = u64::from(payload).into();
        self.message = Some(match message {
            Message::Send { receive, received } => {
                errand.need = u64::from(rights::LOCAL_WRITE).into();
                if payload > 0 {
                    let list = if arrival.has_srq { List::Shared } else { List::Receive };
                    (errand.list, errand.srq) = ((list as u64).into(), arrival.srq);
                    (errand.index, errand.offset) = (u64::from(receive).into(), u64::from(received).into());
                }
                let total = received + payload;
                if ends_key(&op) {
                    let (key, solicited) = (short(arrival.imm), arrival.solicited);
                    self.parting = Some(Parting { receive, received: total, key, solicited, owes: false });
                } else if ends(&op) {
                    let posted = if has_immediate(&op) { WorkOp::SendImm } else { WorkOp::Send };
                    complete(errand, arrival, receive, posted, total, Status::Success);
                }
                Message::Send { receive, received: total }
            }
            Message::Call(_) => unreachable!("an RPC goes to a kernel"),
            Message::Write { va, key, left, received } => {
                errand.need = u64::from(rights::REMOTE_WRITE).into();
                (errand.va, errand.key) = (va.into(), u64::from(key).into());
                if begins(&op) {
                    errand.span = arrival.len;
                }
                let total = received + payload;
                if let Some(index) = taken {
                    complete(errand, arrival, index, WorkOp::WriteImm, total, Status::Success);
                }
                Message::Write {
                    va: va.wrapping_add(payload.into()),
                    key,
                    left: left - payload,
                    received: total,
                }
            }
        })
        .filter(|_| !ends(&op));
    }
}
