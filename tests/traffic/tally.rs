//! How many operations of which kind a run had.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::Kind;

/// A count for every kind of operation, and for those that used a memory window once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

/// Every kind a reliable connection has.
const NAMES: [&str; 13] = [
    "SEND",
    "SEND_IMM",
    "SEND_INV",
    "WRITE",
    "WRITE by window",
    "WRITE_IMM",
    "WRITE_IMM by window",
    "READ",
    "READ by window",
    "CMP_SWAP",
    "FETCH_ADD",
    "BIND_MW",
    "LOCAL_INV",
];

impl Default for Tally {
    fn default() -> Self {
        Self(NAMES.into_iter().map(|name| (name, 0)).collect())
    }
}

impl Tally {
    pub(super) fn count(&mut self, kind: Kind, is_windowed: bool) {
        let name = match (kind, is_windowed) {
            (Kind::Send, _) => "SEND",
            (Kind::SendImm(_), _) => "SEND_IMM",
            (Kind::SendInv(_), _) => "SEND_INV",
            (Kind::Write, false) => "WRITE",
            (Kind::Write, true) => "WRITE by window",
            (Kind::WriteImm(_), false) => "WRITE_IMM",
            (Kind::WriteImm(_), true) => "WRITE_IMM by window",
            (Kind::Read, false) => "READ",
            (Kind::Read, true) => "READ by window",
            (Kind::CompareSwap { .. }, _) => "CMP_SWAP",
            (Kind::FetchAdd(_), _) => "FETCH_ADD",
            (Kind::Bind(_), _) => "BIND_MW",
            (Kind::Invalidate(_), _) => "LOCAL_INV",
        };
        *self.0.get_mut(name).expect("all have a name") += 1;
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.get_mut(name).expect("all have a name") += count;
        }
    }

    /// The kind that there were fewest of, and how many.
    pub fn rarest(&self) -> (&'static str, u64) {
        let rows = self.0.iter().map(|(name, count)| (*name, *count));
        rows.min_by_key(|(_, count)| *count).expect("there are kinds")
    }
}

impl Display for Tally {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = NAMES.iter().map(|name| format!("{} {name}", self.0[name])).collect();
        to.write_str(&rows.join(", "))
    }
}
