//! `testplan`: every promise in `docs/testplan.md` and in `SECURITY.md` names a test that exists and runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item};

use crate::workspace::{self, Source};

/// Where promises are written down.
const PLANS: [&str; 2] = ["docs/testplan.md", "SECURITY.md"];

/// Test functions by the name the plan uses, and whether they are ignored.
pub(crate) type Tests = BTreeMap<String, bool>;

/// Checks the plans, or with `list` prints the name of every test there is.
pub(crate) fn run(list: bool) -> Result<()> {
    let tests = find_tests()?;
    if list {
        for name in tests.keys() {
            println!("{name}");
        }
        return Ok(());
    }
    let mut rows = 0;
    for plan in PLANS {
        let path = workspace::root().join(plan);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        rows += check(&text, tests).with_context(|| plan.to_owned())?;
    }
    println!("testplan: {rows} promises, each with a test that exists ({} tests in all)", tests.len());
    Ok(())
}

/// The number of promises, when each of them is kept by a test.
fn check(plan: &str, tests: &Tests) -> Result<usize> {
    let rows = rows(plan)?;
    if rows.is_empty() {
        bail!("it promises nothing");
    }
    let mut faults = Vec::new();
    for (promise, test) in &rows {
        match tests.get(*test) {
            Some(false) => {}
            Some(true) => faults.push(format!("`{test}` is ignored, so it does not keep: {promise}")),
            None => faults.push(format!("`{test}` does not exist, so nothing keeps: {promise}")),
        }
    }
    if !faults.is_empty() {
        bail!("{}\nnext step: `cargo xtask testplan --list` prints every test's name", faults.join("\n"));
    }
    Ok(rows.len())
}

/// The rows `| promise | test |` below headers `| promise | test |`; other tables are left out.
fn rows(plan: &str) -> Result<Vec<(&str, &str)>> {
    let mut rows = Vec::new();
    let (mut is_table, mut is_plan) = (false, false);
    for line in plan.lines() {
        let was_table = std::mem::replace(&mut is_table, line.starts_with('|'));
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if is_table && !was_table {
            is_plan = cells == ["promise", "test"];
        } else if is_table && is_plan {
            let [promise, test] = cells[..] else { bail!("a row has two cells: {line}") };
            if !test.chars().all(|letter| letter == '-' || letter == ':') {
                rows.push((promise, test.trim_matches('`')));
            }
        }
    }
    Ok(rows)
}

/// Every test of the workspace.
pub(crate) fn find_tests() -> Result<&'static Tests> {
    // Several stages ask, and every source is parsed for it.
    static FOUND: OnceLock<Tests> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found);
    }
    let found = parse_tests()?;
    Ok(FOUND.get_or_init(|| found))
}

fn parse_tests() -> Result<Tests> {
    let mut tests = Tests::new();
    for source in workspace::sources_that(&workspace::FOLDERS, |text| text.contains("#[test]"))? {
        let prefix = prefix(&source)?;
        collect(&source.syntax.items, &prefix, &mut tests);
    }
    for path in workspace::files(&workspace::root().join("tests"), "py")? {
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        tests.extend(cocotb_tests(&text, &workspace::shown(&path)));
    }
    Ok(tests)
}

/// The functions marked as tests of cocotb; other decorators may stand between the mark and the function.
fn cocotb_tests(text: &str, prefix: &str) -> Vec<(String, bool)> {
    let mut tests = Vec::new();
    let mut mark = None;
    for line in text.lines() {
        if line.starts_with("@cocotb.test(") {
            mark = Some(line.contains("skip="));
        } else if let Some(function) = line.strip_prefix("async def ")
            && let (Some(ignored), Some((name, _))) = (mark.take(), function.split_once('('))
        {
            tests.push((format!("{prefix}::{name}"), ignored));
        }
    }
    tests
}

/// `crate_name::module` for a file below `src`, its path from the root for any other.
fn prefix(source: &Source) -> Result<String> {
    let package = source.path.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").exists());
    let Some(inside) = package.and_then(|package| source.path.strip_prefix(package.join("src")).ok()) else {
        return Ok(source.shown.clone());
    };
    let manifest = package.unwrap_or(Path::new(".")).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("parse {}", manifest.display()))?;
    let name = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.with_context(|| format!("{} names no package", manifest.display()))?.replace('-', "_");
    let modules = inside.with_extension("").display().to_string().replace('/', "::");
    let modules = modules.strip_suffix("::mod").unwrap_or(&modules);
    Ok(if ["lib", "main"].contains(&modules) { name } else { format!("{name}::{modules}") })
}

