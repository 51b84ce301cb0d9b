//! Requests that wait, in plain Rust: a list in the order in which they came.

use crate::transport::records::Arrival;

/// A request in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// How many came before it.
    pub(super) age: u64,
    /// What its packet said.
    pub(super) arrival: Arrival,
    /// It follows another of its queue pair.
    pub(super) follows: bool,
}

/// The store.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) kept: Vec<Kept>,
    /// Requests that were ever stored.
    pub(super) stored: u64,
    /// The one that was looked at last and stays, if none has gone since.
    last: Option<u64>,
}

impl Store {
    /// A request is deferred.
    pub(super) fn store(&mut self, arrival: &Arrival, follows: bool) {
        self.kept.push(Kept { age: self.stored, arrival: *arrival, follows });
        self.stored += 1;
    }

    /// The one that is to be looked at: the first after the last that may go, or the first of all. Two when the walk may have come to
    /// its end before the newest was stored.
    pub(super) fn candidates(&self) -> Vec<Kept> {
        let is_stuck = self.kept.iter().all(|kept| kept.follows);
        let mut those = self.kept.iter().filter(|kept| is_stuck || !kept.follows).copied();
        let first = those.clone().next();
        let next = those.find(|kept| self.last.is_none_or(|last| kept.age > last));
        next.into_iter().chain(first).collect()
    }

    /// It stays.
    pub(super) fn stay(&mut self, age: u64, follows: bool) {
        self.last = Some(age);
        self.kept.iter_mut().filter(|kept| kept.age == age).for_each(|kept| kept.follows = follows);
    }

    /// It has gone: those that follow may have their turn.
    pub(super) fn go(&mut self, age: u64) {
        self.kept.retain(|kept| kept.age != age);
        self.begin();
    }

    /// A queue pair begins anew; how many were forgotten.
    pub(super) fn forget(&mut self, qpn: u64) -> usize {
        let before = self.kept.len();
        self.kept.retain(|kept| u64::from(kept.arrival.qpn) != qpn);
        let gone = before - self.kept.len();
        self.last = None;
        if gone > 0 {
            self.begin();
        }
        gone
    }

    fn begin(&mut self) {
        self.last = None;
        self.kept.iter_mut().for_each(|kept| kept.follows = false);
    }

    /// Places that are not free: those from the oldest on.
    pub(super) fn level(&self) -> u64 {
        self.kept.first().map_or(0, |oldest| self.stored - oldest.age)
    }
}
