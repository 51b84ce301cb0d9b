//! Manifests: a member more, and a package that stands alone.

use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

/// The workspace's manifest with one member more, in its place by the alphabet. The rest of the text stays as it is.
pub(super) fn with_member(manifest: &str, member: &str) -> Result<String> {
    let lines: Vec<&str> = manifest.lines().collect();
    let start = lines.iter().position(|line| *line == "members = [");
    let start = start.context("Cargo.toml has no line `members = [`")? + 1;
    let count = lines[start..].iter().position(|line| *line == "]");
    let end = start + count.context("Cargo.toml does not close its members with `]`")?;
    let row = format!("    \"{member}\",");
    let rows = &lines[start..end];
    if rows.contains(&row.as_str()) {
        bail!("Cargo.toml has the member {member} already");
    }
    let place = start + rows.iter().position(|other| *other > row.as_str()).unwrap_or(rows.len());
    let text = [&lines[..place], &[row.as_str()], &lines[place..]].concat().join("\n");
    Ok(text + "\n")
}

/// Folders of the workspace's members.
pub(super) fn members(root: &Table) -> Result<Vec<&str>> {
    let members = root["workspace"].get("members").and_then(Value::as_array);
    let members = members.context("Cargo.toml has no members")?;
    Ok(members.iter().filter_map(Value::as_str).collect())
}

/// What members may depend on.
pub(super) fn dependencies(root: &Table) -> Vec<String> {
    let table = root["workspace"].get("dependencies").and_then(Value::as_table);
    table.into_iter().flat_map(Table::keys).cloned().collect()
}

/// The name of a package.
pub(super) fn package(manifest: &Table) -> Result<String> {
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    name.map(str::to_owned).context("a member's manifest names no package")
}

/// The manifest of a package that stands alone: what it takes from the workspace is written out, paths from `folder`, the workspace's.
pub(super) fn alone(manifest: &str, root: &Table, folder: &Path) -> Result<String> {
    let mut manifest: Table = manifest.parse().context("parse the template's manifest")?;
    let shared = root["workspace"].as_table().context("Cargo.toml is no workspace")?;
    for (part, from) in
        [("package", "package"), ("dependencies", "dependencies"), ("dev-dependencies", "dependencies")]
    {
        let from = shared
            .get(from)
            .and_then(Value::as_table)
            .with_context(|| format!("the workspace has no {from}"))?;
        let rows = manifest.get_mut(part).and_then(Value::as_table_mut);
        for (key, value) in rows.with_context(|| format!("the template has no {part}"))? {
            inherit(key, value, from, folder)?;
        }
    }
    let lints = shared.get("lints").context("the workspace has no lints")?;
    manifest.insert("lints".into(), lints.clone());
    manifest.insert("profile".into(), profiles(root, &manifest)?);
    manifest.insert("workspace".into(), Value::Table(Table::new()));
    toml::to_string(&manifest).context("write the manifest")
}

/// Replaces `{ workspace = true, .. }` by what the workspace says, features added.
fn inherit(key: &str, value: &mut Value, from: &Table, folder: &Path) -> Result<()> {
    let Some(own) = value.as_table_mut() else { return Ok(()) };
    if own.remove("workspace").is_none() {
        return Ok(());
    }
    let shared = from.get(key).with_context(|| format!("the workspace has no {key}"))?;
    let mut shared = match shared {
        Value::Table(table) => table.clone(),
        // A version without anything else, or a fact of the package.
        plain if own.is_empty() => {
            *value = plain.clone();
            return Ok(());
        }
        plain => Table::from_iter([("version".to_string(), plain.clone())]),
    };
    if let Some(path) = shared.get_mut("path") {
        let below = path.as_str().with_context(|| format!("the path of {key} is no text"))?;
        *path = folder.join(below).display().to_string().into();
    }
    shared.extend(std::mem::take(own));
    *value = Value::Table(shared);
    Ok(())
}

