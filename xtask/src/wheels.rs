//! `xtask/wheels.txt`: every wheel that the listed ones bring along, at one version, with the SHA-256 of its files.
//!
//! pip-compile writes the file from the versions in `tools.toml`, in pip's own format. A routine installs some of the
//! wheels: those that it names, and what these need, which the comments `# via` tell.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::tools::Pip;
use crate::workspace;

/// From the workspace's root.
pub(crate) const FILE: &str = "xtask/wheels.txt";
/// How the file is made after a change of `tools.toml`.
const REMAKE: &str = "next step: write `NAME==VERSION` of each [[pip]] of tools.toml to wheels.in, run `pip-compile \
                      --generate-hashes --strip-extras --no-emit-index-url --no-emit-find-links --no-header \
                      --output-file xtask/wheels.txt wheels.in`";

/// One wheel of the file.
struct Wheel<'a> {
    name: &'a str,
    version: &'a str,
    /// The lines that pip reads.
    requirement: String,
    /// Wheels that need it.
    via: Vec<&'a str>,
}

/// What pip is to install for these wheels, all they need included, each with its hashes.
pub(crate) fn requirements(wanted: &[&Pip]) -> Result<String> {
    let path = workspace::root().join(FILE);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    chosen(&text, wanted).with_context(|| format!("choose wheels from {FILE}")).context(REMAKE)
}

fn chosen(text: &str, wanted: &[&Pip]) -> Result<String> {
    let wheels = parse(text)?;
    let mut names = BTreeSet::new();
    for entry in wanted {
        let wheel = wheels.iter().find(|wheel| wheel.name == entry.package);
        let wheel = wheel.with_context(|| format!("{} is not in it", entry.package))?;
        let (have, want) = (wheel.version, &entry.version);
        ensure!(have == want, "{} is {have} in it, and {want} in tools.toml", entry.package);
        names.insert(wheel.name);
    }
    loop {
        let needed = wheels.iter().filter(|wheel| wheel.via.iter().any(|by| names.contains(by)));
        let before = names.len();
        names.extend(needed.map(|wheel| wheel.name).collect::<Vec<_>>());
        if names.len() == before {
            break;
        }
    }
    Ok(wheels
        .iter()
        .filter(|wheel| names.contains(wheel.name))
        .map(|wheel| wheel.requirement.as_str())
        .collect())
}

fn parse(text: &str) -> Result<Vec<Wheel<'_>>> {
    let mut wheels: Vec<Wheel<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some((name, rest)) = line.split_once("==").filter(|_| !line.starts_with([' ', '#'])) {
            let version = rest.split([' ', ';', '\\']).next().unwrap_or(rest);
            wheels.push(Wheel { name, version, requirement: format!("{line}\n"), via: Vec::new() });
            continue;
        }
        let Some(wheel) = wheels.last_mut() else {
            if line.starts_with('#') {
                continue;
            }
            bail!("`{line}` belongs to no wheel");
        };
        match line.trim().strip_prefix('#').map(str::trim) {
            Some(by) => wheel.via.extend(by.strip_prefix("via").unwrap_or(by).split_whitespace().next()),
            None if line.trim().starts_with("--hash=sha256:") => {
                wheel.requirement.push_str(line);
                wheel.requirement.push('\n');
            }
            None => bail!("`{line}` is neither a wheel nor a hash"),
        }
    }
    if let Some(wheel) = wheels.iter().find(|wheel| !wheel.requirement.contains("--hash")) {
        bail!("{} has no hash", wheel.name);
    }
    Ok(wheels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Tools;

    const SAMPLE: &str = "# a comment\n\
        low==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n    # via\n    #   high\n    #   other\n\
        high==2.0 \\\n    --hash=sha256:bb\n    # via top\n\
        top==3 \\\n    --hash=sha256:cc\n    # via -r wheels.in\n";

    fn entry(package: &str, version: &str) -> Pip {
        Pip {
            package: package.into(),
            version: version.into(),
            programs: Vec::new(),
            from: crate::tools::Routine::Demo,
            why: "test".into(),
            first_run: Vec::new(),
        }
    }

    #[test]
    fn a_wheel_comes_with_all_that_it_needs_and_their_hashes() {
        let of = |name, version| chosen(SAMPLE, &[&entry(name, version)]);
        assert_eq!(of("high", "2.0").unwrap().lines().count(), 5);
        assert_eq!(of("low", "1.0").unwrap(), "low==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n");
        assert!(of("top", "3").unwrap().contains("--hash=sha256:aa"), "what its own needs need, too");
    }

    #[test]
    fn what_the_file_does_not_have_as_the_list_has_it_is_refused() {
        let refused =
            |text: &str, name, version| chosen(text, &[&entry(name, version)]).unwrap_err().to_string();
        assert!(refused(SAMPLE, "none", "1").contains("none is not in it"));
        assert!(refused(SAMPLE, "top", "4").contains("3 in it, and 4"));
        assert!(refused("bare==1\n", "bare", "1").contains("bare has no hash"));
        assert!(refused("--index-url x\n", "bare", "1").contains("belongs to no wheel"));
    }

    #[test]
    fn the_file_fits_the_list() {
        let tools = Tools::load().unwrap();
        let all: Vec<&Pip> = tools.pip.iter().collect();
        let text = requirements(&all).unwrap();
        let whole = fs::read_to_string(workspace::root().join(FILE)).unwrap();
        assert_eq!(text.matches("==").count(), whole.lines().filter(|line| line.contains("==")).count());
    }
}
