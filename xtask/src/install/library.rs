//! From the archive that Cargo builds to `libibverbs.so.1`.
//!
//! A library that rustc links itself cannot carry versions of symbols, and programs that ask for `ibv_open_device@IBVERBS_1.1` get none
//! without. So the archive is linked here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};

use super::build::Build;
use super::symbols;
use crate::{process, workspace};

/// What programs call it.
pub(crate) const NAME: &str = "libibverbs.so.1";
/// Its symbols, with their versions.
pub(super) const VERSIONS: &str = "host-driver/ibverbs/versions.map";

/// What Cargo builds.
pub(super) fn archive(build: Build) -> PathBuf {
    build.folder().join("libstroma_ibverbs.a")
}

/// Links into `folder` what is newer than the library there, checks its symbols, and tells where it is.
pub(super) fn link(folder: &Path, build: Build) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let (library, archive, versions) = (folder.join(NAME), archive(build), workspace::root().join(VERSIONS));
    if is_newer(&library, &[&archive, &versions]) {
        return Ok(library);
    }
    // Under another name until it is known to be good, so that a bad one is not taken for an up to date one.
    let fresh = folder.join(format!("{NAME}.new"));
    let mut linker = linker(&archive, &versions, &fresh);
    linker.args(build.link_flags());
    process::quietly_or_fail(&format!("link {NAME}"), linker)
        .context("next step: repair host-driver/ibverbs, or its versions.map")?;
    symbols::check(&archive, &fresh)?;
    fs::rename(&fresh, &library).with_context(|| format!("move {} into place", library.display()))?;
    Ok(library)
}

fn linker(archive: &Path, versions: &Path, library: &Path) -> Command {
    let mut version_script = std::ffi::OsString::from("-Wl,--version-script=");
    version_script.push(versions);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-o"]).arg(library);
    cc.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive").arg(version_script);
    cc.arg(format!("-Wl,-soname,{NAME}")).args(["-Wl,--gc-sections", "-Wl,--no-undefined"]);
    cc.args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-lc"]);
    cc
}

/// Is a file younger than all of what it is made of?
fn is_newer(file: &Path, sources: &[&Path]) -> bool {
    let age = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    let made: Option<SystemTime> = age(file);
    made.is_some_and(|made| sources.iter().all(|source| age(source).is_some_and(|source| source < made)))
}
