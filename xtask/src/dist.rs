//! `dist`: what `install` installs as one archive, for people who have neither Rust nor Verilator.
//!
//! ```text
//!   target/dist/stroma-VERSION-x86_64-linux.tar.gz           the same bytes from the same build
//!   target/dist/stroma-VERSION-x86_64-linux.tar.gz.sha256    as sha256sum --check reads it
//! ```
//!
//! Everything in it runs on a Debian 12 as it comes, which is checked of each program and library, and with `--try` shown.

mod archive;
mod needs;
mod notices;
mod root;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::install::{self, Build, Prefix};
use crate::stage::Outcome;
use crate::tools::Routine;
use crate::{setup, workspace};

/// What is in the archive besides what is installed: its place there, and its source.
const BESIDES: [(&str, &str); 4] = [
    ("README.md", "xtask/template/dist/README.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("examples/c/calls.c", "examples/c/calls.c"),
];

/// What to do with the archive.
#[derive(Args)]
pub(crate) struct Options {
    /// Then tries it out: in a fresh Debian 12 without Rust, Verilator and this workspace, as somebody's CI would. Needs root
    #[arg(long = "try")]
    is_tried: bool,
}

/// Makes the archive, and tries it out if that is wanted.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.is_tried {
        trial::check_rights()?;
    }
    setup::run(if options.is_tried { Routine::Dist } else { Routine::Test })?;
    let archive = make()?;
    if options.is_tried { trial::run(&archive) } else { Ok(()) }
}

/// Makes the archive and tries it out, where that is allowed.
pub(crate) fn stage() -> Result<Outcome> {
    if trial::check_rights().is_err() {
        return Ok(Outcome::Skipped("only root can make the Debian that the archive is tried out in"));
    }
    run(&Options { is_tried: true })?;
    Ok(Outcome::Done)
}

/// Its name without an ending, which is also that of the one folder in it.
fn name() -> String {
    format!("stroma-{}-x86_64-linux", env!("CARGO_PKG_VERSION"))
}

fn make() -> Result<PathBuf> {
    let started = Instant::now();
    let folder = workspace::target().join("dist").join(name());
    setup::remove(&folder)?;
    let mut prefix = Prefix::new(&folder);
    install::fill(&mut prefix, Build::Dist)?;
    for (place, source) in BESIDES {
        prefix.file(place, &workspace::root().join(source))?;
    }
    prefix.text("LICENSES-OF-OTHERS", &notices::text()?)?;
    needs::check(&prefix.installed())?;

    let path = PathBuf::from(format!("{}.tar.gz", folder.display()));
    archive::write(&folder, &path)?;
    let sum = archive::sum(&path)?;
    setup::remove(&folder)?;
    tell(&path, &sum, started)?;
    Ok(path)
}

fn tell(archive: &Path, sum: &str, started: Instant) -> Result<()> {
    let size = fs::metadata(archive).with_context(|| format!("look at {}", archive.display()))?.len();
    println!("  {}", archive.display());
    println!("  {size} bytes, sha256 {sum}, made in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}
