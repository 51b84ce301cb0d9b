//! `cargo xtask linux --rung 4`: a simulated card on one end of a wire, Linux and its `rdma_rxe` on the other.
//!
//! The guest boots once. There are links of each service, on which both ends ask in turn; every byte that moves, and those beside it, are
//! checked by the end that has them.

mod card;
mod cases;
mod grh;
mod guest;
mod linux_end;
mod party;
mod transfer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use stroma_abi::regs::map::counters;
use stroma_sim::link::LinkConfig;
use stroma_sim::peer::Datagram;
use stroma_sim::{Shared, World, pcap};
use stroma_tests::emulator::Machine;
use stroma_top::Profile;
use stroma_verilate::Options;

use card::{CARD, CardEnd};
use cases::{Case, Client, LINKS, Link};
use guest::Guest;
use linux_end::LinuxEnd;
use party::Party;

/// Seeds of two cases are this far apart: a case uses a few.
const SEED_STEP: u64 = 10;

/// Connects a simulated card to a Linux guest.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    machine: Machine,
    /// Where captures and the guest's console are kept.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    match story(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its causes in one line; a trace of this program is of no use to who looks for a fault of the card.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn story(Arguments { machine, out }: &Arguments) -> Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("make {}", out.display()))?;
    let (started, console) = (Instant::now(), out.join("console.log"));
    let mut guest = Guest::boot(machine, &console)
        .with_context(|| format!("booting Linux; its console: {}", console.display()))?;
    println!("Linux is up ({:.1} s)", started.elapsed().as_secs_f64());
    for profile in Profile::ALL {
        let capture = out.join(format!("{}.pcapng", profile.name()));
        meet(profile, &mut guest, &capture).inspect_err(|_| {
            eprintln!("kept: {} for Wireshark, {}", capture.display(), console.display());
        })?;
    }
    println!("every byte is where it should be ({:.0} s)", started.elapsed().as_secs_f64());
    Ok(())
}

/// A card of this profile meets the guest.
fn meet(profile: Profile, guest: &mut Guest, capture: &Path) -> Result<()> {
    let mut world = World::new(profile, 1, &Options { seed: 7, ..Options::default() })?;
    let [far, near] = guest.network();
    let peer = Datagram::bind(&near, &far).context("the wire's socket")?;
    let station = world.add_peer(Box::new(peer));
    world.cable(CARD, station, LinkConfig::cable(profile));
    world.start_capture(CARD, pcap::Writer::create(capture)?);
    let shared = Shared::new(world);
    let mut card = CardEnd::open(&shared)?;
    let result = LINKS.iter().try_for_each(|link| connection(profile, link, guest, &mut card, &shared));
    // What was recorded matters most when something went wrong.
    shared.world().finish_capture(CARD)?;
    result?;
    let lost = shared.world().peer_mut::<Datagram>(station).lost();
    ensure!(lost == 0, "{lost} frames of the card did not get to the guest");
    let [again, late] =
        [&counters::RETRANSMITTED, &counters::TIMEOUTS].map(|counter| card.end.count(counter));
    println!("  {}: the card sent {again} packets again; {late} answers were late", profile.name());
    let dropped = card.end.count(&counters::UC_DROPPED);
    ensure!(dropped == 0, "the card threw {dropped} packets of unreliable connections away");
    Ok(())
}

/// All trials, both ways, on one link.
fn connection(
    profile: Profile,
    link: &Link,
    guest: &mut Guest,
    card: &mut CardEnd,
    shared: &Arc<Shared>,
) -> Result<()> {
    let neighbours = Arc::clone(&card.neighbours);
    let mut linux = LinuxEnd::new(guest, shared, &neighbours);
    let service = link.service;
    let offers = (linux.offer(service)?, card.offer(service)?);
    linux.connect(&offers.1, link)?;
    card.connect(&offers.0, link)?;
    let mut seed = 1;
    for trial in service.trials() {
        for client in Client::BOTH {
            let started = Instant::now();
            let sizes = link.sizes(trial);
            for bytes in &sizes {
                let case = Case { link: *link, trial, bytes: *bytes, seed };
                let done = match client {
                    Client::Linux => transfer::run(&case, &mut linux, card),
                    Client::Card => transfer::run(&case, card, &mut linux),
                };
                done.with_context(|| {
                    format!("{} card, {link}, {trial} {client}, {bytes} bytes", profile.name())
                })?;
                seed += SEED_STEP;
            }
            let seconds = started.elapsed().as_secs_f64();
            println!("  {:<4} {link}  {trial:<9} {client}  {sizes:?} bytes ({seconds:.1} s)", profile.name());
        }
    }
    Ok(())
}
