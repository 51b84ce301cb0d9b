//! `bench`: figures of the simulated card.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::program::program;
use crate::tools::Routine;
use crate::{docs, figures, page, process, setup, workspace};

/// The suite that measures everything.
const ALL: &str = "all";

/// What to measure, and what to leave behind.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// What to measure: host, first-light, rc, rate, kernels, speed; all, which leaves out speed
    suite: String,
    /// Only the parts of the suite whose names contain this, such as `10g.load` of speed
    #[arg(long, value_name = "WORDS", conflicts_with = "readme")]
    only: Option<String>,
    /// Also write figures, curves and bars to a file for programs
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to write the page with tables and plots [default: target/bench/report.html]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show what changed since the run that wrote this file, in per cent
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// Keep the figures of `all` in docs/figures.json, and write README's tables and plot from them
    #[arg(long, conflicts_with = "json")]
    readme: bool,
}

impl Options {
    /// Every suite.
    pub(crate) fn everything() -> Self {
        Self { suite: ALL.into(), ..Self::default() }
    }
}

/// Installs what is missing, then measures a suite.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(
        !options.readme || options.suite == ALL,
        "README shows figures of every suite\nnext step: cargo xtask bench {ALL} --readme"
    );
    setup::run(Routine::Demo)?;
    println!("building the simulated card; the first time takes minutes, later ones seconds");
    let html = options.html.clone().unwrap_or_else(page::usual);
    if let Some(folder) = html.parent() {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let mut command = program("bench")?;
    command.arg(&options.suite);
    command.args(options.only.iter().flat_map(|words| ["--only", words]));
    let kept = options.readme.then(figures::file);
    let files = [
        ("--json", options.json.as_deref().or(kept.as_deref())),
        ("--html", Some(&*html)),
        ("--compare", options.compare.as_deref()),
    ];
    for (name, path) in files {
        if let Some(path) = path {
            command.arg(name).arg(absolute(path)?);
        }
    }
    command.current_dir(workspace::root());
    process::aloud(command).context(
        "next step: `cargo xtask bench --help` lists the suites; `cargo xtask test` shows what broke",
    )?;
    if options.readme { docs::run(false) } else { Ok(()) }
}

/// Relative to where the command was given, not to where cargo runs.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("find {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_is_not_written_from_a_part_of_the_figures() {
        let options = Options { suite: "rate".into(), readme: true, ..Options::default() };
        let error = run(&options).unwrap_err().to_string();
        assert!(error.contains("cargo xtask bench all --readme"), "{error}");
    }
}
