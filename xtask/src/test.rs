//! `test`: the checks of the sources, then every test of the workspace.

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
    stages.extend(self::stages(filter));
    stage::run_all(stages)
}

/// The stages that `ci` shares.
pub(crate) fn stages(filter: Option<String>) -> Vec<Stage> {
    let is_whole = filter.is_none();
    let mut stages = vec![
        Stage::new("source-check", "rewrite each kernel as its refusal says", source_check::run),
        Stage::new("programs", "add the program to tools.toml", programs::run),
        Stage::new("testplan", "name existing tests in docs/testplan.md", || testplan::run(false)),
        Stage::new("errors", "give each row of docs/errors.md a test, and each code a row", errors_doc::run),
        Stage::new(
            "tests",
            "`cargo xtask test --filter NAME` runs one test, STROMA_WAVES=DIR before it records its waves",
            move || lanes::run(filter.as_deref(), Effort::Quarter),
        ),
    ];
    // Who asks for some tests has not asked for this.
    if is_whole {
        stages.push(Stage::new(
            "gating",
            "`cargo xtask gating` runs this stage alone; `STROMA_SHADOW=ungated cargo test -p stroma-tests --test NAME` one of its tests",
            || gating::compare(Effort::Quarter),
        ));
    }
    stages
}
