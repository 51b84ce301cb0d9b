//! The tests of pyverbs, which compare the bytes that arrive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::PYVERBS;
use super::bench::{Bench, wait};
use super::row::Row;
use crate::process;

/// Where Debian's package has them, compressed.
const TESTS: &str = "/usr/share/doc/rdma-core/tests";
/// Tests that must have passed at least.
const LEAST: usize = 80;
/// They take two minutes on two cores.
const LIMIT: Duration = Duration::from_mins(10);

/// A run without failures.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Passed {
    pub(super) passed: usize,
    pub(super) skipped: usize,
}

/// Runs them all on one card, which talks to itself.
pub(super) fn run(bench: &mut Bench) -> Result<Passed> {
    let folder = unpack(bench.folder())?;
    let program = folder.join("run_tests.py").display().to_string();
    // The system's own Python: the package's modules are for no other.
    let command = ["/usr/bin/python3", &program, "-v", "--dev", "stroma0", "--gid", "1", "--port", "1"]
        .map(ToOwned::to_owned);
    let row = Row::one(PYVERBS, "");
    let started = Instant::now();
    let mut child = bench.start(&row, 0, &command, PYVERBS)?;
    let end = wait(&mut child, LIMIT)?;
    let log = bench.folder().join("pyverbs.log");
    let text = fs::read_to_string(&log).with_context(|| format!("read {}", log.display()))?;
    let found =
        Summary::of(&text).with_context(|| format!("pyverbs did not come to its end: {}", log.display()))?;
    let Summary { ran, skipped, failed } = found;
    let passed = ran.saturating_sub(skipped + failed);
    if failed > 0 || !end.is_some_and(|status| status.success()) {
        bail!("pyverbs: {failed} of {ran} tests failed; see {}", log.display());
    }
    ensure!(passed >= LEAST, "pyverbs: {passed} tests passed, and {LEAST} have to");
    let took = started.elapsed().as_secs_f64();
    println!("  10g   pyverbs: {passed} tests passed, {skipped} were skipped, none failed {took:>6.1} s");
    Ok(Passed { passed, skipped })
}

/// The tests as files that Python takes.
fn unpack(folder: &Path) -> Result<PathBuf> {
    let tests = folder.join("tests");
    fs::create_dir_all(&tests).with_context(|| format!("create {}", tests.display()))?;
    for entry in fs::read_dir(TESTS).with_context(|| format!("list {TESTS}\nnext step: cargo xtask setup"))? {
        let entry = entry.with_context(|| format!("list {TESTS}"))?;
        let to = tests.join(entry.file_name());
        fs::copy(entry.path(), &to).with_context(|| format!("copy to {}", to.display()))?;
    }
    let mut gunzip = Command::new("gunzip");
    gunzip.arg("--recursive").arg(&tests);
    process::quietly_or_fail("unpack pyverbs' tests", gunzip)?;
    Ok(tests)
}

/// What Python's unittest says at the end.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    ran: usize,
    skipped: usize,
    failed: usize,
}

impl Summary {
    fn of(text: &str) -> Option<Self> {
        let ran =
            text.lines().rev().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok())?;
        let last = text.lines().rev().find(|line| line.starts_with("OK") || line.starts_with("FAILED"))?;
        let count = |what: &str| {
            let parts = last.split(['(', ',', ')', ' ']);
            parts
                .filter_map(|part| part.strip_prefix(what)?.strip_prefix('=')?.parse::<usize>().ok())
                .sum::<usize>()
        };
        Some(Self { ran, skipped: count("skipped"), failed: count("failures") + count("errors") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_is_understood() {
        let summary = |text| Summary::of(text).unwrap();
        let good = "test_a ... ok\n\nRan 273 tests in 120.1s\n\nOK (skipped=182)\n";
        assert_eq!(summary(good), Summary { ran: 273, skipped: 182, failed: 0 });
        let bad = "Ran 273 tests in 120.1s\n\nFAILED (failures=2, errors=6, skipped=181)\n";
        assert_eq!(summary(bad), Summary { ran: 273, skipped: 181, failed: 8 });
        assert_eq!(summary("Ran 1 test in 0.1s\n\nOK\n"), Summary { ran: 1, skipped: 0, failed: 0 });
        assert_eq!(Summary::of("Segmentation fault"), None);
    }
}
