//! The owner of the address handles in plain Rust: a map.

use std::collections::BTreeMap;

use stroma_abi::desc::mailbox::BODY_LEN;
use stroma_abi::desc::{AddressHandle, CommandStatus, Verb};

use crate::pack::{from_bytes, from_number};
use crate::state::command::ObjectCommand;
use crate::transport::records::HandleRow;

/// A command in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) verb: u8,
    pub(super) object: u32,
    pub(super) attributes: u64,
    pub(super) handle: AddressHandle,
}

impl Ask {
    /// As the port takes it.
    pub(super) fn payload(&self) -> ObjectCommand {
        let mut body = [0; BODY_LEN];
        self.handle.emit(&mut body);
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
    pub(super) handles: BTreeMap<u32, AddressHandle>,
}

impl Owner {
    pub(super) fn command(&mut self, ask: &Ask) -> CommandStatus {
        let exists = self.handles.contains_key(&ask.object);
        match Verb::from_code(ask.verb) {
            Some(Verb::Create) if ask.object >= self.capacity => CommandStatus::OutOfRange,
            Some(Verb::Create) if exists => CommandStatus::Exists,
            Some(Verb::Create) if ask.attributes != 0 => CommandStatus::BadAttribute,
            Some(Verb::Create) => {
                self.handles.insert(ask.object, ask.handle);
                CommandStatus::Done
            }
            Some(Verb::Destroy) => match self.handles.remove(&ask.object) {
                Some(_) => CommandStatus::Done,
                None => CommandStatus::NoObject,
            },
            _ => CommandStatus::UnknownVerb,
        }
    }

    /// What readers find; without `exists` nothing else counts.
    pub(super) fn row(&self, number: u32) -> Option<HandleRow> {
        let handle = self.handles.get(&number)?;
        Some(HandleRow {
            exists: true,
            pd: u64::from(handle.pd).into(),
            peer_mac: (handle.peer_mac.swap_bytes() >> 16).into(),
            peer_ip: from_number(handle.peer_ip.swap_bytes()),
            source_port: u64::from(handle.source_port).into(),
            hop_limit: u64::from(handle.hop_limit).into(),
            traffic_class: u64::from(handle.traffic_class).into(),
            has_vlan: handle.has_vlan,
            vlan: u64::from(handle.vlan).into(),
            flow_label: u64::from(handle.flow_label).into(),
            source_address: u64::from(handle.source_address).into(),
        })
    }
}
