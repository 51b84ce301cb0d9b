//! A QEMU that can give a guest a card of another process: the machine's own, or one of a newer Debian.
//!
//! The machine's own suite may have none. Then packages come from a suite that `tools.toml` names, of the very mirror that the machine
//! uses, with lists, keys and a state of their own: the machine's apt does not notice, and it needs no rights.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{STAMP, extract, pins, planned, run_quietly, write_program};
use crate::process;
use crate::tools::Unpack;

/// The device by which QEMU reaches a card of another process.
const DEVICE: &str = "vfio-user-pci";
/// Debian's keys, of its package debian-archive-keyring.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Starts the unpacked QEMU from wherever the folder lies. In newer suites all folders of the system are below `usr`.
const EMULATOR: &str = "#!/bin/sh
# QEMU with the libraries, modules and firmware that were unpacked with it.
root=$(dirname \"$0\")/root/usr
libraries=$root/lib/x86_64-linux-gnu
export QEMU_MODULE_DIR=$libraries/qemu
exec \"$root/lib64/ld-linux-x86-64.so.2\" --library-path \"$libraries\" \"$root/bin/qemu-system-x86_64\" \\
    -L \"$root/share/qemu\" -L \"$root/share/seabios\" \"$@\"
";

fn folder(suite: &str) -> PathBuf {
    stroma_verilate::tools_dir().join(suite)
}

/// Does this QEMU have the device?
fn has_device(mut emulator: Command) -> bool {
    let listed = emulator.args(["-device", "help"]).output();
    listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains(&format!("\"{DEVICE}\"")))
}

fn own() -> Command {
    Command::new("qemu-system-x86_64")
}

/// A program that is called as QEMU is, and has the device; `None` when there is none.
pub(crate) fn emulator() -> Result<Option<PathBuf>> {
    if has_device(own()) {
        return Ok(Some(own().get_program().into()));
    }
    let tools = crate::tools::Tools::load()?;
    let suites = tools.unpack.iter().filter_map(|entry| entry.suite.as_deref());
    Ok(suites.map(|suite| folder(suite).join("qemu")).find(|program| program.exists()))
}

/// Unpacks what comes from other suites, if that is not there, and tells how many packages were missing.
pub(super) fn run(wanted: &[&Unpack]) -> Result<usize> {
    let is_there = |entry: &&&Unpack| {
        let stamp = entry.suite.as_deref().map(|suite| folder(suite).join(STAMP));
        stamp.is_some_and(|stamp| fs::read_to_string(stamp).is_ok_and(|found| found == entry.package))
    };
    let missing: Vec<&&Unpack> = wanted.iter().filter(|entry| !is_there(entry)).collect();
    if missing.is_empty() || has_device(own()) {
        return Ok(0);
    }
    let Some(mirror) = mirror()? else {
        println!("setup: no QEMU with {DEVICE}, and apt knows of no Debian mirror that may have one");
        return Ok(0);
    };
    for entry in &missing {
        let suite = entry.suite.as_deref().context("it comes from another suite")?;
        println!("setup: {} of {suite}, unpacked. {}", entry.package, entry.why);
        unpack(suite, &entry.package, &mirror)?;
    }
    Ok(missing.len())
}

fn unpack(suite: &str, package: &str, mirror: &str) -> Result<()> {
    let fresh = folder(suite).with_extension("new");
    crate::setup::remove(&fresh)?;
    let state = State::new(&fresh.join("state"), suite, mirror)?;
    let update = state.apt_get(&["update"]);
    process::quietly_or_fail(&format!("lists of {suite}"), update).context(
        "next step: see that this machine's Debian mirror has the suite, and that debian-archive-keyring knows its keys",
    )?;
    let plan = run_quietly(state.apt_get(&["install", "--simulate", "--no-install-recommends", package]))?;
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    let all = planned(&plan);
    if all.is_empty() {
        bail!("apt-get plans to install nothing for {package} of {suite}");
    }
    println!("  {package} {}", version(&plan, package).unwrap_or("of no known version"));
    let archives = fresh.join("archives");
    fs::create_dir_all(&archives).with_context(|| format!("create {}", archives.display()))?;
    let mut download = state.apt_get(&["download"]);
    download.args(&all).current_dir(&archives);
    process::quietly_or_fail(&format!("apt-get download of {} packages", all.len()), download)
        .context("next step: see that this machine reaches its Debian mirror, then run this again")?;
    pins::check(&archives, &fresh)?;
    let count = extract(&archives, &fresh.join("root"))?;
    println!("  {count} packages unpacked, their dependencies counted");
    crate::setup::remove(&archives)?;
    crate::setup::remove(&fresh.join("state"))?;
    write_program(&fresh.join("qemu"), EMULATOR)?;
    if !has_device(Command::new(fresh.join("qemu"))) {
        bail!(
            "{package} of {suite} has no {DEVICE}\nnext step: name a suite with QEMU 10.1 or later in tools.toml"
        );
    }
    fs::write(fresh.join(STAMP), package).context("write the stamp of unpacked packages")?;
    crate::setup::replace(&folder(suite), &fresh)
}

