//! Clients that are wrong in a known way: a checker that lets them pass proves nothing of the others.

use std::collections::BTreeMap;

use crate::history::Bytes;
use crate::{Map, Result};

/// Answers every GET of a key with what it saw first.
pub struct Stale<M> {
    map: M,
    seen: BTreeMap<Bytes, Option<Bytes>>,
}

impl<M> Stale<M> {
    /// A cache that nobody clears, in front of a map.
    #[must_use]
    pub const fn new(map: M) -> Self {
        Self { map, seen: BTreeMap::new() }
    }
}

impl<M: Map> Map for Stale<M> {
    async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>> {
        if let Some(value) = self.seen.get(key) {
            return Ok(value.clone());
        }
        let value = self.map.get(key).await?;
        self.seen.insert(key.to_vec(), value.clone());
        Ok(value)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.map.put(key, value).await
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.map.delete(key).await
    }
}

/// Forgets every third PUT, and says that it was carried out.
pub struct Forgetful<M> {
    map: M,
    puts: u32,
}

impl<M> Forgetful<M> {
    /// In front of a map, with nothing forgotten yet.
    #[must_use]
    pub const fn new(map: M) -> Self {
        Self { map, puts: 0 }
    }
}

impl<M: Map> Map for Forgetful<M> {
    async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>> {
        self.map.get(key).await
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.puts += 1;
        if self.puts.is_multiple_of(3) {
            Ok(self.map.get(key).await?.is_some())
        } else {
            self.map.put(key, value).await
        }
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.map.delete(key).await
    }
}
