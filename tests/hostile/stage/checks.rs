//! What is as it was, and what is as it should be.

use stroma_verbs::QueuePairState;

use super::Stage;
use crate::arena::{INBOX, LANDING, OPEN, SLOT};

impl Stage {
    /// The memory is as it should be; but for what the card had asked for itself, which is taken as it is.
    pub(crate) fn check_memory(&mut self, story: &str) {
        let found = self.arena.found();
        for victim in self.victims.iter().filter(|victim| victim.spent) {
            let landing = victim.slot + LANDING.start..victim.slot + LANDING.end;
            self.arena.expected[landing.clone()].copy_from_slice(&found[landing]);
        }
        let differs = found.iter().zip(&self.arena.expected).position(|(found, expected)| found != expected);
        if let Some(at) = differs {
            let victim = &self.victims[at / SLOT];
            panic!("{story}: byte {} of the slot of {victim:?} differs", at % SLOT);
        }
    }

    /// Whatever became of single frames, memory that nobody could be granted is as it was. The rest is taken as it is.
    pub(crate) fn check_guards(&mut self, story: &str) {
        let found = self.arena.found();
        for (victim, plan) in self.victims.iter().zip(&self.plans) {
            let guards = [
                Some(0..OPEN.start),
                Some(OPEN.end..INBOX.start),
                (plan.posts == 0 || !victim.has_peer()).then_some(INBOX),
                plan.asks.is_none().then_some(LANDING),
            ];
            for guard in guards.into_iter().flatten() {
                let range = victim.slot + guard.start..victim.slot + guard.end;
                let is_same = found[range.clone()] == self.contents[range];
                assert!(is_same, "{story}: {guard:?} of the slot of {victim:?} has changed");
            }
        }
        self.arena.expected = found;
    }

    /// What failed is in error, and nothing else is.
    pub(crate) fn check_states(&self, story: &str) {
        for (victim, queue_pair) in
            self.victims.iter().zip(&self.queue_pairs).filter(|(victim, _)| !victim.spent)
        {
            let found = queue_pair.query().expect("an answer").state;
            assert_eq!(QueuePairState::from_code(found), Some(victim.state), "{story}: {victim:?}");
        }
    }
}
