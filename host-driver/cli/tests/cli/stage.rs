//! A folder for a fabric, and commands that know no other.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stroma_control::Status;
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for something.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// What a command has said and done.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) error: String,
    pub(crate) code: Option<i32>,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { out: text(output.stdout), error: text(output.stderr), code: output.status.code() }
    }
}

/// A folder, in which the library is a file without sense: the linker leaves it out, and says so.
pub(crate) struct Stage {
    root: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(stage.path("lib")).unwrap();
        fs::write(stage.path("lib/libibverbs.so.1"), "").unwrap();
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// The folder of the fabric.
    pub(crate) fn fabric(&self) -> PathBuf {
        self.path("fabric")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stroma"));
        command.args(words).env("STROMA_FABRIC", self.fabric()).env("STROMA_LIB", self.path("lib"));
        command.env_remove("LD_PRELOAD").stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Said {
        self.command(words).output().unwrap().into()
    }

    /// The same, which must do what it should; what it says.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
        said.out
    }

    /// The fabric that runs, if one does.
    pub(crate) fn status(&self) -> Option<Status> {
        stroma_control::find(&self.fabric()).unwrap()
    }

    /// Cards of a process that ends with the story.
    pub(crate) fn serve(&self, flags: &[&str]) -> Cards {
        let words = [&["fabric"], flags].concat();
        let child = self.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let cards = Cards { child };
        until("a fabric serves", || self.status());
        cards
    }
}

/// A fabric.
pub(crate) struct Cards {
    child: Child,
}

impl Cards {
    /// Waits for its end; its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        until("a fabric ends", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Cards {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