/// The workspace's profiles, without packages of ours that this one does not name: Cargo would warn of each.
fn profiles(root: &Table, manifest: &Table) -> Result<Value> {
    let mut profiles = root.get("profile").context("the workspace has no profiles")?.clone();
    let is_ours = |package: &str| {
        let row = root["workspace"].get("dependencies").and_then(|rows| rows.get(package));
        row.is_some_and(|row| row.get("path").is_some())
    };
    let is_named = |package: &str| manifest["dependencies"].get(package).is_some();
    for profile in profiles.as_table_mut().into_iter().flat_map(|profiles| profiles.iter_mut()) {
        if let Some(packages) = profile.1.get_mut("package").and_then(Value::as_table_mut) {
            packages.retain(|package, _| !is_ours(package) || is_named(package));
        }
    }
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = r#"
[workspace]
members = [
    "kernels",
    "sim",
]

[workspace.package]
edition = "2024"

[workspace.dependencies]
stroma-hw = { path = "hw/core" }
stroma-top = { path = "hw/top" }
thiserror = "2"

[workspace.lints.rust]
missing_docs = "warn"

[profile.dev]
opt-level = 1

[profile.dev.package.stroma-hw]
opt-level = 0

[profile.dev.package.stroma-top]
opt-level = 0
"#;

    const PACKAGE: &str = r#"
[package]
name = "mine"
edition.workspace = true

[lints]
workspace = true

[dependencies]
stroma-hw.workspace = true
thiserror.workspace = true

[dev-dependencies]
stroma-hw = { workspace = true, features = ["testing"] }
thiserror = { workspace = true, features = ["std"] }
"#;

    #[test]
    fn a_member_takes_its_place_and_nothing_else_changes() {
        let added = with_member(ROOT, "kernels/mine").unwrap();
        assert_eq!(added.replace("    \"kernels/mine\",\n", ""), ROOT);
        assert!(added.contains("    \"kernels\",\n    \"kernels/mine\",\n    \"sim\",\n]"), "{added}");
        assert!(with_member(ROOT, "zoo").unwrap().contains("    \"sim\",\n    \"zoo\",\n]"));
        assert!(with_member(&added, "kernels/mine").unwrap_err().to_string().contains("already"));
        assert!(with_member("[workspace]\n", "a").is_err());
        assert!(with_member("members = [\n    \"a\",\n", "b").is_err());
    }

    #[test]
    fn a_package_that_stands_alone_says_what_it_took_from_the_workspace() {
        let text = alone(PACKAGE, &ROOT.parse().unwrap(), Path::new("/stroma")).unwrap();
        let found: Table = text.parse().unwrap();
        let expected: Table = r#"
            package = { name = "mine", edition = "2024" }
            dependencies = { stroma-hw = { path = "/stroma/hw/core" }, thiserror = "2" }
            lints = { rust = { missing_docs = "warn" } }
            profile = { dev = { opt-level = 1, package = { stroma-hw = { opt-level = 0 } } } }
            workspace = {}
            [dev-dependencies]
            stroma-hw = { path = "/stroma/hw/core", features = ["testing"] }
            thiserror = { version = "2", features = ["std"] }
        "#
        .parse()
        .unwrap();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_the_workspace_lacks_is_named() {
        let package = PACKAGE.replace("thiserror", "anyhow");
        let error = alone(&package, &ROOT.parse().unwrap(), Path::new("/stroma")).unwrap_err().to_string();
        assert_eq!(error, "the workspace has no anyhow");
    }

    #[test]
    fn names_of_members_packages_and_dependencies_are_found() {
        let root: Table = ROOT.parse().unwrap();
        assert_eq!(members(&root).unwrap(), ["kernels", "sim"]);
        assert_eq!(dependencies(&root), ["stroma-hw", "stroma-top", "thiserror"]);
        assert_eq!(package(&PACKAGE.parse().unwrap()).unwrap(), "mine");
        assert!(package(&Table::new()).is_err());
    }
}
