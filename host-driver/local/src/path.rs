//! Who decides what is at a path.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::{is_trusted, user};

/// Links on one path; more are a loop, as the system has it.
const LINKS: usize = 40;
/// Others may make something in a folder, and remove what is in it,
const WRITABLE: u32 = 0o022;
/// unless this is set: then they remove what is theirs alone.
const STICKY: u32 = 0o1000;

/// Why a path is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A part of it is another user's.
    #[error(
        "{} is user {owner}'s (mode {:o}), and this is user {user}: whoever owns a part of a path decides what is there",
        path.display(), mode & 0o7777
    )]
    Foreign {
        /// Which part.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Its rights.
        mode: u32,
        /// Who asks.
        user: u32,
    },
    /// A folder on it is everybody's, or a group's.
    #[error(
        "others may write to {} (user {owner}'s, mode {:o}), and put what they like there: `chmod go-w` it, or use another folder",
        path.display(), mode & 0o7777
    )]
    Writable {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Its rights.
        mode: u32,
    },
    /// The system refused.
    #[error("looking at {}: {source}", path.display())]
    System {
        /// At what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// Refuses a path of which another user decides what is there: every folder on the way, links followed, has to be this user's or
/// root's, and may be written by its owner alone. A folder such as `/tmp`, in which nobody removes what is another's, will do when
/// what comes next is this user's or root's. A path ends well where nothing is.
///
/// # Errors
/// When another user may change it, or the system does not show it.
pub fn trust_path(path: &Path) -> Result<(), PathError> {
    let path =
        std::path::absolute(path).map_err(|source| PathError::System { path: path.to_path_buf(), source })?;
    trust_as(&path, user())
}

/// Refuses a folder in which another user may make something: as [`trust_path`], and the folder itself is written by its owner alone.
/// The names in it are known beforehand, and in a folder such as `/tmp` whoever comes first has them. A folder that is not there is
/// still to be made.
///
/// # Errors
/// As [`trust_path`].
pub fn trust_folder(folder: &Path) -> Result<(), PathError> {
    trust_path(folder)?;
    let path = folder.to_path_buf();
    match fs::metadata(folder) {
        Ok(found) if found.mode() & WRITABLE == 0 => Ok(()),
        Ok(found) => Err(PathError::Writable { path, owner: found.uid(), mode: found.mode() }),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(PathError::System { path, source }),
    }
}

/// The parts of a path, the next one last.
fn parts(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

fn trust_as(path: &Path, user: u32) -> Result<(), PathError> {
    let (mut here, mut left, mut links) = (PathBuf::from("/"), parts(path), 0);
    while let Some(part) = left.pop() {
        let next = match Path::new(&part).components().next() {
            Some(Component::ParentDir) => here.parent().map_or(here.clone(), Path::to_path_buf),
            _ => here.join(&part),
        };
        let system = |source| PathError::System { path: next.clone(), source };
        let found = match fs::symlink_metadata(&next) {
            Ok(found) => found,
            Err(source) if source.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(system(source)),
        };
        if !is_trusted(found.uid(), user) {
            return Err(PathError::Foreign { path: next, owner: found.uid(), mode: found.mode(), user });
        }
        if found.is_symlink() {
            links += 1;
            if links > LINKS {
                return Err(system(rustix::io::Errno::LOOP.into()));
            }
            left.extend(parts(&fs::read_link(&next).map_err(system)?));
            // A target from the root on begins there by itself.
            continue;
        }
        if found.is_dir() && found.mode() & WRITABLE != 0 && found.mode() & STICKY == 0 {
            return Err(PathError::Writable { path: next, owner: found.uid(), mode: found.mode() });
        }
        here = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder of folders with rights.
    fn folders(rows: &[(&str, u32)]) -> tempfile::TempDir {
        let outer = tempfile::tempdir().unwrap();
        for (name, mode) in rows {
            let path = outer.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
        }
        outer
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_wherever_it_is_on_the_path() {
        let outer = folders(&[
            ("own", 0o755),
            ("all", 0o777),
            ("all/own", 0o700),
            ("group", 0o775),
            ("sticky", 0o1777),
            ("sticky/own", 0o700),
        ]);
        let judged = |name: &str| trust_path(&outer.path().join(name));
        for name in ["own/card0", "own/../own/card0", "sticky/own/card0", "sticky/card0", "missing/card0"] {
            judged(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        for name in ["all/card0", "all/own/card0", "group/card0", "own/../all/own/card0"] {
            let refused = judged(name).unwrap_err();
            assert!(matches!(refused, PathError::Writable { .. }), "{name}: {refused}");
        }
        let refused = judged("all/own/card0").unwrap_err().to_string();
        assert!(refused.contains(&format!("/all (user {}'s, mode 777)", user())), "{refused}");
    }

    #[test]
    fn a_folder_is_written_by_its_owner_alone_sticky_or_not() {
        let outer = folders(&[("own", 0o755), ("sticky", 0o1777), ("sticky/own", 0o700)]);
        let judged = |name: &str| trust_folder(&outer.path().join(name));
        for name in ["own", "sticky/own", "missing", "sticky/missing"] {
            judged(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let refused = judged("sticky").unwrap_err();
        assert!(matches!(refused, PathError::Writable { .. }), "{refused}");
        symlink("sticky", outer.path().join("link")).unwrap();
        let refused = judged("link").unwrap_err();
        assert!(matches!(refused, PathError::Writable { .. }), "{refused}");
    }

    #[test]
    fn links_are_followed_and_judged_as_what_they_lead_to() {
        let outer = folders(&[("own", 0o700), ("all", 0o777), ("all/own", 0o700)]);
        let path = |name: &str| outer.path().join(name);
        for (name, target) in [("good", "own"), ("bad", "all/own"), ("loop", "loop"), ("up", "own/../all")] {
            symlink(target, path(name)).unwrap();
        }
        symlink(path("all/own"), path("far")).unwrap();
        trust_path(&path("good/card0")).unwrap();
        for name in ["bad", "up", "far"] {
            let refused = trust_path(&path(name).join("card0")).unwrap_err();
            assert!(matches!(refused, PathError::Writable { .. }), "{name}: {refused}");
        }
        let refused = trust_path(&path("loop/card0")).unwrap_err();
        assert!(matches!(refused, PathError::System { .. }), "{refused}");
    }

    #[test]
    fn what_another_user_owns_is_refused_unless_it_is_roots() {
        let outer = folders(&[("own", 0o700)]);
        let path = outer.path().join("own/card0");
        trust_as(&path, user()).unwrap();
        let refused = trust_as(&path, user() + 1).err();
        // What root owns everybody trusts.
        assert_eq!(refused.is_none(), user() == 0, "{refused:?}");
        trust_as(Path::new("/usr/bin/env"), user() + 1).unwrap();
        if user() == 0 {
            std::os::unix::fs::chown(outer.path().join("own"), Some(7), None).unwrap();
            let refused = trust_path(&path).unwrap_err();
            assert!(matches!(refused, PathError::Foreign { owner: 7, user: 0, .. }), "{refused}");
            trust_as(&path, 7).unwrap();
        }
    }
}
