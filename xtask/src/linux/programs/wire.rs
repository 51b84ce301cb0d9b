//! The frames of the rows, read by tshark.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;

/// Frames that a row has at least on the average: there are those that send thousands, and two that send none.
const LEAST: usize = 8;

/// Is all that first cards sent and heard on the port of RoCE v2 InfiniBand to tshark, and nothing malformed?
pub(super) fn check(captures: &[PathBuf], rows: usize) -> Result<()> {
    let mut all = 0;
    for path in captures {
        let strange = frames(path, "udp.dstport == 4791 && !infiniband")?;
        let malformed = frames(path, "_ws.malformed")?;
        ensure!(
            strange.is_empty() && malformed.is_empty(),
            "{}: frames {strange:?} are not RoCE v2 to tshark, frames {malformed:?} are malformed",
            path.display()
        );
        all += frames(path, "udp.dstport == 4791 && infiniband")?.len();
    }
    let least = rows * LEAST;
    ensure!(all >= least, "{all} frames of RoCE v2 in all, and {rows} rows make {least} at least");
    println!("        tshark: {all} frames of RoCE v2, none malformed");
    Ok(())
}

/// Numbers of the frames that a filter lets through.
fn frames(path: &Path, filter: &str) -> Result<Vec<String>> {
    let mut tshark = Command::new("tshark");
    // What a payload means is nobody's business here, and tshark guesses.
    tshark.arg("-r").arg(path).args(["--disable-protocol", "rpcordma"]);
    tshark.args(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
    let line = process::line(&tshark);
    let output = tshark.output()?;
    // A recording that is cut off at its end, because the cards were, is read up to there.
    ensure!(!output.stdout.is_empty() || output.status.success(), "{line}\nended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(ToOwned::to_owned).collect())
}
