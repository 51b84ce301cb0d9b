//! Packets that a peer sends, and what it expects in return.

use stroma_abi::Psn;
use stroma_abi::wire::{Aeth, AtomicEth, Extended, NakCode, Opcode, Reth, Syndrome};
use stroma_sim::model::Packet;
use stroma_tests::pair::pattern;

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) syndrome: Syndrome,
    pub(crate) psn: u32,
}

/// A packet that asks for an acknowledgement, with so much payload.
pub(crate) fn packet(opcode: Opcode, psn: u32, length: usize) -> Packet {
    let payload = pattern(u64::from(psn), length);
    Packet { ack_request: true, payload, ..Packet::new(opcode, Psn::new(psn)) }
}

/// Where a WRITE or READ goes.
pub(crate) fn reth(address: u64, remote_key: u32, length: u32) -> Extended {
    Extended { reth: Some(Reth { address, remote_key, length }), ..Extended::default() }
}

/// An addition of one.
pub(crate) fn addition(address: u64, remote_key: u32) -> Extended {
    let atomic = Some(AtomicEth { address, remote_key, swap_add: 1, compare: 0 });
    Extended { atomic, ..Extended::default() }
}

/// What an answer says.
pub(crate) fn aeth(syndrome: Syndrome) -> Extended {
    Extended { aeth: Some(Aeth { syndrome: syndrome.encode(), msn: Psn::new(0) }), ..Extended::default() }
}

/// A refusal.
pub(crate) fn nak(code: NakCode, psn: u32) -> Answer {
    Answer { syndrome: Syndrome::Nak(code), psn }
}
