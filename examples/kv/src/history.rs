//! What clients did and saw, and when: the history of a run.
//!
//! A history is linearizable if every operation can be given one moment between its invocation and its return at which it takes effect, so that a
//! plain map, to which the operations are applied in the order of their moments, gives the same results (Herlihy and Wing, *Linearizability: A
//! Correctness Condition for Concurrent Objects*, TOPLAS 1990). A map is linearizable if each of its keys is, so [`check`] looks at one key at a time.

mod search;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

pub use search::Violation;

/// A key or a value.
pub type Bytes = Vec<u8>;

/// A moment of a run: its cycle, and its number, since much can happen in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The cycle.
    pub cycle: u64,
    /// Counts the moments of a history.
    pub number: u64,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The value of the key.
    Get,
    /// The key gets this value.
    Put(Bytes),
    /// The key goes.
    Delete,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Of a GET: the value, if there was one.
    Value(Option<Bytes>),
    /// Of a PUT or DELETE: was the key there before?
    WasThere(bool),
    /// It failed, or nobody knows: it took effect once, at any time after its invocation, or never.
    Unknown,
}

/// An operation of a client, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who asked.
    pub client: usize,
    /// For which key.
    pub key: Bytes,
    /// For what.
    pub operation: Operation,
    /// With which result.
    pub outcome: Outcome,
    /// When it was asked.
    pub invoked: Moment,
    /// When the result was there. Of an operation without a known outcome it does not count.
    pub returned: Moment,
}

impl Event {
    /// Cycles from invocation to return.
    #[must_use]
    pub const fn cycles(&self) -> u64 {
        self.returned.cycle - self.invoked.cycle
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, operation, outcome, invoked, returned, .. } = self;
        write!(
            out,
            "client {client}, cycles {} to {}: {operation:?} gave {outcome:?}",
            invoked.cycle, returned.cycle
        )
    }
}

/// Takes down what clients do that share a thread.
#[derive(Debug, Default)]
pub struct Recorder {
    moments: Cell<u64>,
    events: RefCell<Vec<Event>>,
}

impl Recorder {
    /// A moment, later than all before it. `cycle` is not less than that of the last.
    #[must_use]
    pub fn moment(&self, cycle: u64) -> Moment {
        let number = self.moments.get();
        self.moments.set(number + 1);
        Moment { cycle, number }
    }

    /// Takes down an operation that has ended.
    pub fn record(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    /// All events, in the order in which they were taken down.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }
}

/// Is a history of a map, in which each key of `initial` had its value before and no other had one, linearizable?
///
/// # Errors
/// [`Violation`], for the first key whose operations have no order.
pub fn check(initial: &BTreeMap<Bytes, Bytes>, events: &[Event]) -> Result<(), Violation> {
    let mut keys: BTreeMap<&Bytes, Vec<&Event>> = BTreeMap::new();
    for event in events {
        keys.entry(&event.key).or_default().push(event);
    }
    keys.into_iter().try_for_each(|(key, events)| search::order(initial.get(key), &events).map(drop))
}
