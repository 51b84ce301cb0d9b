//! Cards with clock domains against cards without them, side by side.
//!
//! Every card of the tests below lives through all that it does twice, in two models with the same inputs. Outputs are compared after
//! each evaluation, registers and memories when a card ends: see `sim/verilate/src/shadow.rs`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::lanes::{self, Effort};
use crate::setup;
use crate::tools::Routine;
use crate::workspace;

/// How cards are compared.
struct Comparison {
    /// The value of `STROMA_SHADOW`.
    shadow: &'static str,
    effort: Effort,
    /// Test programs, and which of their tests.
    tests: &'static [(&'static str, &'static str)],
    /// Fewest cycles that must have been compared: less, and the tests are not what they were.
    cycles: u64,
}

/// What a change must pass: the build that all tests use, with and without gating. Recorded exchanges at both widths, kernels at work on a
/// bad wire, a restart under traffic.
const PART: Comparison = Comparison {
    shadow: "ungated",
    effort: Effort::Quarter,
    tests: &[
        ("kernels", "each_call_is_carried_out_once_on_a_bad_wire_100g"),
        ("exchange", ""),
        ("restart", "a_restart_under_traffic"),
    ],
    cycles: 300_000,
};

/// All of it: against a build of the reference text, both profiles, recorded exchanges, resets, callers that go.
const WHOLE: Comparison = Comparison {
    shadow: "reference",
    effort: Effort::Full,
    tests: &[
        ("random", "all_services"),
        ("random", "two_cards"),
        ("kernels", "each_call"),
        ("kernels", "on_a_perfect_wire"),
        ("exchange", ""),
        ("restart", ""),
        ("parting", ""),
        ("rpc", ""),
    ],
    cycles: 2_000_000,
};

/// Makes the machine ready, and compares.
pub(crate) fn run(whole: bool) -> Result<()> {
    setup::run(Routine::Test)?;
    compare(if whole { Effort::Full } else { Effort::Quarter })
}

/// Compares as much as the effort says.
pub(crate) fn compare(effort: Effort) -> Result<()> {
    let comparison = if effort == Effort::Full { &WHOLE } else { &PART };
    let log = workspace::target().join("gating.log");
    if log.exists() {
        fs::remove_file(&log).with_context(|| format!("remove {}", log.display()))?;
    }
    let log_name = log.display().to_string();
    let environment = [("STROMA_SHADOW", comparison.shadow), ("STROMA_SHADOW_LOG", &log_name)];
    let failed = lanes::some(comparison.tests, comparison.effort, &environment)?;
    if !failed.is_empty() {
        bail!("{} of {} runs failed: {}", failed.len(), comparison.tests.len(), failed.join(", "));
    }
    let (cycles, cards) = compared(&log)?;
    println!("{cycles} cycles of {cards} cards compared with {}, and nothing differs", comparison.shadow);
    ensure!(cycles >= comparison.cycles, "{} cycles or more were to be compared", comparison.cycles);
    Ok(())
}

/// Cycles and cards in the log that the models write; a cycle has two evaluations.
fn compared(log: &Path) -> Result<(u64, usize)> {
    let text = fs::read_to_string(log).with_context(|| format!("read {}", log.display()))?;
    let evaluations =
        |line: &str| line.split_whitespace().rev().nth(1).and_then(|count| count.parse::<u64>().ok());
    let counts: Option<Vec<u64>> = text.lines().map(evaluations).collect();
    let counts =
        counts.with_context(|| format!("{}: a line is LABEL EVALUATIONS VARIABLES", log.display()))?;
    Ok((counts.iter().sum::<u64>() / 2, counts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_counted_from_the_log_and_a_broken_line_is_no_zero() {
        let log = workspace::target().join(format!("gating-{}.log", std::process::id()));
        fs::write(&log, "random-1 2000 11000\nkernels two words 40 11000\n").unwrap();
        assert_eq!(compared(&log).unwrap(), (1020, 2));
        fs::write(&log, "random-1 many 11000\n").unwrap();
        assert!(compared(&log).is_err());
        fs::remove_file(&log).unwrap();
    }
}
