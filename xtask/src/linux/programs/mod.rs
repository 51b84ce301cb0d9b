//! Rung 3: programs that others wrote for libibverbs, unmodified, on simulated cards.
//!
//! They are started by `stroma exec`, as anybody would start them, each pair on two cards of a fabric. Most of them do not look at the bytes that
//! arrive; pyverbs' tests do, and tshark looks at the frames.

mod bench;
mod pyverbs;
pub(crate) mod record;
mod row;
mod table;
mod wire;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{Choice, peers};
use crate::stage::Outcome;
use crate::{install, process, workspace};
use bench::Bench;
use record::Record;
use row::Row;

/// What the rows are called that are no pairs of programs here.
const PYVERBS: &str = "pyverbs";
const GUEST: &str = "guest";

/// Runs the rows that were chosen.
pub(super) fn run(choice: &Choice) -> Result<Outcome> {
    let prefix = install::usual();
    install::into(&prefix)?;
    let folder = workspace::target().join("linux/programs");
    // What an earlier run left would be taken for this one's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let is_wanted = |name: &str| choice.only.as_ref().is_none_or(|words| name.contains(words));
    let rows = table::rows().into_iter().filter(|row| is_wanted(&row.name));
    let rows = table::ordered(rows.collect());
    ensure!(
        !rows.is_empty() || is_wanted(PYVERBS) || is_wanted(GUEST),
        "no row has the words `{}`\nnext step: docs/compat.md has them all",
        choice.only.as_deref().unwrap_or_default()
    );
    example(&prefix, &folder)?;
    let mut bench = Bench::new(&prefix, &folder);
    let mut record = Record::default();
    let mut failed = Vec::new();
    for row in &rows {
        judge(&mut bench, row, &mut record, &mut failed);
    }
    bench.end();
    let mut checks = vec![wire::check(bench.captures(), rows.len())];
    if is_wanted(PYVERBS) {
        checks.push(pyverbs::run(&mut bench).map(|passed| record.pyverbs(passed)));
        bench.end();
    }
    if is_wanted(GUEST) {
        checks.push(guest(&prefix, &folder.join(GUEST), &mut record));
    }
    for error in checks.into_iter().filter_map(Result::err) {
        println!("{}", process::explain(&error));
        failed.push(error.to_string());
    }
    if failed.is_empty() {
        if choice.record {
            record.keep()?;
        }
        return Ok(Outcome::Done);
    }
    bail!(
        "{} of the rows failed: {}\nnext step: their output is in {}; STROMA_DEBUG=1 has calls of libibverbs that fail say why",
        failed.len(),
        failed.join("; "),
        folder.display()
    )
}

/// Compiles the example in C with what was installed.
fn example(prefix: &Path, folder: &Path) -> Result<()> {
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(folder.join(table::EXAMPLE));
    cc.arg(workspace::root().join("examples/c/calls.c")).arg("-I").arg(prefix.join("include"));
    cc.arg("-L").arg(prefix.join("lib/stroma")).arg("-lstroma_ibverbs");
    process::quietly_or_fail("compile examples/c/calls.c", cc).map(drop)
}

/// perftest on a card against perftest in a guest.
fn guest(prefix: &Path, kept: &Path, record: &mut Record) -> Result<()> {
    peers::run(&prefix.join("bin/stroma"), kept)?;
    wire::check(&[kept.join(peers::CAPTURE)], peers::ROWS)?;
    record.guest(&kept.join(peers::LIST))
}

fn judge(bench: &mut Bench, row: &Row, record: &mut Record, failed: &mut Vec<String>) {
    match bench.run(row) {
        Ok(took) => {
            println!("  {:<4}  {:<60} {took:>6.1} s", row.profile, row.name);
            record.row(row);
        }
        Err(error) => {
            println!("  {:<4}  {:<60} FAILED\n{}", row.profile, row.name, process::explain(&error));
            failed.push(row.name.clone());
        }
    }
}
