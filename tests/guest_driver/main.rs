//! `cargo xtask linux --rung 5`: a simulated card in a Linux guest, behind an IOMMU, driven there by our driver.
//!
//! ```text
//!   guest:  driver ── vfio-ioctls ── vfio-pci, IOMMU ── QEMU ── vfio-user ──┐
//!                                                                          card 0 ══ cable ══ card 1
//!   here:   the peer ── driver ── vfio-user ────────────────────────────────────────────────────┘
//! ```

mod guest;
mod points;
mod stage;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use stroma_device::VfioUser;
use stroma_fabric::{Fabric, Plan, Report};
use stroma_party::Client;
use stroma_tests::emulator::Machine;

use guest::Guest;
use points::{NO_IOMMU, POINTS, Point};
use stage::Stage;

/// Gives a Linux guest a simulated card.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    machine: Machine,
    /// Where the capture, the guest's console and the cards' log are kept.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    let Arguments { machine, out } = Arguments::parse();
    let [capture, console, log] = ["frames", "device.log", "fabric.log"].map(|name| out.join(name));
    match story(&machine, &capture, &console, &log) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its causes in one line; a trace of this program is of no use to who looks for a fault of the card.
            eprintln!("error: {error:#}");
            eprintln!(
                "kept: the guest's console in {}, beside it what QEMU said, what the cards tell in {}, frames for Wireshark in {}",
                console.display(),
                log.display(),
                capture.display()
            );
            ExitCode::FAILURE
        }
    }
}

fn story(machine: &Machine, capture: &Path, console: &Path, log: &Path) -> Result<()> {
    let started = Instant::now();
    let sockets = tempfile::tempdir().context("make a folder for sockets")?;
    let plan = Plan { seed: 7, capture: Some(capture.to_owned()), ..Plan::new(sockets.path()) };
    Fabric::start(&plan, &logged(log)?)?;
    let peer = Client::open(1, Arc::new(VfioUser::open(&plan.socket(1))?)).context("the peer's card")?;
    let boot = |words: &str| {
        Guest::boot(machine, &plan.socket(0), words, console).context("booting Linux with a card")
    };
    let mut bare = boot("intel_iommu=off")?;
    show(&NO_IOMMU, &mut bare)?;
    // A card is one guest's at a time.
    drop(bare);
    let guest = boot("intel_iommu=on")?;
    println!("Linux is up ({:.1} s), its card is {}", started.elapsed().as_secs_f64(), guest.card);
    let mut stage = Stage { guest, peer };
    POINTS.iter().try_for_each(|point| show(point, &mut stage))?;
    println!("all {} points are shown ({:.0} s)", POINTS.len() + 1, started.elapsed().as_secs_f64());
    Ok(())
}

/// Shows a point, and prints its evidence.
fn show<On>(point: &Point<On>, on: &mut On) -> Result<()> {
    let (number, begun) =
        (if point.number == 0 { "-".into() } else { point.number.to_string() }, Instant::now());
    let evidence = (point.show)(on).with_context(|| format!("point {number}, {}", point.name))?;
    println!("  {number} {:<31} {:5.1} s  {evidence}", point.name, begun.elapsed().as_secs_f64());
    Ok(())
}

/// What the cards tell goes to a file.
fn logged(path: &Path) -> Result<Report> {
    let file = File::create(path).with_context(|| format!("create {}", path.display()))?;
    let file = Mutex::new(file);
    Ok(Arc::new(move |line| {
        // A log that cannot be written is missed by nobody until something else fails.
        let _ = writeln!(file.lock().unwrap_or_else(std::sync::PoisonError::into_inner), "{line}");
    }))
}
