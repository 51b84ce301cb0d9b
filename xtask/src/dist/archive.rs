//! A folder as an archive: the same bytes for the same files, whenever and by whomever it is made.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, HeaderMode};

use crate::workspace;

/// Writes a folder, under its own name, with all that is in it.
pub(super) fn write(folder: &Path, archive: &Path) -> Result<()> {
    let top = folder.file_name().context("the folder has a name")?;
    let file = File::create(archive).with_context(|| format!("create {}", archive.display()))?;
    // A header without name and time.
    let mut tar = Builder::new(GzBuilder::new().write(file, Compression::best()));
    // Owner 0, one time for all, and of the rights only whether it can be executed.
    tar.mode(HeaderMode::Deterministic);
    tar.follow_symlinks(false);
    tar.sparse(false);
    for path in inside(folder)? {
        let name = Path::new(top).join(path.strip_prefix(folder).context("it is inside of the folder")?);
        tar.append_path_with_name(&path, name).with_context(|| format!("pack {}", path.display()))?;
    }
    let file = tar.into_inner().and_then(flate2::write::GzEncoder::finish);
    file.and_then(|file| file.sync_all()).with_context(|| format!("write {}", archive.display()))
}

/// Writes the checksum of an archive beside it, and tells it.
pub(super) fn sum(archive: &Path) -> Result<String> {
    let sum = workspace::sha256(archive)?;
    let name = archive.file_name().context("an archive has a name")?.to_string_lossy();
    let beside = format!("{}.sha256", archive.display());
    fs::write(&beside, format!("{sum}  {name}\n")).with_context(|| format!("write {beside}"))?;
    Ok(sum)
}

/// A folder and all that is in it, each folder before what it holds, sorted by name.
fn inside(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.with_context(|| format!("list {}", folder.display()))?;
    paths.sort();
    let mut all = vec![folder.to_path_buf()];
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            all.extend(inside(&path)?);
        } else {
            all.push(path);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::SystemTime;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::workspace;

    /// A folder whose files are made in an order, at a time.
    fn lay_down(folder: &Path, names: &[&str], time: SystemTime) {
        for name in names {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, *name).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        fs::set_permissions(folder.join("bin/tool"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("tool", folder.join("bin/other")).unwrap();
    }

    #[test]
    fn the_same_files_make_the_same_archive_sorted_and_of_nobody() {
        let outer = workspace::target().join(format!("archive-{}", std::process::id()));
        let make = |place: &str, names: &[&str], time| {
            let folder = outer.join(place).join("top");
            lay_down(&folder, names, time);
            let archive = outer.join(place).join("top.tar.gz");
            write(&folder, &archive).unwrap();
            assert_eq!(sum(&archive).unwrap().len(), 64);
            (
                fs::read(&archive).unwrap(),
                fs::read_to_string(outer.join(place).join("top.tar.gz.sha256")).unwrap(),
            )
        };
        let one = make("one", &["bin/tool", "a", "z/y"], SystemTime::now());
        let other = make("other", &["z/y", "a", "bin/tool"], SystemTime::UNIX_EPOCH);
        fs::remove_dir_all(&outer).unwrap();
        assert_eq!(one, other);
        assert!(one.1.ends_with("  top.tar.gz\n"), "{}", one.1);

        let mut archive = tar::Archive::new(GzDecoder::new(&*one.0));
        let entry = |entry: std::io::Result<tar::Entry<_>>| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            (entry.path().unwrap().display().to_string(), header.mode().unwrap())
        };
        let found: Vec<(String, u32)> = archive.entries().unwrap().map(entry).collect();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.trim_end_matches('/')).collect();
        assert_eq!(names, ["top", "top/a", "top/bin", "top/bin/other", "top/bin/tool", "top/z", "top/z/y"]);
        let modes: Vec<u32> = [1, 4].map(|at: usize| found[at].1).into();
        assert_eq!(modes, [0o644, 0o755]);
    }
}
