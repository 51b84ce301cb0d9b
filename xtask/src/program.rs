//! Programs of the workspace, built as its tests are.
//!
//! Cargo gives a dependency the features that all packages want which it was asked for, tests' wishes included where it was asked for a test. Asked for one package alone it finds
//! little of what the tests left, and builds half of the workspace a second time, for minutes. So it is asked for the whole workspace, for the program and
//! for the smallest of the tests.

use std::process::Command;

use anyhow::Result;

use crate::{libclang, process, workspace};

/// It needs the wire formats and nothing else.
const SMALLEST: &str = "vectors";

/// `cargo build`, with the features of the tests; what is to be built is still to be said.
pub(crate) fn build() -> Command {
    let mut cargo = libclang::cargo();
    cargo.args(["build", "--workspace", "--test", SMALLEST]);
    cargo
}

/// A program, built if it has to be, from the folder that the user is in.
pub(crate) fn program(name: &str) -> Result<Command> {
    let mut cargo = build();
    cargo.args(["--quiet", "--bin", name]);
    process::aloud(cargo)?;
    Ok(Command::new(workspace::target().join("debug").join(name)))
}
