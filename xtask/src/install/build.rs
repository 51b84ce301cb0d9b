//! Which build is installed.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{libclang, process, program, workspace};

/// What is built.
pub(crate) const PACKAGES: [&str; 2] = ["stroma", "stroma-ibverbs"];

/// A profile of Cargo's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Build {
    /// The one of the tests, so that nothing is compiled twice: time goes into the Verilated cards, which are optimised in every profile.
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
                cargo.args(["--quiet", "--lib", "--bin", "stroma"]);
                cargo
            }
            Self::Dist => {
                let mut cargo = libclang::cargo();
                cargo.args(["build", "--quiet", "--profile", "dist"]);
                cargo.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
                cargo
            }
        };
        process::quietly_or_fail("build stroma and libibverbs; the first time takes minutes", cargo)
            .context("next step: `cargo xtask test` shows what broke")
            .map(|_| ())
    }

    /// What the linker is told besides.
    pub(super) fn link_flags(self) -> &'static [&'static str] {
        if self == Self::Dist { &["-Wl,--strip-all"] } else { &[] }
    }
}
