//! `mutants`: do the tests find each fault of a fixed list?
//!
//! The faults are small wrong changes, one at a time, in a copy of the work tree below `target/mutants`. Each names the
//! tests that have to fail with it; `cargo xtask test` runs them all. A fault that no test finds is a promise that
//! nothing keeps any more.

mod list;
mod log;
mod tree;
mod trial;

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tools::Routine;
use crate::{setup, testplan, workspace};
use list::Mutant;
use tree::Tree;
use trial::{Finding, Trial};

/// Columns of a fault's name.
const NAME: usize = 52;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Only faults with one of these words in their names
    #[arg(long, value_name = "WORD", num_args = 1..)]
    only: Vec<String>,
    /// Print the faults, and run nothing
    #[arg(long)]
    list: bool,
    /// Check that each fault has its place in the sources and its tests, and run nothing
    #[arg(long, conflicts_with = "list")]
    check: bool,
}

/// What became of a fault.
struct Row {
    name: String,
    finding: Finding,
    took: Duration,
}

/// Does what is asked for; an error when a fault is not found.
pub(crate) fn run(options: &Options) -> Result<()> {
    let all = list::load()?;
    let is_chosen = |mutant: &&Mutant| {
        options.only.is_empty() || options.only.iter().any(|word| mutant.name.contains(word))
    };
    let chosen: Vec<Mutant> = all.iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() {
        bail!("no fault has such a name\nnext step: `cargo xtask mutants --list` prints all names");
    }
    if options.list {
        for mutant in &chosen {
            println!("{}\n    {}\n    {}", mutant.name, mutant.file, mutant.what);
        }
        return Ok(());
    }
    list::check(&all, &workspace::root(), testplan::find_tests()?)?;
    println!("mutants: {} faults, each with its place in the sources and its tests", all.len());
    if options.check {
        return Ok(());
    }
    setup::run(Routine::Test)?;
    let rows = tried(&chosen)?;
    println!("\n{}", table(&rows));
    let missed: Vec<&str> =
        rows.iter().filter(|row| !row.finding.is_found()).map(|row| row.name.as_str()).collect();
    println!("{} of {} found", rows.len() - missed.len(), rows.len());
    if !missed.is_empty() {
        bail!(
            "not found: {}\nnext step: read target/mutants/logs/NAME.log, and write a test that fails with the fault; \
             if it changes nothing or does not build, put another one into {}",
            missed.join(", "),
            list::FILE
        );
    }
    Ok(())
}

/// Tries each fault, when the tests pass without any.
fn tried(mutants: &[Mutant]) -> Result<Vec<Row>> {
    let folder = workspace::target().join("mutants");
    let tree = Tree::copy(&workspace::root(), folder.join("tree")).context("copy the work tree")?;
    let trial = Trial::new(tree, &folder)?;
    println!("without a fault:");
    trial.pass_without(mutants)?;
    println!("with each fault:");
    let mut rows = Vec::new();
    for (number, mutant) in (1..).zip(mutants) {
        let started = Instant::now();
        let finding = trial.find(mutant).with_context(|| format!("try {}", mutant.name))?;
        let took = started.elapsed();
        println!(
            "  {number:>2} of {}  {:<NAME$} {:>6.1} s  {finding}",
            mutants.len(),
            mutant.name,
            took.as_secs_f64()
        );
        rows.push(Row { name: mutant.name.clone(), finding, took });
    }
    Ok(rows)
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<NAME$} {:>7}  found by\n", "fault", "seconds");
    for row in rows {
        let _ = writeln!(text, "{:<NAME$} {:>7.1}  {}", row.name, row.took.as_secs_f64(), row.finding);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_what_found_each_fault_and_what_nothing_found() {
        let row = |name: &str, finding| Row { name: name.into(), finding, took: Duration::from_millis(2500) };
        let rows = [row("one", Finding::Found("a::test".into())), row("two", Finding::Missed)];
        let table = table(&rows);
        assert!(
            table.lines().any(|line| line.starts_with("one ") && line.ends_with("2.5  a::test")),
            "{table}"
        );
        assert!(table.lines().any(|line| line.starts_with("two ") && line.ends_with("NOT FOUND")), "{table}");
    }
}
