//! RPCs, whose answers come from kernels.

use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Opcode, RpcStatus, RpcTarget, opcode};

use super::connection::acknowledge;
use super::{
    Connection, Message, Opened, Reservation, View, begins, ends, has, mtu, number, opcode_of, short,
};
use crate::fabric::records::{Calling, NO_KERNEL};
use crate::transport::records::{Answer, Arrival, Errand};
use crate::transport::sequence::fit::{ANSWER_MAX, MESSAGE_MAX};
use crate::transport::sequence::reply::POSITIVE;

/// Who carries out an RPC.
pub type Kernel = Result<u8, RpcStatus>;

/// Where an RPC goes, by its first packet; what of it is to come, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The kernel, or the status that is the answer.
    pub kernel: Kernel,
    /// PSNs of the longest answer.
    pub reserved: u32,
    /// Bytes of the rest.
    pub left: u32,
    /// Place among the queue pair's RPCs.
    pub place: u8,
}

fn target(arrival: &Arrival) -> RpcTarget {
    RpcTarget::from_address(number(arrival.va))
}

/// Whose turn it is of those who have the op-code, if the answer has a place to be kept.
fn kernel(arrival: &Arrival, view: &View) -> Kernel {
    let RpcTarget { response_max, operation, .. } = target(arrival);
    let area = match number(arrival.result_log) {
        0 => 0,
        log => 1_u64 << log,
    };
    if u64::from(response_max) > area {
        return Err(RpcStatus::TooLong);
    }
    let known = (0_u8..).zip(view.operations).filter(|(_, known)| **known == operation).map(|(at, _)| at);
    let known: Vec<u8> = known.collect();
    let free = |behind: u16| known.iter().copied().find(|at| view.room & behind & 1 << at != 0);
    free(view.behind).or_else(|| free(!0)).or(known.first().copied()).ok_or(RpcStatus::UnknownOperation)
}

/// Does the first packet of an RPC keep the rules, but for its place and what it has of its payload?
pub(super) fn may_begin(arrival: &Arrival, op: &Opcode) -> bool {
    let RpcTarget { response_max, parameter_words, .. } = target(arrival);
    let (length, parameters) = (short(arrival.len), u32::from(parameter_words) * 4);
    let has_parameters = if *op == opcode::RPC_PARAMS { parameters == length } else { parameters <= length };
    has(arrival, rights::RPC)
        && length <= MESSAGE_MAX
        && has_parameters
        && parameter_words <= 16
        && response_max <= ANSWER_MAX
}

impl Connection {
    /// The RPC that a packet belongs to, if it keeps the rules.
    pub(super) fn invocation(&self, arrival: &Arrival, view: &View) -> Invocation {
        match self.message {
            Some(Message::Call(invocation)) => invocation,
            _ => Invocation {
                kernel: kernel(arrival, view),
                reserved: target(arrival).response_max.div_ceil(mtu(arrival)).max(1),
                left: short(arrival.len),
                place: self.calls,
            },
        }
    }

    /// Is there no room for it?
    pub(super) fn lacks_room(&self, arrival: &Arrival, view: &View) -> bool {
        let room = if begins(&opcode_of(arrival)) { view.room } else { view.room_more };
        self.invocation(arrival, view).kernel.is_ok_and(|kernel| room >> kernel & 1 == 0)
    }

    /// A packet of an RPC is carried out; what is reserved for it.
    pub(super) fn call(
        &mut self,
        arrival: &Arrival,
        view: &View,
        errand: &mut Errand,
    ) -> Option<Reservation> {
        let (op, psn) = (opcode_of(arrival), self.expected);
        let invocation = self.invocation(arrival, view);
        let Invocation { kernel, reserved, left, place } = invocation;
        if begins(&op) {
            self.calls = (self.calls + 1) % 16;
            self.open(Opened::Stream);
            errand.length = arrival.len;
            errand.need = arrival.rights;
        }
        let calling = if begins(&op) { Calling::Begins } else { Calling::GoesOn };
        errand.call = (calling as u64).into();
        errand.call_ends = ends(&op);
        errand.kernel = u64::from(kernel.unwrap_or(NO_KERNEL)).into();
        errand.refusal = kernel.err().map_or(0, |status| status as u64).into();
        errand.reserved = u64::from(reserved).into();
        errand.place = u64::from(place).into();
        if ends(&op) {
            *self.opened.back_mut().expect("it is the last") = Opened::Call;
            (errand.answer, errand.fresh) = ((Answer::Result as u64).into(), true);
            self.message = None;
            self.expected = psn.add(reserved);
        } else {
            let left = left - short(arrival.payload_len);
            self.message = Some(Message::Call(Invocation { left, ..invocation }));
            self.expected = psn.next();
            if arrival.ackreq {
                acknowledge(errand, psn, POSITIVE);
            }
        }
        kernel.ok().map(|kernel| Reservation { kernel, begins: begins(&op), ends: ends(&op) })
    }

    /// The last packet of an RPC came again, or more of its answer is asked for.
    pub(super) fn call_again(&self, errand: &mut Errand) {
        errand.call = (Calling::Again as u64).into();
        errand.place = u64::from(self.calls).into();
    }
}
