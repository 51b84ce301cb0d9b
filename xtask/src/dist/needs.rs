//! What programs and libraries need of the machine they run on, and whether a Debian 12 has it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};

/// Libraries of every Debian.
const LIBRARIES: [&str; 5] =
    ["ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libm.so.6", "libstdc++.so.6"];
/// The newest versions of symbols in Debian 12's: glibc 2.36, and GCC 12.2's libstdc++ and libgcc.
const VERSIONS: [(&str, &[u32]); 4] =
    [("GLIBC", &[2, 36]), ("GLIBCXX", &[3, 4, 30]), ("CXXABI", &[1, 3, 13]), ("GCC", &[12, 0, 0])];
/// How such files begin.
const MAGIC: &[u8] = b"\x7fELF";

/// What one file needs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    libraries: Vec<String>,
    versions: Vec<String>,
}

/// Fails when one of the files needs what a Debian 12 does not have.
pub(super) fn check(files: &[PathBuf]) -> Result<()> {
    let mut faults = Vec::new();
    let mut count = 0;
    for path in files {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        if bytes.starts_with(MAGIC) {
            count += 1;
            let needs = Needs::of(&bytes).with_context(|| format!("understand {}", path.display()))?;
            faults.extend(needs.faults().iter().map(|fault| format!("{} {fault}", shown(path))));
        }
    }
    ensure!(count > 0, "none of the files is a program: the check is broken");
    if !faults.is_empty() {
        bail!("{}\nnext step: make the archive on a Debian 12, or do without", faults.join("\n"));
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Needs {
    fn of(bytes: &[u8]) -> Result<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut needs = Self::default();
        if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            for entry in entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
                needs.libraries.push(text(entry.string(endian, strings)?));
            }
        }
        if let Some((mut files, link)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            while let Some((_, mut versions)) = files.next()? {
                while let Some(version) = versions.next()? {
                    needs.versions.push(text(version.name(endian, strings)?));
                }
            }
        }
        Ok(needs)
    }

    /// What of it a Debian 12 does not have.
    fn faults(&self) -> Vec<String> {
        let libraries = self.libraries.iter().filter(|name| !LIBRARIES.contains(&name.as_str()));
        let libraries = libraries.map(|name| format!("needs {name}, which a plain Debian does not have"));
        let versions = self.versions.iter().filter(|version| !is_known(version));
        let versions = versions.map(|version| format!("needs {version}, which is newer than Debian 12"));
        libraries.chain(versions).collect()
    }
}

/// Is a version such as `GLIBC_2.34` one of Debian 12's?
fn is_known(version: &str) -> bool {
    let Some((name, numbers)) = version.split_once('_') else { return false };
    let numbers: Result<Vec<u32>, _> = numbers.split('.').map(str::parse).collect();
    let newest = VERSIONS.iter().find(|(known, _)| *known == name);
    newest.is_some_and(|(_, newest)| numbers.is_ok_and(|numbers| numbers.as_slice() <= *newest))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_tells_its_libraries_and_the_versions_of_their_symbols() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = Needs::of(&own).unwrap();
        assert!(needs.libraries.contains(&"libc.so.6".to_owned()), "{needs:?}");
        assert!(needs.versions.contains(&"GLIBC_2.2.5".to_owned()), "{needs:?}");
    }

    #[test]
    fn what_debian_12_does_not_have_is_named() {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let needs = Needs {
            libraries: owned(&["libc.so.6", "libssl.so.3", "libstdc++.so.6"]),
            versions: owned(&[
                "GLIBC_2.2.5",
                "GLIBC_2.36",
                "GLIBC_2.38",
                "GLIBCXX_3.4.32",
                "GLIBC_ABI_DT_RELR",
            ]),
        };
        assert_eq!(
            needs.faults(),
            [
                "needs libssl.so.3, which a plain Debian does not have",
                "needs GLIBC_2.38, which is newer than Debian 12",
                "needs GLIBCXX_3.4.32, which is newer than Debian 12",
                "needs GLIBC_ABI_DT_RELR, which is newer than Debian 12",
            ]
        );
    }

    #[test]
    fn no_program_at_all_is_an_error() {
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(check(&[text]).unwrap_err().to_string().contains("the check is broken"));
    }
}
