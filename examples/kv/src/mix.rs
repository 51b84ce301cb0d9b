//! Clients that do things by chance, and what came of it.

use std::rc::Rc;

use stroma_verilate::SplitMix64;

use crate::history::{Bytes, Event, Operation, Outcome, Recorder};
use crate::{Clock, Map, Result};

/// What a client does.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Its name.
    pub name: &'static str,
    /// Of a hundred operations so many are PUTs.
    pub puts: u64,
    /// And so many DELETEs. The others are GETs.
    pub deletes: u64,
    /// Operations of a client.
    pub operations: usize,
    /// Keys, each as likely as any other.
    pub keys: Vec<Bytes>,
    /// Bytes of a value, at least 8.
    pub value_bytes: usize,
    /// What chance begins with.
    pub seed: u64,
}

impl Mix {
    /// 95 GETs of a hundred operations, and 5 PUTs.
    #[must_use]
    pub const fn read_heavy(operations: usize, keys: Vec<Bytes>, value_bytes: usize, seed: u64) -> Self {
        Self { name: "read_heavy", puts: 5, deletes: 0, operations, keys, value_bytes, seed }
    }

    /// As many PUTs as GETs.
    #[must_use]
    pub const fn write_heavy(operations: usize, keys: Vec<Bytes>, value_bytes: usize, seed: u64) -> Self {
        Self { name: "write_heavy", puts: 50, deletes: 0, operations, keys, value_bytes, seed }
    }

    /// So many keys of 16 bytes.
    #[must_use]
    pub fn keys(count: u64) -> Vec<Bytes> {
        (0..count).map(|number| format!("key {number:012}").into_bytes()).collect()
    }

    /// A value that no other PUT writes.
    fn value(&self, client: usize, number: usize, random: &mut SplitMix64) -> Bytes {
        let name = (client as u64) << 32 | number as u64;
        let mut value = name.to_le_bytes().to_vec();
        value.resize_with(self.value_bytes.max(8), || random.next_u64().to_le_bytes()[0]);
        value
    }
}

/// Has a client do its operations, one after the other, and takes down each.
///
/// # Errors
/// The first that an operation ends with; it stands in the history without an outcome.
pub async fn play(
    map: &mut impl Map,
    client: usize,
    mix: &Mix,
    clock: &Rc<Clock>,
    recorder: &Recorder,
) -> Result<()> {
    let mut random = SplitMix64::new(mix.seed ^ (client as u64 + 1) << 40);
    for number in 0..mix.operations {
        let which = usize::try_from(random.below(mix.keys.len() as u64)).unwrap_or(0);
        let key = mix.keys[which].clone();
        let chance = random.below(100);
        let operation = if chance < mix.puts {
            Operation::Put(mix.value(client, number, &mut random))
        } else if chance < mix.puts + mix.deletes {
            Operation::Delete
        } else {
            Operation::Get
        };
        record(map, client, key, operation, clock, recorder).await?;
    }
    Ok(())
}

/// Does one operation, and takes it down.
///
/// # Errors
/// What it ends with; it stands in the history without an outcome.
pub async fn record(
    map: &mut impl Map,
    client: usize,
    key: Bytes,
    operation: Operation,
    clock: &Rc<Clock>,
    recorder: &Recorder,
) -> Result<()> {
    let invoked = recorder.moment(clock.now());
    let ended = match &operation {
        Operation::Get => map.get(&key).await.map(Outcome::Value),
        Operation::Put(value) => map.put(&key, value).await.map(Outcome::WasThere),
        Operation::Delete => map.delete(&key).await.map(Outcome::WasThere),
    };
    let returned = recorder.moment(clock.now());
    let (outcome, ended) = match ended {
        Ok(outcome) => (outcome, Ok(())),
        Err(error) => (Outcome::Unknown, Err(error)),
    };
    recorder.record(Event { client, key, operation, outcome, invoked, returned });
    ended
}
