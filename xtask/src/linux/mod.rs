//! `linux`: programs of others on simulated cards; a card and a Linux guest on one wire, and the one in the other.

mod archive;
mod device;
pub(crate) mod kernel;
mod peers;
pub(crate) mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::program::program;
use crate::stage::Outcome;
use crate::{process, unpack, workspace};
use archive::Archive;
use kernel::Modules;

/// The guest's own program and script.
const SOURCES: &str = "tests/linux/guest";
/// Folders of Debian's libraries for this processor.
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
/// libibverbs, the one provider the guest needs, and what they ask for; static, for the guest has no loader.
const LINKED: [&str; 6] = ["ibverbs", "rxe-rdmav34", "ibverbs", "nl-route-3", "nl-3", "pthread"];

/// What is tried with Linux, by its rung on the ladder of proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rung {
    /// Programs of others run on cards, with our libibverbs.
    #[value(name = "3")]
    Programs,
    /// The card's wire ends at a guest's Soft-RoCE.
    #[value(name = "4")]
    Wire,
    /// The card is in a guest, behind an IOMMU, and our driver with it.
    #[value(name = "5")]
    Device,
}

impl Rung {
    /// From the lowest on.
    pub(crate) const ALL: [Self; 3] = [Self::Programs, Self::Wire, Self::Device];
}

/// How much of a rung; all of it, if nobody says.
#[derive(Args, Default)]
pub(crate) struct Choice {
    /// Of rung 3 the rows whose command has these words; `pyverbs` is one, `guest` are perftest's against a guest
    #[arg(long, value_name = "WORDS")]
    pub(crate) only: Option<String>,
    /// Keep in docs/compat.json what ran, if nothing failed
    #[arg(long, conflicts_with = "only")]
    pub(crate) record: bool,
}

/// Makes ready what a rung needs, and runs its story.
pub(crate) fn run(rung: Rung, choice: &Choice) -> Result<Outcome> {
    match rung {
        Rung::Programs => programs::run(choice),
        Rung::Wire => wire().map(|()| Outcome::Done),
        Rung::Device => device::run(),
    }
}

fn wire() -> Result<()> {
    let out = folder()?;
    let initrd = out.join("initrd.cpio");
    write(&initrd, wire_files(&out)?)?;

    println!("  building the simulated cards ...");
    process::aloud(story("linux", &unpack::emulator(), &initrd, &out)?).context(
        "next step: the story is tests/linux; what was on the wire: tshark -V -r target/linux/10g.pcapng",
    )
}

/// The file system of a guest that is at the other end of a wire.
fn wire_files(out: &Path) -> Result<Archive> {
    let program = out.join("guest");
    process::quietly_or_fail("compile the guest's program", compiler(&program)?)
        .context("next step: repair tests/linux/guest")?;
    let script = workspace::root().join(SOURCES).join("init");
    first_files(&unpack::folder(), &script, &program, &kernel::WIRE)
}

fn write(initrd: &Path, files: Archive) -> Result<()> {
    fs::write(initrd, files.finish()).with_context(|| format!("write {}", initrd.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

/// Where guests are made, and what they leave is kept.
fn folder() -> Result<PathBuf> {
    let folder = workspace::target().join("linux");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// A program of the tests that boots a guest.
fn story(name: &str, emulator: &Path, initrd: &Path, out: &Path) -> Result<Command> {
    let mut story = program(name)?;
    story.arg("--emulator").arg(emulator).arg("--kernel").arg(kernel::vmlinux(&unpack::folder()));
    story.arg("--initrd").arg(initrd).arg("--out").arg(out).current_dir(workspace::root());
    Ok(story)
}

/// Compiles the guest's program with the unpacked headers and libraries.
fn compiler(program: &Path) -> Result<Command> {
    let root = unpack::root();
    let mut command = Command::new("cc");
    command.args(["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-DRDMA_STATIC_PROVIDERS=rxe"]);
    command.arg("-I").arg(root.join("usr/include")).arg("-o").arg(program).args(sources()?);
    for folder in LIBRARIES {
        command.arg("-L").arg(root.join(folder));
    }
    // Names are never looked up in the guest, so what the linker says of static programs that do is beside the point.
    command.args(LINKED.map(|name| format!("-l{name}"))).arg("-Wl,--no-warnings");
    Ok(command)
}

fn sources() -> Result<Vec<PathBuf>> {
    workspace::files(&workspace::root().join(SOURCES), "c")
}

/// The guest's file system: busybox, the program, the modules, the script that is run first.
fn first_files(tools: &Path, script: &Path, program: &Path, modules: &Modules) -> Result<Archive> {
    let mut archive = Archive::new(&["bin", "dev", "modules", "proc", "sys"]);
    archive.program("init", &read(script)?);
    archive.program("bin/busybox", &read(&tools.join("root/bin/busybox"))?);
    archive.program("bin/guest", &read(program)?);
    let folder = kernel::modules(tools);
    let order = read(&folder.join(modules.order))?;
    for name in String::from_utf8_lossy(&order).lines() {
        archive.file(&format!("modules/{name}"), &read(&folder.join(name))?);
    }
    archive.file("modules/order", &order);
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_have_sources_and_a_first_script() {
        let names: Vec<_> = sources().unwrap().iter().map(|path| workspace::shown(path)).collect();
        assert!(names.contains(&format!("{SOURCES}/main.c")), "{names:?}");
        for script in [SOURCES, device::SOURCES] {
            let script = fs::read_to_string(workspace::root().join(script).join("init")).unwrap();
            assert!(script.starts_with("#!/bin/busybox sh\n"));
        }
    }
}
