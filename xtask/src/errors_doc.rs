//! `docs/errors.md` is held against the sources: every row is exercised by a test that exists, every code has a row.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use stroma_abi::desc::{Event, Status};
use stroma_abi::wire::NakCode;
use syn::Item;

use crate::testplan::{self, Tests};
use crate::workspace;

/// Where the codes stand that `stroma-abi` does not have: file below the root, and enum.
const ENUMS: [(&str, &str); 2] =
    [("hw/core/src/state/access.rs", "Cause"), ("hw/core/src/host/parse.rs", "Defect")];
const HEADER: [&str; 6] = [
    "cause",
    "on the wire",
    "requester's completion",
    "responder's completion or event",
    "queue pairs",
    "test",
];
const EXEMPT: [&str; 2] = ["code", "why"];
/// What a queue pair can be afterwards.
const STATES: [&str; 3] = ["Error", "as it was", "–"];

/// What the document is held against.
struct Truth {
    tests: Tests,
    /// Codes that need a row.
    codes: BTreeSet<String>,
    /// Codes that may stand in one.
    events: BTreeSet<String>,
}

/// Checks the document.
pub(crate) fn run() -> Result<()> {
    let path = workspace::root().join("docs/errors.md");
    let document = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let truth = Truth { tests: testplan::find_tests()?.clone(), codes: codes()?, events: events() };
    let rows = check(&document, &truth, &has_case)?;
    println!("errors: {rows} rows, each with a test that exists, and all {} codes", truth.codes.len());
    Ok(())
}

fn codes() -> Result<BTreeSet<String>> {
    let mut codes: BTreeSet<String> = Status::ALL.iter().map(|(status, _)| format!("{status:?}")).collect();
    codes.extend(NakCode::ALL.iter().map(|code| format!("NAK {code:?}")));
    codes.insert("RNR NAK".to_string());
    for (file, name) in ENUMS {
        let path = workspace::root().join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {file}"))?;
        let syntax = syn::parse_file(&text).with_context(|| format!("parse {file}"))?;
        let found = syntax.items.iter().find_map(|item| match item {
            Item::Enum(found) if found.ident == name => Some(found),
            _ => None,
        });
        let found = found.with_context(|| format!("{file} has no enum {name}"))?;
        codes.extend(found.variants.iter().map(|variant| format!("{name}::{}", variant.ident)));
    }
    Ok(codes)
}

fn events() -> BTreeSet<String> {
    Event::ALL.iter().map(|(event, _)| format!("{event:?}")).collect()
}

/// Does a table of the test's folder, or of its file if it stands alone, have a case of this name?
fn has_case(test: &str, case: &str) -> Result<bool> {
    let Some((file, _)) = test.split_once("::") else { return Ok(false) };
    let file = workspace::root().join(file);
    let folder = file.parent().with_context(|| format!("{test} is in no folder"))?;
    let is_alone = folder.ends_with("tests");
    let files = if is_alone { vec![file] } else { workspace::files(folder, "rs")? };
    let literal = format!("{case:?}");
    for file in files {
        let source = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        if source.contains(&literal) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of rows, when nothing is wrong with them.
fn check(document: &str, truth: &Truth, has_case: &dyn Fn(&str, &str) -> Result<bool>) -> Result<usize> {
    let (rows, exempt) = tables(document)?;
    let mut faults = Vec::new();
    let mut seen: BTreeSet<&str> = exempt;
    for row in &rows {
        let [cause, wire, requester, responder, states, test] = row[..] else {
            bail!("docs/errors.md: a row has six cells: {row:?}")
        };
        seen.extend([cause, wire, requester, responder].into_iter().flat_map(quoted));
        for code in [wire, requester, responder].into_iter().flat_map(quoted) {
            if !truth.codes.contains(code) && !truth.events.contains(code) {
                faults.push(format!("`{code}` is no code: {cause}"));
            }
        }
        if states.split("; ").count() != 2 || !states.split("; ").all(|state| STATES.contains(&state)) {
            faults.push(format!("{states:?} is not two of {STATES:?}: {cause}"));
        }
        faults.extend(faults_of_tests(cause, test, truth, has_case)?);
    }
    let missing = truth.codes.iter().filter(|code| !seen.contains(code.as_str()));
    faults.extend(missing.map(|code| format!("no row has `{code}`")));
    if rows.is_empty() || !faults.is_empty() {
        bail!("docs/errors.md, {} rows:\n{}", rows.len(), faults.join("\n"));
    }
    Ok(rows.len())
}

/// What is wrong with the last cell of a row.
fn faults_of_tests(
    cause: &str,
    cell: &str,
    truth: &Truth,
    has_case: &dyn Fn(&str, &str) -> Result<bool>,
) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut test = None;
    // Tests stand between backticks, and the cases of each between quotes behind it.
    for (index, part) in cell.split('`').enumerate() {
        if index % 2 == 1 {
            test = Some(part);
            match truth.tests.get(part) {
                Some(false) => {}
                Some(true) => faults.push(format!("`{part}` is ignored: {cause}")),
                None => faults.push(format!("`{part}` does not exist: {cause}")),
            }
        } else if let Some(test) = test {
            for case in part.split('"').skip(1).step_by(2) {
                if !has_case(test, case)? {
                    faults.push(format!("`{test}` has no case {case:?}: {cause}"));
                }
            }
        }
    }
    if test.is_none() {
        faults.push(format!("no test: {cause}"));
    }
    Ok(faults)
}

/// The rows of errors, and the codes that need none.
fn tables(text: &str) -> Result<(Vec<Vec<&str>>, BTreeSet<&str>)> {
    let (mut rows, mut exempt) = (Vec::new(), BTreeSet::new());
    let mut header: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !line.starts_with('|') {
            header.clear();
            continue;
        }
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if header.is_empty() {
            header = cells;
        } else if cells.iter().all(|cell| cell.chars().all(|letter| letter == '-')) {
        } else if header == HEADER {
            rows.push(cells);
        } else if header == EXEMPT {
            exempt.extend(cells.first().copied().into_iter().flat_map(quoted));
        } else {
            bail!("docs/errors.md: no table has the columns {header:?}");
        }
    }
    Ok((rows, exempt))
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests;
