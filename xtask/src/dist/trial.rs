//! The archive in the hands of a stranger: a Debian 12 of its own, without Rust, Verilator, this workspace and a network.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::root;
use crate::{process, setup, workspace};

/// Enters the root.
const ROOM: &str = "tests/dist/room.sh";
/// What is done there.
const SCRIPT: &str = "tests/dist/trial.sh";
/// The example for others, of which the script runs what the workflow would.
const EXAMPLE: &str = "examples/ci";
/// Where all of it is, in that root.
const PLACE: &str = "srv";

/// Fails where a root can be neither made nor entered.
pub(super) fn check_rights() -> Result<()> {
    if setup::is_root() {
        return Ok(());
    }
    bail!(
        "only root can make a Debian of its own, and enter it\n\
         next step: `cargo xtask dist` makes the archive; then try it as root, or in a container of debian:12 with sh {SCRIPT} \
         in a folder that has the archive, its .sha256 and {EXAMPLE} as `ci`"
    )
}

/// Tries an archive out.
pub(super) fn run(archive: &Path) -> Result<()> {
    let root = root::fresh()?;
    let started = Instant::now();
    let place = root.join(PLACE);
    let sum = format!("{}.sha256", archive.display());
    for source in [archive, sum.as_ref(), &workspace::root().join(SCRIPT)] {
        let name = source.file_name().context("a file has a name")?;
        fs::copy(source, place.join(name)).with_context(|| format!("copy {}", source.display()))?;
    }
    let mut copy = Command::new("cp");
    copy.arg("--recursive").arg(workspace::root().join(EXAMPLE)).arg(&place);
    process::quietly_or_fail("the example for others", copy)?;

    let mut enter = Command::new("unshare");
    enter.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "sh"]);
    enter.arg(workspace::root().join(ROOM)).arg(&root);
    enter.args(["sh", &format!("/{PLACE}/trial.sh")]);
    // Nothing of this workspace and its user, but for where programs are.
    enter
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root");
    process::aloud(enter).with_context(|| format!("next step: look around in {}", root.display()))?;
    setup::remove(&root)?;
    println!("  tried out in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}
