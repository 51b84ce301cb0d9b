//! Programs that set-up for tests does not install, hidden from tests on machines that have them for another routine.
//!
//! A test that starts one would pass here, and fail where `cargo xtask test` is the first command.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tools::{Routine, Tools};

/// The programs that the list brings to other routines alone, and which.
fn others(tools: &Tools) -> Vec<(&str, Routine)> {
    let listed = (tools.apt.iter().map(|entry| (&entry.programs, entry.from)))
        .chain(tools.unpack.iter().map(|entry| (&entry.programs, entry.from)));
    let (ours, others): (Vec<_>, Vec<_>) = listed.partition(|(_, from)| Routine::Test.needs(*from));
    let given = tools.given.iter().flat_map(|entry| &entry.programs);
    let ours: BTreeSet<&String> = ours.into_iter().flat_map(|(programs, _)| programs).chain(given).collect();
    let each = others.into_iter().flat_map(|(programs, from)| programs.iter().map(move |name| (name, from)));
    each.filter(|(name, _)| !ours.contains(name)).map(|(name, from)| (name.as_str(), from)).collect()
}

/// A `PATH` on which each of them is a program in `folder` that fails and says why.
pub(crate) fn path(tools: &Tools, folder: &Path) -> Result<OsString> {
    // A program that tests have come to need since the last run must not stay hidden.
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for (name, from) in others(tools) {
        let file = folder.join(name);
        let routine = format!("{from:?}").to_lowercase();
        let text = format!(
            "#!/bin/sh\n\
             echo '{name}: set-up for tests does not install it; in tools.toml it is from \"{routine}\"' >&2\n\
             exit 127\n"
        );
        fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("make {} executable", file.display()))?;
    }
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_other_routines_bring_fails_and_what_tests_need_is_found() {
        let tools = Tools::load().unwrap();
        let folder = env::temp_dir().join(format!("stroma-absent-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tshark"), "of a run before tests needed it").unwrap();
        let path = path(&tools, &folder).unwrap();
        let run = |name: &str| Command::new("sh").args(["-c", name]).env("PATH", &path).output().unwrap();
        let hidden = run("ibv_devinfo");
        assert_eq!(hidden.status.code(), Some(127));
        let said = String::from_utf8_lossy(&hidden.stderr).into_owned();
        assert!(said.contains("ibv_devinfo") && said.contains("linux"), "{said}");
        assert!(run("g++ --version").status.success());
        assert!(!folder.join("tshark").exists(), "tests read frames with it");
        fs::remove_dir_all(&folder).unwrap();
    }
}
