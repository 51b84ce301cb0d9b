//! `deny`: licences, sources and duplicates of the dependencies, looked at by cargo-deny.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::stage::Outcome;
use crate::{libclang, process, workspace};

/// Which one, so that every machine has the same.
const VERSION: &str = "0.20.2";

fn folder() -> PathBuf {
    workspace::target().join("tools").join(format!("cargo-deny-{VERSION}"))
}

/// Checks where cargo-deny is installed, as it takes many minutes to build; its absence is shown in the table.
pub(crate) fn stage() -> Result<Outcome> {
    let program = folder().join("bin/cargo-deny");
    if !program.exists() {
        return Ok(Outcome::Skipped("`cargo xtask nightly` installs cargo-deny, which takes minutes"));
    }
    let mut command = Command::new(program);
    command.current_dir(workspace::root()).args(["check", "bans", "licenses", "sources"]);
    process::aloud(command)?;
    Ok(Outcome::Done)
}

/// Installs it if it is not there, and checks.
pub(crate) fn install_and_check() -> Result<Outcome> {
    let mut cargo = libclang::cargo();
    cargo.args(["install", "cargo-deny", "--locked", "--version"]).arg(format!("={VERSION}"));
    cargo.arg("--root").arg(folder());
    process::quietly_or_fail("cargo install cargo-deny", cargo)?;
    stage()
}
