//! Tests with and without a fault.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::list::Mutant;
use super::log;
use super::tree::Tree;
use crate::test::lanes::{self, Program};
use crate::{libclang, process};

/// Unit tests of a fault take no longer: most take seconds.
const UNIT_LIMIT: Duration = Duration::from_mins(4);
/// Tests on a card take some minutes, for it is built first.
const CARD_LIMIT: Duration = Duration::from_mins(15);
/// Between two looks at a test program.
const PAUSE: Duration = Duration::from_millis(50);

/// What the tests say of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// This test fails.
    Found(String),
    /// This test does not end.
    Hangs(String),
    /// All pass.
    Missed,
    /// There is nothing to test, for the compiler, the emitter or Verilator refuses it: the entry is wrong.
    NoBuild,
}

impl Finding {
    pub(super) fn is_found(&self) -> bool {
        matches!(self, Self::Found(_) | Self::Hangs(_))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(test) => out.write_str(test),
            Self::Hangs(test) => write!(out, "{test} (found: hangs)"),
            Self::Missed => out.write_str("NOT FOUND"),
            Self::NoBuild => out.write_str("DOES NOT BUILD"),
        }
    }
}

/// How a test program ended.
enum Ended {
    Passed,
    Failed,
    TooLate,
}

/// A copy of the work tree, and where its tests are built.
pub(super) struct Trial {
    tree: Tree,
    target: PathBuf,
    logs: PathBuf,
}

impl Trial {
    /// Builds below `folder`, whose logs of an earlier time go.
    pub(super) fn new(tree: Tree, folder: &Path) -> Result<Self> {
        let logs = folder.join("logs");
        crate::setup::remove(&logs)?;
        fs::create_dir_all(&logs).with_context(|| format!("create {}", logs.display()))?;
        Ok(Self { tree, target: folder.join("target"), logs })
    }

    /// Runs the tests of all these faults without any: they have to pass, and there has to be one for each.
    pub(super) fn pass_without(&self, mutants: &[Mutant]) -> Result<()> {
        let mut seen = BTreeSet::new();
        for mutant in mutants {
            let tests = format!("{} {}", mutant.program().join(" "), mutant.filter);
            if !seen.insert(tests.clone()) {
                continue;
            }
            let started = Instant::now();
            let log = self.logs.join(format!("without-{}.log", mutant.name));
            let shown = || format!("next step: read {}", log.display());
            let program =
                self.build(mutant, &log)?.context("the tests do not compile").with_context(shown)?;
            let Ended::Passed = self.run(mutant, &program, &log)? else {
                return Err(anyhow::anyhow!("without a fault, `cargo test {tests}` fails"))
                    .with_context(shown);
            };
            let passed = log::passed(&log::read(&log)?);
            ensure!(
                passed > 0,
                "`cargo test {tests}` runs no test\nnext step: repair `filter` of {}",
                mutant.name
            );
            println!("  {tests}: {passed} tests, {:.1} s", started.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Puts a fault in, asks its tests, and takes it out again.
    pub(super) fn find(&self, mutant: &Mutant) -> Result<Finding> {
        let log = self.logs.join(format!("{}.log", mutant.name));
        let changed = self.tree.change(&mutant.file, |text| mutant.apply(text))?;
        let finding = self.asked(mutant, &log);
        changed.restore()?;
        finding
    }

    fn asked(&self, mutant: &Mutant, log: &Path) -> Result<Finding> {
        let Some(program) = self.build(mutant, log)? else { return Ok(Finding::NoBuild) };
        let ended = self.run(mutant, &program, log)?;
        let text = log::read(log)?;
        Ok(match ended {
            Ended::Passed => Finding::Missed,
            Ended::Failed if log::is_refused(&text) => Finding::NoBuild,
            Ended::Failed => Finding::Found(log::culprit(&text)),
            Ended::TooLate => Finding::Hangs(log::culprit(&text)),
        })
    }

    /// Has Cargo build the test program of a fault; `None` when it does not compile, and then the log says why.
    fn build(&self, mutant: &Mutant, log: &Path) -> Result<Option<Program>> {
        let mut cargo = libclang::cargo();
        cargo.current_dir(self.tree.root());
        cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(mutant.program());
        let line = process::line(&cargo);
        let stderr = File::create(log).with_context(|| format!("create {}", log.display()))?;
        let output = self.equip(&mut cargo).stdin(Stdio::null()).stderr(stderr).output();
        let output = output.with_context(|| format!("start {line}"))?;
        if !output.status.success() {
            return Ok(None);
        }
        let messages = String::from_utf8(output.stdout).with_context(|| format!("read what {line} says"))?;
        match <[Program; 1]>::try_from(lanes::programs(&messages)?) {
            Ok([program]) => Ok(Some(program)),
            Err(programs) => bail!("{line}\nbuilt {} test programs, not one", programs.len()),
        }
    }

    /// Runs the tests of a fault as `cargo xtask test` does.
    fn run(&self, mutant: &Mutant, program: &Program, log: &Path) -> Result<Ended> {
        let file =
            File::options().append(true).open(log).with_context(|| format!("open {}", log.display()))?;
        let other = file.try_clone().with_context(|| format!("open {}", log.display()))?;
        let mut command = program.tests(Some(&mutant.filter), &program.at_the_other_width());
        let mut tests =
            self.equip(&mut command).stdout(file).stderr(other).spawn().context("start the tests")?;
        let limit = if mutant.test.is_none() { UNIT_LIMIT } else { CARD_LIMIT };
        let started = Instant::now();
        loop {
            if let Some(status) = tests.try_wait().context("wait for the tests")? {
                return Ok(if status.success() { Ended::Passed } else { Ended::Failed });
            }
            if started.elapsed() > limit {
                tests.kill().context("end the tests")?;
                tests.wait().context("wait for the tests")?;
                return Ok(Ended::TooLate);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Has a program use the folder of what is built here, and the Verilator of the work tree.
    fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("CARGO_TARGET_DIR", &self.target)
            .env(stroma_verilate::ROOT_VARIABLE, stroma_verilate::verilator_root())
    }
}
