//! The suite itself, and the proof that it can fail.

use super::harness::run;
use super::{arithmetic, assert_agree, control, one_bit, sequential};
use crate::verilog::Style;

/// Random vectors for each block.
const VECTORS: usize = 500;

#[test]
fn rust_and_verilog_agree_on_every_shape() {
    let cases = [one_bit::cases(), arithmetic::cases(), control::cases(), sequential::cases()];
    let total = assert_agree(cases.into_iter().flatten(), VECTORS);
    println!(
        "{} shapes, {} comparisons, {} mismatches",
        total.shapes,
        total.compared,
        total.mismatches.len()
    );
    assert!(total.shapes >= 60, "{} shapes are too few", total.shapes);
    assert!(total.compared >= 60 * VECTORS, "{} comparisons are too few", total.compared);
}

#[test]
fn an_emitter_that_forgets_parentheses_is_found_out() {
    let report = run(arithmetic::cases().remove(1), Style::WITHOUT_PARENTHESES, VECTORS);
    let found = report.verdict().expect_err("a wrong emitter must not pass");
    assert!(found.contains("differ"), "{found}");
}

#[test]
fn an_emitter_that_forgets_to_truncate_is_found_out() {
    let report = run(arithmetic::cases().remove(1), Style::WITHOUT_TRUNCATION, VECTORS);
    let found = report.verdict().expect_err("a wrong emitter must not pass");
    assert!(found.contains("differ"), "{found}");
}

#[test]
fn a_run_that_compared_nothing_fails() {
    let report = run(control::cases().remove(0), Style::SOUND, 0);
    assert_eq!(report.verdict(), Err("nothing was compared".into()));
}
