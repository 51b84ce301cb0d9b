//! Calls of kernels: requests that are executed once, and answered as often as they are asked for.

use stroma_abi::desc::region::rights;
use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_abi::desc::{Parameters, SlotCommand};
use stroma_abi::wire::{NakCode, RpcStatus, RpcTarget, opcode};
use stroma_kernel_models::{Invocation, Outcome};

use super::incoming::Message;
use super::resources::Called;
use super::{Refusal, Responder, begins, demand, has_more};
use crate::model::job::MESSAGE_MAX;
use crate::model::{Dropped, Memory, Packet, Reach};

/// Most bytes of an answer.
const ANSWER_MAX: u32 = 1 << 16;
/// Bytes of a parameter word.
const WORD: usize = 4;

impl Responder {
    /// A packet of a call. The last one runs the kernel, and takes the PSNs of the largest answer allowed.
    pub(super) fn call(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Refusal> {
        let (target, key, length, mut bytes) = match (begins(request), self.message.take()) {
            (true, None) => {
                let (target, key, length) = self.called(request)?;
                (target, key, length, Vec::new())
            }
            (false, Some(Message::Call { target, key, length, bytes })) => (target, key, length, bytes),
            (_, message) => {
                self.message = message;
                return Err(NakCode::InvalidRequest.into());
            }
        };
        let here = self.payload_length(request)?;
        bytes.extend(&request.payload);
        let (have, want) = (bytes.len(), length as usize);
        demand(if has_more(request) { have < want } else { have == want && (begins(request) || here > 0) })?;
        if has_more(request) {
            self.message = Some(Message::Call { target, key, length, bytes });
            self.accept(request);
            return Ok(());
        }
        let outcome = self.run(target, key, &bytes, memory);
        let count = self.settings.packets(target.response_max);
        self.msn = self.msn.next();
        self.expected = self.expected.add(count);
        let called = Called { base: request.psn, count, busy: self.settings.busy, outcome };
        let packets = self.result(&called, 0);
        if called.busy == 0 {
            self.answers.data(packets, true);
        } else {
            self.answers.data_later(packets);
        }
        self.resources.keep_call(called);
        Ok(())
    }

    /// What a call's first packet asks for, if it may.
    fn called(&self, request: &Packet) -> Result<(RpcTarget, u32, u32), NakCode> {
        let reth = request.extended.reth.ok_or(NakCode::InvalidRequest)?;
        let target = RpcTarget::of(&reth);
        let parameters = usize::from(target.parameter_words) * WORD;
        demand(self.settings.rights & rights::RPC != 0)?;
        demand(reth.length <= MESSAGE_MAX && target.response_max <= ANSWER_MAX)?;
        demand(parameters <= PARAMETERS_MAX)?;
        demand(if request.opcode == opcode::RPC_PARAMS {
            parameters == reth.length as usize
        } else {
            parameters <= reth.length as usize
        })?;
        demand(self.answers.open() < self.settings.reads_in)?;
        Ok((target, reth.remote_key, reth.length))
    }

    fn run(&self, target: RpcTarget, key: u32, bytes: &[u8], memory: &mut Memory) -> Outcome {
        let RpcTarget { response_max, flags, parameter_words, operation } = target;
        let (parameters, data) = bytes.split_at(usize::from(parameter_words) * WORD);
        // How many there may be was judged with the first packet.
        let known = Parameters::new(parameters).filter(|_| response_max <= self.settings.result_max);
        let Some(parameters) = known else {
            return Outcome::bare(RpcStatus::TooLong as u32);
        };
        let queue_pair = self.settings.local;
        let (domain, rights) = (self.settings.domain, self.settings.rights);
        let command =
            SlotCommand { queue_pair, flags, operation, key, response_max, domain, ..SlotCommand::default() };
        let call = Invocation::new(command, parameters, data.to_vec());
        self.kernels.run(&call, &mut Reach { memory, domain, queue_pair, rights })
    }

    /// The answer of a call from packet `from` on.
    fn result(&self, called: &Called, from: u32) -> Vec<Packet> {
        let Called { base, outcome, .. } = called;
        let packets = Packet::call_answer(*base, outcome, self.settings.mtu, self.aeth());
        packets.into_iter().skip(from as usize).collect()
    }

    /// A call that came before: its answer from the PSN on that is asked for; or busy, if it runs and all before it is answered.
    /// What it sent before its last packet is acknowledged like a WRITE.
    pub(super) fn repeat_call(&mut self, request: &Packet) -> Result<(), Dropped> {
        let psn = request.psn;
        let Some(called) = self.resources.called(psn) else {
            if has_more(request) && self.settings.rights & rights::RPC != 0 {
                self.acknowledge_again();
                return Ok(());
            }
            return Err(Dropped::Repeated);
        };
        if called.busy == 0 {
            let called = called.clone();
            let packets = self.result(&called, psn.distance(called.base));
            self.answers.data_again(packets);
            return Ok(());
        }
        if !self.answers.is_next(called.base, called.count) {
            return Err(Dropped::Repeated);
        }
        called.busy -= 1;
        let (base, count, is_over) = (called.base, called.count, called.busy == 0);
        let busy = Packet::busy(psn, self.aeth());
        self.answers.at_once(busy);
        if is_over {
            self.answers.release(base, count);
        }
        Ok(())
    }
}
