//! The folder of a fabric.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Error;

/// What the name of a card's socket is followed by.
const INSPECTION: &str = ".inspect";

/// The folder that is meant when nobody says: `$STROMA_FABRIC`, else `$XDG_RUNTIME_DIR/stroma`, else `/tmp/stroma-UID`.
#[must_use]
pub fn folder() -> PathBuf {
    set(env::var_os("STROMA_FABRIC")).map_or_else(own, PathBuf::from)
}

/// The one that this user has without a word from anybody, and alone.
fn own() -> PathBuf {
    own_of(env::var_os("XDG_RUNTIME_DIR"), user())
}

fn own_of(runtime: Option<OsString>, user: u32) -> PathBuf {
    match set(runtime) {
        Some(runtime) => PathBuf::from(runtime).join("stroma"),
        None => PathBuf::from(format!("/tmp/stroma-{user}")),
    }
}

/// What is set to nothing is not set.
fn set(variable: Option<OsString>) -> Option<OsString> {
    variable.filter(|value| !value.is_empty())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder if it is missing. The one that is meant when nobody says is for its user alone.
///
/// # Errors
/// When it cannot be made, or somebody else made it.
pub fn make(folder: &Path) -> Result<(), Error> {
    let mode = if folder == own() { 0o700 } else { 0o777 };
    DirBuilder::new().recursive(true).mode(mode).create(folder).map_err(|source| Error::Io {
        doing: "making the folder",
        path: folder.to_path_buf(),
        source,
    })?;
    trust(folder)
}

/// Refuses a folder that stands where this user's should, and is somebody else's: in `/tmp` anybody can be there first.
pub(crate) fn trust(folder: &Path) -> Result<(), Error> {
    if folder == own() { trust_as(folder, user()) } else { Ok(()) }
}

fn trust_as(folder: &Path, user: u32) -> Result<(), Error> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 => Ok(()),
        Ok(_) => Err(Error::Foreign { folder: folder.to_path_buf() }),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::Io { doing: "looking at the folder", path: folder.to_path_buf(), source }),
    }
}

/// The socket of a card.
#[must_use]
pub fn card(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("card{number}"))
}

/// The socket where the driver of the program that has a card tells what is on it, by the card's own.
#[must_use]
pub fn inspection(card: &Path) -> PathBuf {
    let mut path = card.as_os_str().to_owned();
    path.push(INSPECTION);
    path.into()
}

/// The same of a board, by its PCI address, in the folder that this user has alone.
#[must_use]
pub fn board_inspection(address: &str) -> PathBuf {
    inspection(&own().join(address))
}

/// The socket where the fabric is asked.
#[must_use]
pub fn control(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// What a fabric in the background tells.
#[must_use]
pub fn log(folder: &Path) -> PathBuf {
    folder.join("fabric.log")
}

pub(crate) fn lock(folder: &Path) -> PathBuf {
    folder.join("lock")
}

pub(crate) fn starting(folder: &Path) -> PathBuf {
    folder.join("starting")
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn each_user_has_a_folder_of_his_own() {
        let runtime = |path: &str| Some(OsString::from(path));
        assert_eq!(own_of(runtime("/run/user/7"), 7), Path::new("/run/user/7/stroma"));
        assert_eq!(own_of(runtime(""), 7), Path::new("/tmp/stroma-7"));
        assert_eq!(own_of(None, 7), Path::new("/tmp/stroma-7"));
    }

    #[test]
    fn what_is_on_a_card_is_told_beside_it() {
        assert_eq!(inspection(&card(Path::new("/lab"), 3)), Path::new("/lab/card3.inspect"));
        assert_eq!(board_inspection("0000:41:00.0"), own().join("0000:41:00.0.inspect"));
    }

    #[test]
    fn a_folder_that_others_made_or_may_write_to_is_not_trusted() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("folder");
        let trusted = |path: &Path, user| trust_as(path, user).is_ok();
        assert!(trusted(&folder, user()), "there is none yet");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(trusted(&folder, user()));
        assert!(!trusted(&folder, user() + 1), "another user's");
        let link = outer.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(!trusted(&link, user()), "a link leads where somebody wants");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let error = trust_as(&folder, user()).unwrap_err().to_string();
        assert!(error.contains("not to be trusted"), "{error}");
    }
}
