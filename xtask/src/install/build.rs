//! Which build is installed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{libclang, process, program, setup, workspace};

/// What is built.
pub(crate) const PACKAGES: [&str; 2] = ["stroma", "stroma-ibverbs"];

/// The program that makes cards.
const CARDS: &str = "cards";

/// A profile of Cargo's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Build {
    /// The one of the tests, so that nothing is compiled twice: time goes into the Verilated cards, which are the same in every profile.
    Tests,
    /// The one for others: optimised, without symbols.
    Dist,
}

impl Build {
    /// Where Cargo puts what it builds.
    pub(super) fn folder(self) -> PathBuf {
        let name = if self == Self::Dist { "dist" } else { "debug" };
        workspace::target().join(name)
    }

    /// Builds what is out of date. Both packages at once, also for who needs one: by itself each would ask for less of what they depend
    /// on, and have it compiled anew.
    pub(super) fn run(self) -> Result<()> {
        let cargo = match self {
            Self::Tests => {
                let mut cargo = program::build();
                cargo.args(["--quiet", "--lib", "--bin", "stroma", "--bin", CARDS]);
                cargo
            }
            Self::Dist => {
                let mut cargo = libclang::cargo();
                cargo.args(["build", "--quiet", "--profile", "dist"]);
                cargo.args(PACKAGES.iter().chain([&"stroma-sim"]).flat_map(|name| ["--package", name]));
                cargo
            }
        };
        process::quietly_or_fail("build stroma and libibverbs; the first time takes minutes", cargo)
            .context("next step: `cargo xtask test` shows what broke")
            .map(|_| ())
    }

    /// The simulated cards, in a folder of their own; the first time takes minutes.
    pub(super) fn cards(self) -> Result<Vec<PathBuf>> {
        let folder = self.folder().join("install/cards");
        setup::remove(&folder)?;
        let mut command = Command::new(self.folder().join(CARDS));
        command.arg("--out").arg(&folder);
        let output =
            process::quietly_or_fail("build the simulated cards; the first time takes minutes", command)?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
    }

    /// What the linker is told besides.
    pub(super) fn link_flags(self) -> &'static [&'static str] {
        if self == Self::Dist { &["-Wl,--strip-all"] } else { &[] }
    }
}
