//! What the fake card answers to commands.

use stroma_abi::{
    desc::{
        AddressHandle, Command, CommandStatus, CompletionQueue, ObjectKind, QueuePair, QueuePairKind,
        QueuePairState, Region, Reply, Verb,
        completion_queue::MODERATION_ATTRIBUTE,
        mailbox::{BODY_AT, BODY_LEN, MAILBOX_LEN},
        queue_pair::{attribute, transition},
    },
    regs::map::mailbox::{BLOCK, INPUT, OUTPUT, STATE},
};
use stroma_device::{Backend, BarId, compose, mock::Mock};

use super::engine::{Engine, Queues};

type Answer = Result<[u8; BODY_LEN], (CommandStatus, u16)>;

const NOTHING: [u8; BODY_LEN] = [0; BODY_LEN];

/// A body, zeros behind it.
fn padded(bytes: &[u8]) -> [u8; BODY_LEN] {
    let mut body = NOTHING;
    body[..bytes.len()].copy_from_slice(bytes);
    body
}

impl Engine {
    /// Runs the command in the mailbox.
    pub(crate) fn command(&mut self, mock: &Mock) {
        let state = |name| u32::try_from(compose(&STATE, [(name, 1)])).unwrap();
        if self.is_deaf {
            mock.poke32(BarId::Bar0, BLOCK.address(&STATE), state("busy"));
            return;
        }
        let mut input = [0; MAILBOX_LEN];
        for (index, word) in input.chunks_exact_mut(4).enumerate() {
            let value = mock.read32(BarId::Bar0, BLOCK.offset + INPUT.element(index)).unwrap();
            word.copy_from_slice(&value.to_le_bytes());
        }
        let command = Command::parse(&input).unwrap();
        // What was posted before the command is carried out before it.
        self.run(mock);
        let answer = match self.refusal.take() {
            Some(refusal) => Err(refusal),
            None => self.decide(&command, &input[BODY_AT..]),
        };
        let mut output = [0; MAILBOX_LEN];
        let (status, field) = answer.err().unwrap_or((CommandStatus::Done, 0));
        let reply = Reply { status: status as u16, token: command.modifier, object: command.object, field };
        reply.emit(&mut output);
        output[BODY_AT..].copy_from_slice(&answer.unwrap_or(NOTHING));
        for (index, word) in output.chunks_exact(4).enumerate() {
            let value = u32::from_le_bytes(word.try_into().unwrap());
            mock.poke32(BarId::Bar0, BLOCK.offset + OUTPUT.element(index), value);
        }
        mock.poke32(BarId::Bar0, BLOCK.address(&STATE), state("done"));
    }

    fn decide(&mut self, command: &Command, body: &[u8]) -> Answer {
        let number = command.object;
        let verb = Verb::from_code(command.verb).ok_or((CommandStatus::UnknownVerb, 0))?;
        let kind = ObjectKind::from_code(command.object_kind).ok_or((CommandStatus::UnknownKind, 0))?;
        let exists = match kind {
            ObjectKind::QueuePair | ObjectKind::Statistics => self.queue_pairs.contains_key(&number),
            ObjectKind::CompletionQueue => self.completion_queues.contains_key(&number),
            ObjectKind::Region => self.regions.contains_key(&number),
            ObjectKind::AddressHandle => self.address_handles.contains_key(&number),
            ObjectKind::SharedQueue => return Err((CommandStatus::UnknownKind, 0)),
        };
        match (verb, exists) {
            // Nothing is ever sent.
            (Verb::Query, true) if kind == ObjectKind::Statistics => Ok(NOTHING),
            _ if kind == ObjectKind::Statistics && verb != Verb::Query => {
                Err((CommandStatus::UnknownVerb, 0))
            }
            (Verb::Create, _) if number >= 8 => Err((CommandStatus::OutOfRange, 0)),
            (Verb::Create, true) => Err((CommandStatus::Exists, 0)),
            (Verb::Create, false) => self.create(kind, number, body),
            (_, false) => Err((CommandStatus::NoObject, 0)),
            (Verb::Destroy, true) => {
                match kind {
                    ObjectKind::QueuePair => drop(self.queue_pairs.remove(&number)),
                    ObjectKind::CompletionQueue => drop(self.completion_queues.remove(&number)),
                    ObjectKind::Region => drop(self.regions.remove(&number)),
                    ObjectKind::AddressHandle => drop(self.address_handles.remove(&number)),
                    ObjectKind::SharedQueue | ObjectKind::Statistics => unreachable!("none exists"),
                }
                Ok(NOTHING)
            }
            (Verb::Query, true) if kind == ObjectKind::QueuePair => {
                Ok(self.queue_pairs[&number].body.to_bytes())
            }
            (Verb::Query, true) if kind == ObjectKind::CompletionQueue => {
                Ok(padded(&self.completion_queues[&number].to_bytes()))
            }
            (Verb::Query, true) if kind == ObjectKind::Region => {
                Ok(padded(&self.regions[&number].to_bytes()))
            }
            (Verb::Modify, true) if kind == ObjectKind::QueuePair => {
                self.modify(number, command.attributes, &QueuePair::parse(body).unwrap())
            }
            (Verb::Modify, true) if kind == ObjectKind::CompletionQueue => {
                if command.attributes != MODERATION_ATTRIBUTE {
                    return Err((CommandStatus::BadAttribute, 0));
                }
                let wanted = CompletionQueue::parse(body).unwrap();
                let queue = self.completion_queues.get_mut(&number).unwrap();
                (queue.count, queue.period) = (wanted.count, wanted.period);
                Ok(NOTHING)
            }
            _ => Err((CommandStatus::UnknownVerb, 0)),
        }
    }

