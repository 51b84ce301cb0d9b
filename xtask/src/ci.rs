//! `ci`: everything a change must pass, the same here and on every desk.

use anyhow::Result;

use crate::rtl::Profile;
use crate::stage::{self, Budgets, Stage};
use crate::tools::Routine;
use crate::{
    bitstream, cocotb, deny, docs, formal, frames, fuzz, libclang, lint, linux, loom, new_kernel, process,
    setup, synth, test,
};

/// Minutes that stages may take on two cores with nothing else running. A stage that outgrows its share is made faster.
const BUDGETS: &Budgets = &[
    ("setup", 6.0),
    ("fmt", 0.5),
    ("docs fresh", 1.0),
    ("clippy", 6.0),
    ("rustdoc", 2.5),
    ("source-check", 1.0),
    ("tests", 26.0),
    ("gating", 4.0),
    ("new kernel", 3.0),
    ("rtl lint", 2.0),
    ("board", 3.0),
    ("synth", 4.0),
    ("cocotb", 3.0),
    ("frames", 1.0),
    ("fuzz", 2.0),
    ("loom", 1.0),
    ("linux 3", 6.0),
    ("linux 4", 2.0),
    ("linux 5", 3.0),
    ("formal runner", 1.0),
    ("formal", 3.0),
];

/// Runs all stages, the quick ones first.
pub(crate) fn run() -> Result<()> {
    let mut stages = vec![
        Stage::new("setup", "do what the message above says", || setup::run(Routine::Ci)),
        Stage::new("fmt", "cargo fmt --all", || cargo(&["fmt", "--all", "--check"], &[])),
        Stage::new("docs fresh", "cargo xtask docs", || docs::run(true)),
        Stage::new(
            "clippy",
            "repair each warning; an exception is #[expect(lint, reason = \"...\")]",
            || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
        ),
        Stage::new("rustdoc", "repair each warning", || {
            cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])
        }),
    ];
    stages.extend(test::stages());
    stages.extend([
        Stage::new(
            "new kernel",
            "repair xtask/template/kernel; the kernel that failed is in target/new-kernel/try_out",
            new_kernel::stage,
        ),
        // The large card is read as part of a board.
        Stage::new("rtl lint", "`cargo xtask lint --profile 10g` runs this stage alone", || {
            lint::run(Some(Profile::TenG))
        }),
        Stage::new("board", "`cargo xtask bitstream --board u55c` runs this stage alone", bitstream::stage),
        Stage::new(
            "synth",
            "`cargo xtask synth --block NAME` shows a block's worst paths; `--update` keeps a growth that is worth it",
            synth::stage,
        ),
        Stage::new("cocotb", "`cargo xtask cocotb --profile 10g` runs this stage alone", || {
            cocotb::run(Some(Profile::TenG))
        }),
        Stage::new("frames", "`cargo xtask frames` runs this stage alone", frames::run),
        Stage::new("fuzz", "`cargo xtask fuzz --target NAME` runs one target", || fuzz::all(fuzz::BRIEF)),
        Stage::new("loom", "`cargo xtask loom NAME` runs one model", || loom::run(None)),
        Stage {
            name: "linux 3",
            next_step: "`cargo xtask linux --rung 3` runs this stage alone, with `--only WORDS` some of it",
            run: Box::new(|| linux::run(linux::Rung::Programs, &linux::Choice::default())),
        },
        Stage {
            name: "linux 4",
            next_step: "`cargo xtask linux --rung 4` runs this stage alone",
            run: Box::new(|| linux::run(linux::Rung::Wire, &linux::Choice::default())),
        },
        Stage {
            name: "linux 5",
            next_step: "`cargo xtask linux --rung 5` runs this stage alone",
            run: Box::new(|| linux::run(linux::Rung::Device, &linux::Choice::default())),
        },
        Stage::new(
            "formal runner",
            "`cargo xtask formal --self-test` runs this stage alone",
            formal::self_test,
        ),
        Stage::new("formal", "`cargo xtask formal --task NAME` runs one proof", || formal::run(None)),
        Stage {
            name: "deny",
            next_step: "change the dependency, or deny.toml with a reason",
            run: Box::new(deny::stage),
        },
    ]);
    stage::run_within(BUDGETS, stages)
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut command = libclang::cargo();
    command.args(arguments).envs(environment.iter().copied());
    process::aloud(command)
}
