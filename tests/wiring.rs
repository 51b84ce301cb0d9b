//! Cards on wires, for the stories about them.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use stroma_hw::head::Head;
use stroma_sim::link::LinkConfig;
use stroma_sim::{Packet, World};
use stroma_top::Profile;
use stroma_verilate::Options;

use crate::{packet, recorded_roce};

/// Cycles in which every story comes to rest.
pub const LIMIT: u64 = 200_000;

/// Cards that are on no wire yet.
pub fn world(profile: Profile, cards: usize) -> World {
    World::new(profile, cards, &Options { seed: 7, ..Options::default() }).expect("cards")
}

/// Two cards on a cable.
pub fn cabled(profile: Profile, config: LinkConfig) -> World {
    let mut world = world(profile, 2);
    world.cable(0, 1, config);
    world
}

/// So many frames: recorded ones, over and over, without the longest, so that no story takes minutes.
pub fn frames(count: usize) -> Vec<Vec<u8>> {
    let frames: Vec<Vec<u8>> =
        recorded_roce().into_iter().map(|frame| frame.bytes).filter(|bytes| bytes.len() < 1200).collect();
    frames.iter().cycle().take(count).cloned().collect()
}

/// Runs until nothing is going to happen any more.
pub fn settle(world: &mut World) {
    assert!(world.run_until(LIMIT, |world| world.is_idle()), "the world does not come to rest");
}

/// A recorded frame from one card to another, or to all of them; the ICRC does not cover Ethernet.
pub fn between(from: u8, to: Option<u8>, bytes: &[u8], ecn: u64) -> Packet {
    let mac = |card: u8| u64::from_be_bytes([0, 0, 2, 0, 0, 0, 0, card]);
    let Packet { head, payload } = packet(bytes);
    let broadcast = u64::from_be_bytes([0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    let head =
        Head { smac: mac(from).into(), dmac: to.map_or(broadcast, mac).into(), tclass: ecn.into(), ..head };
    Packet { head, payload }
}

/// A file of its own for each call.
pub fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("stroma-wire-{}-{count}-{name}.pcapng", std::process::id()))
}
