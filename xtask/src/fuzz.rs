//! `fuzz`: any bytes against what strangers send, see `fuzz/src/lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::tools::Routine;
use crate::{process, setup, workspace};

/// Seconds for each target in `ci`, and in `nightly`.
pub(crate) const BRIEF: u32 = 5;
pub(crate) const LONG: u32 = 600;
/// What is compiled for has to be said, or build scripts and macros would count as well.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Counters of edges and comparisons, as libFuzzer reads them.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Bytes of an input, at most; seconds that one may take; memory, in MiB.
const LIMITS: [&str; 3] = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"];
/// What the line begins with that says how many inputs there were.
const COUNTED: &str = "stat::number_of_executed_units:";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Only this one; may be given more than once
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Add to fuzz/corpus what reaches more of the code than all that is there
    #[arg(long)]
    keep: bool,
}

/// As far as it matters here.
#[derive(Deserialize)]
struct Manifest {
    bin: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Where things are.
struct Places {
    built: PathBuf,
    kept: PathBuf,
    work: PathBuf,
    /// For sockets, whose paths have to be short.
    scratch: tempfile::TempDir,
}

/// All targets for so long, with what is kept as it is.
pub(crate) fn all(seconds: u32) -> Result<()> {
    run(&Options { seconds, targets: Vec::new(), keep: false })
}

/// Builds the targets and runs them, one a core.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Routine::Demo)?;
    let names = chosen(&options.targets, names()?)?;
    build()?;
    let work = workspace::target().join("fuzz");
    let places = Places {
        built: work.join(TRIPLE).join("release"),
        kept: workspace::root().join("fuzz/corpus"),
        work,
        scratch: tempfile::tempdir().context("make a folder for sockets")?,
    };
    let left = Mutex::new(names.iter());
    let failures = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(name) = next(&left) {
                    if let Err(error) = fuzz(name, options, &places) {
                        let text = process::explain(&error);
                        failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(text);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(())
}

fn next<'a>(left: &Mutex<std::slice::Iter<'a, String>>) -> Option<&'a String> {
    left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next()
}

fn names() -> Result<Vec<String>> {
    let path = workspace::root().join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).with_context(|| format!("parse {}", path.display()))?;
    Ok(manifest.bin.into_iter().map(|target| target.name).collect())
}

fn chosen(asked: &[String], names: Vec<String>) -> Result<Vec<String>> {
    if let Some(unknown) = asked.iter().find(|name| !names.contains(name)) {
        bail!("there is no target {unknown}\nnext step: one of {}", names.join(", "));
    }
    Ok(if asked.is_empty() { names } else { asked.to_vec() })
}

fn build() -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(workspace::root().join("fuzz"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--bins", "--target", TRIPLE, "--target-dir"]);
    cargo.arg(workspace::target().join("fuzz")).env("RUSTFLAGS", COVERAGE);
    process::quietly_or_fail("build the fuzz targets", cargo).map(|_| ())
}

/// Runs a target; an error says how to repeat what it has found.
fn fuzz(name: &str, options: &Options, places: &Places) -> Result<()> {
    let kept = places.kept.join(name);
    let inputs = fs::read_dir(&kept).map_or(0, Iterator::count);
    if inputs == 0 {
        bail!("{} has no inputs\nnext step: put some there, and add more with --keep", kept.display());
    }
    let (corpus, found) = (places.work.join("corpus").join(name), places.work.join("found").join(name));
    for folder in [&corpus, &found] {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    let mut target = target(name, places);
    target.arg(&corpus).arg(&kept).args(LIMITS).arg("-print_final_stats=1");
    target.arg(format!("-max_total_time={}", options.seconds));
    target.arg(format!("-artifact_prefix={}/", found.display()));
    let output = target.output().with_context(|| format!("start {}", process::line(&target)))?;
    if !output.status.success() {
        bail!(
            "{name}: an input breaks what fuzz/src/{name}.rs promises\n{}\nnext step: {} FILE repeats one of {}; \
             keep it in {} with the repair",
            process::tail(&output),
            places.built.join(name).display(),
            found.display(),
            kept.display()
        );
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| line.strip_prefix(COUNTED)).map_or("?", str::trim);
    println!("  {name}: {count} inputs in {} s, {inputs} of them kept; nothing found", options.seconds);
    if options.keep { keep(name, &kept, &corpus, places) } else { Ok(()) }
}

fn keep(name: &str, kept: &Path, corpus: &Path, places: &Places) -> Result<()> {
    let mut target = target(name, places);
    target.arg("-merge=1").args(LIMITS).arg(kept).arg(corpus);
    process::quietly_or_fail(&format!("keep what {name} has learnt"), target).map(|_| ())
}

fn target(name: &str, places: &Places) -> Command {
    let mut target = Command::new(places.built.join(name));
    target.env("TMPDIR", places.scratch.path()).current_dir(&places.work);
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_a_source_and_a_kept_corpus() {
        let root = workspace::root().join("fuzz");
        for name in names().unwrap() {
            assert!(root.join("src").join(format!("{name}.rs")).exists(), "{name}");
            assert!(fs::read_dir(root.join("corpus").join(&name)).unwrap().count() > 0, "{name}");
        }
    }

    #[test]
    fn a_target_that_is_not_there_is_refused_with_those_that_are() {
        let names = || vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(chosen(&[], names()).unwrap(), names());
        assert_eq!(chosen(&["two".to_owned()], names()).unwrap(), ["two"]);
        let error = chosen(&["three".to_owned()], names()).unwrap_err().to_string();
        assert_eq!(error, "there is no target three\nnext step: one of one, two");
    }
}
