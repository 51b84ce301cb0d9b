//! Who is being answered.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at a time.
pub(super) const PLACES: usize = 32;
/// Of these, those of one process.
pub(super) const PLACES_OF_ONE: usize = 16;

/// How many connections each process has; one number for those that the system does not know.
#[derive(Debug, Default)]
pub(super) struct Guests(Mutex<BTreeMap<Option<u32>, usize>>);

/// A connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    guests: Arc<Guests>,
    process: Option<u32>,
}

impl Guests {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<Option<u32>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets somebody in who has connected.
    ///
    /// # Errors
    /// When there is no place for him; why.
    pub(super) fn let_in(self: &Arc<Self>, stream: &UnixStream) -> Result<Guest, String> {
        self.let_process_in(stroma_local::process(stream))
    }

    fn let_process_in(self: &Arc<Self>, process: Option<u32>) -> Result<Guest, String> {
        let mut counts = self.counts();
        if counts.values().sum::<usize>() >= PLACES {
            return Err(format!("{PLACES} others are being answered"));
        }
        let count = counts.entry(process).or_default();
        if *count >= PLACES_OF_ONE {
            return Err(format!("this process has {PLACES_OF_ONE} connections already"));
        }
        *count += 1;
        Ok(Guest { guests: Arc::clone(self), process })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut counts = self.guests.counts();
        if let Some(count) = counts.get_mut(&self.process) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.process);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_leaves_room_for_others_and_all_of_them_have_so_much() {
        let guests = Arc::new(Guests::default());
        let let_in = |process: u32| guests.let_process_in(Some(process));
        let mut all: Vec<Guest> = (0..PLACES_OF_ONE).map(|_| let_in(1).unwrap()).collect();
        assert_eq!(let_in(1).unwrap_err(), "this process has 16 connections already");
        all.extend((PLACES_OF_ONE..PLACES).map(|number| let_in(u32::try_from(number).unwrap()).unwrap()));
        assert_eq!(let_in(77).unwrap_err(), "32 others are being answered");
        all.remove(0);
        all.push(let_in(1).unwrap());
        drop(all);
        assert!(guests.counts().is_empty());
    }
}
