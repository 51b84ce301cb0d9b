//! Numbers of objects: the lowest free one is given out next.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use crate::{Error, Result, lock};

/// Numbers of one kind of object, up to a capacity.
pub(crate) struct Numbers {
    what: &'static str,
    /// The first of them.
    first: u32,
    capacity: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Given back, all below `next`.
    free: BTreeSet<u32>,
    /// Never given out, from here on.
    next: u32,
}

/// A number in use; free again when dropped, unless it was retired.
#[derive(Debug)]
pub(crate) struct Number {
    value: u32,
    numbers: Arc<Numbers>,
    is_retired: bool,
}

impl Numbers {
    pub(crate) fn new(what: &'static str, capacity: u32) -> Arc<Self> {
        Self::from(what, 0, capacity)
    }

    /// From `first` to below `capacity`.
    pub(crate) fn from(what: &'static str, first: u32, capacity: u32) -> Arc<Self> {
        let state = Mutex::new(State { next: first, ..State::default() });
        Arc::new(Self { what, first, capacity, state })
    }

    pub(crate) fn take(self: &Arc<Self>) -> Result<Number> {
        let mut state = lock(&self.state);
        let value = if let Some(value) = state.free.pop_first() {
            value
        } else if state.next < self.capacity {
            state.next += 1;
            state.next - 1
        } else {
            return Err(Error::NoneLeft { what: self.what, capacity: self.capacity - self.first });
        };
        Ok(Number { value, numbers: Arc::clone(self), is_retired: false })
    }
}

impl Numbers {
    /// Numbers that were given out and not given back; one that was retired is among them.
    pub(crate) fn in_use(&self) -> Vec<u32> {
        let state = lock(&self.state);
        (self.first..state.next).filter(|value| !state.free.contains(value)).collect()
    }
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Numbers({} {})", self.capacity, self.what)
    }
}

impl Number {
    pub(crate) fn value(&self) -> u32 {
        self.value
    }

    /// Never gives the number out again: the card may still use it.
    pub(crate) fn retire(mut self) {
        self.is_retired = true;
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if !self.is_retired {
            lock(&self.numbers.state).free.insert(self.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_comes_next() {
        let numbers = Numbers::new("things", 3);
        let (first, second, third) =
            (numbers.take().unwrap(), numbers.take().unwrap(), numbers.take().unwrap());
        assert_eq!([first.value(), second.value(), third.value()], [0, 1, 2]);
        assert_eq!(numbers.take().unwrap_err().to_string(), "all 3 things are in use");
        drop(third);
        assert_eq!(numbers.in_use(), [0, 1]);
        drop(first);
        assert_eq!(numbers.in_use(), [1]);
        assert_eq!(numbers.take().unwrap().value(), 0);
    }

    #[test]
    fn a_retired_number_does_not_come_back() {
        let numbers = Numbers::new("things", 2);
        numbers.take().unwrap().retire();
        let kept = numbers.take().unwrap();
        assert_eq!(kept.value(), 1);
        assert!(numbers.take().is_err());
    }
}
