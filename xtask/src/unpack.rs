//! Debian packages that are unpacked into a folder instead of installed: a second Linux beside the machine's own.
//!
//! With every package come all that it depends on, down to the C library, as if nothing were installed. So what is in the
//! folder does not hang on what a machine happens to have, and runs with the folder's own libraries. The guest's tools are in
//! one folder and the browser in another, for who wants the one seldom wants the other. What comes from another [suite] than the
//! machine's own has a folder for itself.

pub(crate) mod pins;
pub(crate) mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::linux::kernel;
use crate::process;
use crate::tools::{Routine, Tools, Unpack};

/// The file in the folder that says which packages were asked for.
const STAMP: &str = ".unpacked";
/// Starts the unpacked QEMU from wherever the folder lies.
const EMULATOR: &str = "#!/bin/sh
# QEMU with the libraries, modules and firmware that were unpacked with it.
root=$(dirname \"$0\")/root
libraries=$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu
export QEMU_MODULE_DIR=$root/usr/lib/x86_64-linux-gnu/qemu
exec \"$root/lib64/ld-linux-x86-64.so.2\" --library-path \"$libraries\" \"$root/usr/bin/qemu-system-x86_64\" \\
    -L \"$root/usr/share/qemu\" -L \"$root/usr/share/seabios\" \"$@\"
";

/// Starts the unpacked browser from wherever the folder lies. It starts itself again, and so cannot be called through the
/// folder's own loader; the machine's is of the same Debian, for that is where the packages are from. Without a sandbox, which
/// needs rights: it opens one page, our own.
const BROWSER: &str = "#!/bin/sh
# Chromium with the libraries and fonts that were unpacked with it.
folder=$(cd \"$(dirname \"$0\")\" && pwd)
root=$folder/root
libraries=$root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$root/lib/x86_64-linux-gnu:$libraries:$libraries/pulseaudio
export FONTCONFIG_FILE=$folder/fonts.conf
cat > \"$FONTCONFIG_FILE\" <<END
<?xml version=\"1.0\"?>
<fontconfig><dir>$root/usr/share/fonts</dir><cachedir>$folder/fonts</cachedir></fontconfig>
END
exec \"$root/usr/lib/chromium/chromium-headless-shell\" --no-sandbox --disable-gpu \\
    --user-data-dir=\"$folder/profile\" \"$@\"
";

/// Where they are, with what was made of them.
pub(crate) fn folder() -> PathBuf {
    stroma_verilate::tools_dir().join("linux")
}

/// A program that is called as Chromium is.
pub(crate) fn browser() -> PathBuf {
    stroma_verilate::tools_dir().join("page/chromium")
}

/// The unpacked files.
pub(crate) fn root() -> PathBuf {
    folder().join("root")
}

/// A program that is called as QEMU is.
pub(crate) fn emulator() -> PathBuf {
    folder().join("qemu")
}

/// Unpacks what `routine` needs, if that is not there, and tells how many packages were missing.
pub(crate) fn run(tools: &Tools, routine: Routine) -> Result<usize> {
    let wanted = tools.unpack.iter().filter(|entry| routine.needs(entry.from));
    let (newer, wanted): (Vec<&Unpack>, Vec<&Unpack>) = wanted.partition(|entry| entry.suite.is_some());
    Ok(own_suite(&wanted, routine)? + suite::run(&newer)?)
}

/// Unpacks what comes from the suite of the machine.
fn own_suite(wanted: &[&Unpack], routine: Routine) -> Result<usize> {
    let names: Vec<&str> = wanted.iter().map(|entry| entry.package.as_str()).collect();
    let is_page = routine == Routine::Page;
    let folder = if is_page { stroma_verilate::tools_dir().join("page") } else { folder() };
    let modules = if is_page { Vec::new() } else { kernel::wanted() };
    let stamp = [&names[..], &modules[..]].concat().join("\n");
    if wanted.is_empty() || fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == stamp) {
        return Ok(0);
    }
    for entry in wanted {
        println!("setup: {}, unpacked. {}", entry.package, entry.why);
    }
    let fresh = folder.with_extension("new");
    crate::setup::remove(&fresh)?;
    let archives = fresh.join("archives");
    fs::create_dir_all(&archives).with_context(|| format!("create {}", archives.display()))?;
    download(&names, &archives)?;
    pins::check(&archives, &fresh)?;
    let root = fresh.join("root");
    let count = extract(&archives, &root)?;
    println!("  {count} packages unpacked, their dependencies counted");
    crate::setup::remove(&archives)?;
    if is_page {
        write_program(&fresh.join("chromium"), BROWSER)?;
    } else {
        kernel::prepare(&root, &fresh).context("next step: see which kernel package this machine offers")?;
        write_program(&fresh.join("qemu"), EMULATOR)?;
    }
    fs::write(fresh.join(STAMP), stamp).context("write the stamp of unpacked packages")?;
    crate::setup::replace(&folder, &fresh)?;
    Ok(wanted.len())
}

/// Fetches the packages and all they depend on. Lists that are empty or out of date are the usual reason for a failure, so
/// that after one the lists are fetched, where that is allowed, and all is tried once more.
fn download(names: &[&str], archives: &Path) -> Result<()> {
    let first = fetch(names, archives);
    if first.is_ok() || !crate::setup::is_root() {
        return first.context(
            "next step: see that this machine is a Debian for amd64 and reaches a package mirror; as root: apt-get update",
        );
    }
    let mut update = Command::new("apt-get");
    update.arg("update");
    process::quietly_or_fail("apt-get update", update)?;
    fetch(names, archives).context("next step: see that this machine is a Debian for amd64")
}

fn fetch(names: &[&str], archives: &Path) -> Result<()> {
    // A machine on which nothing is installed, as far as apt knows.
    let nothing = archives.join("nothing-installed");
    fs::write(&nothing, "").with_context(|| format!("write {}", nothing.display()))?;
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends", "-o"]);
    plan.arg(format!("Dir::State::status={}", nothing.display())).args(names);
    let plan = run_quietly(plan)?;
    let all = planned(&String::from_utf8_lossy(&plan.stdout));
    if all.is_empty() {
        bail!("apt-get plans to install nothing for {}", names.join(" "));
    }
    let mut download = Command::new("apt-get");
    download.arg("download").args(&all).current_dir(archives);
    process::quietly_or_fail(&format!("apt-get download of {} packages", all.len()), download).map(|_| ())
}

/// The packages that a simulated installation names.
fn planned(simulation: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("Inst ")?.split(' ').next()?.to_string());
    simulation.lines().filter_map(name).collect()
}