fn collect(items: &[Item], prefix: &str, tests: &mut Tests) {
    let has =
        |attributes: &[Attribute], name| attributes.iter().any(|attribute| attribute.path().is_ident(name));
    for item in items {
        match item {
            Item::Fn(function) if has(&function.attrs, "test") => {
                tests.insert(format!("{prefix}::{}", function.sig.ident), has(&function.attrs, "ignore"));
            }
            Item::Mod(module) => {
                let inner = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                collect(inner, &format!("{prefix}::{}", module.ident), tests);
            }
            Item::Macro(call) if call.mac.path.is_ident("proptest") => {
                for name in tests_in(call.mac.tokens.clone()) {
                    tests.insert(format!("{prefix}::{name}"), false);
                }
            }
            _ => {}
        }
    }
}

/// The names that follow `#[test] fn` in the body of a macro, which is not parsed as items.
fn tests_in(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    let mut after_fn = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.stream().to_string() == "test" => marked = true,
            TokenTree::Ident(word) if after_fn && marked => {
                names.push(word.to_string());
                (marked, after_fn) = (false, false);
            }
            TokenTree::Ident(word) => after_fn = word == "fn",
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_of(text: &str) -> Tests {
        let mut tests = Tests::new();
        collect(&syn::parse_file(text).unwrap().items, "demo", &mut tests);
        tests
    }

    const SOURCE: &str = "
        fn helper() {}
        mod tests {
            #[test] fn plain() {}
            #[test] #[ignore] fn slow() {}
            proptest! { #[test] fn any_bytes(b in x()) { let f = 1; } fn helper() {} #[test] fn any_word(w in y()) {} }
        }";

    #[test]
    fn plain_and_property_tests_are_found_and_helpers_are_not() {
        let names: Vec<String> = tests_of(SOURCE).into_keys().collect();
        let expected = ["any_bytes", "any_word", "plain", "slow"].map(|name| format!("demo::tests::{name}"));
        assert_eq!(names, expected);
    }

    #[test]
    fn tests_of_cocotb_are_found_by_their_mark_and_helpers_are_not() {
        let text = "@cocotb.test()\n@cocotb.parametrize(x=[1])\nasync def works(dut, x):\n    pass\n\n\
                    async def helper(dut):\n    pass\n\n@cocotb.test(skip=True)\nasync def waits(dut):\n    pass\n";
        let expected = [("p.py::works".to_string(), false), ("p.py::waits".to_string(), true)];
        assert_eq!(cocotb_tests(text, "p.py"), expected);
    }

    #[test]
    fn a_plan_holds_when_its_tests_exist_and_run() {
        let plan = "| promise | test |\n|---|---|\n| it works | `demo::tests::plain` |\n";
        assert_eq!(check(plan, &tests_of(SOURCE)).unwrap(), 1);
    }

    #[test]
    fn a_plan_with_a_missing_or_ignored_test_or_without_rows_is_refused() {
        let tests = tests_of(SOURCE);
        let row = |name: &str| format!("| promise | test |\n|---|---|\n| it works | demo::tests::{name} |\n");
        assert!(check(&row("gone"), &tests).unwrap_err().to_string().contains("does not exist"));
        assert!(check(&row("helper"), &tests).unwrap_err().to_string().contains("does not exist"));
        assert!(check(&row("slow"), &tests).unwrap_err().to_string().contains("ignored"));
        assert!(
            check("| promise | test |\n|---|---|\n", &tests)
                .unwrap_err()
                .to_string()
                .contains("promises nothing")
        );
    }

    #[test]
    fn tables_of_something_else_are_no_promises() {
        let plan = "| who | has | lacks |\n|---|---|---|\n| a | b | c |\n\n| promise | test |\n|---|---|\n| x | `y` |\n";
        assert_eq!(rows(plan).unwrap(), [("x", "y")]);
        assert!(rows("| promise | test |\n|---|---|\n| a | b | c |\n").is_err());
    }

    #[test]
    fn this_very_test_is_listed_under_its_crate_and_module() {
        let name = "xtask::testplan::tests::this_very_test_is_listed_under_its_crate_and_module";
        assert!(find_tests().unwrap().contains_key(name));
    }
}
