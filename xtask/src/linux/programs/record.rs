//! What ran, kept in `docs/compat.json`, from which docs/compat.md has its tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::pyverbs::Passed;
use super::row::Row;
use crate::workspace;

/// Between these lines of the page stand its tables.
const BEGIN: &str = "<!-- rows -->\n";
const END: &str = "<!-- rows: end -->";
/// Debian's packages of the programs.
const PACKAGES: [&str; 6] =
    ["ibverbs-utils", "perftest", "python3-pyverbs", "ucx-utils", "libfabric-bin", "tshark"];
/// Stands for a size in a command.
const SIZE: &str = " -s SIZE";
const NEXT_STEP: &str = "next step: cargo xtask linux --rung 3 --record";

/// All that ran well, and nothing else.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Versions of Debian's packages.
    versions: BTreeMap<String, String>,
    /// Commands, by the profile of the cards they ran on.
    rows: Vec<(String, String)>,
    /// Commands on a card and in a guest, and which of them asked.
    guest: Vec<String>,
    pyverbs: Passed,
}

impl Record {
    pub(super) fn row(&mut self, row: &Row) {
        self.rows.push((row.profile.to_owned(), row.name.clone()));
    }

    pub(super) fn pyverbs(&mut self, passed: Passed) {
        self.pyverbs = passed;
    }

    /// Takes over what the guest's story has written down, line by line.
    pub(super) fn guest(&mut self, list: &Path) -> Result<()> {
        let lines = fs::read_to_string(list).with_context(|| format!("read {}", list.display()))?;
        self.guest.extend(lines.lines().map(ToOwned::to_owned));
        Ok(())
    }

    /// Keeps it.
    pub(super) fn keep(mut self) -> Result<()> {
        for package in PACKAGES {
            let query = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
            let query = query.context("start dpkg-query")?;
            ensure!(query.status.success(), "dpkg-query does not know {package}");
            self.versions.insert(package.to_owned(), String::from_utf8_lossy(&query.stdout).into_owned());
        }
        let text = serde_json::to_string_pretty(&self).context("write the rows down")?;
        fs::write(file(), text + "\n").with_context(|| format!("write {}", file().display()))?;
        println!("written: {}; `cargo xtask docs` makes the page of it", workspace::shown(&file()));
        Ok(())
    }

    fn read() -> Result<Self> {
        let text = fs::read_to_string(file()).with_context(|| format!("read {}", file().display()));
        serde_json::from_str(&text.context(NEXT_STEP)?).context(NEXT_STEP)
    }

    fn tables(&self) -> String {
        let mut out = String::new();
        let versions: Vec<String> =
            self.versions.iter().map(|(package, version)| format!("{package} {version}")).collect();
        let _ = writeln!(out, "Debian's packages: {}.\n", versions.join(", "));
        out += "| cards | command | sizes in bytes | result |\n|---|---|---|---|\n";
        for ((profile, command), sizes) in grouped(&self.rows) {
            let (command, sizes) = match &sizes[..] {
                [one] => (command.replace(SIZE, &format!(" -s {one}")), String::new()),
                _ => (command, sizes.join(", ")),
            };
            let _ = writeln!(out, "| {profile} | `{command}` | {sizes} | runs |");
        }
        let Passed { passed, skipped } = self.pyverbs;
        let _ = writeln!(
            out,
            "| 10g | `run_tests.py -v --dev stroma0 --gid 1 --port 1`, pyverbs' tests | | {passed} pass, none fails, {skipped} are skipped |"
        );
        out += "\n| perftest on a card and in a guest | who asks | result |\n|---|---|---|\n";
        for (command, who) in self.guest.iter().filter_map(|row| row.split_once(", ")) {
            let _ = writeln!(out, "| `{command}` | {who} | runs |");
        }
        out
    }
}

fn file() -> PathBuf {
    workspace::root().join("docs/compat.json")
}

/// Rows that differ in their size alone, as one.
fn grouped(rows: &[(String, String)]) -> Vec<((String, String), Vec<String>)> {
    let mut groups: Vec<((String, String), Vec<String>)> = Vec::new();
    for (profile, command) in rows {
        let (command, size) = without_size(command);
        let key = (profile.clone(), command);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sizes)) => sizes.extend(size),
            None => groups.push((key, size.into_iter().collect())),
        }
    }
    groups
}

/// A command, and the size in it.
fn without_size(command: &str) -> (String, Option<String>) {
    let Some((before, rest)) = command.split_once(" -s ") else { return (command.to_owned(), None) };
    let (size, after) =
        rest.split_once(' ').map_or((rest, String::new()), |(size, after)| (size, format!(" {after}")));
    (format!("{before}{SIZE}{after}"), Some(size.to_owned()))
}

/// The page with its tables.
pub(crate) fn page(old: &str) -> Result<String> {
    let (before, rest) = old.split_once(BEGIN).with_context(|| format!("no line `{}`", BEGIN.trim()))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("no line `{END}`"))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", Record::read()?.tables()))
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_row_of_the_table_is_on_record_and_no_other() {
        let expected: Vec<(String, String)> =
            table::ordered(table::rows()).into_iter().map(|row| (row.profile.to_owned(), row.name)).collect();
        assert_eq!(Record::read().unwrap().rows, expected, "{NEXT_STEP}");
    }

    #[test]
    fn rows_that_differ_in_size_are_one_line() {
        let row = |profile: &str, command: &str| (profile.to_owned(), command.to_owned());
        let rows =
            [row("10g", "a -s 2 -t 4"), row("10g", "b"), row("10g", "a -s 4 -t 4"), row("100g", "a -s 2")];
        let groups = grouped(&rows);
        assert_eq!(groups[0], (row("10g", "a -s SIZE -t 4"), vec!["2".to_owned(), "4".to_owned()]));
        assert_eq!(groups[1], (row("10g", "b"), vec![]));
        assert_eq!(groups[2], (row("100g", "a -s SIZE"), vec!["2".to_owned()]));
        assert_eq!(groups.len(), 3);
    }

    #[test]
    fn a_page_keeps_all_but_its_tables() {
        let page = page(&format!("before\n{BEGIN}old\n{END}\nbehind\n")).unwrap();
        assert!(
            page.starts_with("before\n") && page.ends_with("\nbehind\n") && !page.contains("old\n"),
            "{page}"
        );
        assert!(super::page("no lines").is_err());
    }
}
