mod answers;
mod atomics;
mod calls;
mod nudges;
mod reads;
mod rests;

use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{NakCode, Syndrome};

use crate::transport::complete::rig::{Given, Rig};

const ACK: Syndrome = Syndrome::Ack { credits: 31 };
const LOST: Syndrome = Syndrome::Nak(NakCode::PsnSequence);
/// Path MTU of queue pairs in these tests: code 1.
const MTU: u64 = 256;

/// A rig where queue pair 2 has sent messages of so many bytes, the first from `psn` on.
fn after_sending(psn: u64, messages: &[(WorkOp, u64)]) -> Rig {
    let mut rig = Rig::default();
    send(&mut rig, psn, messages);
    rig
}

fn send(rig: &mut Rig, mut psn: u64, messages: &[(WorkOp, u64)]) {
    for (op, length) in messages {
        let message = rig.message(2, *op, *length, psn);
        rig.admit(2, message, message.packets.into());
        psn += u64::from(message.packets);
    }
    rig.settle();
}

/// Completions: index behind the first message's, status, length.
fn completions(given: &Given) -> Vec<(u64, u64, u64)> {
    let completions = given.errands.iter().filter(|(_, errand)| errand.completes);
    completions
        .map(|(_, errand)| {
            (u64::from(errand.index) - 0x5080, u64::from(errand.status), u64::from(errand.length))
        })
        .collect()
}

fn is_nothing(given: &Given) -> bool {
    given.errands.len() == 1
        && given.errands.iter().all(|(_, errand)| errand.ends && !errand.completes && !errand.retires)
        && given.rewinds.is_empty()
        && given.alarms.is_empty()
        && given.timeouts.is_empty()
}

/// PSN and packets before it of each rewind, with the place of its message.
fn rewinds(given: &Given) -> Vec<(u64, u64, u64)> {
    let place = |rewind: &crate::transport::records::Rewind| {
        assert_eq!(u64::from(rewind.index), 0x5080 + u64::from(rewind.slot));
        (u64::from(rewind.slot), u64::from(rewind.psn), u64::from(rewind.skips))
    };
    given.rewinds.iter().map(|(_, rewind)| place(rewind)).collect()
}

const SUCCESS: u64 = Status::Success as u64;
const FLUSHED: u64 = Status::Flushed as u64;
