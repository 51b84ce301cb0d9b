//! Clients of one way that play a mix at once.

use std::collections::BTreeMap;

use crate::history::{self, Bytes, Event, Operation, Recorder, Violation};
use crate::mix::{Mix, play, record};
use crate::{Map, Result, Task, Way};

use super::Rig;

/// What came of a mix.
pub struct Played {
    /// Cycles from the first invocation to the last return.
    pub cycles: u64,
    /// What the store held before.
    pub initial: BTreeMap<Bytes, Bytes>,
    /// What the clients did; behind that a GET of each key, of nobody's, whose outcome is what the store holds now.
    pub events: Vec<Event>,
    /// How many of these are the clients'.
    pub operations: usize,
}

impl Played {
    /// Can a plain map explain it all, what the store holds now included?
    ///
    /// # Errors
    /// [`Violation`].
    pub fn check(&self) -> std::result::Result<(), Violation> {
        history::check(&self.initial, &self.events)
    }

    /// Mean cycles of the operations of a kind, if there were any.
    #[must_use]
    pub fn mean(&self, is_of_kind: impl Fn(&Operation) -> bool) -> Option<u64> {
        let events = self.events[..self.operations].iter().filter(|event| is_of_kind(&event.operation));
        let cycles: Vec<u64> = events.map(Event::cycles).collect();
        cycles.iter().sum::<u64>().checked_div(cycles.len() as u64)
    }
}

impl Rig {
    /// Has `count` clients play a mix by one way at once, then reads what the store holds through the server's card.
    ///
    /// # Errors
    /// The first that an operation ends with.
    pub fn play(&self, way: Way, count: usize, mix: &Mix) -> Result<Played> {
        self.play_as(way, count, mix, |client| client)
    }

    /// The same with clients that are not quite what they should be.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub fn play_as<M: Map>(
        &self,
        way: Way,
        count: usize,
        mix: &Mix,
        change: impl Fn(crate::Client) -> M,
    ) -> Result<Played> {
        let initial = self.store.borrow().contents()?;
        let (clients, server) = self.clients(way, count)?;
        let mut clients: Vec<M> = clients.into_iter().map(change).collect();
        let first = clients.iter_mut().take(1);
        let looks = first.map(|client| -> Task<'_> { Box::pin(look(client, &mix.keys)) });
        self.run(&server, looks.collect())?;

        let recorder = Recorder::default();
        let tasks = clients.iter_mut().enumerate().map(|(number, client)| -> Task<'_> {
            Box::pin(play(client, number, mix, self.clock(), &recorder))
        });
        let cycles = self.run(&server, tasks.collect())?;
        let operations = recorder.events().len();

        let (mut auditors, beside) = self.clients(Way::Kernels, 1)?;
        for auditor in &mut auditors {
            for key in &mix.keys {
                let read = record(auditor, count, key.clone(), Operation::Get, self.clock(), &recorder);
                self.wait(&beside, read)?;
            }
        }
        Ok(Played { cycles, initial, events: recorder.events(), operations })
    }

    /// All that the store holds, as its card finds it whole.
    ///
    /// # Errors
    /// [`Error::Torn`](crate::Error::Torn); what the card tells.
    pub fn audit(&self) -> Result<BTreeMap<Bytes, Bytes>> {
        let (mut auditors, server) = self.clients(Way::Kernels, 1)?;
        let mut contents = BTreeMap::new();
        for auditor in &mut auditors {
            contents = self.wait(&server, auditor.contents())?;
        }
        Ok(contents)
    }
}

/// Looks at every key, so that both cards know all pages.
async fn look(map: &mut impl Map, keys: &[Bytes]) -> Result<()> {
    for key in keys {
        map.get(key).await?;
    }
    Ok(())
}
