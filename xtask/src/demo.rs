//! `demo`: two cards, an application on each.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow};

use crate::tools::Routine;
use crate::{libclang, process, setup, workspace};

/// Builds the simulated card, in the package [`PACKAGES`] has first.
const CARDS: &str = "cards";
/// The demonstration itself.
const DEMO: &str = "demo";
/// Asked for together each time, so that Cargo compiles what both need once, with the same features.
const PACKAGES: [&str; 2] = ["stroma-sim", "stroma-tests"];
/// The card of the demonstration: as `tests/demo` asks for it.
const CARD: [&str; 4] = ["--profile", "100g", "--kernels", "traversal,get"];

/// Installs what is missing, builds the card while the demonstration is compiled, and runs it.
pub(crate) fn run() -> Result<()> {
    setup::run(Routine::Demo)?;
    println!("building the simulated card; the first time takes minutes, later ones seconds");
    build(CARDS, &[])?;
    let mut cards = Command::new(executable(CARDS));
    cards.args(CARD).current_dir(workspace::root()).stdout(Stdio::null());
    let card = thread::spawn(|| process::aloud(cards));
    // Cargo's messages would mix with the progress of the card.
    let demo = build(DEMO, &["--quiet"]);
    card.join().map_err(|_| anyhow!("the thread that builds the card has panicked"))??;
    demo?;
    let mut command = Command::new(executable(DEMO));
    command.current_dir(workspace::root());
    process::aloud(command).context("next step: `cargo xtask test` shows which part disagrees")
}

fn build(program: &str, options: &[&str]) -> Result<()> {
    let mut cargo = libclang::cargo();
    cargo.arg("build").args(options).args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    cargo.args(["--bin", program]);
    process::aloud(cargo)
}

fn executable(program: &str) -> PathBuf {
    workspace::target().join("debug").join(program)
}
