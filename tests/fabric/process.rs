//! The processes of a story, from outside.

use std::fs::{self, File, Permissions, set_permissions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::thread::{Uid, set_thread_res_uid};
use stroma_sim::Kind;
use stroma_top::Profile;
use tempfile::TempDir;

/// A user who has no rights. Whoever tells a story, its processes are an ordinary user's.
const NOBODY: u32 = 65534;

pub(crate) fn is_root() -> bool {
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
    /// An ordinary user's.
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        Self::spawn(command.args(arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
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

/// Gives this thread the user as whom processes run here.
pub(crate) fn become_server() {
    if is_root() {
        let nobody = Uid::from_raw(NOBODY);
        set_thread_res_uid(nobody, nobody, nobody).unwrap();
    }
}

/// The folder of a story, with the program of all its processes.
pub(crate) struct Stage {
    folder: TempDir,
    /// A folder that stays that of whoever tells the story.
    apart: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap(), apart: tempfile::tempdir().unwrap() };
        // Where the program and its cards were built nobody else may be allowed to go: they are installed.
        fs::create_dir(stage.path("bin")).unwrap();
        for profile in Profile::ALL {
            Kind::from(profile).install(&stage.path("lib/stroma")).unwrap_or_else(|error| panic!("{error}"));
        }
        {
            let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            fs::copy(env!("CARGO_BIN_EXE_fabric-party"), stage.program()).unwrap();
        }
        if is_root() {
            chown(stage.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            chown(stage.program(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        stage
    }

    fn program(&self) -> PathBuf {
        self.path("bin/party")
    }

    /// Something in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of so many bytes that a client can have as its memory.
    pub(crate) fn memory(&self, len: usize) -> (PathBuf, File) {
        let path = self.path("memory");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(len as u64).unwrap();
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        (path, file)
    }

    /// Cards that are served in a folder within, as flags say.
    pub(crate) fn serve(&self, name: &str, flags: &[&str]) -> Cards<'_> {
        let sockets = self.path(name);
        let arguments = [&["serve", "--sockets", sockets.to_str().unwrap()], flags].concat();
        Cards::of(self, Process::start(&self.program(), &arguments))
    }

    /// The same, of root in a network of their own, which is as a script of the shell makes it. Root serves in a folder of its own.
    pub(crate) fn serve_apart(&self, script: &str, flags: &[&str]) -> Cards<'_> {
        set_permissions(self.apart.path(), Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-ec", &format!("{script}\nexec \"$@\""), "sh"]).arg(self.program());
        command.args(["serve", "--sockets"]).arg(self.apart.path()).args(flags);
        Cards::of(self, Process::spawn(&mut command))
    }
}

/// Cards of a process of their own.
pub(crate) struct Cards<'a> {
    stage: &'a Stage,
    process: Process,
    sockets: Vec<PathBuf>,
}

impl<'a> Cards<'a> {
    /// Waits for the line of each card; the last is followed by an empty one.
    fn of(stage: &'a Stage, mut process: Process) -> Self {
        let mut sockets = Vec::new();
        loop {
            let line = process.answer();
            if line.is_empty() {
                return Self { stage, process, sockets };
            }
            let name = format!("card{} ", sockets.len());
            sockets.push(PathBuf::from(line.strip_prefix(&name).expect(&line)));
        }
    }

    /// Where a card is served.
    pub(crate) fn socket(&self, card: usize) -> &Path {
        &self.sockets[card]
    }

    /// Starts a client of a card; it, and where its peer finds it.
    pub(crate) fn client(&self, card: usize) -> (Process, String) {
        self.client_as(card, card, &[])
    }

    /// The same, with the addresses of a number, and with more to be said to it.
    pub(crate) fn client_as(&self, number: usize, card: usize, more: &[&str]) -> (Process, String) {
        let (socket, number) = (self.socket(card).to_str().unwrap(), number.to_string());
        let arguments = [&["client", &number, socket], more].concat();
        let mut client = Process::start(&self.stage.program(), &arguments);
        let place = client.answer();
        assert!(place.split(' ').all(|word| word.parse::<u64>().is_ok()), "{place}");
        (client, place)
    }

    /// A client on each card, connected to each other.
    pub(crate) fn clients(&self) -> [Process; 2] {
        connected([self.client(0), self.client(1)])
    }

    /// Are they still there?
    pub(crate) fn are_running(&mut self) -> bool {
        self.process.is_running()
    }
}

/// Connects two clients to each other.
pub(crate) fn connected(
    [(mut near, near_place), (mut far, far_place)]: [(Process, String); 2],
) -> [Process; 2] {
    near.tell(&[&format!("connect {far_place}")]);
    far.tell(&[&format!("connect {near_place}")]);
    [near, far]
}
