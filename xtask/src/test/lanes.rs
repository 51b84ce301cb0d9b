//! All test programs of the workspace, side by side.
//!
//! Cargo runs one test program after the other, and most of ours end with one long test: a core would idle for a third of the
//! time. Here a lane takes the next program when it is done with one, and runs its tests one by one; there is a lane
//! more than there are cores.
//!
//! A story that has a test for each width of the card, `NAME_10g` and `NAME_100g`, is told at one of them, half of the stories at each;
//! `nightly` tells all at both.

mod widths;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::absent;
use super::choice::Choice;
use crate::tools::Tools;
use crate::{libclang, process};

/// Programs that take longest begin first, so that no core waits for one at the end.
const LONG: [&str; 8] =
    ["stroma_hw", "stroma_kernels", "random", "kernels", "conformance", "hostile", "flush", "crowd"];

/// What Cargo builds when nothing is chosen.
const WORKSPACE: &str = "--workspace";

/// How much of each story is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What a change must pass.
    Quarter,
    /// All of it.
    Full,
}

impl Effort {
    /// What test programs read in `STROMA_EFFORT`; a quarter is what they do unasked, or whoever started this asks for more.
    fn variable(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Full).then_some(("STROMA_EFFORT", "full"))
    }
}

/// What Cargo says of something it built, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A test program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    name: String,
    file: PathBuf,
    /// Where its package is.
    folder: PathBuf,
    /// Of its tests, those whose names contain this.
    filter: Option<String>,
    environment: Vec<(OsString, OsString)>,
}

/// Runs every test program, then the examples in the documentation.
pub(crate) fn run(effort: Effort) -> Result<()> {
    let everything = [WORKSPACE.to_owned()];
    let tests = all_of(&everything, None, effort);
    let examples = examples(&everything, None);
    tests.and(examples)
}

/// Runs the tests whose names contain `filter`, both tests of a story that has one for each width, and such examples.
pub(crate) fn filtered(filter: &str) -> Result<()> {
    let choice = Choice::of(filter)?;
    let tests = all_of(&choice.arguments(), Some(&choice.filter), Effort::Quarter);
    let examples = choice.documented().map_or(Ok(()), |packages| examples(&packages, Some(&choice.filter)));
    tests.and(examples)
}

/// Runs the test programs that Cargo builds for these arguments; an error names those that fail.
fn all_of(arguments: &[String], filter: Option<&str>, effort: Effort) -> Result<()> {
    let mut programs = programs(&build(arguments)?)?;
    let path = absent::path(&Tools::load()?, &stroma_verilate::tools_dir().join("absent"))?;
    for program in &mut programs {
        program.environment.push(("PATH".into(), path.clone()));
    }
    programs.sort_by_key(|program| LONG.iter().position(|name| *name == program.name).unwrap_or(LONG.len()));
    let failed = side_by_side(&programs, filter, effort)?;
    if !failed.is_empty() {
        bail!("{} of {} test programs failed: {}", failed.len(), programs.len(), failed.join(", "));
    }
    Ok(())
}

fn examples(packages: &[String], filter: Option<&str>) -> Result<()> {
    let mut examples = libclang::cargo();
    examples.arg("test").args(packages).args(["--doc", "--quiet"]).args(filter);
    process::aloud(examples)
}

/// Runs some tests, given by program and filter, in such an environment; the names of the programs that fail.
pub(crate) fn some(
    tests: &[(&str, &str)],
    effort: Effort,
    environment: &[(&str, &str)],
) -> Result<Vec<String>> {
    let programs = programs(&build(&[WORKSPACE.to_owned()])?)?;
    let find = |(name, filter): &(&str, &str)| {
        let program = programs.iter().find(|program| program.name == *name);
        let mut chosen = program.with_context(|| format!("find the test program {name}"))?.clone();
        chosen.environment.extend(environment.iter().map(|(key, value)| ((*key).into(), (*value).into())));
        chosen.filter = Some((*filter).into());
        Ok(chosen)
    };
    let chosen = tests.iter().map(find).collect::<Result<Vec<_>>>()?;
    side_by_side(&chosen, None, effort)
}

