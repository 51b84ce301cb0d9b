//! The search for an order, after Wing and Gong, *Testing and Verifying Concurrent Objects* (1993), with the memory that Lowe added in *Testing for
//! Linearizability* (2017): what was found to lead nowhere is not tried again.
//!
//! An operation may come next if no other that is still to come has returned before it was invoked. The search tries each in turn, and steps back
//! when none fits. What can follow depends only on which operations have come, and on the value they left behind; so each pair of the two is
//! tried once.

use std::collections::HashSet;
use std::fmt;

use super::{Bytes, Event, Operation, Outcome};

/// A key whose operations have no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The key.
    pub key: Bytes,
    /// Operations with a known outcome, and how many of them have an order at most.
    pub total: usize,
    /// See there.
    pub ordered: usize,
    /// Operations that could come behind these by their times, and do not fit.
    pub next: Vec<Event>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, total, ordered, next } = self;
        write!(
            out,
            "key {key:x?} is not linearizable: {ordered} of {total} operations have an order, and none of these fits behind them:"
        )?;
        next.iter().try_for_each(|event| write!(out, "\n  {event}"))
    }
}

impl std::error::Error for Violation {}

/// Which operations have come: a bit for each.
type Come = Vec<u64>;

fn has(come: &Come, number: usize) -> bool {
    come[number / 64] >> (number % 64) & 1 == 1
}

fn with(come: &Come, number: usize) -> Come {
    let mut come = come.clone();
    come[number / 64] |= 1 << (number % 64);
    come
}

/// Could an operation have had its outcome when the value was `value`?
fn fits(event: &Event, value: Option<&Bytes>) -> bool {
    match (&event.operation, &event.outcome) {
        (_, Outcome::Unknown) => true,
        (Operation::Get, Outcome::Value(found)) => found.as_ref() == value,
        (Operation::Put(_) | Operation::Delete, Outcome::WasThere(was_there)) => {
            *was_there == value.is_some()
        }
        _ => false,
    }
}

/// The value behind it.
fn behind(event: &Event, value: Option<&Bytes>) -> Option<Bytes> {
    match &event.operation {
        Operation::Get => value.cloned(),
        Operation::Put(value) => Some(value.clone()),
        Operation::Delete => None,
    }
}

/// Operations of one key, by their invocation.
struct Key<'a> {
    events: Vec<&'a Event>,
    /// Operations that must come.
    known: usize,
}

impl Key<'_> {
    fn is_known(&self, number: usize) -> bool {
        self.events[number].outcome != Outcome::Unknown
    }

    /// Operations that may come next by their times, the one that was invoked first at the end.
    fn candidates(&self, come: &Come) -> Vec<usize> {
        let left = || (0..self.events.len()).filter(|number| !has(come, *number));
        let first_return =
            left().filter(|number| self.is_known(*number)).map(|number| self.events[number].returned).min();
        let is_early =
            |number: &usize| first_return.is_none_or(|first| self.events[*number].invoked <= first);
        left().rev().filter(is_early).collect()
    }

    fn ordered(&self, come: &Come) -> usize {
        (0..self.events.len()).filter(|number| has(come, *number) && self.is_known(*number)).count()
    }
}

/// How far one order has come.
struct Level {
    come: Come,
    /// What is left behind by them.
    value: Option<Bytes>,
    /// Operations that are still to be tried next.
    candidates: Vec<usize>,
}

/// An order of operations of one key, whose value was `initial` before; their numbers in `events`.
pub(super) fn order(initial: Option<&Bytes>, events: &[&Event]) -> Result<Vec<usize>, Violation> {
    let mut numbers: Vec<usize> = (0..events.len()).collect();
    numbers.sort_by_key(|number| events[*number].invoked);
    let sorted: Vec<&Event> = numbers.iter().map(|number| events[*number]).collect();
    let known = sorted.iter().filter(|event| event.outcome != Outcome::Unknown).count();
    let key = Key { events: sorted, known };

    let nothing = vec![0; events.len().div_ceil(64)];
    let mut tried = HashSet::from([(nothing.clone(), initial.cloned())]);
    let mut best = (0, nothing.clone());
    let candidates = key.candidates(&nothing);
    let mut levels = vec![Level { come: nothing, value: initial.cloned(), candidates }];
    let mut path = Vec::new();
    loop {
        let Some(Level { come, value, candidates }) = levels.last_mut() else {
            let next = key.candidates(&best.1).into_iter().map(|number| key.events[number].clone());
            let name = events.first().map_or_else(Vec::new, |event| event.key.clone());
            return Err(Violation { key: name, total: known, ordered: best.0, next: next.collect() });
        };
        let ordered = key.ordered(come);
        if ordered == key.known {
            return Ok(path.into_iter().map(|number: usize| numbers[number]).collect());
        }
        if ordered > best.0 {
            best = (ordered, come.clone());
        }
        let Some(number) = candidates.pop() else {
            levels.pop();
            path.pop();
            continue;
        };
        if !fits(key.events[number], value.as_ref()) {
            continue;
        }
        let after = behind(key.events[number], value.as_ref());
        let come = with(come, number);
        if tried.insert((come.clone(), after.clone())) {
            let candidates = key.candidates(&come);
            levels.push(Level { come, value: after, candidates });
            path.push(number);
        }
    }
}
