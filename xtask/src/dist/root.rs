//! A Debian 12 with what a stranger's CI installs, and nothing else.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, setup, unpack, workspace};

/// Debian 12.
const SUITE: &str = "bookworm";
/// What the workflow in `examples/ci` installs.
const PACKAGES: [&str; 9] = [
    "ca-certificates",
    "curl",
    "gcc",
    "ibverbs-utils",
    "libc6-dev",
    "libibverbs-dev",
    "make",
    "perftest",
    "pkg-config",
];
/// The file beside the root that says what is in it.
const STAMP: &str = "bookworm.packages";

/// A copy that nobody has used yet. What it is a copy of is made once.
pub(super) fn fresh() -> Result<PathBuf> {
    let base = base()?;
    let root = workspace::target().join("dist/root");
    setup::remove(&root)?;
    let mut copy = Command::new("cp");
    copy.args(["--archive", "--reflink=auto"]).arg(base).arg(&root);
    process::quietly_or_fail("a fresh Debian 12", copy)?;
    Ok(root)
}

fn base() -> Result<PathBuf> {
    let tools = stroma_verilate::tools_dir();
    let (base, stamp) = (tools.join(SUITE), tools.join(STAMP));
    let packages = PACKAGES.join(",");
    if base.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == packages) {
        return Ok(base);
    }
    setup::remove(&base)?;
    let mirror = unpack::suite::mirror()?
        .context("apt knows of no Debian mirror\nnext step: try the archive out on a Debian")?;
    let mut bootstrap = Command::new("mmdebstrap");
    bootstrap.args(["--mode=root", "--variant=minbase"]).arg(format!("--include={packages}"));
    bootstrap.args([SUITE.as_ref(), base.as_os_str()]).arg(unpack::suite::source(&mirror, SUITE));
    process::quietly_or_fail("bootstrap a Debian 12", bootstrap)
        .context("next step: see that this machine reaches its Debian mirror, then run this again")?;
    fs::write(&stamp, packages).with_context(|| format!("write {}", stamp.display()))?;
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_for_others_installs_what_it_is_tried_with() {
        let workflow = fs::read_to_string(workspace::root().join("examples/ci/workflow.yml")).unwrap();
        let (_, after) = workflow.split_once("apt-get install -y --no-install-recommends ").unwrap();
        let mut installed: Vec<&str> = after.lines().next().unwrap().split(' ').collect();
        installed.sort_unstable();
        assert_eq!(installed, PACKAGES);
    }
}