/// A state of apt's that has nothing to do with the machine's.
struct State {
    options: Vec<String>,
}

impl State {
    /// For a suite, and the one that it stands on.
    fn new(folder: &Path, suite: &str, mirror: &str) -> Result<Self> {
        for inner in ["lists/partial", "cache/archives/partial"] {
            let inner = folder.join(inner);
            fs::create_dir_all(&inner).with_context(|| format!("create {}", inner.display()))?;
        }
        let base = suite.strip_suffix("-backports").unwrap_or(suite);
        let mut suites = vec![base, suite];
        suites.dedup();
        let sources = suites.iter().map(|suite| source(mirror, suite) + "\n");
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))
        };
        write("sources.list", &sources.collect::<String>())?;
        write("status", "")?;
        let path = |name: &str| folder.join(name).display().to_string();
        let options = [
            format!("Dir::State={}", folder.display()),
            format!("Dir::State::Lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=-".into(),
            "Dir::Etc::preferences=-".into(),
            "Dir::Etc::preferencesparts=-".into(),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            // The folder is this user's, and apt's own user cannot write to it.
            "APT::Sandbox::User=root".into(),
            format!("APT::Default-Release={suite}"),
        ];
        Ok(Self { options: options.into_iter().collect() })
    }

    fn apt_get(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("apt-get");
        command.args(self.options.iter().flat_map(|option| ["-o", option])).args(arguments);
        command
    }
}

/// A suite of a mirror, as apt is told of it.
pub(crate) fn source(mirror: &str, suite: &str) -> String {
    format!("deb [signed-by={KEYS}] {mirror} {suite} main")
}

/// The Debian mirror this machine uses.
pub(crate) fn mirror() -> Result<Option<String>> {
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL)", "Identifier: Packages"]);
    let listed = run_quietly(targets)?;
    Ok(debian(&String::from_utf8_lossy(&listed.stdout)))
}

/// The first line of a repository that is Debian's own, and not its security updates.
fn debian(targets: &str) -> Option<String> {
    let lines = targets.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut mirrors = lines.filter(|words| words[1..] == ["Debian", "Debian"]);
    mirrors.next().map(|words| words[0].to_owned())
}

/// The version of a package that a simulated installation names.
fn version<'a>(simulation: &'a str, package: &str) -> Option<&'a str> {
    let line = simulation.lines().find_map(|line| line.strip_prefix(&format!("Inst {package} ")))?;
    line.split_once('(')?.1.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_one_with_debian_itself() {
        let targets = "https://one.example/apt/ Tools Tools\n\
                       http://two.example/debian-security/ Debian Debian-Security\n\
                       http://two.example/debian/ Debian Debian\nhttp://three.example/debian/ Debian Debian\n";
        assert_eq!(debian(targets).as_deref(), Some("http://two.example/debian/"));
        assert_eq!(debian("https://one.example/ubuntu/ Ubuntu Ubuntu\n"), None);
        assert_eq!(debian("\nhttps://one.example/\n"), None);
    }

    #[test]
    fn the_version_is_read_from_the_simulation() {
        let simulation = "Inst qemu-system-common (1:1 Debian:13 [amd64])\nInst qemu-system-x86 (1:11.1.2 Debian:13 [amd64])\n";
        assert_eq!(version(simulation, "qemu-system-x86"), Some("1:11.1.2"));
        assert_eq!(version(simulation, "qemu-system"), None);
    }

    #[test]
    fn a_state_of_its_own_names_the_mirror_and_nothing_of_the_machine() {
        let folder = stroma_verilate::target_dir().join("suite-test");
        let state = State::new(&folder, "trixie-backports", "http://two.example/debian/").unwrap();
        let sources = fs::read_to_string(folder.join("sources.list")).unwrap();
        crate::setup::remove(&folder).unwrap();
        let suites: Vec<&str> = sources.lines().filter_map(|line| line.split(' ').nth(3)).collect();
        assert_eq!(suites, ["trixie", "trixie-backports"]);
        assert!(sources.lines().all(|line| line.contains("http://two.example/debian/")));
        assert!(state.options.iter().all(|option| !option.contains("/etc") && !option.contains("/var")));
    }
}
