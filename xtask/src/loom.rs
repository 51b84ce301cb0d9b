//! `loom`: what threads share, in all orders of their steps, see `tests/loom`.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// Runs the models whose names contain `filter`, or all.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(workspace::root().join("tests/loom"));
    cargo
        .args(["test", "--locked", "--quiet", "--lib", "--target-dir"])
        .arg(workspace::target().join("loom"));
    // A thread that waits for ever is told in a line; the way there is loom's own.
    cargo.env("RUST_BACKTRACE", "0").args(filter);
    let output = process::quietly_or_fail("models of what threads share", cargo)
        .context("next step: `cargo xtask loom NAME` runs one; loom's documentation says how to follow it step by step")?;
    let count = ran(&String::from_utf8_lossy(&output.stdout)).context("no model has such a name")?;
    println!("loom: {count} models, each in all orders of its threads with three preemptions or fewer");
    Ok(())
}

/// The number in `test result: ok. 12 passed; 0 failed; ...`, unless it is 0.
pub(crate) fn ran(text: &str) -> Option<usize> {
    let result =
        |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<usize>().ok();
    Some(text.lines().filter_map(result).sum()).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_and_none_is_no_number() {
        let line = |count| format!("running tests\ntest result: ok. {count} passed; 0 failed; 0 ignored\n");
        assert_eq!(ran(&line(12)), Some(12));
        assert_eq!(ran(&line(0)), None);
        assert_eq!(ran("test result: FAILED. 3 passed; 1 failed\n"), None);
        assert_eq!(ran(""), None);
    }
}
