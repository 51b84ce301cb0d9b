//! A program that has opened a card, whichever way, and does with it what it is told: the party of a story of several processes.
//!
//! [`Client`] has a connection to another one, and does what concerns both; [`alone`] is what a program does with its own card. This
//! crate knows no simulator, so that its program `guest` is small enough for a machine that is emulated.

#![forbid(unsafe_code)]

pub mod alone;
mod client;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub use client::{Client, MEMORY};
use stroma_abi::kernel::traversal::{self, Traversal};
use stroma_abi::wire::RpcTarget;
use stroma_verbs::Address;
use stroma_verilate::SplitMix64;

/// The longest that anything may take: cards are simulated, on a busy machine, and the program's own processor may be emulated.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Where card `index` is found.
///
/// # Panics
/// When there are too many cards to be counted by a byte.
#[must_use]
pub fn address(index: usize) -> Address {
    let number = u8::try_from(index + 1).expect("few cards");
    Address {
        mac: [2, 0, 0, 0, 0, number],
        ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)),
        source_port: 0xc000 + u16::from(number),
        hop_limit: 64,
        traffic_class: 2,
        vlan: None,
        flow_label: 0,
        source_address: 0,
    }
}

/// Bytes that differ from place to place.
#[must_use]
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    (0..len).map(|_| rng.next_u64().to_le_bytes()[3]).collect()
}

/// Looks in a list of elements that have a key, a pointer to the next and a pointer to a value, from `root` on.
#[must_use]
pub fn task(root: u64) -> Traversal {
    Traversal {
        root,
        mask: u64::MAX,
        hop_limit: 1000,
        key_words: 1,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    }
}

/// A call of the kernel that walks lists, with an answer of so many bytes at most.
#[must_use]
pub fn target(response_max: u32) -> RpcTarget {
    RpcTarget { response_max, flags: 0, parameter_words: 0, operation: traversal::OPERATION }
}
