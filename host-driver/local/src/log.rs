//! What a long-running program tells, on standard error or in a log.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{fstat, ftruncate};
use rustix::stdio::{dup2_stderr, dup2_stdout};

use crate::file::open;
use crate::tell;

/// Lines that wait to be written; the next is lost.
const WAITING: usize = 1024;
/// How long the end of a program waits for them.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks whether they were written.
const LOOK: Duration = Duration::from_millis(1);
/// What the name of a full log is followed by.
const FULL: &str = ".1";

/// Standard error of a program that runs for long. A thread of its own writes, so that who tells something never waits: not for a
/// pipe that nobody reads, either. Lines that are not taken in time are lost, and counted.
///
/// Where standard error goes to the log file of the program, the file begins anew when it is full, and the one before is kept.
#[derive(Clone, Debug)]
pub struct Log {
    lines: SyncSender<String>,
    /// Lines that were told, and those that were written or lost.
    told: Arc<AtomicU64>,
    done: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Standard error; should it go to the file at `path`, so many bytes of it at most, and as many of the one before.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(path: &Path, longest: u64) -> io::Result<Self> {
        let (lines, heard) = sync_channel(WAITING);
        let log = Self { lines, told: Arc::default(), done: Arc::default(), lost: Arc::default() };
        let (done, lost) = (Arc::clone(&log.done), Arc::clone(&log.lost));
        let bound = Bound::of(path, longest);
        thread::Builder::new().name("log".to_owned()).spawn(move || run(&heard, &done, &lost, &bound))?;
        Ok(log)
    }

    /// Tells a line, now or soon.
    pub fn tell(&self, line: &str) {
        self.told.fetch_add(1, Ordering::SeqCst);
        if self.lines.try_send(line.to_owned()).is_err() {
            self.lost.fetch_add(1, Ordering::SeqCst);
            self.done.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until all that was told is written, but not for long.
    pub fn settle(&self) {
        let (told, started) = (self.told.load(Ordering::SeqCst), Instant::now());
        while self.done.load(Ordering::SeqCst) < told && started.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
    }
}

/// Writes lines until nobody is left who could tell one.
fn run(heard: &Receiver<String>, done: &AtomicU64, lost: &AtomicU64, bound: &Bound) {
    for line in heard {
        tell(&line);
        match lost.swap(0, Ordering::SeqCst) {
            0 => {}
            lost => tell(&format!("{lost} lines were lost: nobody has taken them in time")),
        }
        bound.keep();
        done.fetch_add(1, Ordering::SeqCst);
    }
}

/// How long the file may be that standard error goes to.
struct Bound {
    longest: u64,
    /// Where that is, if it goes to the log.
    path: Option<PathBuf>,
    /// Does standard output go there, too?
    is_shared: bool,
}

impl Bound {
    fn of(path: &Path, longest: u64) -> Self {
        let goes_there = is_at(&io::stderr(), path);
        let path = goes_there.then(|| std::path::absolute(path).ok()).flatten();
        let is_shared = path.as_deref().is_some_and(|path| is_at(&io::stdout(), path));
        Self { longest, path, is_shared }
    }

    /// Begins the log anew if it is full.
    fn keep(&self) {
        let Some(path) = &self.path else { return };
        let length = fstat(io::stderr()).map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0));
        if length > self.longest && self.begin_anew(path).is_err() {
            // Where there can be no other file, this one is emptied. What cannot even be emptied does not grow, either.
            let _ = ftruncate(io::stderr(), 0);
        }
    }

    fn begin_anew(&self, path: &Path) -> io::Result<()> {
        let mut full = path.as_os_str().to_owned();
        full.push(FULL);
        fs::rename(path, full)?;
        let fresh = open(File::options().append(true).create_new(true), path)?;
        dup2_stderr(&fresh)?;
        if self.is_shared {
            dup2_stdout(&fresh)?;
        }
        Ok(())
    }
}

/// Does a stream of this process go to the file at this path?
fn is_at(stream: &impl AsFd, path: &Path) -> bool {
    let (Ok(found), Ok(there)) = (fstat(stream), fs::symlink_metadata(path)) else { return false };
    there.is_file() && (found.st_dev, found.st_ino) == (there.dev(), there.ino())
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::{Child, Command, ExitStatus, Stdio};

    use rustix::io::{ioctl_fionbio, write};

    use super::*;

    /// Where the log is, in a process that tells what a test wants to be told; whether it panics, too.
    const PLACE: &str = "STROMA_TEST_LOG";
    const FAULT: &str = "STROMA_TEST_FAULT";
    const LONGEST: u64 = 4096;
    const LINES: usize = 200;

    /// A process that tells so many lines.
    fn telling(log: &Path, errors: impl Into<Stdio>, panics: bool) -> Child {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["log::tests::a_process_tells_lines", "--exact", "--nocapture"]);
        if panics {
            command.env(FAULT, "1");
        }
        command.env(PLACE, log).stdout(Stdio::null()).stderr(errors).spawn().unwrap()
    }

    fn ended(mut child: Child) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if started.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
                panic!("it waits for somebody to read");
            }
            thread::sleep(LOOK);
        }
    }

    /// The other side of the tests below; nothing when it is run with all.
    #[test]
    fn a_process_tells_lines() {
        let Some(path) = env::var_os(PLACE) else { return };
        let log = Log::start(Path::new(&path), LONGEST).unwrap();
        for number in 0..LINES {
            log.tell(&format!("line {number:04} {}", "x".repeat(90)));
        }
        if env::var_os(FAULT).is_some() {
            tell("an error that ends a command");
            // As a session does that fails.
            assert!(thread::spawn(|| panic!("a fault")).join().is_err());
        }
        log.settle();
    }

    #[test]
    fn a_log_that_is_full_begins_anew_and_the_one_before_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let file = crate::create(&path).unwrap();
        assert!(ended(telling(&path, file, false)).success());
        let [before, last] =
            ["log.1", "log"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
        let longest = usize::try_from(LONGEST).unwrap();
        assert!((longest..longest + 200).contains(&before.len()), "{} bytes", before.len());
        assert!(last.len() < longest + 200, "{} bytes", last.len());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "and no other");
        let said = [before, last].concat();
        let numbers: Vec<usize> =
            said.lines().filter_map(|line| line.strip_prefix("line ")?[..4].parse().ok()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        assert_eq!(numbers.last(), Some(&(LINES - 1)));
    }

    #[test]
    fn a_file_that_is_not_the_log_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let file = crate::create(&other).unwrap();
        assert!(ended(telling(&folder.path().join("log"), file, false)).success());
        assert!(fs::metadata(&other).unwrap().len() > 2 * LONGEST);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_that_is_closed_or_full_neither_ends_nor_holds_who_tells_something() {
        let nowhere = Path::new("/nowhere/log");
        let mut closed = telling(nowhere, Stdio::piped(), true);
        drop(closed.stderr.take());
        assert!(ended(closed).success());
        let (_unread, full) = io::pipe().unwrap();
        ioctl_fionbio(&full, true).unwrap();
        while write(&full, &[b'x'; 4096]).is_ok() {}
        ioctl_fionbio(&full, false).unwrap();
        assert!(ended(telling(nowhere, full, false)).success());
    }
}
