//! Files that are written in a folder that others may know.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file as `options` say, for its user alone where it is made, and never another one in its place: not the target of a
/// symbolic link, none that has a second name, and nothing that is no file. Who could put such a thing there would have this process
/// overwrite what only it may write to.
///
/// # Errors
/// When it is one of these (`ELOOP` for a link), or cannot be opened.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    // Without waiting, for a pipe would keep us until somebody is at its other end.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = options.clone().mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.nlink() == 1 {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is no file of one name: remove it"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        }
        symlink(folder.path().join("made"), &missing).unwrap();
        assert!(written(&missing).is_err());
        assert!(!folder.path().join("made").exists(), "a link to nothing makes nothing");
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
