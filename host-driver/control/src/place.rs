//! The folder of a fabric.

use std::env;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
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

/// Makes a folder if it is missing, which nobody else may write to. The one that is meant when nobody says is for its user alone.
///
/// # Errors
/// When it cannot be made, or another user decides what is in it.
pub fn make(folder: &Path) -> Result<(), Error> {
    let mode = if folder == own() { 0o700 } else { 0o755 };
    DirBuilder::new().recursive(true).mode(mode).create(folder).map_err(|source| Error::Io {
        doing: "making the folder",
        path: folder.to_path_buf(),
        source,
    })?;
    trust(folder)
}

/// Refuses a folder in which another user decides what is there: who connects to a socket in it would lend him his memory.
pub(crate) fn trust(folder: &Path) -> Result<(), Error> {
    let judged = stroma_local::trust_folder(folder);
    judged.map_err(|source| Error::Untrusted { folder: folder.to_path_buf(), source })
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
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{Client, find};

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
    fn a_folder_that_others_may_write_to_is_neither_served_in_nor_asked() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("folder");
        make(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder) & 0o022, 0, "whatever the usual rights are");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let asked = [make(&folder).err(), Client::connect(&folder).err(), find(&folder).err()];
        for refused in asked {
            let refused = refused.expect("it is refused").to_string();
            let says = format!("the folder {} is not to be trusted: others may write to", folder.display());
            assert!(refused.starts_with(&says) && refused.contains("mode 777"), "{refused}");
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(find(&folder).unwrap().is_none());
    }
}
