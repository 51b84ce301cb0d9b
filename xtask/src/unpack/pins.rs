//! `xtask/debian.txt`: the Debian packages that are unpacked, at the versions that were tried, and their SHA-256.
//!
//! apt holds every file against lists that Debian has signed. The pins say that a file is the one that was tried. A
//! mirror has a version no more when the next is out, and a machine may be of another Debian; so a version without a
//! pin is unpacked, and counted in a line that says so. A pinned version with another hash is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::run_quietly;
use crate::workspace;

/// From the workspace's root: a line `NAME VERSION SHA256` for each file, sorted.
const FILE: &str = "xtask/debian.txt";
/// In a folder of unpacked packages: such lines, of what is in it.
const UNPACKED: &str = "packages.txt";
/// How a version is pinned after it was tried.
const REPIN: &str = "next step: when what uses them works, \
                     LC_ALL=C sort -u -o xtask/debian.txt xtask/debian.txt target/tools/*/packages.txt";

/// A file that was pinned, or is about to be unpacked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pin {
    name: String,
    version: String,
    sha256: String,
}

impl Pin {
    fn parse(line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, version, sha256] = words[..] else { bail!("`{line}` is not NAME VERSION SHA256") };
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure!(is_hash, "`{sha256}` of {name} is no SHA-256");
        Ok(Self { name: name.into(), version: version.into(), sha256: sha256.into() })
    }

    fn line(&self) -> String {
        format!("{} {} {}\n", self.name, self.version, self.sha256)
    }
}

fn parse(text: &str) -> Result<Vec<Pin>> {
    text.lines().map(Pin::parse).collect()
}

fn pins() -> Result<Vec<Pin>> {
    let path = workspace::root().join(FILE);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    parse(&text).with_context(|| format!("read the pins in {FILE}"))
}

/// Holds the files in `archives` against the pins, and writes to `folder` what they are.
pub(super) fn check(archives: &Path, folder: &Path) -> Result<()> {
    let mut found = super::packages(archives)?.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    found.sort();
    let unknown = unpinned(&found, &pins()?)?;
    if !unknown.is_empty() {
        println!(
            "  {} of them in versions that {FILE} does not pin; apt found them in Debian's signed lists",
            unknown.len()
        );
    }
    let path = folder.join(UNPACKED);
    let text: String = found.iter().map(Pin::line).collect();
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// Those whose version has no pin; an error if a version has one of another hash.
fn unpinned<'a>(found: &'a [Pin], pins: &[Pin]) -> Result<Vec<&'a Pin>> {
    let mut unknown = Vec::new();
    for file in found {
        let pin = pins.iter().find(|pin| pin.name == file.name && pin.version == file.version);
        match pin {
            Some(pin) => ensure!(
                pin.sha256 == file.sha256,
                "{} {} has the SHA-256 {}, and {} in {FILE}\n\
                 next step: do not unpack it: it is another file than was tried",
                file.name,
                file.version,
                file.sha256,
                pin.sha256
            ),
            None => unknown.push(file),
        }
    }
    Ok(unknown)
}

/// What a package says it is, and its hash.
fn read(path: &Path) -> Result<Pin> {
    let field = |field: &str| {
        let mut dpkg = Command::new("dpkg-deb");
        dpkg.arg("--field").arg(path).arg(field);
        Ok::<_, anyhow::Error>(String::from_utf8_lossy(&run_quietly(dpkg)?.stdout).trim().to_owned())
    };
    Ok(Pin { name: field("Package")?, version: field("Version")?, sha256: workspace::sha256(path)? })
}

/// Fails when something is unpacked on this machine that has no pin.
pub(crate) fn all_pinned() -> Result<()> {
    let pins = pins()?;
    let tools = stroma_verilate::tools_dir();
    let folders = fs::read_dir(&tools).with_context(|| format!("list {}", tools.display()))?;
    let lists = folders.filter_map(|entry| Some(entry.ok()?.path().join(UNPACKED)));
    let mut count = 0;
    for list in lists.filter(|list| list.exists()).collect::<Vec<PathBuf>>() {
        let text = fs::read_to_string(&list).with_context(|| format!("read {}", list.display()))?;
        let found = parse(&text).with_context(|| format!("read {}", list.display()))?;
        let unknown = unpinned(&found, &pins)?;
        let names: Vec<String> = unknown.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
        ensure!(names.is_empty(), "{}: no pin for {}\n{REPIN}", list.display(), names.join(", "));
        count += found.len();
    }
    println!("pins: {count} Debian packages are unpacked, each as {FILE} pins it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(name: &str, version: &str, digit: char) -> Pin {
        Pin { name: name.into(), version: version.into(), sha256: digit.to_string().repeat(64) }
    }

    #[test]
    fn a_pinned_version_has_its_hash_and_another_version_is_named() {
        let pins = [pin("qemu", "1:7.2", 'a'), pin("qemu", "1:10.1", 'b'), pin("perftest", "4.5", 'c')];
        let found = [pin("qemu", "1:10.1", 'b'), pin("perftest", "4.6", 'c')];
        assert_eq!(unpinned(&found, &pins).unwrap(), [&found[1]]);
        let error = unpinned(&[pin("qemu", "1:10.1", 'a')], &pins).unwrap_err().to_string();
        assert!(error.contains("qemu 1:10.1 has the SHA-256 aaaa"), "{error}");
    }

    #[test]
    fn a_file_has_the_hash_that_fips_180_gives_its_content() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abc").unwrap();
        let sha256 = workspace::sha256(file.path()).unwrap();
        assert_eq!(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_line_that_is_no_pin_is_refused() {
        for line in ["qemu 1:7.2", "qemu 1:7.2 abc", "qemu 1:7.2  abc", ""] {
            assert!(Pin::parse(line).is_err(), "`{line}`");
        }
        let known = pin("qemu", "1:7.2", '0');
        assert_eq!(Pin::parse(known.line().trim_end()).unwrap(), known);
    }

    #[test]
    fn the_file_is_sorted_and_has_a_version_of_every_listed_package_once() {
        let pins = pins().unwrap();
        assert!(pins.is_sorted(), "{REPIN}");
        assert!(
            pins.windows(2).all(|two| (&two[0].name, &two[0].version) != (&two[1].name, &two[1].version))
        );
        for entry in crate::tools::Tools::load().unwrap().unpack {
            assert!(pins.iter().any(|pin| pin.name == entry.package), "{} has no pin", entry.package);
        }
    }
}
