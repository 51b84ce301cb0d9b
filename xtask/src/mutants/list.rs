//! The list of faults, and what makes it a good one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::testplan::Tests;
use crate::workspace;

/// From the workspace's root.
pub(super) const FILE: &str = "xtask/mutants.toml";
/// Entries of the list. A fault that has no place any more is replaced by another one.
const COUNT: usize = 60;

/// A fault, and the tests that have to find it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutant {
    pub(super) name: String,
    /// From the workspace's root.
    pub(super) file: String,
    /// What is wrong, in a sentence.
    pub(super) what: String,
    /// The text that it replaces, once in the file, and what stands there instead.
    before: String,
    after: String,
    /// The package whose tests find it.
    pub(super) package: String,
    /// One of its test programs; its unit tests, if nothing is said.
    pub(super) test: Option<String>,
    /// Of those tests, the ones whose names contain this.
    pub(super) filter: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

impl Mutant {
    /// The file with the fault in it.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        match text.matches(&self.before).count() {
            1 => Ok(text.replacen(&self.before, &self.after, 1)),
            count => bail!("{} has the text `before` {count} times, not once", self.file),
        }
    }

    /// The test program that finds it, as the arguments of `cargo test` name it.
    pub(super) fn program(&self) -> Vec<String> {
        let program = match &self.test {
            Some(test) => vec!["--test".to_owned(), test.clone()],
            None => vec!["--lib".to_owned()],
        };
        [vec!["-p".to_owned(), self.package.clone()], program].concat()
    }

    /// A test's name within that program, from its name in the test plan; `None` when it belongs to another program.
    fn own<'a>(&self, folder: &str, name: &'a str) -> Option<&'a str> {
        let Some(test) = &self.test else {
            return name.strip_prefix(&self.package.replace('-', "_"))?.strip_prefix("::");
        };
        let places = [format!("{folder}/tests/{test}"), format!("{folder}/{test}")];
        let inside = places.iter().find_map(|place| name.strip_prefix(place.as_str()))?;
        inside.strip_prefix(".rs::").or_else(|| inside.strip_prefix('/'))
    }

    /// Does a test that is not ignored have such a name?
    fn has_test(&self, folder: &str, tests: &Tests) -> bool {
        let own =
            tests.iter().filter(|(_, ignored)| !**ignored).filter_map(|(name, _)| self.own(folder, name));
        own.map(|name| name.replace(".rs::", "::").replace('/', "::")).any(|name| name.contains(&self.filter))
    }
}

/// Reads the list.
pub(super) fn load() -> Result<Vec<Mutant>> {
    let text = fs::read_to_string(workspace::root().join(FILE)).with_context(|| format!("read {FILE}"))?;
    let list: List = toml::from_str(&text).with_context(|| format!("parse {FILE}"))?;
    Ok(list.mutant)
}

/// Refuses a list that does not fit the sources below `root`, with a line for each entry that has to be repaired.
pub(super) fn check(mutants: &[Mutant], root: &Path, tests: &Tests) -> Result<()> {
    let folders = packages(root)?;
    let mut faults = Vec::new();
    if mutants.len() != COUNT {
        faults.push(format!("it has {} entries, not {COUNT}", mutants.len()));
    }
    let mut names = BTreeSet::new();
    for mutant in mutants {
        let mut fault = |text: String| faults.push(format!("`{}`: {text}", mutant.name));
        if !names.insert(&mutant.name) {
            fault("another entry has this name".into());
        }
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if !mutant.name.chars().all(is_plain) {
            fault("a name is small letters, digits and hyphens".into());
        }
        if mutant.what.trim().is_empty() || mutant.filter.trim().is_empty() {
            fault("`what` and `filter` say something".into());
        }
        if mutant.before == mutant.after {
            fault("`after` is `before`".into());
        }
        match fs::read_to_string(root.join(&mutant.file)) {
            Ok(text) => drop(mutant.apply(&text).map_err(|error| fault(error.to_string()))),
            Err(error) => fault(format!("{} cannot be read: {error}", mutant.file)),
        }
        match folders.get(&mutant.package) {
            Some(folder) if mutant.has_test(folder, tests) => {}
            Some(_) => {
                let program = mutant.program().join(" ");
                fault(format!("no test of `{program}` has `{}` in its name", mutant.filter));
            }
            None => fault(format!("there is no package {}", mutant.package)),
        }
    }
    if !faults.is_empty() {
        bail!(
            "{FILE}: {}\nnext step: repair these entries, or put other faults in their place",
            faults.join("\n")
        );
    }
    Ok(())
}

/// Folders of the packages, by name.
fn packages(root: &Path) -> Result<BTreeMap<String, String>> {
    let read = |folder: &str| -> Result<toml::Table> {
        let path = root.join(folder).join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        text.parse().with_context(|| format!("parse {}", path.display()))
    };
    let workspace = read("")?;
    let members = workspace["workspace"]["members"].as_array().context("Cargo.toml lists members")?;
    let mut packages = BTreeMap::new();
    for folder in members.iter().filter_map(toml::Value::as_str) {
        let name = read(folder)?["package"]["name"].as_str().map(ToOwned::to_owned);
        packages
            .insert(name.with_context(|| format!("{folder}/Cargo.toml names its package"))?, folder.into());
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testplan;

    /// Of the test below.
    fn sample() -> Mutant {
        Mutant {
            name: "sample".into(),
            file: FILE.into(),
            what: "Nothing.".into(),
            before: "some text".into(),
            after: "another".into(),
            package: "xtask".into(),
            test: None,
            filter: "mutants::list".into(),
        }
    }

    #[test]
    fn every_fault_of_the_list_has_its_place_in_the_sources_and_its_tests() {
        check(&load().unwrap(), &workspace::root(), testplan::find_tests().unwrap()).unwrap();
    }

    #[test]
    fn a_text_that_is_missing_or_there_twice_is_no_place_for_a_fault() {
        let sample = sample();
        assert_eq!(sample.apply("here is some text").unwrap(), "here is another");
        assert!(sample.apply("nothing").unwrap_err().to_string().contains("0 times"));
        assert!(sample.apply("some text, some text").unwrap_err().to_string().contains("2 times"));
    }

    #[test]
    fn an_entry_that_fits_no_more_is_named_with_what_is_wrong() {
        let mutants = [Mutant { filter: "no_such_test".into(), ..sample() }, sample()];
        let tests = Tests::from([("xtask::mutants::list::tests::some".to_owned(), false)]);
        let error = check(&mutants, &workspace::root(), &tests).unwrap_err().to_string();
        for words in ["2 entries", "`sample`: no test of `-p xtask --lib`", "has this name", "0 times"] {
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    #[test]
    fn tests_are_found_by_the_names_that_their_program_gives_them() {
        let lib = sample();
        let tests = |name: &str, ignored| Tests::from([(name.to_owned(), ignored)]);
        assert!(lib.has_test("xtask", &tests("xtask::mutants::list::tests::a", false)));
        assert!(!lib.has_test("xtask", &tests("xtask::mutants::list::tests::a", true)));
        assert!(!lib.has_test("xtask", &tests("xtask/tests/mutants.rs::list", false)));
        let wire = |filter: &str| Mutant { test: Some("wire".into()), filter: filter.into(), ..sample() };
        assert!(
            wire("classes::each").has_test("hw/abi", &tests("hw/abi/tests/wire/classes.rs::each", false))
        );
        assert!(wire("alone").has_test("tests", &tests("tests/wire.rs::alone", false)));
        assert!(!wire("alone").has_test("tests", &tests("tests/wire_time.rs::alone", false)));
    }
}
