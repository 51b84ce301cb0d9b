//! The last rows of rung 3: perftest on a simulated card against perftest in a Linux guest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::archive::Archive;
use super::{LIBRARIES, folder, read, story, wire_files, write};
use crate::{process, unpack, workspace};

/// What the guest runs.
const PROGRAMS: [&str; 8] = [
    "ib_write_bw",
    "ib_write_lat",
    "ib_read_bw",
    "ib_read_lat",
    "ib_send_bw",
    "ib_send_lat",
    "ib_atomic_bw",
    "ib_atomic_lat",
];
/// Rows that the story has at least: every program, both ways.
pub(super) const ROWS: usize = 2 * PROGRAMS.len();
/// Where the story keeps what was on the wire.
pub(super) const CAPTURE: &str = "card0.pcapng";
/// Where it writes down which of them ran well.
pub(super) const LIST: &str = "rows";
/// Helps them to find each other.
const SCRIPT: &str = "tests/peers/peer.sh";
/// The program that loads others, where they expect it.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
/// rdma-core's half of Soft-RoCE in user space, which libibverbs loads by name, and the file that has the name.
const PROVIDER: [&str; 2] =
    ["usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so", "etc/libibverbs.d/rxe.driver"];
/// The guest's folders of all these, outermost first.
const FOLDERS: [&str; 8] = [
    "etc",
    "etc/libibverbs.d",
    "lib64",
    "tmp",
    "usr",
    "usr/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/libibverbs",
];

/// Makes the guest, and runs the rows; what they leave is kept in the folder.
pub(super) fn run(stroma: &Path, kept: &Path) -> Result<()> {
    let out = folder()?;
    let initrd = out.join("peers.cpio");
    write(&initrd, with_programs(wire_files(&out)?)?)?;
    let mut story = story("peers", &unpack::emulator(), &initrd, kept)?;
    story.arg("--stroma").arg(stroma);
    let next_step =
        || format!("next step: the story is tests/peers; what was on the wire: {}/{CAPTURE}", kept.display());
    process::aloud(story).with_context(next_step).context("perftest against a guest")
}

/// A guest that has perftest too, as Debian compiled it, with all that it loads.
fn with_programs(mut files: Archive) -> Result<Archive> {
    let root = unpack::root();
    for folder in FOLDERS {
        files.folder(folder);
    }
    files.program("bin/peer.sh", &read(&workspace::root().join(SCRIPT))?);
    for name in PROGRAMS {
        files.program(&format!("bin/{name}"), &read(&root.join("usr/bin").join(name))?);
    }
    files.program(LOADER, &read(&root.join(LOADER))?);
    for name in PROVIDER {
        files.file(name, &read(&root.join(name))?);
    }
    for path in libraries(&root)? {
        let name = path.file_name().context("a library has a name")?.to_string_lossy().into_owned();
        files.file(&format!("{}/{name}", LIBRARIES[0]), &read(&path)?);
    }
    Ok(files)
}

/// The libraries of all programs, as the unpacked loader finds them among what was unpacked.
fn libraries(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let folders = LIBRARIES.map(|folder| root.join(folder).display().to_string()).join(":");
    let mut found = BTreeSet::new();
    for name in PROGRAMS {
        let mut loader = Command::new(root.join(LOADER));
        loader.args(["--library-path", &folders, "--list"]).arg(root.join("usr/bin").join(name));
        let line = process::line(&loader);
        let output = loader.output().with_context(|| format!("start {line}"))?;
        ensure!(output.status.success(), "{line}\nended with {}", output.status);
        found.extend(String::from_utf8_lossy(&output.stdout).lines().filter_map(library));
    }
    Ok(found)
}

/// A line is `NAME => PATH (ADDRESS)`; those without an arrow are the loader and what the kernel brings along.
fn library(line: &str) -> Option<PathBuf> {
    let (_, found) = line.split_once(" => ")?;
    let (path, _) = found.rsplit_once(" (")?;
    Some(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_the_loaders_list() {
        let line = "\tlibz.so.1 => /somewhere/lib/libz.so.1 (0x00007fd2392d0000)";
        assert_eq!(library(line), Some("/somewhere/lib/libz.so.1".into()));
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007fd2393fa000)"), None);
        assert_eq!(library("\t/lib64/ld-linux-x86-64.so.2 (0x00007fd2393fc000)"), None);
    }
}
