//! Files that are written in a folder that others may know.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::{is_trusted, user};

/// Opens a file as `options` say, for its user alone where it is made, and never another one in its place: not the target of a
/// symbolic link, none that has a second name, none of another user, and nothing that is no file. Who could put such a thing there
/// would have this process overwrite what only it may write to. The options do not truncate: that would happen before the look;
/// [`create`] empties a file after it.
///
/// # Errors
/// When it is one of these, or cannot be opened.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    // Without waiting, for a pipe would keep us until somebody is at its other end.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = options.clone().mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) if path.is_symlink() => refusal("it is a symbolic link: remove it"),
        _ => error,
    })?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(refusal("it is no file of one name: remove it"));
    }
    if !is_trusted(found.uid(), user()) {
        let (owner, user) = (found.uid(), user());
        return Err(refusal(&format!(
            "it is user {owner}'s file, and this is user {user}: use another folder"
        )));
    }
    Ok(file)
}

/// Opens a file that is written from its beginning on, as [`open`] does: one that is made now, or one that is emptied.
///
/// # Errors
/// As [`open`].
pub fn create(path: &Path) -> io::Result<File> {
    let file = open(File::options().append(true).create(true), path)?;
    file.set_len(0)?;
    Ok(file)
}

fn refusal(says: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, says)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn written(path: &Path) -> io::Result<File> {
        open(File::options().read(true).write(true).create(true), path)
    }

    #[test]
    fn a_file_is_made_for_its_user_alone_and_opened_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        drop(written(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "7").unwrap();
        written(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "7", "what is there stays");
        create(&path).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new", "and goes where it is to begin");
    }

    #[test]
    fn another_users_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "theirs").unwrap();
        if user() != 0 {
            eprintln!("left out: only root gives files away");
            return;
        }
        chown(&path, Some(7), None).unwrap();
        for refused in [written(&path), create(&path)] {
            let says = refused.unwrap_err().to_string();
            assert_eq!(says, "it is user 7's file, and this is user 0: use another folder");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }

    #[test]
    fn what_leads_elsewhere_or_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, name, pipe, missing] =
            ["target", "link", "name", "pipe", "missing"].map(|name| folder.path().join(name));
        fs::write(&target, "precious").unwrap();
        symlink(&target, &link).unwrap();
        fs::hard_link(&target, &name).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for path in [&link, &name, &pipe] {
            assert!(written(path).is_err(), "{}", path.display());
            assert!(open(File::options().read(true), path).is_err(), "{}", path.display());
            assert!(create(path).is_err(), "{}", path.display());
        }
        assert_eq!(create(&link).unwrap_err().to_string(), "it is a symbolic link: remove it");
        symlink(folder.path().join("made"), &missing).unwrap();
        assert!(written(&missing).is_err());
        assert!(!folder.path().join("made").exists(), "a link to nothing makes nothing");
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
