//! A copy of the work tree, in which faults come and go.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that has what the work tree has.
pub(super) struct Tree {
    root: PathBuf,
}

/// A file with a change in it, and what it was.
pub(super) struct Changed {
    path: PathBuf,
    original: String,
}

impl Tree {
    /// Makes `root` a copy of `source`. A file that is the same already keeps its date, so that Cargo builds nothing
    /// anew for it.
    pub(super) fn copy(source: &Path, root: PathBuf) -> Result<Self> {
        let wanted = files(source)?;
        for file in &wanted {
            let bytes = fs::read(source.join(file)).with_context(|| format!("read {}", file.display()))?;
            let copy = root.join(file);
            if fs::read(&copy).is_ok_and(|there| there == bytes) {
                continue;
            }
            let folder = copy.parent().unwrap_or(&root);
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
            fs::write(&copy, bytes).with_context(|| format!("write {}", copy.display()))?;
        }
        for file in files(&root)?.difference(&wanted) {
            fs::remove_file(root.join(file)).with_context(|| format!("remove {}", file.display()))?;
        }
        Ok(Self { root })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Changes a file until it is restored. Who is interrupted before that leaves the change to the next
    /// [`copy`](Self::copy), which takes it out.
    pub(super) fn change(&self, file: &str, change: impl FnOnce(&str) -> Result<String>) -> Result<Changed> {
        let path = self.root.join(file);
        let original = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let changed = change(&original)?;
        fs::write(&path, changed).with_context(|| format!("write {}", path.display()))?;
        Ok(Changed { path, original })
    }
}

impl Changed {
    /// Puts the file back.
    pub(super) fn restore(self) -> Result<()> {
        // Its date is the time of this, and not what it was: Cargo would take what was built of the change for a build
        // of the original.
        fs::write(&self.path, &self.original).with_context(|| format!("write {}", self.path.display()))
    }
}

/// Every file below a folder but what was built, and what the repository keeps of itself.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    collect(folder, Path::new(""), &mut found)?;
    Ok(found)
}

fn collect(root: &Path, inside: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let folder = root.join(inside);
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let name = entry.with_context(|| format!("list {}", folder.display()))?.file_name();
        let path = inside.join(&name);
        if name == "target" || name == ".git" {
            continue;
        }
        if root.join(&path).is_dir() {
            collect(root, &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn a_copy_has_what_the_source_has_and_a_change_in_it_goes() {
        let folder = workspace::target().join(format!("mutants-test-{}", std::process::id()));
        let (source, copy) = (folder.join("source"), folder.join("copy"));
        for inside in ["a/b", "target", ".git"] {
            fs::create_dir_all(source.join(inside)).unwrap();
            fs::write(source.join(inside).join("file"), "text").unwrap();
        }
        fs::create_dir_all(&copy).unwrap();
        fs::write(copy.join("old"), "of an earlier time").unwrap();
        let tree = Tree::copy(&source, copy.clone()).unwrap();
        assert_eq!(files(&copy).unwrap(), BTreeSet::from([PathBuf::from("a/b/file")]));

        let place = copy.join("a/b/file");
        let before = fs::metadata(&place).unwrap().modified().unwrap();
        let tree = Tree::copy(&source, tree.root().to_path_buf()).unwrap();
        assert_eq!(fs::metadata(&place).unwrap().modified().unwrap(), before, "nothing is built anew");
        let changed = tree.change("a/b/file", |text| Ok(text.replace('x', "s"))).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "test");
        changed.restore().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "text");
        assert_eq!(fs::read_to_string(source.join("a/b/file")).unwrap(), "text");
        fs::remove_dir_all(&folder).unwrap();
    }
}
