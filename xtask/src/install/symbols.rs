//! Whether a library has the symbols that its list promises, under the versions that it gives them, and no other of its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::library::VERSIONS;
use crate::workspace;

/// What calls of C begin with. Whatever else an archive of Rust has is its own business.
const CALLS: [&str; 3] = ["ibv_", "_ibv_", "stroma_"];

/// Fails when archive, library and list disagree.
pub(super) fn check(archive: &Path, library: &Path) -> Result<()> {
    let path = workspace::root().join(VERSIONS);
    let list = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let listed = listed(&list)?;
    let defined = names(&nm(&["--defined-only", "--extern-only"], archive)?);
    let exported = versions(&nm(&["--dynamic", "--defined-only", "--with-symbol-versions"], library)?);
    let faults = faults(&listed, &defined, &exported);
    if !faults.is_empty() {
        bail!("{}\nnext step: repair host-driver/ibverbs, or {VERSIONS}", faults.join("\n"));
    }
    Ok(())
}

/// What is wrong, a line each.
fn faults(
    listed: &BTreeMap<String, String>,
    defined: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, version) in listed {
        match exported.get(name) {
            None => faults.push(format!("{VERSIONS} lists {name}, and the library has none")),
            Some(found) if found != version => {
                faults.push(format!("{name} has version {found}, and {VERSIONS} says {version}"));
            }
            Some(_) => {}
        }
    }
    let is_call = |name: &&String| CALLS.iter().any(|beginning| name.starts_with(beginning));
    let unlisted = defined.iter().filter(is_call).filter(|name| !listed.contains_key(*name));
    faults
        .extend(unlisted.map(|name| format!("the library defines {name}, and {VERSIONS} does not list it")));
    faults
}

/// The symbols of a version script, each with its version.
fn listed(script: &str) -> Result<BTreeMap<String, String>> {
    let mut symbols = BTreeMap::new();
    let mut version = None;
    let mut rest = script;
    let mut text = String::new();
    while let Some((before, behind)) = rest.split_once("/*") {
        text += before;
        rest = behind.split_once("*/").context("a comment has no end")?.1;
    }
    text += rest;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix('{') {
            version = Some(name.trim().to_owned());
        } else if let Some(name) = line.strip_suffix(';').filter(|name| !name.starts_with('}')) {
            let version = version.as_ref().with_context(|| format!("{name} stands in no version"))?;
            if name != "*" {
                let before = symbols.insert(name.to_owned(), version.clone());
                ensure!(before.is_none(), "{name} is listed twice");
            }
        }
    }
    Ok(symbols)
}

fn nm(flags: &[&str], file: &Path) -> Result<String> {
    let mut nm = Command::new("nm");
    // What it complains of are members without symbols, of which an archive may have some.
    let output = nm.args(flags).arg("--quiet").arg(file).output().context("start nm")?;
    ensure!(output.status.success(), "nm {} ended with {}", file.display(), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last word of each line that tells of a symbol.
fn symbols(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(|line| line.split_whitespace().nth(2))
}

fn names(output: &str) -> BTreeSet<String> {
    symbols(output).map(str::to_owned).collect()
}

/// Names with their versions, of `ibv_open_device@@IBVERBS_1.1`.
fn versions(output: &str) -> BTreeMap<String, String> {
    let parts = |symbol: &str| {
        let (name, version) = symbol.split_once('@')?;
        Some((name.to_owned(), version.trim_start_matches('@').to_owned()))
    };
    symbols(output).filter_map(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::{Build, library};

    const SCRIPT: &str = "/* What\n * it is. */\nONE {\n    global:\n        ibv_a;\n        execute;\n    local:\n        *;\n};\n\n\
                          TWO {\n    global:\n        ibv_b;\n} ONE;\n";

    #[test]
    fn a_list_gives_each_symbol_its_version() {
        let symbols = listed(SCRIPT).unwrap();
        let found: Vec<_> = symbols.iter().map(|(name, version)| format!("{name}@{version}")).collect();
        assert_eq!(found, ["execute@ONE", "ibv_a@ONE", "ibv_b@TWO"]);
        assert!(listed("ibv_a;").is_err());
        assert!(listed("ONE {\nibv_a;\nibv_a;\n};").is_err());
    }

    #[test]
    fn what_is_missing_unlisted_or_of_another_version_is_named() {
        let listed = listed(SCRIPT).unwrap();
        let archive = "lib.o:\n0000 T ibv_a\n0000 T ibv_c\n0000 T _ZN3std\n     U malloc\n0000 T execute\n";
        let library = "0000 T ibv_a@@TWO\n0000 T execute@@ONE\n0000 A ONE\n";
        let faults = faults(&listed, &names(archive), &versions(library));
        assert_eq!(
            faults,
            [
                format!("ibv_a has version TWO, and {VERSIONS} says ONE"),
                format!("{VERSIONS} lists ibv_b, and the library has none"),
                format!("the library defines ibv_c, and {VERSIONS} does not list it"),
            ]
        );
    }

    #[test]
    fn the_library_has_what_its_list_says_and_no_call_beside() {
        Build::Tests.run().unwrap();
        let folder = workspace::target().join(format!("symbols-{}", std::process::id()));
        // Linking checks.
        let linked = library::link(&folder, Build::Tests);
        let check = linked.and_then(|library| check(&library::archive(Build::Tests), &library));
        fs::remove_dir_all(&folder).unwrap();
        check.unwrap();
    }
}
