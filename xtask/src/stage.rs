//! A run of stages: each timed, the first failure stops it, and the table at the end says what became of each, and which took longer
//! than its budget.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::process;

/// What a stage that did not fail did.
pub(crate) enum Outcome {
    /// Its whole work.
    Done,
    /// Nothing, for the reason given.
    Skipped(&'static str),
}

/// One step of `test` or `ci`.
pub(crate) struct Stage {
    /// Its row in the table.
    pub(crate) name: &'static str,
    /// What the user does when it fails.
    pub(crate) next_step: &'static str,
    /// The work.
    pub(crate) run: Box<dyn FnOnce() -> Result<Outcome>>,
}

impl Stage {
    /// A stage that has no reason to be skipped.
    pub(crate) fn new(
        name: &'static str,
        next_step: &'static str,
        work: impl FnOnce() -> Result<()> + 'static,
    ) -> Self {
        Self { name, next_step, run: Box::new(|| work().map(|()| Outcome::Done)) }
    }
}

/// Minutes that stages may take, by name, on two cores with nothing else running.
pub(crate) type Budgets = [(&'static str, f64)];

/// By how much a stage may exceed its budget before the run fails: machines differ, and are not always alone.
const TOLERANCE: f64 = 1.5;

struct Row {
    name: &'static str,
    took: Option<Duration>,
    budget: Option<f64>,
    result: String,
}

impl Row {
    fn is_over_budget(&self) -> bool {
        let minutes = self.took.map_or(0.0, |took| took.as_secs_f64() / 60.0);
        self.budget.is_some_and(|budget| minutes > budget * TOLERANCE)
    }
}

/// Runs the stages in order and prints the table of minutes.
pub(crate) fn run_all(stages: Vec<Stage>) -> Result<()> {
    run_within(&[], stages)
}

/// As [`run_all`], and fails when a stage takes half as long again as its budget, or longer.
pub(crate) fn run_within(budgets: &Budgets, stages: Vec<Stage>) -> Result<()> {
    let budget = |name| budgets.iter().find(|(stage, _)| *stage == name).map(|(_, minutes)| *minutes);
    let mut rows = Vec::new();
    let mut failure = None;
    for stage in stages {
        if failure.is_some() {
            rows.push(Row {
                name: stage.name,
                took: None,
                budget: budget(stage.name),
                result: "not run".into(),
            });
            continue;
        }
        println!("\n==> {}", stage.name);
        let started = Instant::now();
        let result = (stage.run)();
        let result = match result {
            Ok(Outcome::Done) => "ok".into(),
            Ok(Outcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(error) => {
                eprintln!("{}", process::explain(&error));
                failure = Some((stage.name, stage.next_step));
                "FAILED".into()
            }
        };
        rows.push(Row {
            name: stage.name,
            took: Some(started.elapsed()),
            budget: budget(stage.name),
            result,
        });
    }
    println!("\n{}", table(&rows));
    if let Some((name, next_step)) = failure {
        bail!("stage `{name}` failed\nnext step: {next_step}");
    }
    let slow: Vec<&str> = rows.iter().filter(|row| row.is_over_budget()).map(|row| row.name).collect();
    if !slow.is_empty() {
        bail!(
            "over budget by more than half: {}\nnext step: make the stage faster; if the machine was busy, run it again",
            slow.join(", ")
        );
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<16} {:>7} {:>7}  result\n", "stage", "minutes", "budget");
    for row in rows {
        let minutes = row.took.map_or("-".into(), |took| format!("{:.2}", took.as_secs_f64() / 60.0));
        let budget = row.budget.map_or("-".into(), |budget| format!("{budget:.1}"));
        let over = if row.is_over_budget() { ", over budget" } else { "" };
        let _ = writeln!(text, "{:<16} {minutes:>7} {budget:>7}  {}{over}", row.name, row.result);
    }
    let total: Duration = rows.iter().filter_map(|row| row.took).sum();
    let _ = write!(text, "{:<16} {:>7.2}", "total", total.as_secs_f64() / 60.0);
    text
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn the_first_failure_stops_the_run_and_tells_the_next_step() {
        let ran = Rc::new(Cell::new(0));
        let count = |result: Result<()>| {
            let ran = Rc::clone(&ran);
            move || {
                ran.set(ran.get() + 1);
                result
            }
        };
        let stages = vec![
            Stage::new("first", "-", count(Ok(()))),
            Stage::new("second", "read the log", count(Err(anyhow::anyhow!("broken")))),
            Stage::new("third", "-", count(Ok(()))),
        ];
        let error = run_all(stages).unwrap_err().to_string();
        assert_eq!(ran.get(), 2);
        assert!(error.contains("`second`") && error.contains("read the log"), "{error}");
    }

    #[test]
    fn the_table_tells_minutes_and_what_was_not_run() {
        let rows = [
            Row { name: "fmt", took: Some(Duration::from_secs(90)), budget: Some(0.5), result: "ok".into() },
            Row { name: "formal", took: None, budget: None, result: "not run".into() },
        ];
        let table = table(&rows);
        assert!(table.contains("fmt                 1.50     0.5  ok, over budget"), "{table}");
        assert!(table.contains("formal                 -       -  not run"), "{table}");
        assert!(table.contains("total               1.50"), "{table}");
    }

    #[test]
    fn a_stage_that_takes_half_as_long_again_as_its_budget_fails_the_run() {
        let wait = || {
            std::thread::sleep(Duration::from_millis(40));
            Ok(())
        };
        let run = |milliseconds: f64| {
            let budget = milliseconds / 60_000.0;
            run_within(&[("slow", budget)], vec![Stage::new("slow", "-", wait)])
                .map_err(|error| error.to_string())
        };
        assert!(run(10.0).unwrap_err().contains("slow"));
        assert_eq!(run(60_000.0), Ok(()));
    }
}
