//! A folder that files are installed below.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Rights of programs and libraries, and of everything else.
const PROGRAM: u32 = 0o755;
const FILE: u32 = 0o644;

/// The folder, and what was put there.
pub(crate) struct Prefix {
    folder: PathBuf,
    installed: Vec<PathBuf>,
}

impl Prefix {
    /// Nothing is in it yet.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), installed: Vec::new() }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is there now.
    pub(crate) fn installed(self) -> Vec<PathBuf> {
        self.installed
    }

    /// A program or a library.
    pub(crate) fn program(&mut self, name: &str, source: &Path) -> Result<()> {
        self.copy(name, source, PROGRAM)
    }

    /// A file of another kind.
    pub(crate) fn file(&mut self, name: &str, source: &Path) -> Result<()> {
        self.copy(name, source, FILE)
    }

    /// A file that has no source.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> Result<()> {
        self.put(name, |fresh| fs::write(fresh, text), FILE)
    }

    /// Another name for a file in the same folder.
    pub(crate) fn link(&mut self, name: &str, target: &str) -> Result<()> {
        let path = self.path(name)?;
        let fresh = fresh(&path);
        let _ = fs::remove_file(&fresh);
        symlink(target, &fresh).with_context(|| format!("link {} to {target}", fresh.display()))?;
        self.move_in(&fresh, path)
    }

    /// Removes the files of a folder whose names begin so, but for those of `keep`: what an earlier installation has left there.
    pub(crate) fn remove_others(&self, folder: &str, begin: &str, keep: &[String]) -> Result<()> {
        let folder = self.folder.join(folder);
        let entries = fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(begin) && !keep.contains(&name) {
                let path = entry.path();
                fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, name: &str, source: &Path, mode: u32) -> Result<()> {
        let path = self.path(name)?;
        if is_copy(source, &path) {
            self.installed.push(path);
            return Ok(());
        }
        self.put(name, |fresh| fs::copy(source, fresh).map(|_| ()), mode)
            .with_context(|| format!("copy {}", source.display()))
    }

    /// Beside its place first, and then there in one step: a program that runs keeps the file it has.
    fn put(&mut self, name: &str, write: impl FnOnce(&Path) -> std::io::Result<()>, mode: u32) -> Result<()> {
        let path = self.path(name)?;
        let fresh = fresh(&path);
        write(&fresh).with_context(|| format!("write {}", fresh.display()))?;
        fs::set_permissions(&fresh, fs::Permissions::from_mode(mode))
            .with_context(|| format!("set the rights of {}", fresh.display()))?;
        self.move_in(&fresh, path)
    }

    fn move_in(&mut self, fresh: &Path, path: PathBuf) -> Result<()> {
        fs::rename(fresh, &path).with_context(|| format!("move {} into place", fresh.display()))?;
        self.installed.push(path);
        Ok(())
    }

    /// Where it goes; the folder is made.
    fn path(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let folder = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder).with_context(|| {
            format!("create {}\nnext step: choose a --prefix that you may write to", folder.display())
        })?;
        Ok(path)
    }
}

/// The name under which a file is written before it has its own.
fn fresh(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Is it as long as its source, and not older?
fn is_copy(source: &Path, path: &Path) -> bool {
    let state = |path: &Path| fs::metadata(path).and_then(|about| Ok((about.len(), about.modified()?))).ok();
    let (Some(source), Some(found)) = (state(source), state(path)) else { return false };
    source.0 == found.0 && source.1 <= found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_when_their_source_changes_and_only_then() {
        let folder = crate::workspace::target().join(format!("place-{}", std::process::id()));
        let (source, prefix) = (folder.join("source"), folder.join("prefix"));
        fs::create_dir_all(&folder).unwrap();
        let install = || {
            let mut prefix = Prefix::new(&prefix);
            prefix.program("bin/tool", &source).unwrap();
            prefix.link("bin/other", "tool").unwrap();
            prefix.text("share/words", "here").unwrap();
            prefix.installed().len()
        };
        let tool = prefix.join("bin/tool");
        fs::write(&source, "first").unwrap();
        assert_eq!(install(), 3);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&tool), mode(&prefix.join("share/words"))), (0o755, 0o644));
        let before = fs::metadata(&tool).unwrap().modified().unwrap();
        assert_eq!(install(), 3);
        assert_eq!(fs::metadata(&tool).unwrap().modified().unwrap(), before, "nothing had changed");
        fs::write(&source, "second").unwrap();
        install();
        assert_eq!(fs::read_to_string(prefix.join("bin/other")).unwrap(), "second");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_an_earlier_installation_left_is_removed_and_the_rest_stays() {
        let folder = crate::workspace::target().join(format!("place-others-{}", std::process::id()));
        let mut prefix = Prefix::new(&folder);
        for name in ["card-1.so", "card-2.so", "card-3.so", "library.so", "old-card-1.so"] {
            prefix.text(&format!("lib/{name}"), name).unwrap();
        }
        // In another folder.
        prefix.text("share/card-1.so", "").unwrap();
        let keep = ["card-2.so".to_owned(), "card-4.so".to_owned()];
        prefix.remove_others("lib", "card-", &keep).unwrap();
        let names = |inner: &str| {
            let entries = fs::read_dir(folder.join(inner)).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names("lib"), ["card-2.so", "library.so", "old-card-1.so"]);
        assert_eq!(names("share"), ["card-1.so"]);
        assert_eq!(fs::read_to_string(folder.join("lib/card-2.so")).unwrap(), "card-2.so");

        prefix.remove_others("lib", "card-", &keep).unwrap();
        assert_eq!(names("lib").len(), 3, "nothing is left to remove");
        let error = prefix.remove_others("nowhere", "card-", &keep).unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
