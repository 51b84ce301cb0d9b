//! The owner of the shared receive queues in plain Rust: a map.

use std::collections::BTreeMap;

use stroma_abi::desc::mailbox::BODY_LEN;
use stroma_abi::desc::shared_queue::LIMIT_ATTRIBUTE;
use stroma_abi::desc::{CommandStatus, SharedQueue, Verb};

use crate::pack::from_bytes;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::transport::records::SharedRow;

/// A command in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) verb: u8,
    pub(super) object: u32,
    pub(super) attributes: u64,
    pub(super) queue: SharedQueue,
}

impl Ask {
    pub(super) fn new(verb: Verb, object: u32, queue: SharedQueue) -> Self {
        let attributes = if verb == Verb::Modify { LIMIT_ATTRIBUTE } else { 0 };
        Self { verb: verb as u8, object, attributes, queue }
    }

    /// As the port takes it.
    pub(super) fn payload(&self) -> ObjectCommand {
        let mut body = [0; BODY_LEN];
        self.queue.emit(&mut body);
        ObjectCommand {
            verb: u64::from(self.verb).into(),
            object: u64::from(self.object).into(),
            attributes: self.attributes.into(),
            body: from_bytes(&body),
        }
    }
}

/// The owner, and the rows it shows.
pub(super) struct Owner {
    pub(super) capacity: u32,
    pub(super) pages: u16,
    pub(super) queues: BTreeMap<u32, (SharedQueue, u8)>,
    /// Rounds outlive their queues.
    rounds: BTreeMap<u32, u8>,
    /// The last round of which an event has told.
    told: BTreeMap<u32, u8>,
}

fn fault(queue: &SharedQueue, pages: u16) -> Option<usize> {
    let is_log = (4..=15).contains(&queue.log);
    let bytes = if is_log { 16_u128 << (queue.log + queue.stride) } else { 0 };
    if !queue.base.is_multiple_of(4096) || u128::from(queue.base) + bytes > 1 << 64 {
        Some(0)
    } else if !is_log {
        Some(8)
    } else {
        (queue.page >= pages).then_some(10)
    }
}

impl Owner {
    pub(super) fn new(capacity: u32, pages: u16) -> Self {
        Self { capacity, pages, queues: BTreeMap::new(), rounds: BTreeMap::new(), told: BTreeMap::new() }
    }

    /// An event tells of a limit.
    pub(super) fn tell(&mut self, number: u32, round: u8) {
        self.told.insert(number, round);
    }

    /// The reply, and whether a queue begins.
    pub(super) fn command(&mut self, ask: &Ask) -> (ObjectReply, bool) {
        let refused = |status: CommandStatus, byte: usize| {
            let reply =
                ObjectReply { status: (status as u64).into(), field: (byte as u64).into(), body: 0.into() };
            (reply, false)
        };
        let exists = self.queues.contains_key(&ask.object);
        match Verb::from_code(ask.verb) {
            Some(Verb::Create) if ask.object >= self.capacity => refused(CommandStatus::OutOfRange, 0),
            Some(Verb::Create) if exists => refused(CommandStatus::Exists, 0),
            Some(Verb::Create) if ask.attributes != 0 => refused(CommandStatus::BadAttribute, 0),
            Some(Verb::Create) => {
                if let Some(byte) = fault(&ask.queue, self.pages) {
                    return refused(CommandStatus::BadField, byte);
                }
                let round = self.rounds.get(&ask.object).copied().unwrap_or(0);
                self.queues.insert(ask.object, (SharedQueue { limit: 0, ..ask.queue }, round));
                (ObjectReply::default(), true)
            }
            None => refused(CommandStatus::UnknownVerb, 0),
            Some(_) if !exists => refused(CommandStatus::NoObject, 0),
            Some(Verb::Modify) if ask.attributes != LIMIT_ATTRIBUTE => {
                refused(CommandStatus::BadAttribute, 0)
            }
            Some(Verb::Modify) => {
                let (queue, round) = self.queues.get_mut(&ask.object).expect("it exists");
                queue.limit = ask.queue.limit;
                *round = round.wrapping_add(1);
                self.rounds.insert(ask.object, *round);
                (ObjectReply::default(), false)
            }
            Some(Verb::Query) => {
                let (queue, round) = self.queues[&ask.object];
                let limit = if self.told.get(&ask.object) == Some(&round) { 0 } else { queue.limit };
                let body = from_bytes(&SharedQueue { limit, ..queue }.to_bytes());
                (ObjectReply { body, ..ObjectReply::default() }, false)
            }
            Some(Verb::Destroy) => {
                self.queues.remove(&ask.object);
                (ObjectReply::default(), false)
            }
        }
    }

    /// What readers find; without `exists` nothing else counts.
    pub(super) fn row(&self, number: u32) -> Option<SharedRow> {
        let (queue, round) = self.queues.get(&number)?;
        Some(SharedRow {
            exists: true,
            page: u64::from(queue.page).into(),
            pd: u64::from(queue.pd).into(),
            base: (queue.base >> 12).into(),
            log: u64::from(queue.log).into(),
            stride: u64::from(queue.stride).into(),
            limit: u64::from(queue.limit).into(),
            round: u64::from(*round).into(),
        })
    }
}
