//! Who has which card, and since when nobody has any.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Who has a card: the process, if the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) process: Option<u32>,
}

#[derive(Debug)]
struct State {
    cards: Vec<Option<Client>>,
    /// When the last one went, or somebody said that one will come.
    since: Instant,
    has_ended: bool,
}

/// The clients of all cards.
#[derive(Debug)]
pub(crate) struct Clients {
    state: Mutex<State>,
    changed: Condvar,
}

impl Clients {
    /// Nobody, of so many cards.
    pub(crate) fn new(cards: usize) -> Self {
        let state = State { cards: vec![None; cards], since: Instant::now(), has_ended: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has a card.
    pub(crate) fn come(&self, card: usize, process: Option<u32>) {
        self.state().cards[card] = Some(Client { process });
        self.changed.notify_all();
    }

    /// It has gone.
    pub(crate) fn go(&self, card: usize) {
        let mut state = self.state();
        state.cards[card] = None;
        state.since = Instant::now();
        self.changed.notify_all();
    }

    /// Who has each of the cards.
    pub(crate) fn list(&self) -> Vec<Option<Client>> {
        self.state().cards.clone()
    }

    /// Somebody is about to come; `false` when it was decided already that nobody does.
    pub(crate) fn hold(&self) -> bool {
        let mut state = self.state();
        state.since = Instant::now();
        !state.has_ended
    }

    /// Waits until nobody has had a card for so long. From then on nobody can be promised one.
    pub(crate) fn wait_for_nobody(&self, linger: Duration) {
        let mut state = self.state();
        loop {
            let is_alone = state.cards.iter().all(Option::is_none);
            let left = linger.saturating_sub(state.since.elapsed());
            if is_alone && left.is_zero() {
                state.has_ended = true;
                return;
            }
            state = if is_alone {
                let woken = self.changed.wait_timeout(state, left);
                woken.unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LINGER: Duration = Duration::from_millis(100);

    #[test]
    fn the_end_is_so_long_after_the_last_client_has_gone() {
        let clients = Clients::new(2);
        clients.come(1, Some(7));
        assert_eq!(clients.list(), [None, Some(Client { process: Some(7) })]);
        let gone = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                clients.wait_for_nobody(LINGER);
                Instant::now()
            });
            std::thread::sleep(2 * LINGER);
            assert!(clients.hold(), "there is a client");
            let gone = Instant::now();
            clients.go(1);
            waiting.join().unwrap() - gone
        });
        assert!(gone >= LINGER, "{gone:?}");
        assert!(!clients.hold(), "it is over");
    }

    #[test]
    fn who_is_about_to_come_is_waited_for() {
        let clients = Clients::new(1);
        std::thread::sleep(LINGER / 2);
        assert!(clients.hold());
        let held = Instant::now();
        clients.wait_for_nobody(LINGER);
        assert!(held.elapsed() >= LINGER);
    }
}
