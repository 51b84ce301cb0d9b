//! The processes of a story, from outside.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// A user who has no rights. Whoever tells a story, its processes are an ordinary user's.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Held while a program is copied or started: a process that is just being made holds all files open for a moment, and one that is
/// open to be written cannot be run.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A process that is spoken to by lines, and killed with the story.
pub(crate) struct Process {
    child: Child,
    /// `None` once it was told that none will follow.
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = {
            let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            command.spawn().unwrap()
        };
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, orders, answers }
    }

    fn answer(&mut self) -> String {
        self.answers.next().expect("the process answers").unwrap()
    }

    /// Gives an order; the answer.
    pub(crate) fn ask(&mut self, order: &str) -> String {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        self.answer()
    }

    /// Gives orders, one behind the other, each of which must succeed.
    pub(crate) fn tell(&mut self, orders: &[&str]) {
        for order in orders {
            assert_eq!(self.ask(order), "ok", "{order}");
        }
    }

    /// Ends it at once, wherever it is: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as processes end.
    pub(crate) fn finish(mut self) {
        self.orders = None;
        assert!(self.child.wait().unwrap().success());
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program of all processes, in the folder of a story.
fn program(folder: &TempDir) -> PathBuf {
    folder.path().join("party")
}

/// Cards of a process of their own.
pub(crate) struct Cards {
    process: Process,
    sockets: Vec<PathBuf>,
    folder: TempDir,
}

impl Cards {
    /// Two cards for 10 Gbit/s on a cable.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Where the program was built nobody else may be allowed to go.
        {
            let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            fs::copy(env!("CARGO_BIN_EXE_fabric-party"), program(&folder)).unwrap();
        }
        if is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            chown(program(&folder), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let arguments = ["serve", "--sockets", folder.path().to_str().unwrap()];
        let mut process = Process::start(&program(&folder), &arguments);
        let sockets = (0..2).map(|card| {
            let line = process.answer();
            PathBuf::from(line.strip_prefix(&format!("card{card} ")).expect(&line))
        });
        let sockets = sockets.collect();
        Self { process, sockets, folder }
    }

    /// Where a card is served.
    pub(crate) fn socket(&self, card: usize) -> &Path {
        &self.sockets[card]
    }

    /// Starts a client of a card; it, and where its peer finds it.
    pub(crate) fn client(&self, card: usize) -> (Process, String) {
        let socket = self.socket(card).to_str().unwrap();
        let mut client = Process::start(&program(&self.folder), &["client", &card.to_string(), socket]);
        let place = client.answer();
        assert!(place.split(' ').all(|word| word.parse::<u64>().is_ok()), "{place}");
        (client, place)
    }

    /// A client on each card, connected to each other.
    pub(crate) fn clients(&self) -> [Process; 2] {
        let ((mut near, near_place), (mut far, far_place)) = (self.client(0), self.client(1));
        near.tell(&[&format!("connect {far_place}")]);
        far.tell(&[&format!("connect {near_place}")]);
        [near, far]
    }

    /// Are they still there?
    pub(crate) fn are_running(&mut self) -> bool {
        self.process.is_running()
    }
}
