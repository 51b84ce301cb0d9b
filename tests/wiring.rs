//! Peers on wires, for the stories about links and switches.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use stroma_abi::wire::{Ethernet, Frame, Ip, Ipv4, Ipv6, Mac};
use stroma_sim::World;
use stroma_sim::link::LinkConfig;
use stroma_sim::peer::Raw;
use stroma_top::Profile;
use stroma_verilate::Options;

use crate::recorded_roce;

/// Cycles in which every story comes to rest.
pub const LIMIT: u64 = 200_000;

/// So many cards and, behind them, so many peers, on no wire yet.
pub fn world(profile: Profile, cards: usize, peers: usize) -> World {
    let mut world = World::new(profile, cards, &Options { seed: 7, ..Options::default() }).expect("cards");
    for _ in 0..peers {
        world.add_peer(Box::new(Raw::default()));
    }
    world
}

/// Two peers on a cable.
pub fn cabled(profile: Profile, config: LinkConfig) -> World {
    let mut world = world(profile, 0, 2);
    world.cable(0, 1, config);
    world
}

/// The peer at a station.
pub fn peer(world: &mut World, station: usize) -> &mut Raw {
    world.peer_mut(station)
}

/// What has arrived at a peer since the last call, and whether marked bad.
pub fn arrived(world: &mut World, station: usize) -> Vec<(Vec<u8>, bool)> {
    peer(world, station).take().into_iter().map(|frame| (frame.bytes, frame.bad)).collect()
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

/// A recorded frame from one station to another, or to all of them, with these two bits of ECN.
pub fn between(from: u8, to: Option<u8>, bytes: &[u8], ecn: u8) -> Vec<u8> {
    let mac = |station: u8| Mac([2, 0, 0, 0, 0, station]);
    let frame = Frame::parse(bytes).expect("a recorded frame parses");
    let ethernet =
        Ethernet { source: mac(from), destination: to.map_or(Mac([0xff; 6]), mac), ..frame.ethernet };
    let ip = match frame.ip {
        Ip::V4(ip) => Ip::V4(Ipv4 { ecn, ..ip }),
        Ip::V6(ip) => Ip::V6(Ipv6 { traffic_class: ip.traffic_class & !3 | ecn, ..ip }),
    };
    let changed = Frame { ethernet, ip, ..frame }.seal().and_then(|frame| frame.to_vec());
    changed.expect("it is as long as before")
}

/// A file of its own for each call.
pub fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("stroma-wire-{}-{count}-{name}.pcapng", std::process::id()))
}
