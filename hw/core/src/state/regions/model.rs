//! The owner of the regions in plain Rust: a map. Windows are in it too; [`super::works`] binds them.

use std::collections::BTreeMap;

use stroma_abi::desc::region::PAGE_LOGS;
use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_WRITE};
use stroma_abi::desc::{CommandStatus, Region, Verb};

use super::works::Bond;
use crate::pack::{Packed, from_bytes};
use crate::state::command::{ObjectCommand, ObjectReply};

/// Bytes of a command's body, of which a region takes the first.
const BODY_LEN: usize = stroma_abi::desc::mailbox::BODY_LEN;

/// A command in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) verb: u8,
    pub(super) object: u32,
    pub(super) attributes: u64,
    pub(super) body: [u8; BODY_LEN],
}

impl Ask {
    /// A command with nothing in its body.
    pub(super) fn new(verb: Verb, object: u32) -> Self {
        Self { verb: verb as u8, object, attributes: 0, body: [0; BODY_LEN] }
    }

    /// A command that creates this region.
    pub(super) fn create(object: u32, region: &Region) -> Self {
        let mut command = Self::new(Verb::Create, object);
        region.emit(&mut command.body);
        command
    }

    /// As the port takes it.
    pub(super) fn payload(&self) -> ObjectCommand {
        ObjectCommand {
            verb: u64::from(self.verb).into(),
            object: u64::from(self.object).into(),
            attributes: self.attributes.into(),
            body: from_bytes(&self.body),
        }
    }
}

/// What the MMU has to do before the reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    Nothing,
    Begin(Region),
    End,
}

pub(super) struct Owner {
    /// Places for regions.
    pub(super) capacity: u32,
    /// Also windows, as a query shows them.
    pub(super) regions: BTreeMap<u32, Region>,
    /// Of the windows that are bound.
    pub(super) bonds: BTreeMap<u32, Bond>,
}

/// The first byte of the field that makes a region impossible.
pub(super) fn fault(region: &Region) -> Option<usize> {
    if region.window {
        let unbound = Region { pd: region.pd, window: true, ..Region::default() };
        let (found, unbound) = (region.to_bytes(), unbound.to_bytes());
        // The byte where the field begins that the byte in question belongs to.
        let start = |at: usize| match at {
            0..8 => 0,
            8..14 => 8,
            16..24 => 16,
            _ => at,
        };
        return (0..Region::LEN).find(|at| found[*at] != unbound[*at]).map(start);
    }
    let (base, length, list) = (u128::from(region.base), u128::from(region.length), u128::from(region.list));
    let top = 1_u128 << 64;
    if base + length > top {
        return Some(0);
    }
    let Some(log) = PAGE_LOGS.get(usize::from(region.page)) else {
        return Some(15);
    };
    let page = 1_u128 << log;
    let (alignment, end) = if region.direct {
        // The last byte is as far behind the first page's start as in virtual memory.
        (page, list + base % page + length)
    } else if length == 0 {
        (64, list)
    } else {
        let pages = (base + length - 1) / page - base / page + 1;
        (64, list + (pages * 8).next_multiple_of(64))
    };
    if list % alignment != 0 || end > top {
        return Some(16);
    }
    let (is_changed, is_own) =
        (region.rights & (REMOTE_WRITE | REMOTE_ATOMIC) != 0, region.rights & LOCAL_WRITE != 0);
    (is_changed && !is_own).then_some(26)
}

impl Owner {
    pub(super) fn command(&mut self, command: &Ask) -> (Order, ObjectReply) {
        let refused = |status: CommandStatus, byte: usize| {
            let reply =
                ObjectReply { status: (status as u64).into(), field: (byte as u64).into(), body: 0.into() };
            (Order::Nothing, reply)
        };
        let done = ObjectReply::default();
        let exists = self.regions.contains_key(&command.object);
        match Verb::from_code(command.verb) {
            Some(Verb::Create) => {
                let region = Region::parse(&command.body).expect("a body is longer than a region");
                if command.object >= self.capacity {
                    refused(CommandStatus::OutOfRange, 0)
                } else if exists {
                    refused(CommandStatus::Exists, 0)
                } else if command.attributes != 0 {
                    refused(CommandStatus::BadAttribute, 0)
                } else if let Some(byte) = fault(&region) {
                    refused(CommandStatus::BadField, byte)
                } else {
                    self.regions.insert(command.object, region);
                    if region.window {
                        return (Order::Nothing, done);
                    }
                    (Order::Begin(region), done)
                }
            }
            Some(Verb::Modify) | None => refused(CommandStatus::UnknownVerb, 0),
            Some(_) if !exists => refused(CommandStatus::NoObject, 0),
            Some(Verb::Query) => {
                let body = from_bytes(&self.regions[&command.object].to_bytes());
                (Order::Nothing, ObjectReply { body, ..done })
            }
            Some(Verb::Destroy) => {
                if self.bonds.values().any(|bond| bond.parent == command.object) {
                    return refused(CommandStatus::InUse, 0);
                }
                self.regions.remove(&command.object);
                self.bonds.remove(&command.object);
                (Order::End, done)
            }
        }
    }
}

/// A reply's status and field.
pub(super) fn answer(reply: &ObjectReply) -> (u32, u32) {
    (reply.status.to_words()[0], reply.field.to_words()[0])
}
