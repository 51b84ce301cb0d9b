//! Rung 3: programs that others wrote for libibverbs, unmodified, on simulated cards.
//!
//! They are started by `stroma exec`, as anybody would start them, each pair on two cards of a fabric. Most of them do not look at the bytes that
//! arrive; pyverbs' tests do, and tshark looks at the frames.

mod bench;
mod pyverbs;
mod row;
mod table;
mod wire;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::stage::Outcome;
use crate::{install, process, workspace};
use bench::Bench;
use row::{Row, WIDE};

/// Runs the rows that there is time for, or all of them.
pub(super) fn run(all: bool) -> Result<Outcome> {
    let prefix = install::usual();
    install::into(&prefix)?;
    let folder = workspace::target().join("linux/programs");
    // What an earlier run left would be taken for this one's.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let mut bench = Bench::new(&prefix, &folder);
    let mut failed = Vec::new();
    let mut rows: Vec<Row> = table::rows().into_iter().filter(|row| all || row.is_quick).collect();
    // Those of one profile together: cards that start anew begin their recordings anew.
    rows.sort_by_key(|row| row.profile == WIDE);
    for row in &rows {
        judge(&mut bench, row, &mut failed);
    }
    bench.end();
    for check in [wire::check(&bench), pyverbs::run(&mut bench)] {
        if let Err(error) = check {
            println!("{}", process::explain(&error));
            failed.push(error.to_string());
        }
    }
    bench.end();
    if failed.is_empty() {
        return Ok(Outcome::Done);
    }
    bail!(
        "{} of the rows failed: {}\nnext step: their output is in {}; STROMA_DEBUG=1 has calls of libibverbs that fail say why",
        failed.len(),
        failed.join("; "),
        folder.display()
    )
}

fn judge(bench: &mut Bench, row: &Row, failed: &mut Vec<String>) {
    match bench.run(row) {
        Ok(took) => println!("  {:<4}  {:<60} {took:>6.1} s", row.profile, row.name),
        Err(error) => {
            println!("  {:<4}  {:<60} FAILED\n{}", row.profile, row.name, process::explain(&error));
            failed.push(row.name.clone());
        }
    }
}
