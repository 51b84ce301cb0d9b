//! Which test programs may have tests with some text in their names: who asks for those waits for no other to be built.
//!
//! Names are read out of the sources. A macro may make a test of every word that it is given, so each of them counts.
//! A program too many is built for nothing; none is left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use serde::Deserialize;
use syn::Item;

use crate::{libclang, process, workspace};

/// What Cargo says of the workspace, as far as it matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

/// A source, as it is read here.
struct Source {
    path: PathBuf,
    text: String,
    has_such_a_test: bool,
}

/// Packages and test programs that may have the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The text, as test programs know it.
    pub(super) filter: String,
    packages: BTreeSet<String>,
    /// Are unit tests among them?
    has_units: bool,
    /// Programs of integration tests.
    programs: BTreeSet<String>,
    /// Libraries with examples in the documentation of what has such a name.
    documented: BTreeSet<String>,
}

impl Choice {
    /// What may have tests whose names contain `filter`; an error if there is nothing.
    pub(super) fn of(filter: &str) -> Result<Self> {
        let mut command = libclang::cargo();
        command.args(["metadata", "--no-deps", "--format-version=1"]);
        let line = process::line(&command);
        let output = command.output().with_context(|| format!("start {line}"))?;
        if !output.status.success() {
            bail!("{line}\n{}", process::tail(&output));
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).with_context(|| format!("read what {line} says"))?;
        let filter = own_name(filter, &metadata.packages);
        let choice = Self { filter: filter.into(), ..Self::among(&sources(filter)?, &metadata.packages) };
        if choice.packages.is_empty() {
            bail!(
                "no test has `{filter}` in its name\nnext step: `cargo xtask testplan --list` prints every test's name"
            );
        }
        Ok(choice)
    }

    fn among(sources: &[Source], packages: &[Package]) -> Self {
        let mut choice = Self::default();
        for source in sources.iter().filter(|source| source.has_such_a_test) {
            // The innermost folder: a package may lie in another one's.
            let owner = packages.iter().filter(|package| source.path.starts_with(package.folder()));
            let Some(package) = owner.max_by_key(|package| package.folder().as_os_str().len()) else {
                continue;
            };
            choice.packages.insert(package.name.clone());
            match package.targets.iter().find(|target| target.is("test") && target.owns(&source.path)) {
                Some(target) => {
                    choice.programs.insert(target.name.clone());
                }
                None => choice.has_units = true,
            }
            if source.has_examples() && package.targets.iter().any(|target| target.is("lib")) {
                choice.documented.insert(package.name.clone());
            }
        }
        choice
    }

    /// Arguments by which `cargo test` builds these programs and no others.
    pub(super) fn arguments(&self) -> Vec<String> {
        let packages = self.packages.iter().flat_map(|name| ["--package".into(), name.clone()]);
        let units = self.has_units.then(|| ["--lib".into(), "--bins".into()]).into_iter().flatten();
        let programs = self.programs.iter().flat_map(|name| ["--test".into(), name.clone()]);
        packages.chain(units).chain(programs).collect()
    }

    /// Arguments by which `cargo test --doc` runs their examples; nothing if there are none.
    pub(super) fn documented(&self) -> Option<Vec<String>> {
        let packages = self.documented.iter().flat_map(|name| ["--package".into(), name.clone()]);
        (!self.documented.is_empty()).then(|| packages.collect())
    }
}

impl Package {
    fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }
}

impl Target {
    fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }

    /// Is this its source, or in the folder of it?
    fn owns(&self, source: &Path) -> bool {
        match self.src_path.file_name() {
            Some(name) if name == "main.rs" => source.starts_with(self.src_path.with_file_name("")),
            _ => source == self.src_path || source.starts_with(self.src_path.with_extension("")),
        }
    }
}

impl Source {
    /// Has its documentation code that rustdoc runs? Every other fence opens a block, and of text says so.
    fn has_examples(&self) -> bool {
        let fences = self
            .text
            .lines()
            .map(str::trim_start)
            .filter_map(|line| line.strip_prefix("//! ```").or_else(|| line.strip_prefix("/// ```")));
        fences.step_by(2).any(|language| language != "text")
    }

    /// Macros of this source that make tests.
    fn test_macros(&self) -> Vec<&str> {
        let makes_tests = self.text.contains("#[test]");
        let opened = self.text.split("macro_rules! ").skip(1).filter(|_| makes_tests);
        opened.filter_map(|rest| rest.split([' ', '{']).next()).collect()
    }

    fn calls(&self, name: &str) -> bool {
        self.text.contains(&format!("{name}!"))
    }
}

/// The name that a test has in its program: the test plan puts its crate or its file before it.
fn own_name<'a>(name: &'a str, packages: &[Package]) -> &'a str {
    if let Some((_, inside)) = name.rsplit_once(".rs::") {
        return inside;
    }
    let Some((first, rest)) = name.split_once("::") else { return name };
    if packages.iter().any(|package| package.name.replace('-', "_") == first) { rest } else { name }
}

/// Every source, and whether it has tests with such names.
fn sources(filter: &str) -> Result<Vec<Source>> {
    let root = workspace::root();
    let mut sources = Vec::new();
    for folder in workspace::FOLDERS {
        for path in workspace::files(&root.join(folder), "rs")? {
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let has_such_a_test = has_test(&workspace::shown(&path), &text, filter)?;
            sources.push(Source { path, text, has_such_a_test });
        }
    }
    with_callers(&mut sources);
    Ok(sources)
}

/// Tests that a macro makes are where it is called.
fn with_callers(sources: &mut [Source]) {
    let having = sources.iter().filter(|source| source.has_such_a_test);
    let macros: BTreeSet<String> = having.flat_map(Source::test_macros).map(ToOwned::to_owned).collect();
    for source in sources {
        source.has_such_a_test |= macros.iter().any(|name| source.calls(name));
    }
}

