//! `test`: the checks of the sources, then every test of the workspace.

mod absent;
mod choice;
pub(crate) mod gating;
pub(crate) mod lanes;

use anyhow::Result;

use crate::stage::{self, Stage};
use crate::tools::Routine;
use crate::{errors_doc, programs, setup, source_check, testplan};
use lanes::Effort;

/// Runs the stages of `test`.
pub(crate) fn run(filter: Option<String>) -> Result<()> {
    let mut stages =
        vec![Stage::new("setup", "do what the message above says", || setup::run(Routine::Test))];
    match filter {
        None => stages.extend(self::stages()),
        // Who asks for some tests has not asked for the rest.
        Some(filter) => stages.extend([source_check(), tests(move || lanes::filtered(&filter))]),
    }
    stage::run_all(stages)
}

/// The stages that `ci` shares.
pub(crate) fn stages() -> Vec<Stage> {
    vec![
        source_check(),
        Stage::new("programs", "add the program to tools.toml", programs::run),
        Stage::new("testplan", "name existing tests in docs/testplan.md and SECURITY.md", || {
            testplan::run(false)
        }),
        Stage::new("errors", "give each row of docs/errors.md a test, and each code a row", errors_doc::run),
        tests(|| lanes::run(Effort::Quarter)),
        Stage::new(
            "gating",
            "`cargo xtask gating` runs this stage alone; `STROMA_SHADOW=ungated cargo test -p stroma-tests --test NAME` one of its tests",
            || gating::compare(Effort::Quarter),
        ),
    ]
}

fn source_check() -> Stage {
    Stage::new("source-check", "rewrite each kernel as its refusal says", source_check::run)
}

fn tests(work: impl FnOnce() -> Result<()> + 'static) -> Stage {
    Stage::new(
        "tests",
        "`cargo xtask test --filter NAME` runs one test, STROMA_WAVES=DIR before it records its waves",
        work,
    )
}
