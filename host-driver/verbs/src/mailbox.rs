//! Commands: one at a time, each answered before the next.

use std::time::{Duration, Instant};

use stroma_abi::{
    Entry,
    desc::{
        AddressHandle, Command, CommandStatus, CompletionQueue, ObjectKind, QueuePair, Region, Reply,
        SharedQueue, Statistics, Verb,
        mailbox::{BODY_AT, BODY_LEN, MAILBOX_LEN},
    },
    regs::map::mailbox,
};
use stroma_device::{Card, part};

use crate::{Error, Result};

const WORD: usize = 4;

/// A command for one object.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) verb: Verb,
    pub(crate) kind: ObjectKind,
    pub(crate) number: u32,
    /// With modify, what of the body counts.
    pub(crate) attributes: u64,
    /// Words behind it keep what an earlier command left there, and have no meaning for this one.
    pub(crate) body: &'a [u8],
}

/// The driver's side of the mailbox.
#[derive(Debug)]
pub(crate) struct Mailbox {
    token: u16,
    /// A command was not answered in time. It may be running still, and then a new one would be ignored.
    is_stuck: bool,
    timeout: Duration,
}

impl Mailbox {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { token: 0, is_stuck: false, timeout }
    }

    /// Runs a command. The result is the reply's body, all zero but for a query.
    pub(crate) fn run(&mut self, card: &Card, order: &Order<'_>) -> Result<[u8; BODY_LEN]> {
        if self.is_stuck {
            self.wait(card, order, false)?;
        }
        self.token = self.token.wrapping_add(1);
        let head = Command {
            verb: order.verb as u8,
            object_kind: order.kind as u8,
            modifier: self.token,
            object: order.number,
            attributes: order.attributes,
        };
        let mut input = [0; MAILBOX_LEN];
        head.emit(&mut input);
        input[BODY_AT..][..order.body.len()].copy_from_slice(order.body);
        for (index, word) in input[..BODY_AT + order.body.len()].chunks_exact(WORD).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("a chunk is a word"));
            card.write_element(&mailbox::BLOCK, &mailbox::INPUT, index, word.into())?;
        }
        card.write(&mailbox::BLOCK, &mailbox::GO, 1)?;
        self.wait(card, order, true)?;
        self.answer(card, order)
    }

    /// Waits until no command is running, and, with `reply`, the last one is answered.
    fn wait(&mut self, card: &Card, order: &Order<'_>, reply: bool) -> Result<()> {
        self.is_stuck = true;
        let start = Instant::now();
        loop {
            let state = card.read(&mailbox::BLOCK, &mailbox::STATE)?;
            let is_busy: bool = part(&mailbox::STATE, "busy", state);
            if !is_busy && (!reply || part(&mailbox::STATE, "done", state)) {
                self.is_stuck = false;
                return Ok(());
            }
            let waited = start.elapsed();
            if waited >= self.timeout {
                let Order { verb, kind, number, .. } = *order;
                return Err(Error::CommandTimedOut { verb, kind, number, waited });
            }
            card.backend().idle();
        }
    }

    fn answer(&self, card: &Card, order: &Order<'_>) -> Result<[u8; BODY_LEN]> {
        let Order { verb, kind, number, .. } = *order;
        let mut output = [0; MAILBOX_LEN];
        let shown = if verb == Verb::Query { MAILBOX_LEN } else { BODY_AT };
        for (index, word) in output[..shown].chunks_exact_mut(WORD).enumerate() {
            let value = card.read_element(&mailbox::BLOCK, &mailbox::OUTPUT, index)?;
            word.copy_from_slice(&value.to_le_bytes()[..WORD]);
        }
        let reply = Reply::parse(&output).expect("a mailbox is longer than a reply's head");
        let status = CommandStatus::from_code(reply.status).filter(|_| reply.token == self.token);
        match status {
            Some(CommandStatus::Done) => {
                Ok(output[BODY_AT..].try_into().expect("a reply is a head and a body"))
            }
            Some(status) => {
                let named = (status == CommandStatus::BadField).then(|| field(kind, reply.field));
                Err(Error::CommandRefused { verb, kind, number, status, field: named.flatten() })
            }
            None => {
                let (status, token, expected) = (reply.status, reply.token, self.token);
                Err(Error::BadReply { verb, kind, number, status, token, expected })
            }
        }
    }
}

/// The field of an object's layout that begins in a byte.
fn field(kind: ObjectKind, byte: u16) -> Option<&'static str> {
    let table: &[Entry] = match kind {
        ObjectKind::QueuePair => QueuePair::TABLE,
        ObjectKind::CompletionQueue => CompletionQueue::TABLE,
        ObjectKind::Region => Region::TABLE,
        ObjectKind::SharedQueue => SharedQueue::TABLE,
        ObjectKind::Statistics => Statistics::TABLE,
        ObjectKind::AddressHandle => AddressHandle::TABLE,
    };
    table.iter().find(|entry| entry.field.byte == usize::from(byte)).map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_by_its_first_byte() {
        assert_eq!(field(ObjectKind::QueuePair, 7), Some("send_log"));
        assert_eq!(field(ObjectKind::CompletionQueue, 10), Some("page"));
        assert_eq!(field(ObjectKind::Region, 16), Some("list"));
        assert_eq!(field(ObjectKind::Region, 17), None);
        assert_eq!(field(ObjectKind::SharedQueue, 9), Some("stride"));
        assert_eq!(field(ObjectKind::AddressHandle, 8), Some("peer_mac"));
    }
}