/// Has Cargo build them; what it says, a message a line.
fn build(arguments: &[String]) -> Result<String> {
    let mut command = libclang::cargo();
    command
        .arg("test")
        .args(arguments)
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit());
    let line = process::line(&command);
    let output = command.output().with_context(|| format!("start {line}"))?;
    if !output.status.success() {
        bail!("{line}\nended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("read what {line} says"))
}

/// The test programs among all that Cargo says it built.
pub(crate) fn programs(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Message =
            serde_json::from_str(line).with_context(|| format!("read Cargo's message {line}"))?;
        if let Message {
            manifest_path: Some(manifest),
            target: Some(target),
            profile: Some(Profile { test: true }),
            executable: Some(file),
        } = message
        {
            let folder = manifest.parent().unwrap_or(Path::new("")).to_path_buf();
            programs.push(Program { name: target.name, file, folder, ..Program::default() });
        }
    }
    Ok(programs)
}

/// The names of those that fail.
fn side_by_side(programs: &[Program], filter: Option<&str>, effort: Effort) -> Result<Vec<String>> {
    // One more than there are cores: many a test waits for a socket, a clock or another program for half of its time.
    let lanes = thread::available_parallelism().context("ask how many cores there are")?.get() + 1;
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !program.passes(filter, effort) {
                        failed.lock().expect("no lane panics with it").push(program.name.clone());
                    }
                }
            });
        }
    });
    Ok(failed.into_inner().expect("no lane panics with it"))
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.env("CARGO_MANIFEST_DIR", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs tests whose names contain `filter` one by one, but for those left out.
    pub(crate) fn tests(&self, filter: Option<&str>, left_out: &[String]) -> Command {
        let mut command = self.command();
        command.args(filter).arg("--test-threads=1").args(left_out.iter().flat_map(|name| ["--skip", name]));
        command
    }

    /// Those of its tests that are not run, as their story is told at another width. A program that cannot list its tests has none.
    pub(crate) fn at_the_other_width(&self) -> Vec<String> {
        let listed = self.command().args(["--list", "--format=terse"]).output();
        let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let listed = listed.unwrap_or_default();
        widths::left_out(listed.lines().filter_map(|line| line.strip_suffix(": test")))
    }

    /// Runs it and tells what came of it: a line if all is well, otherwise all it printed.
    fn passes(&self, filter: Option<&str>, effort: Effort) -> bool {
        let started = Instant::now();
        let filter = filter.or(self.filter.as_deref());
        let left_out = if filter.is_none() && effort == Effort::Quarter {
            self.at_the_other_width()
        } else {
            Vec::new()
        };
        let output = self
            .tests(filter, &left_out)
            .envs(effort.variable())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .output();
        let seconds = started.elapsed().as_secs_f64();
        match output {
            Ok(output) if output.status.success() => {
                println!("  {:<24} {seconds:>6.1} s  {}", self.name, told(&output));
                true
            }
            Ok(output) => {
                let (said, complained) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                println!("{said}{complained}\n  {:<24} {seconds:>6.1} s  {}", self.name, output.status);
                false
            }
            Err(error) => {
                println!("  {:<24} cannot start: {error}", self.name);
                false
            }
        }
    }
}

/// What a test program says of its tests, or nothing if it has a voice of its own.
fn told(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let result = text.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    result.and_then(|line| line.split("; finished").next()).unwrap_or("ok").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn test_programs_are_found_among_all_that_cargo_built() {
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"a"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"tool"},"profile":{"test":false},"executable":"/t/tool"}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"wire"},"profile":{"test":true},"executable":"/t/wire-1"}
{"reason":"build-finished","success":true}"#;
        let wire = Program {
            name: "wire".into(),
            file: "/t/wire-1".into(),
            folder: "/w/a".into(),
            ..Program::default()
        };
        assert_eq!(programs(messages).unwrap(), [wire]);
    }

    #[test]
    fn what_is_no_message_of_cargo_is_shown() {
        let error = programs("warning: unused").unwrap_err().to_string();
        assert!(error.contains("warning: unused"), "{error}");
    }

    #[test]
    fn a_program_that_fails_or_cannot_start_is_named() {
        let program = |name: &str, file: &str| Program {
            name: name.into(),
            file: file.into(),
            folder: workspace::root(),
            ..Program::default()
        };
        let programs = [program("good", "true"), program("bad", "false"), program("gone", "/no/such/file")];
        let mut failed = side_by_side(&programs, None, Effort::Quarter).unwrap();
        failed.sort();
        assert_eq!(failed, ["bad", "gone"]);
    }
}