/// The packages in a folder.
fn packages(archives: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(archives).with_context(|| format!("list {}", archives.display()))?;
    let paths = entries.map(|entry| Ok(entry.context("list the packages")?.path()));
    let mut paths = paths.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "deb"));
    Ok(paths)
}

fn extract(archives: &Path, root: &Path) -> Result<usize> {
    let packages = packages(archives)?;
    for path in &packages {
        let mut dpkg = Command::new("dpkg-deb");
        dpkg.arg("--extract").arg(path).arg(root);
        run_quietly(dpkg)?;
    }
    Ok(packages.len())
}

/// Runs a short program of many without a line for each.
fn run_quietly(mut command: Command) -> Result<Output> {
    let line = process::line(&command);
    let output = command.output().with_context(|| format!("start {line}"))?;
    if !output.status.success() {
        bail!("{line}\nended with {}\n{}", output.status, process::tail(&output));
    }
    Ok(output)
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("make {} a program", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_would_install_is_read_from_its_simulation() {
        let simulation = "Reading package lists...\nNOTE: This is only a simulation!\n\
                          Inst libc6 (2.36-9 Debian:12 [amd64])\nInst busybox-static [1.0] (1.35 Debian:12 [amd64]) []\n\
                          Conf libc6 (2.36-9 Debian:12 [amd64])\n";
        assert_eq!(planned(simulation), ["libc6", "busybox-static"]);
        assert!(planned("0 upgraded, 0 newly installed\n").is_empty());
    }
}
