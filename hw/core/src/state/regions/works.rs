//! Works on windows in plain Rust.

use stroma_abi::desc::Region;
use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_WRITE};

use super::model::Owner;
use super::rig::MRS;
use crate::state::command::{KeyCause, KeyVerb, KeyWork};
use crate::state::memory_keys::{RegionRow, RowWrite};

/// A work in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) verb: KeyVerb,
    pub(super) qpn: u32,
    pub(super) pd: u16,
    pub(super) key: u32,
    pub(super) region: u32,
    pub(super) base: u64,
    pub(super) length: u64,
    pub(super) rights: u8,
}

impl Work {
    /// A work that ends a key.
    pub(super) fn ending(verb: KeyVerb, qpn: u32, pd: u16, key: u32) -> Self {
        Self { verb, qpn, pd, key, region: 0, base: 0, length: 0, rights: 0 }
    }

    /// As the port takes it.
    pub(super) fn payload(&self) -> KeyWork {
        KeyWork {
            verb: (self.verb as u64).into(),
            qpn: u64::from(self.qpn).into(),
            pd: u64::from(self.pd).into(),
            key: u64::from(self.key).into(),
            region: u64::from(self.region).into(),
            base: self.base.into(),
            length: self.length.into(),
            rights: u64::from(self.rights).into(),
        }
    }
}

/// What a window is bound to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bond {
    pub(super) parent: u32,
    pub(super) qpn: u32,
}

impl Owner {
    fn refusal(&self, work: &Work) -> Option<KeyCause> {
        let number = work.key >> 8;
        let Some(window) = self.regions.get(&number).filter(|found| found.window && found.pd == work.pd)
        else {
            return Some(KeyCause::Window);
        };
        let bond = self.bonds.get(&number);
        if work.verb != KeyVerb::Bind {
            let bond = bond.filter(|_| u32::from(window.key) == work.key & 0xff);
            return match bond {
                None => Some(KeyCause::Bound),
                Some(bond) if work.verb == KeyVerb::Part && bond.qpn != work.qpn => Some(KeyCause::QueuePair),
                Some(_) => None,
            };
        }
        if bond.is_some() {
            return Some(KeyCause::Bound);
        }
        let is_fit = |region: &&Region| {
            !region.window
                && region.bindable
                && region.pd == work.pd
                && u32::from(region.key) == work.region & 0xff
        };
        let Some(region) = self.regions.get(&(work.region >> 8)).filter(is_fit) else {
            return Some(KeyCause::Region);
        };
        let changes = work.rights & (REMOTE_WRITE | REMOTE_ATOMIC) != 0;
        if work.rights & LOCAL_WRITE != 0 || changes && region.rights & LOCAL_WRITE == 0 {
            return Some(KeyCause::Rights);
        }
        let end = |base: u64, length: u64| u128::from(base) + u128::from(length);
        let is_inside = work.length > 0
            && work.base >= region.base
            && end(work.base, work.length) <= end(region.base, region.length);
        (!is_inside).then_some(KeyCause::Bounds)
    }

    /// A queue pair has ended, and its windows with it: what the MMU is to be told.
    pub(super) fn leave(&mut self, qpn: u32) -> Vec<RowWrite<MRS>> {
        let mine: Vec<u32> =
            self.bonds.iter().filter(|(_, bond)| bond.qpn == qpn).map(|(number, _)| *number).collect();
        let end = |number| {
            let window = self.regions.get_mut(&number).expect("it is bound");
            *window = Region { pd: window.pd, window: true, ..Region::default() };
            self.bonds.remove(&number);
            RowWrite { region: u64::from(number).into(), row: RegionRow::default() }
        };
        mine.into_iter().map(end).collect()
    }

    /// What the MMU is to be told, and the answer.
    pub(super) fn work(&mut self, work: &Work) -> (Option<RowWrite<MRS>>, u8) {
        if let Some(cause) = self.refusal(work) {
            return (None, cause as u8);
        }
        let number = work.key >> 8;
        let window = self.regions.get_mut(&number).expect("it has been found");
        let unbound = Region { pd: window.pd, window: true, ..Region::default() };
        let row = if work.verb == KeyVerb::Bind {
            let (base, length, rights) = (work.base, work.length, work.rights);
            *window = Region { base, length, rights, key: work.key.to_le_bytes()[0], ..unbound };
            let parent = work.region >> 8;
            self.bonds.insert(number, Bond { parent, qpn: work.qpn });
            RegionRow::of(parent, &self.regions[&parent]).window(&work.payload())
        } else {
            *window = unbound;
            self.bonds.remove(&number);
            RegionRow::default()
        };
        (Some(RowWrite { region: u64::from(number).into(), row }), 0)
    }
}
