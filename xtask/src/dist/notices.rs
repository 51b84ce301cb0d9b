//! Licences of others whose work is inside of the programs: each asks to be shown to whoever gets them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::install::PACKAGES;
use crate::{process, tools, workspace};

/// How the names of files with licences begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
/// What is in the programs and no crate: the runtime of the Verilated cards.
const VERILATOR: &str = "Verilator's runtime, LGPL-3.0-only OR Artistic-2.0, from https://verilator.org";

/// What `cargo metadata` tells.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// Where it is from; nowhere, if it is ours.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// Nothing for a dependency that is linked; `build` or `dev`.
    kind: Option<String>,
}

/// The text of all of them.
pub(super) fn text() -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"]);
    cargo.current_dir(workspace::root());
    let told = process::quietly_or_fail("licences of what is inside", cargo)?;
    let metadata: Metadata = serde_json::from_slice(&told.stdout).context("read what cargo metadata told")?;
    let mut works = Vec::new();
    for package in metadata.linked(&PACKAGES).into_iter().filter(|package| package.source.is_some()) {
        let folder = package.manifest_path.parent().context("a crate has a folder")?;
        let license = package.license.as_deref().unwrap_or("see its text");
        works.push((format!("{} {}, {license}", package.name, package.version), texts(folder)?));
    }
    ensure!(!works.is_empty(), "no crate of others was found, and there are many: the list is broken");
    let verilator = format!("verilator-{}.dist-info/licenses", stroma_verilate::VERILATOR_VERSION);
    works.push((VERILATOR.to_owned(), texts(&tools::python_folder().join(verilator))?));
    Ok(written(&works))
}

impl Metadata {
    /// What is linked into programs of the named packages, these included. Macros do their work before.
    fn linked(&self, names: &[&str]) -> Vec<&Package> {
        let mut found: BTreeSet<&str> = BTreeSet::new();
        let roots = self.packages.iter().filter(|package| names.contains(&package.name.as_str()));
        let mut left: Vec<&str> = roots.map(|package| package.id.as_str()).collect();
        while let Some(id) = left.pop() {
            if self.is_macro(id) || !found.insert(id) {
                continue;
            }
            let edges = self.resolve.nodes.iter().filter(|node| node.id == id).flat_map(|node| &node.deps);
            let linked = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            left.extend(linked.map(|edge| edge.pkg.as_str()));
        }
        self.packages.iter().filter(|package| found.contains(package.id.as_str())).collect()
    }

    fn is_macro(&self, id: &str) -> bool {
        let package = self.packages.iter().find(|package| package.id == id);
        let mut kinds = package.iter().flat_map(|package| &package.targets).flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "proc-macro")
    }
}

/// Texts of licences in a folder.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.with_context(|| format!("list {}", folder.display()))?;
    paths.sort();
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && NAMES.iter().any(|beginning| name.starts_with(beginning))
    };
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    paths.into_iter().filter(is_licence).map(read).collect()
}

/// The works, and each text once, behind the works that it is of.
fn written(works: &[(String, Vec<String>)]) -> String {
    let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (work, texts) in works {
        for text in texts {
            of.entry(text).or_default().push(work);
        }
    }
    let mut all = String::from("What others wrote and is inside of stroma and its libibverbs:\n\n");
    all.extend(works.iter().map(|(work, _)| format!("    {work}\n")));
    let line = "-".repeat(80);
    all.extend(of.iter().map(|(text, works)| format!("\n{line}\n{}\n\n{text}\n", works.join("\n"))));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_found_and_what_only_builds_is_not() {
        let package = |name: &str, kind: &str| {
            format!(
                r#"{{"id": "{name}", "name": "{name}", "version": "1.0.0", "license": "MIT", "manifest_path": "/{name}/Cargo.toml",
                    "source": null, "targets": [{{"kind": ["{kind}"]}}]}}"#
            )
        };
        let packages =
            [("ours", "bin"), ("near", "lib"), ("far", "lib"), ("macros", "proc-macro"), ("builder", "lib")];
        let packages: Vec<String> = packages.iter().map(|(name, kind)| package(name, kind)).collect();
        let json = format!(
            r#"{{"packages": [{}], "resolve": {{"nodes": [
                {{"id": "ours", "deps": [{{"pkg": "near", "dep_kinds": [{{"kind": null}}]}},
                                         {{"pkg": "macros", "dep_kinds": [{{"kind": null}}]}},
                                         {{"pkg": "builder", "dep_kinds": [{{"kind": "build"}}, {{"kind": "dev"}}]}}]}},
                {{"id": "near", "deps": [{{"pkg": "far", "dep_kinds": [{{"kind": "build"}}, {{"kind": null}}]}}]}}]}}}}"#,
            packages.join(",")
        );
        let metadata: Metadata = serde_json::from_str(&json).unwrap();
        let names: Vec<&str> =
            metadata.linked(&["ours"]).iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["ours", "near", "far"]);
    }

    #[test]
    fn a_text_that_many_share_is_written_once() {
        let work =
            |name: &str, texts: &[&str]| (name.to_owned(), texts.iter().map(ToString::to_string).collect());
        let all = written(&[work("one", &["shared", "own"]), work("two", &["shared"]), work("three", &[])]);
        assert_eq!(all.matches("shared").count(), 1);
        assert!(all.contains("\none\ntwo\n\nshared\n"), "{all}");
        assert!(all.contains("    three\n"), "{all}");
    }
}
