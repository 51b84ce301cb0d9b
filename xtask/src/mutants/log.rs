//! What a test program has said.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// How messages of the emitter, and of what reads its text, begin when a design is no hardware.
const REFUSALS: [&str; 3] =
    ["RustHDL refuses the design: ", "the design cannot be emitted: ", "Verilator refuses module "];

/// All of it.
pub(super) fn read(log: &Path) -> Result<String> {
    let bytes = fs::read(log).with_context(|| format!("read {}", log.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How many tests passed, as a test program says in the end.
pub(super) fn passed(log: &str) -> usize {
    let result = log.lines().rev().find_map(|line| line.strip_prefix("test result: ok. "));
    result.and_then(|line| line.split(' ').next()).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The first test that failed; of a program that ended or hung in the middle of one, that one.
pub(super) fn culprit(log: &str) -> String {
    let test = |line: &str| {
        let (name, result) = line.strip_prefix("test ")?.split_once(" ...")?;
        Some((name.trim_end_matches(" - should panic").to_owned(), result.trim().to_owned()))
    };
    let tests: Vec<_> = log.lines().filter_map(test).collect();
    let failed = tests.iter().find(|(_, result)| result.ends_with("FAILED"));
    let last = tests.last().filter(|(_, result)| result != "ok");
    failed.or(last).map_or_else(|| "a test program that ended early".to_owned(), |(name, _)| name.clone())
}

/// Did a test fail because there was no design to test?
pub(super) fn is_refused(log: &str) -> bool {
    let by_module = |line: &str| {
        let said = line.strip_prefix("module ").and_then(|rest| rest.split_once(": "));
        said.is_some_and(|(module, _)| !module.contains(' '))
    };
    log.lines().any(|line| by_module(line) || REFUSALS.iter().any(|words| line.starts_with(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_that_found_a_fault_is_the_first_that_failed_or_the_one_under_way() {
        let log =
            "running 3 tests\ntest a::one ... ok\ntest a::two - should panic ... FAILED\ntest b ... FAILED\n";
        assert_eq!(culprit(log), "a::two");
        assert_eq!(culprit("running 2 tests\ntest a::one ... ok\ntest a::two ... "), "a::two");
        assert_eq!(culprit("running 1 test\ntest a::one ... ok\n"), "a test program that ended early");
    }

    #[test]
    fn tests_that_passed_are_counted_and_a_program_without_any_has_none() {
        let result =
            |count| format!("test result: ok. {count} passed; 0 failed; 1 ignored; 7 filtered out\n");
        assert_eq!([passed(&result(12)), passed(&result(0)), passed("")], [12, 0, 0]);
    }

    #[test]
    fn a_design_that_is_refused_is_no_finding() {
        let said = |words: &str| {
            format!("thread 'a::one' panicked at testing.rs:45:\n{words}\ntest result: FAILED\n")
        };
        for words in [
            "module skid: `keeps` is not assigned on every path (a latch)",
            "Verilator refuses module `skid`:",
        ] {
            assert!(is_refused(&said(words)), "{words}");
        }
        for words in ["source.valid in cycle 7", "module skid (", "module of two words: none"] {
            assert!(!is_refused(&said(words)), "{words}");
        }
    }
}
