//! Who has a folder: locks of the system, which end with their process however it ends.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, place};

/// How long a fabric tries to take its folder: who looks whether one runs holds the lock for a moment, too.
const TRIES: Duration = Duration::from_millis(500);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// A folder that is a fabric's; others see it until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// A folder where a fabric is about to be started; whoever wants to start one waits.
#[derive(Debug)]
pub struct Starting {
    _file: File,
}

fn open(path: PathBuf) -> Result<File, Error> {
    let file = stroma_local::open(File::options().read(true).write(true).create(true), &path);
    file.map_err(|source| Error::Io { doing: "opening the lock", path, source })
}

impl Lock {
    /// Takes a folder that there is.
    ///
    /// # Errors
    /// When another fabric has it, or files cannot be made there.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = place::lock(folder);
        let failed = |source| Error::Io { doing: "locking", path: path.clone(), source };
        let mut file = open(path.clone())?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if started.elapsed() < TRIES => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Taken { folder: folder.to_path_buf(), process: process(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        file.set_len(0).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Otherwise the number of a process that has nothing to do with it could be read there one day.
        let _ = self.file.set_len(0);
    }
}

impl Starting {
    /// Waits until nobody else is about to start a fabric in this folder.
    ///
    /// # Errors
    /// When files cannot be made there.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = place::starting(folder);
        let file = open(path.clone())?;
        file.lock().map_err(|source| Error::Io { doing: "locking", path, source })?;
        Ok(Self { _file: file })
    }
}

/// Whether a fabric has the folder, and which process it is, if that is known already.
#[must_use]
pub fn holder(folder: &Path) -> Option<Option<u32>> {
    let mut file = stroma_local::open(File::options().read(true), &place::lock(folder)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(process(&mut file)),
        _ => None,
    }
}

fn process(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::{fs, io};

    use super::*;

    #[test]
    fn a_folder_has_one_fabric_and_others_see_which() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(holder(folder.path()), None);
        let lock = Lock::take(folder.path()).unwrap();
        assert_eq!(holder(folder.path()), Some(Some(std::process::id())));
        let refused = Lock::take(folder.path()).unwrap_err();
        let says = format!(
            "a fabric runs at {} already, process {}: end it, or choose another folder",
            folder.path().display(),
            std::process::id()
        );
        assert_eq!(refused.to_string(), says);
        drop(lock);
        assert_eq!(holder(folder.path()), None);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_link_or_a_second_name_in_the_place_of_a_lock_leaves_its_target_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("precious");
        fs::write(&target, "7").unwrap();
        let places = [place::lock(folder.path()), place::starting(folder.path())];
        let makers: [fn(&PathBuf, &PathBuf) -> io::Result<()>; 2] =
            [|from, to| symlink(from, to), |from, to| fs::hard_link(from, to)];
        for make in makers {
            for path in &places {
                make(&target, path).unwrap();
            }
            let refused = [
                Lock::take(folder.path()).expect_err("no lock"),
                Starting::take(folder.path()).expect_err("no lock"),
            ];
            for (refused, path) in refused.iter().zip(&places) {
                assert!(refused.to_string().contains(path.to_str().unwrap()), "{refused}");
            }
            assert_eq!(holder(folder.path()), None);
            assert_eq!(fs::read_to_string(&target).unwrap(), "7");
            for path in &places {
                fs::remove_file(path).unwrap();
            }
        }
    }

    #[test]
    fn who_looks_keeps_no_fabric_from_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(place::lock(folder.path())).unwrap();
        file.lock_shared().unwrap();
        let taking = {
            let folder = folder.path().to_path_buf();
            thread::spawn(move || Lock::take(&folder).map(drop))
        };
        thread::sleep(10 * PAUSE);
        drop(file);
        taking.join().unwrap().unwrap();
    }

    #[test]
    fn one_after_the_other_starts_a_fabric() {
        let folder = tempfile::tempdir().unwrap();
        let first = Starting::take(folder.path()).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let second = {
            let folder = folder.path().to_path_buf();
            thread::spawn(move || {
                Starting::take(&folder).unwrap();
                tell.send(()).unwrap();
            })
        };
        assert!(told.recv_timeout(10 * PAUSE).is_err(), "the first is not through");
        drop(first);
        told.recv().unwrap();
        second.join().unwrap();
    }
}
