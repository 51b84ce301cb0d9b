//! Which libclang reads the headers of libibverbs.
//!
//! `rdma-sys` makes its bindings with a bindgen that panics on what libclang says from version 16 on. Left alone it takes the newest
//! library of the machine; where that is too new and an older one is there, `LIBCLANG_PATH` has to say so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// The variable by which bindgen is told.
const VARIABLE: &str = "LIBCLANG_PATH";
/// The last version that it understands.
const LAST: u32 = 15;
/// Folders that hold libclang, beside those of Debian's, one a version, below `/usr/lib`.
const FOLDERS: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// A library, and the version that its name tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    version: u32,
    file: PathBuf,
}

/// `cargo`, for a build that may make bindings.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace::root());
    if let Some(library) = pointed() {
        command.env(VARIABLE, library.file);
    }
    command
}

/// Says which one is taken where there is a choice, and refuses a machine on which none is old enough. Whoever set the variable
/// has chosen.
pub(crate) fn check() -> Result<()> {
    let all = found();
    let Some(newest) = newest(&all) else { return Ok(()) };
    if is_said() || newest.version <= LAST {
        return Ok(());
    }
    let Some(fitting) = pointed() else {
        bail!(
            "libclang {} is too new for rdma-sys, which makes bindings with {LAST} and older\n\
             next step: apt-get install libclang-14-dev, or set {VARIABLE} to the folder of such a one",
            newest.version
        );
    };
    println!(
        "setup: libclang {} is too new for rdma-sys: {VARIABLE}={} for every build from here; set it for your own",
        newest.version,
        fitting.file.display()
    );
    Ok(())
}

fn is_said() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// The one to point at, where nobody has said another and the newest does not fit.
fn pointed() -> Option<Found> {
    if is_said() { None } else { choose(&found()) }
}

/// The newest that fits, if a newer one would be taken instead.
fn choose(all: &[Found]) -> Option<Found> {
    let fitting = all.iter().filter(|found| found.version <= LAST).max_by_key(|found| found.version);
    fitting.filter(|_| newest(all).is_some_and(|newest| newest.version > LAST)).cloned()
}

fn newest(all: &[Found]) -> Option<&Found> {
    all.iter().max_by_key(|found| found.version)
}

/// All libraries of this machine; those in a folder of their own come last, and so are taken among equals: the compiler's headers are
/// beside them.
fn found() -> Vec<Found> {
    let own = names(Path::new("/usr/lib")).into_iter().filter(|name| name.starts_with("llvm-"));
    let own = own.map(|name| Path::new("/usr/lib").join(name).join("lib"));
    FOLDERS.iter().map(PathBuf::from).chain(own).flat_map(|folder| inside(&folder)).collect()
}

fn inside(folder: &Path) -> Vec<Found> {
    let library = |name: String| Some(Found { version: version(&name)?, file: folder.join(name) });
    names(folder).into_iter().filter_map(library).collect()
}

/// Names of what is in a folder; a folder that is not there has nothing.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The version of `libclang-14.so.1`, `libclang-14.0.6.so` and `libclang.so.14`. Debian's `libclang.so.1` tells none.
fn version(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("libclang-").or_else(|| name.strip_prefix("libclang.so."))?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|version| *version > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libraries(versions: &[u32]) -> Vec<Found> {
        let found = |version: &u32| Found { version: *version, file: format!("/lib/{version}").into() };
        versions.iter().map(found).collect()
    }

    #[test]
    fn a_library_tells_its_version_by_its_name() {
        for (name, expected) in [
            ("libclang-14.so.1", Some(14)),
            ("libclang-14.0.6.so", Some(14)),
            ("libclang.so.18", Some(18)),
            ("libclang.so.1", None),
            ("libclang.so", None),
            ("libclang-cpp.so.14", None),
            ("libclangAST.a", None),
        ] {
            assert_eq!(version(name), expected, "{name}");
        }
    }

    #[test]
    fn an_older_library_is_pointed_at_only_where_a_newer_one_would_be_taken() {
        let chosen = |versions: &[u32]| choose(&libraries(versions)).map(|found| found.version);
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[14]), None);
        assert_eq!(chosen(&[13, 15]), None);
        assert_eq!(chosen(&[19]), None);
        assert_eq!(chosen(&[14, 19, 15, 18]), Some(15));
    }
}