    fn create(&mut self, kind: ObjectKind, number: u32, body: &[u8]) -> Answer {
        let check = |holds: bool, byte: usize| {
            let byte = u16::try_from(byte).unwrap();
            if holds { Ok(()) } else { Err((CommandStatus::BadField, byte)) }
        };
        match kind {
            ObjectKind::QueuePair => {
                let body = QueuePair::parse(body).unwrap();
                check(QueuePairKind::from_code(body.kind).is_some(), QueuePair::KIND.byte)?;
                let has_cq = |number| self.completion_queues.contains_key(&number);
                check(has_cq(body.send_cq), QueuePair::SEND_CQ.byte)?;
                check((4..=15).contains(&body.send_log), QueuePair::SEND_LOG.byte)?;
                check(has_cq(body.receive_cq), QueuePair::RECEIVE_CQ.byte)?;
                check(body.send_base.is_multiple_of(4096), QueuePair::SEND_BASE.byte)?;
                self.queue_pairs.insert(number, Queues { body, ..Queues::default() });
            }
            ObjectKind::CompletionQueue => {
                let body = CompletionQueue::parse(body).unwrap();
                check(body.base.is_multiple_of(4096), CompletionQueue::BASE.byte)?;
                check((4..=20).contains(&body.log), CompletionQueue::LOG.byte)?;
                self.completion_queues.insert(number, body);
            }
            ObjectKind::Region => {
                let body = Region::parse(body).unwrap();
                check(body.page < 3, Region::PAGE.byte)?;
                check(body.list.is_multiple_of(64), Region::LIST.byte)?;
                self.regions.insert(number, body);
            }
            ObjectKind::AddressHandle => {
                self.address_handles.insert(number, AddressHandle::parse(body).unwrap());
            }
            ObjectKind::SharedQueue | ObjectKind::Statistics => unreachable!("none is made"),
        }
        Ok(NOTHING)
    }

    /// Knows of the attributes the state, the pace, and those of datagrams.
    fn modify(&mut self, number: u32, mask: u64, wanted: &QueuePair) -> Answer {
        let queues = self.queue_pairs.get_mut(&number).unwrap();
        let state = |code| QueuePairState::from_code(code).ok_or((CommandStatus::BadField, 0));
        let from = state(queues.body.state)?;
        let to = if mask & attribute::STATE == 0 { from } else { state(wanted.state)? };
        let kind = QueuePairKind::from_code(queues.body.kind).unwrap();
        transition(kind, from, to, mask).map_err(|status| (status, 0))?;
        queues.body.state = to as u8;
        if mask & attribute::PACE != 0 {
            queues.body.pace = wanted.pace;
        }
        if mask & attribute::Q_KEY != 0 {
            queues.body.q_key = wanted.q_key;
        }
        if mask & attribute::P_KEY != 0 {
            queues.body.p_key = wanted.p_key;
        }
        if mask & attribute::SEND_PSN != 0 {
            queues.body.send_psn = wanted.send_psn;
        }
        if to == QueuePairState::Reset {
            let body = QueuePair { pace: 0, ..queues.body };
            *queues = Queues { body, ..Queues::default() };
        }
        Ok(NOTHING)
    }
}
