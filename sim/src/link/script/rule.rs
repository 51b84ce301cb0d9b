//! A rule, and when it strikes.

use stroma_abi::{Psn, Qpn};

use super::packet::{Kind, Seen};
use crate::link::{Hold, Verdict};

/// What a rule does to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Drop,
    Duplicate,
    Mark,
    Reorder,
    Hold(Hold),
    Corrupt { byte: u32, bit: u32, is_caught: bool },
}

/// Which of those that it describes, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Range { first: u32, last: u32 },
    Every(u32),
}

impl Which {
    pub(super) const ALL: Self = Self::Every(1);

    fn holds(self, number: u64) -> bool {
        match self {
            Self::Range { first, last } => (u64::from(first)..=u64::from(last)).contains(&number),
            Self::Every(step) => number.is_multiple_of(u64::from(step)),
        }
    }
}

/// What a packet must have, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clauses {
    pub(super) queue_pair: Option<Qpn>,
    pub(super) psn: Option<Psn>,
    pub(super) larger_than: Option<u32>,
    pub(super) after_ns: Option<u32>,
    pub(super) until_ns: Option<u32>,
    pub(super) once: Option<()>,
}

impl Clauses {
    fn fit(&self, seen: &Seen<'_>, time_ns: u64) -> bool {
        let has = |wanted: Option<u32>, found: Option<u32>| wanted.is_none() || wanted == found;
        let bth = seen.packet.as_ref().map(|packet| packet.bth);
        has(self.queue_pair.map(Qpn::value), bth.map(|bth| bth.destination_qp.value()))
            && has(self.psn.map(Psn::value), bth.map(|bth| bth.psn.value()))
            && self.larger_than.is_none_or(|bytes| seen.length as u64 > u64::from(bytes))
            && self.after_ns.is_none_or(|start| time_ns >= u64::from(start))
            && self.until_ns.is_none_or(|end| time_ns < u64::from(end))
    }
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) action: Action,
    pub(super) which: Which,
    pub(super) kind: Kind,
    pub(super) clauses: Clauses,
}

impl Rule {
    /// What it does to number `number` of those that it describes.
    fn verdict(&self, number: u64, pair: u32) -> Option<Verdict> {
        let is_meant = self.which.holds(number);
        is_meant.then_some(match (self.action, self.which) {
            (Action::Drop, _) => Verdict::Drop,
            (Action::Duplicate, _) => Verdict::Duplicate,
            (Action::Mark, _) => Verdict::Mark,
            (Action::Hold(hold), _) => Verdict::Hold(hold),
            (Action::Corrupt { byte, bit, is_caught }, _) => {
                Verdict::Corrupt { bit: byte as usize * 8 + bit as usize, is_caught }
            }
            (Action::Reorder, Which::Range { first, .. }) if number == u64::from(first) => {
                Verdict::Overtaken(pair)
            }
            (Action::Reorder, Which::Range { last, .. }) if number == u64::from(last) => {
                Verdict::Overtakes(pair)
            }
            (Action::Reorder, _) => return None,
        })
    }
}

/// What a rule has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    described: u64,
    has_struck: bool,
}

impl Count {
    /// What the rule says of a frame; `pair` is its own number, for frames that wait for each other.
    pub(super) fn strike(
        &mut self,
        rule: &Rule,
        seen: &Seen<'_>,
        time_ns: u64,
        pair: u32,
    ) -> Option<Verdict> {
        if !rule.kind.fits(seen.packet.as_ref()) || !rule.clauses.fit(seen, time_ns) {
            return None;
        }
        self.described += 1;
        let verdict = rule.verdict(self.described, pair)?;
        // Two frames make one change of order.
        let is_again = self.has_struck && rule.action != Action::Reorder;
        self.has_struck = true;
        (rule.clauses.once.is_none() || !is_again).then_some(verdict)
    }
}
