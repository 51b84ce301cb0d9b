//! The store's story on two simulated cards: two mixes in three ways, each history held against a plain map.
//!
//! `cargo run -p stroma-kv -- --help`

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use clap::Parser;
use stroma_kv::history::Operation;
use stroma_kv::mix::Mix;
use stroma_kv::rig::{Plan, Rig};
use stroma_kv::{Layout, Way};
use stroma_sim::link::{Chance, Faults, Hold};
use stroma_top::Profile;

const LAYOUT: Layout = Layout { log_buckets: 6, log_buffers: 12, buffer_bytes: 128 };
const KEYS: u64 = 16;
const VALUE: usize = 64;

/// Runs a key-value store over two simulated cards.
#[derive(Parser)]
struct Arguments {
    /// The cards.
    #[arg(long, value_enum, default_value = "100g")]
    profile: Profile,
    /// Clients at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    clients: u8,
    /// Operations of each.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=400))]
    operations: u16,
    /// Of a hundred frames so many are lost, as many doubled, and as many overtaken.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5))]
    loss: u32,
}

fn main() -> anyhow::Result<()> {
    let Arguments { profile, clients, operations, loss } = Arguments::parse();
    let timeout = if loss > 0 { 6 } else { 14 };
    let rig = Rig::new(Plan { timeout, ..Plan::new(profile, LAYOUT) }).context("building the rig")?;
    let (clients, operations) = (usize::from(clients), usize::from(operations));
    let keys = Mix::keys(KEYS);
    for key in &keys {
        rig.store.borrow_mut().put(key, &[0; VALUE])?;
    }
    println!(
        "two {} cards; {clients} clients, {operations} operations each; {KEYS} keys, values of {VALUE} bytes; {loss} % of frames lost",
        profile.name()
    );
    rig.spoil([1, 2].map(|seed| faults(seed, loss)));
    println!("\n{:<12} {:<9} {:>9} {:>9} {:>9}", "mix", "way", "k op/s", "GET, us", "PUT, us");
    for mix in
        [Mix::read_heavy(operations, keys.clone(), VALUE, 1), Mix::write_heavy(operations, keys, VALUE, 2)]
    {
        for way in Way::ALL {
            rig.store.borrow_mut().sweep()?;
            let played =
                rig.play(way, clients, &mix).with_context(|| format!("{} by {}", mix.name, way.name()))?;
            played.check()?;
            let seconds = microseconds(profile, played.cycles) / 1e6;
            let count = u32::try_from(played.operations).map_or(f64::INFINITY, f64::from);
            let mean = |kind: fn(&Operation) -> bool| {
                played
                    .mean(kind)
                    .map_or_else(|| "-".to_owned(), |cycles| format!("{:.2}", microseconds(profile, cycles)))
            };
            let get = mean(|operation| *operation == Operation::Get);
            let put = mean(|operation| matches!(operation, Operation::Put(_)));
            println!("{:<12} {:<9} {:>9.1} {get:>9} {put:>9}", mix.name, way.name(), count / seconds / 1e3);
        }
    }
    println!("\nevery history is linearizable, and ends with what the store holds");
    close(&rig)
}

/// What is left: contents by two ways, and buffers before and after a sweep.
fn close(rig: &Rig) -> anyhow::Result<()> {
    let seen: BTreeMap<_, _> = rig.audit()?;
    ensure!(seen == rig.store.borrow().contents()?, "card and processor see different stores");
    println!("{} objects fit their CRC", seen.len());
    let before = rig.store.borrow().free_buffers()?;
    let behind = rig.store.borrow_mut().sweep()?;
    println!("free buffers: {before}; after a sweep: {behind}");
    Ok(())
}

fn faults(seed: u64, percent: u32) -> Faults {
    let chance = Chance::percent(percent);
    let hold = Hold { frames: 3, ns: 20_000 };
    Faults { seed, loss: chance, duplication: chance, reordering: chance, hold, ..Faults::default() }
}

#[expect(clippy::cast_precision_loss, reason = "cycles of a demonstration are far below 2^53")]
fn microseconds(profile: Profile, cycles: u64) -> f64 {
    cycles as f64 * 1000.0 / f64::from(profile.clock_khz())
}
