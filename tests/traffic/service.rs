//! What queue pairs promise, and which of them promises what.

use stroma_verilate::SplitMix64;

use super::{MESSAGE_MAX, PAIRS, Queue, SHARED, WINDOWED, below};

/// Bytes of the longest datagram: one packet of the longest MTU.
const DATAGRAM_MAX: usize = 4096;

/// What a queue pair promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// RC: everything arrives, once and in order.
    Reliable,
    /// UC: SENDs and WRITEs arrive whole, or they are lost, and nobody says so.
    Unreliable,
    /// UD: SENDs of one packet, each to whom it names; they arrive whole, or they are lost, and nobody says so.
    Datagram,
}

impl Service {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Reliable, Self::Unreliable, Self::Datagram];

    /// As the specification abbreviates it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reliable => "RC",
            Self::Unreliable => "UC",
            Self::Datagram => "UD",
        }
    }

    /// Bytes of its longest message: three packets of the longest MTU, or one.
    pub fn message_max(self) -> usize {
        match self {
            Self::Reliable | Self::Unreliable => MESSAGE_MAX,
            Self::Datagram => DATAGRAM_MAX,
        }
    }

    /// May a message be lost?
    pub fn loses(self) -> bool {
        self != Self::Reliable
    }
}

/// The services of all queue pairs, the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Services([Service; PAIRS]);

impl Services {
    /// Reliable connections alone.
    pub const RELIABLE: Self = Self([Service::Reliable; PAIRS]);

    /// As many of each service as of any other, or one more, in an order that the seed says: so among the queue pairs with receive queues of
    /// their own, and so among the others.
    pub fn mixed(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut services: [Service; PAIRS] =
            std::array::from_fn(|pair| Service::ALL[pair % Service::ALL.len()]);
        let (own, shared) = services.split_at_mut(SHARED);
        for group in [own, shared] {
            (1..group.len()).for_each(|last| group.swap(last, below(&mut random, last + 1)));
        }
        Self(services)
    }

    /// That of a queue pair.
    pub fn of(&self, pair: usize) -> Service {
        self.0[pair]
    }

    /// Is the target of a queue pair reached through a window? None but reliable connections bind any.
    pub fn is_windowed(&self, pair: usize) -> bool {
        pair >= WINDOWED && self.of(pair) == Service::Reliable
    }

    /// Are messages to this queue lost that find no receive?
    pub fn loses(&self, queue: Queue) -> bool {
        (0..PAIRS).any(|pair| Queue::of(pair) == queue && self.of(pair).loses())
    }
}