/// Has the source, with this path from the root, a test whose name contains `filter`?
fn has_test(shown: &str, text: &str, filter: &str) -> Result<bool> {
    let words = filter.split("::").filter(|word| !word.is_empty());
    // Most sources are out without being parsed.
    if !words.clone().all(|word| shown.contains(word) || text.contains(word)) {
        return Ok(false);
    }
    let modules = shown.trim_end_matches(".rs").replace('/', "::").replace("::src::", "::");
    let modules = modules.trim_end_matches("::mod").trim_end_matches("::lib").trim_end_matches("::main");
    let file = syn::parse_file(text).with_context(|| format!("parse {shown}"))?;
    Ok(names(&file.items, modules).iter().any(|name| name.contains(filter)))
}

/// Names that tests of these items may have.
fn names(items: &[Item], prefix: &str) -> Vec<String> {
    let of = |item: &Item| match item {
        Item::Fn(function) if function.attrs.iter().any(|attribute| attribute.path().is_ident("test")) => {
            vec![format!("{prefix}::{}", function.sig.ident)]
        }
        Item::Mod(module) => {
            let inner = module.content.as_ref().map_or(&[][..], |(_, items)| items);
            names(inner, &format!("{prefix}::{}", module.ident))
        }
        Item::Macro(call) => {
            words(call.mac.tokens.clone()).into_iter().map(|word| format!("{prefix}::{word}")).collect()
        }
        _ => Vec::new(),
    };
    items.iter().flat_map(of).collect()
}

fn words(tokens: TokenStream) -> Vec<String> {
    let of = |token| match token {
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Ident(word) => vec![word.to_string()],
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, targets: &[(&str, &str, &str)]) -> Package {
        let target = |(kind, name, path): &(&str, &str, &str)| Target {
            kind: vec![(*kind).into()],
            name: (*name).into(),
            src_path: path.into(),
        };
        let targets = targets.iter().map(target).collect();
        Package { name: name.into(), manifest_path: format!("/w/{name}/Cargo.toml").into(), targets }
    }

    fn source(path: &str, text: &str, has_such_a_test: bool) -> Source {
        Source { path: path.into(), text: text.into(), has_such_a_test }
    }

    #[test]
    fn a_test_is_found_by_its_module_and_name_and_a_helper_is_not() {
        let text = "fn pushed() {} mod tests { #[test] fn keeps_order() {} }";
        let has = |filter| has_test("hw/core/src/prim/skid.rs", text, filter).unwrap();
        assert!(has("prim::skid") && has("skid::tests::keeps") && has("order"));
        assert!(!has("prim::pushed") && !has("pushed") && !has("skid::keeps"));
    }

    #[test]
    fn tests_that_a_macro_makes_are_found_where_it_is_defined_and_where_it_is_called() {
        let made = "macro_rules! stories { ($($name:ident)*) => { $(#[test] fn $name() {})* } } stories! { one two }";
        assert!(has_test("a/src/lib.rs", made, "two").unwrap());
        let mut all = [
            source("/w/a/src/lib.rs", made, true),
            source("/w/b/src/lib.rs", "a::stories!(card());", false),
            source("/w/c/src/lib.rs", "fn stories() {}", false),
        ];
        with_callers(&mut all);
        assert_eq!(all.map(|source| source.has_such_a_test), [true, true, false]);
    }

    #[test]
    fn a_package_is_built_with_the_programs_that_have_such_tests() {
        let packages = [
            package("a", &[("lib", "a", "/w/a/src/lib.rs"), ("test", "wire", "/w/a/tests/wire.rs")]),
            package("t", &[("test", "exchange", "/w/t/exchange/main.rs"), ("test", "read", "/w/t/read.rs")]),
            package("x", &[("bin", "x", "/w/x/src/main.rs")]),
        ];
        let choice = |sources: &[Source]| Choice::among(sources, &packages);
        let units = choice(&[source("/w/a/src/deep/b.rs", "/// ```\n/// ok()\n/// ```", true)]);
        assert_eq!(units.arguments(), ["--package", "a", "--lib", "--bins"]);
        assert_eq!(units.documented().unwrap(), ["--package", "a"]);
        let described = choice(&[source("/w/a/src/deep/b.rs", "/// ```text\n/// ok\n/// ```", true)]);
        assert_eq!(described.documented(), None);
        let others = choice(&[
            source("/w/a/tests/wire.rs", "", true),
            source("/w/t/exchange/log.rs", "", true),
            source("/w/t/read.rs", "", false),
        ]);
        assert_eq!(
            others.arguments(),
            ["--package", "a", "--package", "t", "--test", "exchange", "--test", "wire"]
        );
        assert_eq!(others.documented(), None);
    }

    #[test]
    fn a_name_of_the_test_plan_is_one_too() {
        let packages = [package("stroma-hw", &[])];
        for (name, expected) in [
            ("stroma_hw::prim::skid::tests::a", "prim::skid::tests::a"),
            ("tests/exchange/log.rs::a", "a"),
            ("prim::skid", "prim::skid"),
            ("skid", "skid"),
        ] {
            assert_eq!(own_name(name, &packages), expected);
        }
    }

    #[test]
    fn this_very_test_is_found_and_a_name_that_no_test_has_is_refused() {
        let own = "this_very_test_is_found_and_a_name_that_no_test_has_is_refused";
        assert!(Choice::of(&format!("choice::tests::{own}")).unwrap().packages.contains("xtask"));
        let none = ["no", "such", "test", "anywhere"].join("_");
        assert!(Choice::of(&none).unwrap_err().to_string().contains(&none));
    }
}
