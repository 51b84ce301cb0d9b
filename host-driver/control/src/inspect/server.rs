//! Who answers for a driver: a thread, which sleeps until somebody asks.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::{self, SendFlags};

use super::{Question, Report, Told};
use crate::{Answer, Error, REQUEST_MAX, place, read_line};

/// How long a question may take to arrive. So long one who says nothing keeps others waiting.
pub const QUESTION_PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer may take to be fetched.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// After a connection that could not be had, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes that are sent at once: the system keeps the time of each alone.
const PIECE: usize = 16 << 10;

/// Who knows the answers; the second argument tells whether anybody waits for this one still.
type Answering = dyn Fn(&Question, &dyn Fn() -> bool) -> Result<Report, String>;

/// A socket where a driver tells what is on its card. Dropped, it is gone when that returns, whoever is being answered.
#[derive(Debug)]
pub struct Inspection {
    desk: Arc<Desk>,
    path: PathBuf,
    /// A child of it has a copy of this, and neither the thread nor a right to the socket.
    process: u32,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Desk {
    listener: UnixListener,
    is_closing: AtomicBool,
    /// Who is being answered.
    guest: Mutex<Option<UnixStream>>,
}

impl Inspection {
    /// Listens, in place of a program that is gone: that no other has the card is the caller's to know. `answer` is asked on a thread
    /// of its own; what it is given tells, from one object to the next, whether anybody waits for it still.
    ///
    /// # Errors
    /// When there can be no socket, or no thread.
    pub fn serve(
        path: PathBuf,
        answer: impl Fn(&Question, &dyn Fn() -> bool) -> Result<Report, String> + Send + 'static,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Io { doing: "listening at", path: path.clone(), source };
        path.parent().map_or(Ok(()), place::make)?;
        let listener = stroma_local::remove_socket(&path).and_then(|()| stroma_local::listen(&path));
        let listener = listener.map_err(failed)?;
        let desk = Arc::new(Desk { listener, is_closing: AtomicBool::new(false), guest: Mutex::default() });
        let served = Arc::clone(&desk);
        let thread =
            thread::Builder::new().name("stroma inspect".to_owned()).spawn(move || served.run(&answer));
        let thread = thread.inspect_err(|_| drop(fs::remove_file(&path))).map_err(failed)?;
        Ok(Self { desk, path, process: std::process::id(), thread: Some(thread) })
    }
}

impl Drop for Inspection {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if std::process::id() != self.process {
            // A thread of the parent's: there is nothing here that would ever end.
            std::mem::forget(thread);
            return;
        }
        // First of all: once the card is let go, the next program's socket may stand there.
        let _ = fs::remove_file(&self.path);
        self.desk.is_closing.store(true, Ordering::SeqCst);
        // Nobody is let in any more, and who is in is let go.
        let _ = net::shutdown(&self.desk.listener, net::Shutdown::Both);
        if let Some(guest) = &*self.desk.guest() {
            let _ = guest.shutdown(Shutdown::Both);
        }
        // One that has panicked answers nobody any more.
        let _ = thread.join();
    }
}

impl Desk {
    fn guest(&self) -> std::sync::MutexGuard<'_, Option<UnixStream>> {
        self.guest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    fn run(&self, answer: &Answering) {
        while !self.is_closing() {
            match self.listener.accept().and_then(|(stream, _)| Ok((stream.try_clone()?, stream))) {
                Ok((shared, stream)) => {
                    *self.guest() = Some(shared);
                    // Whoever closes meanwhile has either found the guest or is found here.
                    if !self.is_closing() {
                        self.attend(&stream, answer);
                    }
                    *self.guest() = None;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(_) if self.is_closing() => return,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// One question. What goes wrong ends the connection, and concerns nobody else.
    fn attend(&self, stream: &UnixStream, answer: &Answering) {
        let asked = match read_line(stream, &mut Vec::new(), REQUEST_MAX, Instant::now() + QUESTION_PATIENCE)
        {
            Ok(Some(line)) => serde_json::from_slice(&line).map_err(|error| format!("no question: {error}")),
            Ok(None) => return,
            Err(error) => Err(error.to_string()),
        };
        let answer = match asked.and_then(|question| answer(&question, &|| !self.is_closing())) {
            Ok(report) => Answer::Ok(Told::here(report)),
            Err(says) => Answer::Error(says),
        };
        let mut line = serde_json::to_vec(&answer).expect("a report is plain data");
        line.push(b'\n');
        let _ = send(stream, &line, Instant::now() + ANSWER_PATIENCE);
    }
}

/// Sends all of it in time. Who has gone is an error, and no signal: a program in C would end of that.
pub(super) fn send(stream: &UnixStream, bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match net::send(stream, &rest[..rest.len().min(PIECE)], SendFlags::NOSIGNAL) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::{Selection, ask};

    #[test]
    fn a_child_that_lets_its_copy_go_leaves_the_socket_to_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card0.inspect");
        let parents = Inspection::serve(path.clone(), |_, _| Ok(Report::default())).unwrap();
        // As the child sees it: the same, of another process, and without the thread.
        let (desk, process) = (Arc::clone(&parents.desk), parents.process + 1);
        let copy = Inspection {
            desk,
            path: path.clone(),
            process,
            thread: Some(thread::spawn(|| {
                loop {
                    thread::park();
                }
            })),
        };
        drop(copy);
        let question = Question::Show { only: Selection::default() };
        ask(&path, &question, QUESTION_PATIENCE * 10).unwrap();
        drop(parents);
        assert!(!path.exists());
    }
}
