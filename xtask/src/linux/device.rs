//! Rung 5: the card in the guest.

use std::env::consts::ARCH;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{first_files, folder, kernel, story, write};
use crate::stage::Outcome;
use crate::{process, unpack, workspace};

/// The story, and the guest's first script.
pub(super) const SOURCES: &str = "tests/guest_driver";
/// What the guest's program is compiled for. Named, so that what is asked of the program is not asked of what compiles it.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Makes the guest and runs the story, where the machine can.
pub(super) fn run() -> Result<Outcome> {
    if ARCH != "x86_64" {
        return Ok(Outcome::Skipped(
            "the guest's program is compiled for x86-64, and this machine is another",
        ));
    }
    let Some(emulator) = unpack::suite::emulator()? else {
        return Ok(Outcome::Skipped(
            "no QEMU here has vfio-user-pci, and none can be fetched: apt knows of no Debian mirror",
        ));
    };
    let (out, tools) = (folder()?, unpack::folder());
    let program = program()?;
    let script = workspace::root().join(SOURCES).join("init");
    let initrd = out.join("device.cpio");
    write(&initrd, first_files(&tools, &script, &program, &kernel::DEVICE)?)?;

    println!("  building the simulated cards ...");
    process::aloud(story("guest-driver", &emulator, &initrd, &out)?).context(
        "next step: the story is tests/guest_driver/points.rs; what the guest's kernel said: target/linux/device.log",
    )?;
    Ok(Outcome::Done)
}

/// Compiles the guest's program; static, for the guest has no loader.
fn program() -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "stroma-party", "--bin", "guest", "--target", TARGET]);
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.current_dir(workspace::root());
    process::quietly_or_fail("compile the guest's driver", cargo)
        .context("next step: repair tests/party; the static C library is in Debian's libc6-dev")?;
    Ok(workspace::target().join(TARGET).join("debug/guest"))
}
