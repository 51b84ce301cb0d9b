//! Clients: the same three operations, in three ways.
//!
//! | | GET | PUT | DELETE |
//! |---|---|---|---|
//! | [`Kernels`](Way::Kernels) | `get` | `prism`: bucket and key; then append and swap in one chain | `prism`: bucket and key; then swap |
//! | [`Reads`](Way::Reads) | READ of the bucket, READ of the object | READ, READ, atomic that locks, WRITEs of object, entry and lock | the same without an object |
//! | [`Messages`](Way::Messages) | SEND, and SEND back | so, too | so, too |
//!
//! Whoever writes by one way must have the store's changes to itself: neither the transport's atomics nor a processor know of `prism`'s swaps. Reading by
//! kernels and by READs goes together with writing by either of them; while messages write, only messages read.

mod audit;
mod kernels;
mod messages;
mod reads;

use crate::{Directory, Line, Reach, Result};

/// How often a change is tried before it counts as hopeless.
const ATTEMPTS: u32 = 64;

/// How a client does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By kernels of the server's card.
    Kernels,
    /// By plain READs, WRITEs and atomics.
    Reads,
    /// By messages to the server's processor.
    Messages,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kernels, Self::Reads, Self::Messages];

    /// Its name, for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Reads => "reads",
            Self::Messages => "messages",
        }
    }
}

/// What can be done with a map of keys to values. Operations are carried out once if they succeed; after an error that is no refusal, once or not at all.
pub trait Map {
    /// The value of a key.
    fn get(&mut self, key: &[u8]) -> impl Future<Output = Result<Option<Vec<u8>>>>;
    /// Gives a key its value; was there another one before?
    fn put(&mut self, key: &[u8], value: &[u8]) -> impl Future<Output = Result<bool>>;
    /// Takes a key out; was it there?
    fn delete(&mut self, key: &[u8]) -> impl Future<Output = Result<bool>>;
}

/// A client of a store. It does one thing at a time.
pub struct Client<R = Line> {
    line: R,
    directory: Directory,
    way: Way,
    /// Buffers that were taken by plain verbs, and not used yet.
    stash: Vec<u64>,
}

impl<R: Reach> Client<R> {
    /// A client over a line.
    #[must_use]
    pub const fn new(line: R, directory: Directory, way: Way) -> Self {
        Self { line, directory, way, stash: Vec::new() }
    }

    /// Forgets buffers that it has taken in advance: what every client does when the store is [swept](crate::Store::sweep).
    pub fn rest(&mut self) {
        self.stash.clear();
    }
}

impl<R: Reach> Map for Client<R> {
    /// # Errors
    /// [`Error::Key`](crate::Error::Key), [`Error::Torn`](crate::Error::Torn); what the card or the server tell.
    async fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.way {
            Way::Kernels => self.get_by_kernel(key).await,
            Way::Reads => self.get_by_reads(key).await,
            Way::Messages => self.get_by_message(key).await,
        }
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        match self.way {
            Way::Kernels => self.put_by_kernel(key, value).await,
            Way::Reads => self.put_by_writes(key, value).await,
            Way::Messages => self.put_by_message(key, value).await,
        }
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool> {
        match self.way {
            Way::Kernels => self.delete_by_kernel(key).await,
            Way::Reads => self.delete_by_writes(key).await,
            Way::Messages => self.delete_by_message(key).await,
        }
    }
}
