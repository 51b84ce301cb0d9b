//! The frames of the rows, read by tshark.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use super::bench::Bench;
use crate::process;

/// Frames that there are at least; the rows send thousands.
const LEAST: usize = 500;

/// Is all that the first cards sent and heard on the port of RoCE v2 InfiniBand to tshark, and nothing malformed?
pub(super) fn check(bench: &Bench) -> Result<()> {
    for profile in ["10g", "100g"] {
        let path = bench.capture(profile);
        let count = |filter: &str| frames(&path, filter);
        let (carried, strange) =
            (count("udp.dstport == 4791 && infiniband")?, count("udp.dstport == 4791 && !infiniband")?);
        let malformed = count("_ws.malformed")?;
        ensure!(
            strange == 0 && malformed == 0,
            "{}: {strange} frames are not RoCE v2 to tshark, {malformed} are malformed",
            path.display()
        );
        if profile == "10g" && carried < LEAST {
            bail!("{}: {carried} frames of RoCE v2, and the rows make {LEAST} at least", path.display());
        }
        println!("  {profile:<4}  tshark: {carried} frames of RoCE v2, none malformed");
    }
    Ok(())
}

fn frames(path: &Path, filter: &str) -> Result<usize> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
    let line = process::line(&tshark);
    let output = tshark.output()?;
    // A recording that is cut off at its end, because the cards were, is read up to there.
    ensure!(!output.stdout.is_empty() || output.status.success(), "{line}\nended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}
